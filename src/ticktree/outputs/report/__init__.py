"""A report: what is said of one profile, part by part, in the order in which it is read."""
