"""Running a program as a shell runs a job: its signals, its terminal, how it ends."""
