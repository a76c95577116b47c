"""The process behind `ticktree run`: it starts the program, and records what the program need not."""
