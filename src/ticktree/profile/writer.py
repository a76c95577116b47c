"""Writer: one thread of one process, and what it does in the run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ticktree.profile import path as paths
from ticktree.profile.merging import largest, smallest


@dataclass(frozen=True, slots=True, kw_only=True)
class Writer:
    """Who wrote part of a profile: a thread, or several short-lived ones after another that were added up as one.

    Attributes:
        id: `PROCESS/TREE`: the process, as "PID-START", and which of its threads. A process that went on as another
            program is "PID-START-2" then. The same in all writers merged.
        run: id of the run it belongs to.
        process_name: the process's name, else the script or module it runs.
        thread_name: the thread's name, cut to 47 bytes.
        role: what it does ("actor", "learner"); "" where nothing is known.
        is_main: whether it is its process's main thread.
        parent: path of the node that was open where it was started; "" where none is known.
        started_ns: first sign of its process's life, since the run began; None where not known. Merges by the minimum.
        last_ns: the last sign of it. Merges by the maximum.
        members: how many processes were added up in it. Merges by the maximum.
        host: the machine it ran on; "" where that is the only one of the run.
    """

    id: str
    run: str = ""
    process_name: str = ""
    thread_name: str = ""
    role: str = ""
    is_main: bool = False
    parent: str = paths.ROOT
    started_ns: int | None = None
    last_ns: int | None = None
    members: int = 1
    host: str = ""

    def __add__(self, other: Writer) -> Writer:
        if self.id != other.id:
            raise ValueError(f"different writers do not merge: {self.id!r} and {other.id!r}")
        # What is said of one writer differs where it was read before it had a name: a name comes after "".
        return Writer(
            id=self.id,
            run=max(self.run, other.run),
            process_name=max(self.process_name, other.process_name),
            thread_name=max(self.thread_name, other.thread_name),
            role=max(self.role, other.role),
            is_main=self.is_main or other.is_main,
            parent=max(self.parent, other.parent),
            started_ns=smallest(self.started_ns, other.started_ns),
            last_ns=largest(self.last_ns, other.last_ns),
            members=max(self.members, other.members),
            host=max(self.host, other.host),
        )

    @property
    def process(self) -> str:
        """The id of the process: the writer's own, before the slash."""
        return self.id.partition("/")[0]

    def problems(self) -> Iterator[str]:
        """Yield each rule of the model that is broken here."""
        if self.members < 1:
            yield "it stands for no process"
        if self.started_ns is None or self.last_ns is None:
            if self.started_ns != self.last_ns:
                yield "of the first and the last sign of its life only one is known"
        elif not 0 <= self.started_ns <= self.last_ns:
            yield f"its life, from {self.started_ns} to {self.last_ns} ns, cannot be"
