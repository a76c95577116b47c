"""Sampling programs from outside: which Python code runs, thread by thread."""
