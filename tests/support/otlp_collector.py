"""A fake OpenTelemetry collector that receives metrics."""

from __future__ import annotations

import gzip
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Taken:
    """A request, as it came."""

    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def metrics(self) -> dict[str, dict[str, Any]]:
        """Data points by metric and by their attribute."""
        return {
            metric.name.removeprefix("ticktree."): {
                (point.attributes[0].value.string_value if point.attributes else ""): point
                for point in getattr(metric, metric.WhichOneof("data")).data_points
            }
            for metric in self.resource_metrics.scope_metrics[0].metrics
        }

    @property
    def resource(self) -> dict[str, str]:
        return {
            attribute.key: attribute.value.string_value
            for attribute in self.resource_metrics.resource.attributes
        }

    @property
    def resource_metrics(self) -> Any:
        import pytest

        service = pytest.importorskip(
            "opentelemetry.proto.collector.metrics.v1.metrics_service_pb2",
            reason="what was sent to a collector was not read: there is no opentelemetry-proto",
        )
        (metrics,) = service.ExportMetricsServiceRequest.FromString(self.body).resource_metrics
        return metrics


@dataclass
class Answer:
    """What the collector says: with which headers, and after how long a silence."""

    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""
    silent_until: threading.Event | None = None


class Collector(ThreadingHTTPServer):
    """Takes all that is sent to it, and answers as a test wants.

    Attributes:
        taken: every request that came, in order.
        answers: what to say to the next ones; to those after them 200.
    """

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Door)
        self.taken: list[Taken] = []
        self.answers: list[Answer] = []
        self.came = threading.Condition()
        self._thread = threading.Thread(target=self.serve_forever, args=(0.05,), daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def handle_error(self, request: object, client_address: object) -> None:
        """Who did not wait for an answer is no error here."""

    def wait_for(self, count: int) -> list[Taken]:
        """The requests, once there are so many."""
        with self.came:
            assert self.came.wait_for(lambda: len(self.taken) >= count, timeout=500), (
                f"{len(self.taken)} came"
            )
            return self.taken

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.shutdown()
        self.server_close()
        self._thread.join()


class _Door(BaseHTTPRequestHandler):
    server: Collector

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.headers["Content-Encoding"] == "gzip":
            body = gzip.decompress(body)
        with self.server.came:
            self.server.taken.append(Taken(self.path, {k.lower(): v for k, v in self.headers.items()}, body))
            answer = self.server.answers.pop(0) if self.server.answers else Answer()
            self.server.came.notify_all()
        if answer.silent_until is not None:
            answer.silent_until.wait(60)
        self.send_response(answer.status)
        for name, value in answer.headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(answer.body)))
        self.end_headers()
        self.wfile.write(answer.body)

    def do_GET(self) -> None:
        raise AssertionError("somebody has made a GET of a request")

    def log_message(self, *_: object) -> None:
        pass
