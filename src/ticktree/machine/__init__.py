"""What a machine is, what it can do at most, and what it does while a program runs."""
