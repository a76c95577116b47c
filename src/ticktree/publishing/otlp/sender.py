"""Sends what was recorded so far every so often, and in the end all of it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from ticktree.outputs.otlp.wire import binary
from ticktree.publishing.looks import Look, Looks
from ticktree.publishing.otlp.client import Client, Outcome
from ticktree.publishing.otlp.destination import Destination
from ticktree.publishing.otlp.pace import Pace
from ticktree.publishing.otlp.points import Points
from ticktree.publishing.threads import started

# How long the end of `ticktree run` may be put off for the last totals.
LAST_PATIENCE_S = 5.0


class Sender:
    """A thread that sends.

    Args:
        destination: where to.
        every_s: how often.
        looks: where looks come from.
        points: what turns them into requests.
        say: tells the user a sentence.
    """

    def __init__(
        self,
        destination: Destination,
        every_s: float,
        looks: Looks,
        points: Points,
        say: Callable[[str], None],
    ) -> None:
        self._url = destination.url
        self._client = Client(destination)
        self._every_s = every_s
        self._looks = looks
        self._points = points
        self._say = say
        self._said: set[str] = set()
        self._ended = threading.Event()
        self._last: Look | None = None
        self._taken: Look | None = None

    def begin(self) -> None:
        """Begin to send."""
        self._thread = started(self._send_until_the_end, "otlp")

    def end(self, last: Look | None) -> None:
        """Send the last look now, or the newest where there is no last one; `wait` waits for it."""
        self._last = last
        self._give_up_s = time.monotonic() + LAST_PATIENCE_S
        self._ended.set()

    def wait(self) -> None:
        """Wait for the last look to be sent, not for ever."""
        self._thread.join(max(0.0, self._give_up_s - time.monotonic()))
        if self._thread.is_alive():
            self._say(f"--otlp {self._url}: no answer in time; it may not have the last totals")

    def _send_until_the_end(self) -> None:
        pace = Pace(self._every_s, time.monotonic())
        while not self._ended.wait(max(0.0, pace.due_s - time.monotonic())):
            outcome = self._send(self._looks.latest())
            self._tell(outcome, "it is tried again")
            pace.sent(time.monotonic(), outcome)
        left_s = self._give_up_s - time.monotonic()
        outcome = self._send(self._last or self._looks.latest(), left_s)
        if outcome.trouble:
            self._said.clear()
        self._tell(outcome, "it does not have the last totals")

    def _send(self, look: Look | None, patience_s: float = 3600.0) -> Outcome:
        # While reading rests there may be nothing new.
        if look is None or look is self._taken or patience_s <= 0:
            return Outcome()
        before_s = time.thread_time()
        request = binary(self._points.request(look))
        self._looks.charge(time.thread_time() - before_s)
        outcome = self._client.send(request, patience_s)
        if not outcome.trouble:
            self._taken = look
        return outcome

    def _tell(self, outcome: Outcome, so: str) -> None:
        """Say what is wrong, once: a sink that is down all night fills no log."""
        if outcome.trouble and outcome.trouble not in self._said:
            self._said.add(outcome.trouble)
            self._say(f"--otlp {self._url}: {outcome.trouble}; {so}")
