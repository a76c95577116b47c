"""All that publishes one run: begun once the program runs, ended with its last totals."""

from __future__ import annotations

import fcntl
import os
import socket
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from ticktree.errors import TicktreeError
from ticktree.publishing.otlp_destination import Destination, pairs

if TYPE_CHECKING:
    from ticktree.profile import Profile
    from ticktree.publishing.otlp import Sender
    from ticktree.publishing.prometheus import Page, Server
    from ticktree.publishing.snapshots import RunSnapshots
    from ticktree.run.finishing import RunDirectory


class Publisher:
    """Sends a run to a destination every so often, and lets it be read at a door, if these are given.

    Args:
        environment: Variables, of which OpenTelemetry's say whose run it is.
        say: Tells the user a sentence, at once and without waiting for anybody.
    """

    def __init__(
        self,
        destination: Destination | None,
        every_s: float,
        door: Door | None,
        environment: Mapping[str, str],
        say: Callable[[str], None],
    ) -> None:
        self._destination = destination
        self._every_s = every_s
        self._door = door
        self._say = say
        variable = "OTEL_RESOURCE_ATTRIBUTES"
        self._attributes = pairs(environment.get(variable, ""), variable) if destination else {}
        named = self._attributes.pop("service.name", "")
        self._name = environment.get("OTEL_SERVICE_NAME", "") or named
        self._sender: Sender | None = None
        self._snapshots: RunSnapshots | None = None
        self._is_over = False

    @property
    def url(self) -> str:
        """Where it can be read; "" for nowhere."""
        return self._door.url if self._door else ""

    def begin(self, run: RunDirectory) -> None:
        """Begin: by threads of this process, which has started the program already."""
        try:
            self._begin(run)
        except Exception as error:  # Even a mistake of ours is not the program's; but it is not kept back.
            self._say(f"the run is not published: {error or type(error).__name__}")

    def _begin(self, run: RunDirectory) -> None:
        # Slow to import, and now the program runs.
        from ticktree.publishing.snapshots import RunSnapshots

        self._snapshots = RunSnapshots(run)
        if self._door is not None:
            from ticktree.publishing.prometheus import Page

            self._door.open(Page(self._snapshots, run.id))
        if self._destination is not None:
            from ticktree.publishing.otlp import Points, Sender, resource

            points = Points(run.manifest.started_ns, resource(run.id, self._attributes), self._name)
            sender = Sender(self._destination, self._every_s, self._snapshots, points, self._say)
            sender.begin()
            self._sender = sender

    def over(self, profile: Profile | None) -> None:
        """Publish what was recorded in all; None where that cannot be read, and the newest snapshot has to do."""
        self._is_over = True
        if self._snapshots is not None:
            last = None if profile is None else self._snapshots.over(profile)
            if self._sender is not None:
                self._sender.end(last)

    def close(self) -> None:
        """Wait for what is still on its way, not for ever, and serve no more."""
        if not self._is_over:
            self.over(None)
        if self._sender is not None:
            self._sender.wait()
        if self._door is not None:
            self._door.close()


class Door:
    """A port of this machine that is taken; a client waits until there is a page.

    Args:
        address: PORT or HOST:PORT; port 0 for any that is free.

    Raises:
        TicktreeError: It is neither, or cannot be had.
    """

    def __init__(self, address: str) -> None:
        host, colon, port = address.rpartition(":")
        host = host.removeprefix("[").removesuffix("]") if colon else "127.0.0.1"
        if not (port.isascii() and port.isdigit() and int(port) < 1 << 16 and host):
            raise TicktreeError(f"--prometheus {address}: say PORT, or HOST:PORT such as 0.0.0.0:9464")
        named = f"[{host}]" if ":" in host else host
        try:
            self._socket = _listening(host, int(port))
        except OSError as error:
            reason = os.strerror(error.errno) if error.errno and error.errno > 0 else error.strerror
            raise TicktreeError(f"--prometheus {named}:{int(port)}: {reason or error}") from None
        self.url = f"http://{named}:{self._socket.getsockname()[1]}/metrics"
        self._server: Server | None = None

    def open(self, page: Page) -> None:
        """Begin to serve, by threads of this process."""
        from ticktree.publishing.prometheus import Server  # slow to import, and now the program runs

        self._server = Server(self._socket, page)
        self._server.begin()

    def close(self) -> None:
        """Serve no more."""
        if self._server is not None:
            self._server.shutdown()
        self._socket.close()


def _listening(host: str, port: int) -> socket.socket:
    family, kind, protocol, _, where = socket.getaddrinfo(
        host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )[0]
    with socket.socket(family, kind, protocol) as taken:
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        taken.bind(where)
        taken.listen()
        # Never with the number of a standard stream that was closed: that is the program's, and stays closed.
        return socket.socket(fileno=fcntl.fcntl(taken, fcntl.F_DUPFD_CLOEXEC, 3))
