"""W3C trace context: on demand, every recorded call to another program carries this run's trace."""

from __future__ import annotations

from ticktree.recorder import Recorder
from ticktree.remote import trace_context


def install(recorder: Recorder) -> None:  # noqa: ARG001 - as every instrument's
    """Add to each call that carries no `traceparent` one of a trace that the run's processes share."""
    trace_context.begin()


def uninstall() -> None:
    """Add no more."""
    trace_context.end()
