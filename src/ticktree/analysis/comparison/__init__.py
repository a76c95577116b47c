"""Comparison of runs: is B faster than A, or is that uncertain?"""
