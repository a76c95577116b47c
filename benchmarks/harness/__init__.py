"""Shared parts of all benchmarks: interleaved timing, medians with their spread, printing of figures."""
