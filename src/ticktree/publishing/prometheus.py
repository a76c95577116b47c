"""The page that Prometheus reads whenever it wants to know, and the server that it reads it from."""

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
from ticktree.publishing.snapshots import Ratchet, RunSnapshot, RunSnapshots, numbers, started

_PROTOBUF = "application/vnd.google.protobuf"
_TEXT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
# A loop's sums do restart when its warm-up ends.
_FALL = ("loop_",)


class Page:
    """What is served: the newest snapshot, written once for all requests before there is a newer one.

    `cost` returns the seconds of processor time that the calling thread has used.
    """

    def __init__(
        self, snapshots: RunSnapshots, run_id: str, cost: Callable[[], float] = time.thread_time
    ) -> None:
        self._snapshots = snapshots
        self._run_id = run_id
        self._cost = cost
        self._lock = threading.Lock()
        self._ratchet = Ratchet()
        self._written_of: RunSnapshot | None = None
        self._written: dict[str, bytes] = {}

    def written(self, accepted: str) -> tuple[str, bytes]:
        """Return the page's type and content for a reader that accepts these types, as in HTTP's Accept."""
        kind = PROTOBUF_TYPE if _takes_protobuf(accepted) else _TEXT_TYPE
        snapshot = self._snapshots.latest()
        if snapshot is None:
            return kind, b""
        with self._lock:
            before_s = self._cost()
            if snapshot is not self._written_of:
                self._written_of, self._written = snapshot, {}
            if kind not in self._written:
                write = protobuf if kind == PROTOBUF_TYPE else text
                self._written[kind] = write([*self._families(snapshot)])
            self._snapshots.charge(self._cost() - before_s)
            return kind, self._written[kind]

    def _families(self, snapshot: RunSnapshot) -> Iterator[Family | Durations]:
        self._ratchet.begin(snapshot.generation)
        yield self._info(snapshot)
        for family in (*families(snapshot.profile, snapshot.paths), *_of_snapshot(snapshot)):
            falls = family.kind != "counter" or family.name.startswith(_FALL)
            yield family if isinstance(family, Durations) or falls else self._held(family)

    def _held(self, family: Family) -> Family:
        held: Samples = [
            (labels, self._ratchet.held((family.name, *labels.values()), value))
            for labels, value in family.samples
        ]
        return Family(family.name, family.kind, family.about, held)

    def _info(self, snapshot: RunSnapshot) -> Family:
        names = {"run": self._run_id, "name": title(snapshot.profile), "host": platform.node()}
        labels = {label: literal(name) for label, name in names.items()}
        return Family("run_info", "gauge", "Which run this is; always 1.", [(labels, 1)])


def _of_snapshot(snapshot: RunSnapshot) -> Iterator[Family]:
    for number in numbers(snapshot):
        is_time, is_sum = number.unit == "ns", number.kind == "sum"
        name = number.name.replace(".", "_") + "_seconds" * is_time + "_total" * is_sum
        samples: Samples = [
            ({number.label: literal(key)} if number.label else {}, seconds(value) if is_time else value)
            for key, value in number.values.items()
        ]
        yield Family(name, "counter" if is_sum else "gauge", number.about, samples)


def _takes_protobuf(accepted: str) -> bool:
    """Whether it is what the reader would like best: Prometheus asks for it where it keeps native histograms."""
    best, quality = "", 0.0
    for one in accepted.lower().split(","):
        name, *parameters = (part.strip() for part in one.split(";"))
        fields = dict(parameter.partition("=")[::2] for parameter in parameters)
        kind = (name, fields.get("proto"), fields.get("encoding"))
        is_known = kind == (_PROTOBUF, "io.prometheus.client.metricfamily", "delimited")
        try:
            wanted = float(fields.get("q") or 1)
        except ValueError:
            continue
        if wanted > quality and (is_known or name in ("text/plain", "text/*", "*/*")):
            best, quality = name, wanted
    return best == _PROTOBUF


PATH = "/metrics"
_HOME = f'<!DOCTYPE html><title>ticktree</title><a href="{PATH}">{PATH}</a>\n'.encode()
# For a whole request, from its acceptance to the last byte of the answer. A client that sends nothing, sends
# one byte at a time, or does not read, is not waited for; where there is no room, the oldest connection is
# closed.
_PATIENCE_S = 10.0
_READERS_AT_ONCE = 8
_LOOK_UP_EVERY_S = 0.2


class Server(ThreadingHTTPServer):
    """Serves a page at a port that is taken already: its socket becomes the server's."""

    daemon_threads = True
    block_on_close = False

    def __init__(self, listening: socket.socket, page: Page) -> None:
        super().__init__(("", 0), _Handler, bind_and_activate=False)
        self.socket.close()
        self.socket = listening
        self.page = page
        self._lock = threading.Lock()
        self._readers: dict[socket.socket, float] = {}  # until when each may take, the first first
        self._answered: set[socket.socket] = set()  # those whose request is whole

    def begin(self) -> None:
        """Begin to serve."""
        started(partial(self.serve_forever, _LOOK_UP_EVERY_S), "prometheus")

    def process_request(self, request: object, client_address: object) -> None:
        """Accept a connection; where there is no room, in place of the oldest."""
        assert isinstance(request, socket.socket)
        with self._lock:
            if len(self._readers) >= _READERS_AT_ONCE:
                asking = (reader for reader in self._readers if reader not in self._answered)
                self._hang_up(next(asking, next(iter(self._readers))))
            self._readers[request] = time.monotonic() + _PATIENCE_S
        super().process_request(request, client_address)

    def process_request_thread(self, request: object, client_address: object) -> None:
        """Answer, and make room again."""
        assert isinstance(request, socket.socket)
        try:
            super().process_request_thread(request, client_address)
        finally:
            with self._lock:
                self._readers.pop(request, None)
                self._answered.discard(request)

    def service_actions(self) -> None:
        """Hang up on those whose time is over, now and then."""
        now = time.monotonic()
        with self._lock:
            for request in [reader for reader, until in self._readers.items() if until < now]:
                self._hang_up(request)

    def answer(self, request: socket.socket) -> None:
        """Note that a request is complete: incomplete ones are closed first."""
        with self._lock:
            self._answered.add(request)

    def _hang_up(self, request: socket.socket) -> None:
        """Drop a reader: its thread, wherever it waits, ends at once and closes the socket."""
        del self._readers[request]
        with suppress(OSError):  # it went by itself
            request.shutdown(socket.SHUT_RDWR)

    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing: a reader that went away is no matter of the program's user."""


class _Handler(BaseHTTPRequestHandler):
    server: Server
    server_version = "ticktree"
    sys_version = ""
    timeout = _PATIENCE_S

    def do_GET(self) -> None:
        """Answer."""
        self.server.answer(self.request)
        path = self.path.partition("?")[0]
        if path == PATH:
            self._answer(*self.server.page.written(self.headers.get("Accept", "")))
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
            with suppress(OSError):  # they did not wait for it
                self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        """Say nothing: standard error is the program's."""
