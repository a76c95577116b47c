"""W3C trace context: on demand, every recorded call to another program carries this run's trace."""

from __future__ import annotations

from ticktree.recorder import Recorder
from ticktree.remote import trace_context


def install(recorder: Recorder) -> None:  # noqa: ARG001 - as every instrument's
    """From now on a call that carries no `traceparent` is given one, of a trace that the run's processes share."""
    trace_context.begin()


def uninstall() -> None:
    """No more are given."""
    trace_context.end()
