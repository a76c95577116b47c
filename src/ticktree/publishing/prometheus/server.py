"""The server: HTTP on a port that is taken before the program starts."""

from __future__ import annotations

import fcntl
import gzip
import os
import socket
import threading
from contextlib import suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import NamedTuple

from ticktree.errors import TicktreeError
from ticktree.publishing.prometheus.page import Page

LOOPBACK = "127.0.0.1"
PATH = "/metrics"
_HOME = f'<!DOCTYPE html><title>ticktree</title><a href="{PATH}">{PATH}</a>\n'.encode()
# Whoever asks and then says nothing, or does not read, is not waited for; nor do they keep others out for long.
_PATIENCE_S = 10.0
_READERS_AT_ONCE = 8
_LOOK_UP_EVERY_S = 0.2


class Address(NamedTuple):
    """Where to listen.

    Attributes:
        host: a name or an address of this machine.
        port: 0 for any that is free.
    """

    host: str
    port: int

    @classmethod
    def parsed(cls, text: str) -> Address:
        """Read PORT or HOST:PORT.

        Raises:
            TicktreeError: It is neither.
        """
        host, colon, port = text.rpartition(":")
        host = host.removeprefix("[").removesuffix("]") if colon else LOOPBACK
        if not (port.isascii() and port.isdigit() and int(port) < 1 << 16 and host):
            raise TicktreeError(f"--prometheus {text}: say PORT, or HOST:PORT such as 0.0.0.0:9464")
        return cls(host, int(port))

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


class Door:
    """A port that is taken; who knocks waits until there is a page.

    Args:
        address: where.

    Raises:
        TicktreeError: It cannot be had.
    """

    def __init__(self, address: Address) -> None:
        try:
            self._socket = _listening(address)
        except OSError as error:
            reason = os.strerror(error.errno) if error.errno and error.errno > 0 else error.strerror
            raise TicktreeError(f"--prometheus {address}: {reason or error}") from None
        self.address = Address(address.host, self._socket.getsockname()[1])
        self._server: _Server | None = None

    @property
    def url(self) -> str:
        """Where the page is."""
        return f"http://{self.address}{PATH}"

    def open(self, page: Page) -> None:
        """Begin to serve, by threads of this process."""
        self._server = _Server(self._socket, page)
        serve = self._server.serve_forever
        threading.Thread(target=serve, args=(_LOOK_UP_EVERY_S,), name="prometheus", daemon=True).start()

    def close(self) -> None:
        """Serve no more."""
        if self._server is not None:
            self._server.shutdown()
        self._socket.close()


def _listening(address: Address) -> socket.socket:
    family, kind, protocol, _, where = socket.getaddrinfo(
        address.host, address.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )[0]
    with socket.socket(family, kind, protocol) as taken:
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        taken.bind(where)
        taken.listen()
        # Never with the number of a standard stream that was closed: that is the program's, and stays closed.
        return socket.socket(fileno=fcntl.fcntl(taken, fcntl.F_DUPFD_CLOEXEC, 3))


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def __init__(self, listening: socket.socket, page: Page) -> None:
        super().__init__(("", 0), _Handler, bind_and_activate=False)
        self.socket.close()
        self.socket = listening
        self.page = page
        self._room = threading.Semaphore(_READERS_AT_ONCE)

    def process_request(self, request: object, client_address: object) -> None:
        assert isinstance(request, socket.socket)
        if self._room.acquire(blocking=False):
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def process_request_thread(self, request: object, client_address: object) -> None:
        try:
            super().process_request_thread(request, client_address)  # type: ignore[arg-type]
        finally:
            self._room.release()

    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing: a reader that went away is no matter of the program's user."""


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    server_version = "ticktree"
    sys_version = ""
    timeout = _PATIENCE_S

    def do_GET(self) -> None:  # noqa: N802 - the library calls it so
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
