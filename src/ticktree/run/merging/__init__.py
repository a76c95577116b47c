"""Merging: the runs of one job, from several machines or processes, as one."""
