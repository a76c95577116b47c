"""Publishing: a run's numbers while it continues, pushed to OpenTelemetry collectors, pulled by Prometheus.

Nothing here runs in the profiled program: its memory files are read from outside, as often as a collector
wants, by threads of the process that supervises it.
"""
