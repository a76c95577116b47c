"""Writers: the threads of a run's processes, what they do, and which of them set its length."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from ticktree.profile import path as paths
from ticktree.profile.fields import FLAG, TEXT, WHOLE, WHOLE_OR_NULL
from ticktree.profile.table import Mergeable, any_of, largest, same, smallest, stored


@dataclass(frozen=True, slots=True, kw_only=True)
class Writer(Mergeable):
    """Who wrote part of a profile: a thread, or several short-lived ones that were merged into one.

    What is known of one writer differs where it was read before it had a name: a name comes after "".

    Attributes:
        id: `PROCESS/TREE`: the process, as "PID-START", and which of its threads. A process that continued as
            another program is "PID-START-2" then.
        run: id of the run it belongs to.
        process_name: the process's name, else the script or module it runs.
        thread_name: the thread's name, cut to 47 bytes.
        role: what it does ("actor", "learner"); "" where nothing is known.
        is_main: whether it is its process's main thread.
        parent: path of the node that was open where it was started; "" where none is known.
        started_ns: first sign of its process's life, since the run began; None where not known.
        last_ns: the last sign of it.
        members: how many processes it stands for.
        gc_ns: of a main thread: how long the garbage collector stopped its process.
        host: the machine it ran on; "" where that is the only one of the run.
    """

    id: str = stored(same, TEXT)
    run: str = stored(largest, TEXT, default="")
    process_name: str = stored(largest, TEXT, default="")
    thread_name: str = stored(largest, TEXT, default="")
    role: str = stored(largest, TEXT, default="")
    is_main: bool = stored(any_of, FLAG, default=False)
    parent: str = stored(largest, TEXT, default=paths.ROOT)
    started_ns: int | None = stored(smallest, WHOLE_OR_NULL, default=None)
    last_ns: int | None = stored(largest, WHOLE_OR_NULL, default=None)
    members: int = stored(largest, WHOLE, default=1)
    gc_ns: int = stored(largest, WHOLE, optional=True, least=0, default=0)
    host: str = stored(largest, TEXT, optional=True, default="")

    @property
    def process(self) -> str:
        """The id of the process: the writer's own, before the slash."""
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


def by_process(writers: Iterable[Writer]) -> Iterator[tuple[Writer, list[Writer]]]:
    """Yield the main thread of each process, else its first by id, and all its threads in their order."""
    processes: dict[tuple[str, str], list[Writer]] = {}
    for writer in writers:
        processes.setdefault((writer.run, writer.process), []).append(writer)
    for threads in processes.values():
        yield min(threads, key=lambda thread: (not thread.is_main, thread.id)), threads


class CriticalPlace(NamedTuple):
    """Where the critical path went. A profile keeps the nanoseconds of each place, which merge by adding.

    Attributes:
        writer: id of the writer that everything else waited for.
        path: of the node it was in.
    """

    writer: str
    path: str
