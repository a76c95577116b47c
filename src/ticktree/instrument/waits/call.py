"""A call that may block, recorded as a wait."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ticktree.recorder import Recorder

Key = int | str | tuple[Any, ...]


class Wait:
    """Calls of one kind.

    Args:
        recorder: Where they are recorded.
        name: Of their row.
        channel: What ends them, as it is signalled.
        own: Whether only threads of this process can signal it.
    """

    __slots__ = ("_enter", "_leave", "_over", "_section", "channel", "own")

    def __init__(self, recorder: Recorder, name: str, channel: str, *, own: bool = False) -> None:
        self._section = recorder.section(name, wait=True)
        self._enter, self._leave, self._over = recorder.wait_enter, recorder.wait_leave, recorder.wait_over
        self.channel = channel
        self.own = own

    def call(
        self,
        function: Callable[..., Any],
        key: Callable[[Any], Key | None],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        came: Callable[[Any], Any] | None = None,
    ) -> Any:
        """Calls a function that may block.

        Args:
            function: What blocks.
            key: Of the channel, found from the first argument once the wait is over; None where it cannot be told.
            args: Its arguments.
            kwargs: Its arguments by name.
            came: Whether what it returned is what was waited for; by default, whatever it is.
        """
        token = self._enter(self._section)
        if token is None:
            return function(*args, **kwargs)
        try:
            result = function(*args, **kwargs)
        except BaseException:
            self._leave(self._section, token)
            raise
        found = key(args[0]) if came is None or came(result) else None
        if found is None:
            self._leave(self._section, token)
        else:
            self._over(self._section, token, self.channel, found, self.own)
        return result
