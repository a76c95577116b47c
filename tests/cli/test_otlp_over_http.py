"""`ticktree export --to otlp` and a collector's two doors: what is posted there as its page says, and read."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

import pytest

from support.command_line import CommandLine, assert_one_clear_line

REASON = "nothing was posted to a collector: there is no opentelemetry-proto"
metrics = pytest.importorskip("opentelemetry.proto.collector.metrics.v1.metrics_service_pb2", reason=REASON)
traces = pytest.importorskip("opentelemetry.proto.collector.trace.v1.trace_service_pb2", reason=REASON)

PAGE = Path(__file__).parents[2] / "docs" / "outputs" / "otlp.md"
PROGRAM = """
import ticktree
for _ in ticktree.loop("train", range(20), warmup=0):
    with ticktree.section("sample"):
        pass
"""


class Sink(ThreadingHTTPServer):
    """Takes OTLP/JSON as a collector does: what it cannot read it refuses."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Door)
        self.taken: list[Any] = []


class _Door(BaseHTTPRequestHandler):
    server: Sink
    _REQUESTS: ClassVar = {
        "/v1/metrics": metrics.ExportMetricsServiceRequest,
        "/v1/traces": traces.ExportTraceServiceRequest,
    }

    def do_POST(self) -> None:
        from google.protobuf import json_format

        body = self.rfile.read(int(self.headers["Content-Length"]))
        try:
            assert self.headers["Content-Type"] == "application/json"
            self.server.taken.append(json_format.Parse(body, self._REQUESTS[self.path]()))
            self.send_response(200)
        except (AssertionError, KeyError, json_format.ParseError):
            self.send_response(400)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def sink() -> Iterator[Sink]:
    server = Sink()
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


def shell(here: CommandLine, sink: Sink, command: str) -> None:
    """Runs a command of the page, with the sink for a collector."""
    for program in ("sh", "curl"):
        if shutil.which(program) is None:
            pytest.skip(f"nothing was posted to a collector: there is no {program}")
    command = command.replace("ticktree export", f"'{sys.executable}' -m ticktree export")
    command = command.replace("localhost:4318", f"127.0.0.1:{sink.server_port}").replace(
        "curl ", "curl --fail "
    )
    done = subprocess.run(
        ["sh", "-ec", command], cwd=here.directory, env=here.env, capture_output=True, text=True, timeout=500
    )
    assert (done.returncode, done.stdout) == (0, ""), done.stderr


def commands() -> list[str]:
    block = re.search(r"```text\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert block is not None
    found = block[1].replace("\\\n", "").splitlines()
    return [command for command in found if "curl" in command]


@pytest.mark.slow
def test_a_collector_takes_the_totals_and_the_calls_as_the_page_says(here: CommandLine, sink: Sink) -> None:
    here.write("train.py", PROGRAM)
    assert here.ticktree("run", "--quiet", "--timeline", "train.py").returncode == 0
    of_totals, of_calls = commands()
    shell(here, sink, of_totals)
    (request,) = sink.taken
    (scope,) = request.resource_metrics[0].scope_metrics
    calls = next(metric for metric in scope.metrics if metric.name == "ticktree.section.calls")
    assert {point.attributes[0].value.string_value: point.as_int for point in calls.sum.data_points} == {
        "train": 20,
        "train/sample": 20,
    }
    sink.taken.clear()
    shell(here, sink, of_calls)
    spans = [
        span
        for request in sink.taken
        for one in request.resource_spans
        for scope in one.scope_spans
        for span in scope.spans
    ]
    assert sorted(span.name for span in spans) == ["sample"] * 20 + ["train"] * 20
    parents = {span.span_id: span for span in spans if span.name == "train"}
    for span in spans:
        if span.name == "sample":
            parent = parents.pop(span.parent_span_id)
            assert parent.trace_id == span.trace_id
            assert parent.start_time_unix_nano <= span.start_time_unix_nano
            assert parent.end_time_unix_nano >= span.end_time_unix_nano


@pytest.mark.slow
def test_which_half_is_asked_of_formats_that_have_two(here: CommandLine) -> None:
    here.write("train.py", PROGRAM)
    here.ticktree("run", "--quiet", "train.py")
    assert_one_clear_line(
        here.ticktree("export", "--to", "otlp", "--only", "calls"), "ticktree run --timeline"
    )
    whole = here.ticktree("export", "--to", "otlp").stdout
    assert here.ticktree("export", "--to", "otlp", "--only", "totals").stdout == whole
    done = here.ticktree("export", "--to", "csv", "--only", "totals")
    assert done.returncode == 2
    assert "--only is for formats" in done.stderr
