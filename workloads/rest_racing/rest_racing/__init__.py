"""A driver that races a car which lives in another process, behind HTTP."""
