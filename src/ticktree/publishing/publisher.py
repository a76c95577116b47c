"""All that publishes one run: begun once the program runs, ended with its last totals."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from ticktree.publishing.otlp.destination import Destination, pairs
from ticktree.publishing.prometheus.door import Door

if TYPE_CHECKING:
    from ticktree.profile import Profile
    from ticktree.publishing.looks import Looks
    from ticktree.publishing.otlp.sender import Sender
    from ticktree.run.finishing import RunDirectory


class Publisher:
    """Publishes a run.

    Args:
        destination: where to send it; None for nowhere.
        every_s: how often.
        door: where it can be read; None for nowhere.
        environment: variables, of which OpenTelemetry's say whose run it is.
        say: tells the user a sentence, at once and without waiting for anybody.

    Raises:
        TicktreeError: A variable says what cannot be meant.
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
        self._looks: Looks | None = None
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
        from ticktree.publishing.looks import Looks

        self._looks = Looks(run)
        if self._door is not None:
            from ticktree.publishing.prometheus.page import Page

            self._door.open(Page(self._looks, run.id))
        if self._destination is not None:
            sender = self._sender_to(self._destination, run, self._looks)
            sender.begin()
            self._sender = sender

    def _sender_to(self, destination: Destination, run: RunDirectory, looks: Looks) -> Sender:
        from ticktree.publishing.otlp.points import Points, resource
        from ticktree.publishing.otlp.sender import Sender

        points = Points(run.manifest.started_ns, resource(run.id, self._attributes), self._name)
        return Sender(destination, self._every_s, looks, points, self._say)

    def over(self, profile: Profile | None) -> None:
        """Publish what was recorded in all; None where that cannot be read, and the newest look has to do."""
        self._is_over = True
        if self._looks is not None:
            last = None if profile is None else self._looks.over(profile)
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
