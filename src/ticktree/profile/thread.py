"""The threads of a run's processes, their roles, and which of them set the run's length."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from ticktree.profile import path as paths
from ticktree.profile.fields import FLAG, INT, INT_OR_NULL, TEXT
from ticktree.profile.table import Mergeable, any_of, column, largest, same, smallest


@dataclass(frozen=True, slots=True, kw_only=True)
class Thread(Mergeable):
    """A thread that a profile has records of, or several short-lived threads that were merged into one.

    Its records may be read before it has a name: in a merge a name wins over "".

    Attributes:
        id: `PROCESS/TREE`: the process, as "PID-START", and the number of the thread in it. If the process continued
            as another program, "PID-START-2".
        run: id of its run.
        process_name: the process's name, else the script or module it runs.
        thread_name: the thread's name, cut to 47 bytes.
        role: what it does ("actor", "learner"); "" if unknown.
        is_main: whether it is its process's main thread.
        parent: path of the node that was open where it was started; "" if unknown.
        started_ns: first sign of life of its process, since the run began; None if unknown.
        last_ns: last sign of life.
        members: how many processes it represents.
        gc_ns: of a main thread: how long the garbage collector stopped its process.
        host: the machine it ran on; "" if the run has only one.
    """

    id: str = column(same, TEXT)
    run: str = column(largest, TEXT, default="")
    process_name: str = column(largest, TEXT, default="")
    thread_name: str = column(largest, TEXT, default="")
    role: str = column(largest, TEXT, default="")
    is_main: bool = column(any_of, FLAG, default=False)
    parent: str = column(largest, TEXT, default=paths.ROOT)
    started_ns: int | None = column(smallest, INT_OR_NULL, default=None)
    last_ns: int | None = column(largest, INT_OR_NULL, default=None)
    members: int = column(largest, INT, default=1)
    gc_ns: int = column(largest, INT, optional=True, minimum=0, default=0)
    host: str = column(largest, TEXT, optional=True, default="")

    @property
    def process(self) -> str:
        """The id of the process: the part of the thread's id before the slash."""
        return self.id.partition("/")[0]

    def problems(self) -> Iterator[str]:
        """Yield each rule of the model that is broken here."""
        yield from Mergeable.problems(self)
        if self.members < 1:
            yield "it has no members"
        if self.started_ns is None or self.last_ns is None:
            if self.started_ns != self.last_ns:
                yield "of the first and the last sign of its life only one is known"
        elif not 0 <= self.started_ns <= self.last_ns:
            yield f"its life, from {self.started_ns} to {self.last_ns} ns, cannot be"


def by_process(threads: Iterable[Thread]) -> Iterator[tuple[Thread, list[Thread]]]:
    """Yield the main thread of each process, else its first by id, and all its threads in their order."""
    processes: dict[tuple[str, str], list[Thread]] = {}
    for thread in threads:
        processes.setdefault((thread.run, thread.process), []).append(thread)
    for members in processes.values():
        yield min(members, key=lambda thread: (not thread.is_main, thread.id)), members


class CriticalNode(NamedTuple):
    """A node on the critical path. A profile contains the nanoseconds of each, which merge by adding.

    Attributes:
        thread: id of the thread that all others waited for.
        path: of the node that was open there.
    """

    thread: str
    path: str
