"""Bottlenecks: what a tick consists of, what each part of it costs, and how fast the loop could be without."""
