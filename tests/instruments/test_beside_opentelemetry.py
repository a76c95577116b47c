"""OpenTelemetry's own instrumentation beside ours: its trace is what a call carries, whoever came first."""

from __future__ import annotations

import pytest

from ticktree import Recorder
from ticktree.remote import trace_context

requests = pytest.importorskip("requests")
instrumentation = pytest.importorskip("opentelemetry.instrumentation.requests")
sdk = pytest.importorskip("opentelemetry.sdk.trace")


class Adapter(requests.adapters.BaseAdapter):
    def __init__(self):
        self.sent = []

    def send(self, request, **_):
        self.sent.append(dict(request.headers))
        response = requests.Response()
        response.status_code, response.request, response.url = 200, request, request.url
        response._content = b"{}"
        return response

    def close(self):
        pass


@pytest.mark.parametrize("ours_first", [True, False])
def test_its_trace_is_what_a_call_carries(ours_first, monkeypatch):
    from ticktree.instruments.http_clients import REQUESTS

    monkeypatch.delenv(trace_context.TRACE_VARIABLE, raising=False)
    recorder, theirs, adapter = Recorder(), instrumentation.RequestsInstrumentor(), Adapter()
    provider = sdk.TracerProvider(shutdown_on_exit=False)

    def ours():
        REQUESTS.install(recorder)

    def others():
        theirs.instrument(tracer_provider=provider)

    for install in (ours, others) if ours_first else (others, ours):
        install()
    trace_context.begin()
    try:
        with (
            provider.get_tracer("test").start_as_current_span("around") as span,
            requests.Session() as session,
        ):
            session.mount("http://", adapter)
            assert session.get("http://here/step").json() == {}
    finally:
        trace_context.end()
        if ours_first:
            theirs.uninstrument()
            REQUESTS.uninstall()
        else:
            REQUESTS.uninstall()
            theirs.uninstrument()
        recorder.disable()
    trace = f"{span.get_span_context().trace_id:032x}"
    assert [headers["traceparent"].split("-")[1] for headers in adapter.sent] == [trace]
    assert recorder.snapshot().root.at("GET here\\/step").count == 1
