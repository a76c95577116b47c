"""Publisher: starts to publish a run once its program runs, and ends with its last totals."""

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
    """Sends a run to a destination at intervals, and serves it at a door, if these are given.

    Args:
        environment: Environment variables, of which OpenTelemetry's name the service.
        warn: Prints a sentence for the user without blocking.
    """

    def __init__(
        self,
        destination: Destination | None,
        every_s: float,
        door: Listener | None,
        environment: Mapping[str, str],
        warn: Callable[[str], None],
    ) -> None:
        self._destination = destination
        self._every_s = every_s
        self._door = door
        self._warn = warn
        variable = "OTEL_RESOURCE_ATTRIBUTES"
        self._attributes = pairs(environment.get(variable, ""), variable) if destination else {}
        service_name = self._attributes.pop("service.name", "")
        self._service_name = environment.get("OTEL_SERVICE_NAME", "") or service_name
        self._sender: Sender | None = None
        self._snapshots: RunSnapshots | None = None
        self._is_over = False

    @property
    def url(self) -> str:
        """The URL of the page; "" without a door."""
        return self._door.url if self._door else ""

    def begin(self, run: RunDirectory) -> None:
        """Start to publish, in threads of this process, which has started the program already."""
        try:
            self._begin(run)
        except (
            Exception
        ) as error:  # Even a bug of ticktree must not stop the program, but the user is warned.
            self._warn(f"the run is not published: {error or type(error).__name__}")

    def _begin(self, run: RunDirectory) -> None:
        # Imported here, while the program runs, because it is slow.
        from ticktree.publishing.snapshots import RunSnapshots

        self._snapshots = RunSnapshots(run)
        if self._door is not None:
            from ticktree.publishing.prometheus import Page

            self._door.open(Page(self._snapshots, run.id))
        if self._destination is not None:
            from ticktree.publishing.otlp import RequestBuilder, Sender, resource

            attributes = resource(run.id, self._attributes)
            builder = RequestBuilder(run.manifest.started_ns, attributes, self._service_name)
            self._sender = Sender(self._destination, self._every_s, self._snapshots, builder, self._warn)
            self._sender.begin()

    def over(self, profile: Profile | None) -> None:
        """Publish the final profile; if it cannot be read and is None, the newest snapshot."""
        self._is_over = True
        if self._snapshots is not None:
            last = None if profile is None else self._snapshots.finish(profile)
            if self._sender is not None:
                self._sender.end(last)

    def close(self) -> None:
        """Wait for pending requests, for a limited time, and stop to serve."""
        if not self._is_over:
            self.over(None)
        if self._sender is not None:
            self._sender.wait()
        if self._door is not None:
            self._door.close()


class Listener:
    """A port of this machine that listens; clients wait until there is a page.

    Args:
        address: PORT or HOST:PORT; port 0 for any free port.

    Raises:
        TicktreeError: The address is invalid or not available.
    """

    def __init__(self, address: str) -> None:
        host, colon, port = address.rpartition(":")
        host = host.removeprefix("[").removesuffix("]") if colon else "127.0.0.1"
        if not (port.isascii() and port.isdigit() and int(port) < 1 << 16 and host):
            raise TicktreeError(f"--prometheus {address}: say PORT, or HOST:PORT such as 0.0.0.0:9464")
        url_host = f"[{host}]" if ":" in host else host
        try:
            self._socket = _listen(host, int(port))
        except OSError as error:
            reason = os.strerror(error.errno) if error.errno and error.errno > 0 else error.strerror
            raise TicktreeError(f"--prometheus {url_host}:{int(port)}: {reason or error}") from None
        self.url = f"http://{url_host}:{self._socket.getsockname()[1]}/metrics"
        self._server: Server | None = None

    def open(self, page: Page) -> None:
        """Start to serve, in threads of this process."""
        from ticktree.publishing.prometheus import Server  # slow to import, so only now that the program runs

        self._server = Server(self._socket, page)
        self._server.begin()

    def close(self) -> None:
        """Stop to serve."""
        if self._server is not None:
            self._server.shutdown()
        self._socket.close()


def _listen(host: str, port: int) -> socket.socket:
    family, kind, protocol, _, socket_address = socket.getaddrinfo(
        host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )[0]
    with socket.socket(family, kind, protocol) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(socket_address)
        listener.listen()
        # Never at the number of a closed standard stream: that is the program's, and must stay closed.
        return socket.socket(fileno=fcntl.fcntl(listener, fcntl.F_DUPFD_CLOEXEC, 3))
