"""The live view: a run while it goes on, read from outside and drawn once a second.

Nothing here runs in the watched program, and nothing is asked of it: its memory files are read, two readings
are subtracted, and what happened in between is shown beside the whole run.
"""
