"""An OpenTelemetry span, sampled and passed to an exporter that drops it: the minimum cost of tracing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module

from peers import Peer

DISTRIBUTION = "opentelemetry-sdk"


class Drop:
    """An exporter that keeps nothing and sends nothing."""

    def export(self, spans: object) -> None:
        """Drops the spans."""

    def shutdown(self) -> None:
        """Has nothing to close."""


@contextmanager
def load() -> Iterator[list[Peer]]:
    trace = import_module("opentelemetry.sdk.trace")
    export = import_module("opentelemetry.sdk.trace.export")
    provider = trace.TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(export.SimpleSpanProcessor(Drop()))
    section = provider.get_tracer("benchmark").start_as_current_span
    yield [Peer.of_section("OpenTelemetry span", DISTRIBUTION, section, "spans are dropped")]
    provider.shutdown()
