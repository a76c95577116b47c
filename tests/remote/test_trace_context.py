"""W3C trace context: passed on as it came, and begun only where that was asked for."""

from __future__ import annotations

import contextvars

import pytest

from ticktree.remote import trace_context
from ticktree.remote.trace_context import TraceContext, from_fields, from_headers, outgoing

GIVEN = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


def test_what_came_is_passed_on_unchanged():
    def serve():
        trace_context.incoming.set(from_headers(GIVEN, "vendor=1"))
        return outgoing()

    assert contextvars.copy_context().run(serve) == TraceContext(GIVEN, "vendor=1")
    assert outgoing() is None


@pytest.mark.parametrize(
    "bad",
    [
        None,
        "",
        "00-0-0-00",
        GIVEN.upper(),
        "ff" + GIVEN[2:],
        "00-" + "0" * 32 + GIVEN[35:],
        GIVEN[:36] + "0" * 16 + "-01",
        GIVEN + "\r\nx: y",
        GIVEN + "-more",  # this version has no more
        "01" + GIVEN[2:] + "-a\rb",
        "01" + GIVEN[2:] + "-\xe9",  # a client that is given it may refuse to send it
        "01" + GIVEN[2:] + "-" + "x" * 3000,
    ],
)
def test_what_is_not_as_the_standard_wants_it_is_not_passed_on(bad):
    assert from_headers(bad) is None


def test_what_a_later_version_says_is_passed_on_unchanged():
    later = "01" + GIVEN[2:] + "-more"
    assert from_headers(later) == TraceContext(later)


def test_a_state_may_come_in_several_fields_and_a_trace_in_one():
    fields = [("traceparent", GIVEN), ("tracestate", "a=1"), ("accept", "*/*"), ("tracestate", "b=2")]
    assert from_fields(fields) == TraceContext(GIVEN, "a=1,b=2")
    assert from_fields([*fields, ("traceparent", GIVEN)]) is None
    assert from_fields([]) is None


def test_a_state_that_could_break_a_header_is_left_out():
    assert from_headers(GIVEN, "a=1\r\nx: y") == TraceContext(GIVEN, "")
    assert from_headers(GIVEN, "a=" + "x" * 600) == TraceContext(GIVEN, "")


def test_a_trace_of_the_run_is_begun_where_that_is_asked_for_and_is_one_for_all_its_calls(monkeypatch):
    monkeypatch.delenv(trace_context.TRACE_VARIABLE, raising=False)
    trace_context.begin()
    try:
        one, other = outgoing(), outgoing()
        assert from_headers(one.traceparent) == one
        assert one.traceparent[:35] == other.traceparent[:35]
        assert one.traceparent != other.traceparent
    finally:
        trace_context.end()
    assert outgoing() is None


def test_a_child_process_goes_on_with_the_trace_of_its_run(monkeypatch):
    monkeypatch.setenv(trace_context.TRACE_VARIABLE, "a" * 32)
    trace_context.begin()
    try:
        assert outgoing().traceparent.startswith(f"00-{'a' * 32}-")
    finally:
        trace_context.end()
