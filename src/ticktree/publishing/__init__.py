"""Publishing: a run's numbers while it continues, pushed to OpenTelemetry collectors, pulled by Prometheus.

None of this runs in the profiled program: threads of its supervisor read its memory files, as often as a collector
requests.
"""
