"""The supervisor, the process behind `ticktree run`: it starts the program, and records what it can from outside."""
