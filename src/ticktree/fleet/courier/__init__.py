"""The courier: while a job goes on, it carries the profiles of its other machines to the run of rank 0.

A process of its own beside each machine's supervisor, and no part of the program: it reads the run's memory files from
outside, and has a connection of its own to the store that the job has anyway. No rank ever waits for it, calls it or
takes part in anything for it; killed or stuck, it is missed by nobody.
"""
