"""The page that Prometheus scrapes, and its HTTP server."""

from __future__ import annotations

import gzip
import platform
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from ticktree.outputs.prometheus import CONTENT_TYPE as PROTOBUF_TYPE
from ticktree.outputs.prometheus import Durations, Family, Samples, families, protobuf, seconds, text
from ticktree.outputs.view.headline import title
from ticktree.outputs.writing.visible import literal
from ticktree.publishing.snapshots import MonotonicSums, RunSnapshot, RunSnapshots, run_metrics, start_thread

_PROTOBUF = "application/vnd.google.protobuf"
_TEXT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
# A loop's sums do restart when its warm-up ends.
_RESTARTING = ("loop_",)


class Page:
    """The newest snapshot as text or protobuf, rendered once for all requests until there is a newer one.

    `cost` returns the seconds of processor time that the calling thread has used.
    """

    def __init__(
        self, snapshots: RunSnapshots, run_id: str, cost: Callable[[], float] = time.thread_time
    ) -> None:
        self._snapshots = snapshots
        self._run_id = run_id
        self._cost = cost
        self._lock = threading.Lock()
        self._sums = MonotonicSums()
        self._rendered_snapshot: RunSnapshot | None = None
        self._rendered: dict[str, bytes] = {}

    def render(self, accepted: str) -> tuple[str, bytes]:
        """Return the page's type and content for a client whose Accept header is `accepted`."""
        kind = PROTOBUF_TYPE if _prefers_protobuf(accepted) else _TEXT_TYPE
        snapshot = self._snapshots.latest()
        if snapshot is None:
            return kind, b""
        with self._lock:
            before_s = self._cost()
            if snapshot is not self._rendered_snapshot:
                self._rendered_snapshot, self._rendered = snapshot, {}
            if kind not in self._rendered:
                write = protobuf if kind == PROTOBUF_TYPE else text
                self._rendered[kind] = write([*self._families(snapshot)])
            self._snapshots.charge(self._cost() - before_s)
            return kind, self._rendered[kind]

    def _families(self, snapshot: RunSnapshot) -> Iterator[Family | Durations]:
        self._sums.begin(snapshot.generation)
        yield self._info(snapshot)
        for family in (*families(snapshot.profile, snapshot.paths), *_families_of_snapshot(snapshot)):
            may_fall = family.kind != "counter" or family.name.startswith(_RESTARTING)
            yield family if isinstance(family, Durations) or may_fall else self._raise_to_last(family)

    def _raise_to_last(self, family: Family) -> Family:
        held: Samples = [
            (labels, self._sums.raise_to((family.name, *labels.values()), value))
            for labels, value in family.samples
        ]
        return Family(family.name, family.kind, family.about, held)

    def _info(self, snapshot: RunSnapshot) -> Family:
        names = {"run": self._run_id, "name": title(snapshot.profile), "host": platform.node()}
        labels = {label: literal(name) for label, name in names.items()}
        return Family("run_info", "gauge", "Which run this is; always 1.", [(labels, 1)])


def _families_of_snapshot(snapshot: RunSnapshot) -> Iterator[Family]:
    for metric in run_metrics(snapshot):
        is_time, is_sum = metric.unit == "ns", metric.kind == "sum"
        name = metric.name.replace(".", "_") + "_seconds" * is_time + "_total" * is_sum
        samples: Samples = [
            ({metric.label: literal(key)} if metric.label else {}, seconds(value) if is_time else value)
            for key, value in metric.values.items()
        ]
        yield Family(name, "counter" if is_sum else "gauge", metric.description, samples)


def _prefers_protobuf(accepted: str) -> bool:
    """Tell whether the client prefers protobuf: Prometheus requests it if it stores native histograms."""
    best, quality = "", 0.0
    for media_range in accepted.lower().split(","):
        name, *parameters = (part.strip() for part in media_range.split(";"))
        fields = dict(parameter.partition("=")[::2] for parameter in parameters)
        protobuf_type = (name, fields.get("proto"), fields.get("encoding"))
        is_complete_protobuf = protobuf_type == (_PROTOBUF, "io.prometheus.client.metricfamily", "delimited")
        try:
            weight = float(fields.get("q") or 1)
        except ValueError:
            continue
        if weight > quality and (is_complete_protobuf or name in ("text/plain", "text/*", "*/*")):
            best, quality = name, weight
    return best == _PROTOBUF


PATH = "/metrics"
_HOME = f'<!DOCTYPE html><title>ticktree</title><a href="{PATH}">{PATH}</a>\n'.encode()
# For a whole request, from its acceptance to the last byte of the answer, so that the server does not wait for clients
# that send nothing, send one byte at a time, or do not read; above the maximum the oldest connection is closed.
_REQUEST_TIMEOUT_S = 10.0
_MAX_READERS = 8
_POLL_S = 0.2


class Server(ThreadingHTTPServer):
    """Serves a page at a socket that listens already, and takes over the socket."""

    daemon_threads = True
    block_on_close = False

    def __init__(self, listening: socket.socket, page: Page) -> None:
        super().__init__(("", 0), _Handler, bind_and_activate=False)
        self.socket.close()
        self.socket = listening
        self.page = page
        self._lock = threading.Lock()
        self._readers: dict[socket.socket, float] = {}  # with their deadlines, oldest first
        self._complete: set[socket.socket] = set()  # those whose request is complete

    def begin(self) -> None:
        """Start to serve."""
        start_thread(partial(self.serve_forever, _POLL_S), "prometheus")

    def process_request(self, request: object, client_address: object) -> None:
        """Accept a connection; above the maximum, close the oldest."""
        assert isinstance(request, socket.socket)
        with self._lock:
            if len(self._readers) >= _MAX_READERS:
                waiting_readers = (reader for reader in self._readers if reader not in self._complete)
                self._disconnect(next(waiting_readers, next(iter(self._readers))))
            self._readers[request] = time.monotonic() + _REQUEST_TIMEOUT_S
        super().process_request(request, client_address)

    def process_request_thread(self, request: object, client_address: object) -> None:
        """Answer a request, then forget its connection."""
        assert isinstance(request, socket.socket)
        try:
            super().process_request_thread(request, client_address)
        finally:
            with self._lock:
                self._readers.pop(request, None)
                self._complete.discard(request)

    def service_actions(self) -> None:
        """Close connections after their deadline."""
        now = time.monotonic()
        with self._lock:
            for request in [reader for reader, deadline in self._readers.items() if deadline < now]:
                self._disconnect(request)

    def mark_complete(self, request: socket.socket) -> None:
        """Record that a request is complete: connections with incomplete ones are closed first."""
        with self._lock:
            self._complete.add(request)

    def _disconnect(self, request: socket.socket) -> None:
        """Shut down a connection: its thread, wherever it waits, ends at once and closes the socket."""
        del self._readers[request]
        with suppress(OSError):  # the client has closed it
            request.shutdown(socket.SHUT_RDWR)

    def handle_error(self, request: object, client_address: object) -> None:
        """Print nothing: that a client disconnected does not concern the program's user."""


class _Handler(BaseHTTPRequestHandler):
    server: Server
    server_version = "ticktree"
    sys_version = ""
    timeout = _REQUEST_TIMEOUT_S

    def do_GET(self) -> None:
        """Answer a request."""
        self.server.mark_complete(self.request)
        path = self.path.partition("?")[0]
        if path == PATH:
            self._answer(*self.server.page.render(self.headers.get("Accept", "")))
        elif path == "/":
            self._answer("text/html; charset=utf-8", _HOME)
        else:
            self.send_error(HTTPStatus.NOT_FOUND)

    do_HEAD = do_GET  # noqa: N815 - likewise

    def _answer(self, kind: str, content: bytes) -> None:
        self.send_response(HTTPStatus.OK)
        self.send_header("Content-Type", kind)
        if "gzip" in self.headers.get("Accept-Encoding", ""):
            content = gzip.compress(content, compresslevel=1)
            self.send_header("Content-Encoding", "gzip")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if self.command != "HEAD":
            with suppress(OSError):  # the client did not wait for it
                self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        """Print nothing: standard error belongs to the program."""
