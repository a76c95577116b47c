"""Engines that merge the runs of a job: in one process, or on a Ray cluster."""
