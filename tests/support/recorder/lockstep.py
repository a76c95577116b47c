"""Real threads that run one at a time, step by step on request: the test chooses the interleaving."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from typing import Any


class Puppet:
    """A thread that does what it is told and nothing else.

    Args:
        name: Of the thread.
        starter: Who starts it; None for whoever makes this object.
    """

    def __init__(self, name: str, starter: Puppet | None = None) -> None:
        self._orders: queue.SimpleQueue[Callable[[], Any] | None] = queue.SimpleQueue()
        self._results: queue.SimpleQueue[tuple[Any, BaseException | None]] = queue.SimpleQueue()
        self.thread = threading.Thread(target=self._obey, name=name, daemon=True)
        if starter is None:
            self.thread.start()
        else:
            starter.do(self.thread.start)

    def do(self, order: Callable[[], Any]) -> Any:
        """Has the thread do it, and waits until it has."""
        self._orders.put(order)
        result, error = self._results.get(timeout=500)
        if error is not None:
            raise error
        return result

    def end(self) -> None:
        """Ends the thread."""
        self._orders.put(None)
        self.thread.join(60)

    def _obey(self) -> None:
        while (order := self._orders.get()) is not None:
            try:
                self._results.put((order(), None))
            except BaseException as error:
                self._results.put((None, error))


class Self:
    """The calling thread, told what to do like the others."""

    def do(self, order: Callable[[], Any]) -> Any:
        """Does it."""
        return order()
