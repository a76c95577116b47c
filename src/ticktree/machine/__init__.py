"""A machine: its hardware, its ceilings, and readings of it while a program runs."""
