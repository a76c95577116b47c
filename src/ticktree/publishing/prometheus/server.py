"""The server: HTTP, by threads of this process."""

from __future__ import annotations

import gzip
import socket
import threading
import time
from contextlib import suppress
from functools import partial
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from ticktree.publishing.prometheus.page import Page
from ticktree.publishing.threads import started

PATH = "/metrics"
_HOME = f'<!DOCTYPE html><title>ticktree</title><a href="{PATH}">{PATH}</a>\n'.encode()
# For a whole request, from being let in to the last byte of the answer. Whoever says nothing, says it one byte at a
# time, or does not read, is not waited for; where there is no room, the one who came first leaves.
_PATIENCE_S = 10.0
_READERS_AT_ONCE = 8
_LOOK_UP_EVERY_S = 0.2


class Server(ThreadingHTTPServer):
    """Serves a page at a port that is taken already.

    Args:
        listening: the port's socket, which becomes the server's.
        page: what is served.
    """

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
        """Let somebody in; where there is no room, in place of who has been asking longest."""
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
        """Note that somebody's request is whole: others leave first."""
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
