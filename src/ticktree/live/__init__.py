"""The live view: a run in progress, read from outside and drawn once per second.

No code of it runs in the watched program: it reads the program's memory files, subtracts two readings, and shows what
happened in between next to the whole run.
"""
