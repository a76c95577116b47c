"""Puts what all workloads' tests share where they find it: beside this file."""
