"""One profiled execution: its directory, its processes' memory files, and the program that fills them."""
