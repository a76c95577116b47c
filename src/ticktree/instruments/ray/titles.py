"""Titles: what was called, by the references that its results have."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

_MOST = 16384
# Of a task's id, which ends with the actor's; of a task of no actor all ones, and the job.
_ACTOR = slice(8, 24)

Key = bytes | str


class Titles:
    """The last so many calls made here."""

    def __init__(self) -> None:
        self._titles: dict[bytes, str] = {}

    def note(self, made: Any, title: str) -> None:
        """Keeps what the results of a call are of.

        Args:
            made: What the call returned: a reference, a list of them, or nothing.
            title: What was called.
        """
        ref = made[0] if isinstance(made, list) and made else made
        task = _task_of(ref)
        if task is None:
            return
        if len(self._titles) >= _MOST:
            for old in list(self._titles)[: _MOST // 2]:
                self._titles.pop(old, None)
        self._titles[task] = short(title)

    def of(self, refs: Iterable[Any]) -> tuple[str, set[Key]]:
        """What some references are of: its title, and by whose signals it may be known that they came.

        Args:
            refs: References. Their title is "" where that is not known, or where there are several.
        """
        names: set[str] = set()
        keys: set[Key] = set()
        for ref in refs:
            task = _task_of(ref)
            if task is None:
                names.add("")
                continue
            title = self._titles.get(task, "")
            names.add(title)
            is_actors = any(byte != 0xFF for byte in task[8:20])
            if is_actors or title:
                keys.add(task[_ACTOR] if is_actors else title)
        return (names.pop() if len(names) == 1 else ""), keys


def short(name: str) -> str:
    """A function's name without the functions that it was defined in."""
    return name.rpartition("<locals>.")[2]


def _task_of(ref: Any) -> bytes | None:
    try:
        task: bytes = ref.task_id().binary()
    except Exception:  # whatever it is, it is no reference to a call's result
        return None
    return task


titles = Titles()
