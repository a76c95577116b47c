"""The server: HTTP, by threads of this process."""

from __future__ import annotations

import gzip
import socket
import threading
from contextlib import suppress
from functools import partial
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from ticktree.publishing.prometheus.page import Page
from ticktree.publishing.threads import started

PATH = "/metrics"
_HOME = f'<!DOCTYPE html><title>ticktree</title><a href="{PATH}">{PATH}</a>\n'.encode()
# Whoever asks and then says nothing, or does not read, is not waited for; nor do they keep others out for long.
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
        self._room = threading.Semaphore(_READERS_AT_ONCE)

    def begin(self) -> None:
        """Begin to serve."""
        started(partial(self.serve_forever, _LOOK_UP_EVERY_S), "prometheus")

    def process_request(self, request: object, client_address: object) -> None:
        """Let somebody in, if there is room."""
        assert isinstance(request, socket.socket)
        if self._room.acquire(blocking=False):
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def process_request_thread(self, request: object, client_address: object) -> None:
        """Answer, and make room again."""
        try:
            super().process_request_thread(request, client_address)  # type: ignore[arg-type]
        finally:
            self._room.release()

    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing: a reader that went away is no matter of the program's user."""


class _Handler(BaseHTTPRequestHandler):
    server: Server
    server_version = "ticktree"
    sys_version = ""
    timeout = _PATIENCE_S

    def do_GET(self) -> None:
        """Answer."""
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
