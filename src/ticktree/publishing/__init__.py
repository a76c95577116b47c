"""Publishing: a run's numbers while it goes on, pushed to OpenTelemetry's collectors and pulled by Prometheus.

Nothing here runs in the profiled program: its memory files are read from outside, as often as somebody wants to know,
by threads of the process that supervises it.
"""
