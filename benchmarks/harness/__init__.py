"""What all benchmarks share: interleaved timing, medians with their spread, one way to print a figure."""
