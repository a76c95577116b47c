"""OpenTelemetry: totals that are sent to a collector every so often, as OTLP over HTTP."""
