"""Workers: the processes and threads of a run, imbalance, stragglers, waits, and the critical path."""
