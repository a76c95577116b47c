"""The door: a port that is taken before the program starts."""

from __future__ import annotations

import fcntl
import os
import socket
from typing import TYPE_CHECKING, NamedTuple

from ticktree.errors import TicktreeError

if TYPE_CHECKING:
    from ticktree.publishing.prometheus.page import Page
    from ticktree.publishing.prometheus.server import Server

LOOPBACK = "127.0.0.1"


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
        self._server: Server | None = None

    @property
    def url(self) -> str:
        """Where the page is."""
        return f"http://{self.address}/metrics"

    def open(self, page: Page) -> None:
        """Begin to serve, by threads of this process."""
        from ticktree.publishing.prometheus.server import Server  # slow to import, and now the program runs

        self._server = Server(self._socket, page)
        self._server.begin()

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
