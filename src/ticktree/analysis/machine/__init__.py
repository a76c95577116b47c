"""The machine of a run: how busy it was, what it can do at most, and what was done of that."""
