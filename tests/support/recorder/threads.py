"""Threads that run one at a time: each gets the processor and gives it back."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from support.recorder.call_stacks import CallStack


class Lane:
    """A thread that plays a body; it waits until it is resumed.

    Args:
        play: Called with the body and the stack.
        body: The steps.
        stack: Its calls.
    """

    def __init__(self, play: Callable[[Any, CallStack], None], body: Any, stack: CallStack) -> None:
        self.stack = stack
        stack.lane = self
        stack.is_thread = True
        self._go, self._back = threading.Semaphore(0), threading.Semaphore(0)
        self._over = False
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, args=(play, body))
        self._thread.start()

    def resume(self, _: CallStack) -> None:
        """Lets the thread run until it hands over, and raises what it failed with."""
        if self._over:
            return
        self._go.release()
        self._back.acquire()
        if self._over:
            self._thread.join()
        if self._error:
            error, self._error = self._error, None
            raise error

    def close(self, consumer: CallStack) -> None:
        """Lets it run to its end."""
        while not self._over:
            self.resume(consumer)

    def hand_over(self) -> None:
        """Called in the thread: lets the others run until it is resumed."""
        self._back.release()
        self._go.acquire()

    def _run(self, play: Callable[[Any, CallStack], None], body: Any) -> None:
        self._go.acquire()
        try:
            play(body, self.stack)
        except BaseException as error:
            self._error = error
        finally:
            for thing in [*self.stack.things, *self.stack.tasks]:
                with suppress(Exception):  # what it raises at its end is no concern of this thread's
                    thing.close(self.stack)
            self._over = True
            self._back.release()
