"""Samples: which Python code was running while a node's self time passed, as a sampler saw it from outside.

A sample is taken at random moments and never changes an account. It represents the time from one sample to
the next, on average; that time grows where sampling would cost too much, so that samples are weighed by it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any, NamedTuple

from ticktree.profile.fields import COUNTS, WHOLE, Codec, Fields, Object, quoted
from ticktree.profile.table import Mergeable, add, by_key, counts, stored

# What a thread does, in the order in which the native module numbers it.
STATES = ("running", "gil", "lock", "sleep", "io", "blocked", "suspended")
# Why samples were dropped, in the same way.
DROPS = (
    "stacks_that_changed",
    "sections_that_changed",
    "threads_not_readable",
    "samples_without_room",
)
# Fewer tell nothing: a share of 50% may be 30% or 70% then.
LEAST_SAMPLES = 20
_LIMIT = 2**63
# A larger share of late samples makes the shares of waits doubtful.
LATE_SHARE = 0.05
# Facts of a run, found by samples: the loop that it spends its time in, how to mark it, and a function worth a focus.
SAMPLED_LOOP = "sampled.loop"
SAMPLED_LOOP_CODE = "sampled.loop_code"
SAMPLED_FUNCTION = "sampled.function"


class CodeLine(NamedTuple):
    """A line of code that was being executed, or that had called what was.

    Attributes:
        file: as the code object has it.
        line: 0 where it is not known.
    """

    function: str
    file: str
    line: int

    @property
    def place(self) -> str:
        """The line as `train.py:7`, without the folder of its file."""
        return f"{PurePath(self.file).name}:{self.line}"


class SampledStack(NamedTuple):
    """What one sample found of one thread.

    Attributes:
        path: the node whose self time passed.
        thread: empty where it is one of that node's threads; else what to call threads that are in no account.
        state: one of `STATES`; "suspended": a task that waits for its turn, of which no code runs.
        lines: from the call that has the section open, to the innermost.
    """

    path: str
    thread: str
    state: str
    lines: tuple[CodeLine, ...]


@dataclass(frozen=True, slots=True)
class Weight(Mergeable):
    """How often a stack was sampled.

    Attributes:
        ns: of the time that they represent.
    """

    count: int = stored(add, WHOLE, least=1, default=1)
    ns: int = stored(add, WHOLE, least=0, default=0)


def _write_stacks(stacks: Mapping[SampledStack, Weight], _: Mapping[str, int]) -> Object:
    lines = sorted({line for stack in stacks for line in stack.lines})
    numbers = {line: number for number, line in enumerate(lines)}
    rows = [
        [
            stack.path,
            stack.thread,
            stack.state,
            weight.count,
            weight.ns,
            [numbers[line] for line in stack.lines],
        ]
        for stack, weight in sorted(stacks.items())
    ]
    return {"lines": [list(line) for line in lines], "rows": rows}


def _read_stacks(fields: Fields, key: str) -> dict[SampledStack, Weight]:
    table = fields.sub(key)
    lines = [_line(table, value) for value in table.list("lines")]
    stacks: dict[SampledStack, Weight] = {}
    for row in table.list("rows"):
        stack, weight = _row(table, row, lines)
        stacks[stack] = weight
    return stacks


def _line(table: Fields, value: Any) -> CodeLine:
    match value:
        case [str(function), str(file), int(line)] if 0 <= line < _LIMIT:
            pass
        case _:
            table.fail("'lines' should hold a function, a file and the number of a line each")
    return CodeLine(function, file, line)


def _row(table: Fields, row: Any, lines: list[CodeLine]) -> tuple[SampledStack, Weight]:
    match row:
        case [str(path), str(thread), str(state), int(count), int(ns), list(numbers)] if (
            state in STATES
            and 0 < count < _LIMIT
            and 0 <= ns < _LIMIT
            and all(type(at) is int and 0 <= at < len(lines) for at in numbers)
        ):
            pass
        case _:
            table.fail(
                "'rows' should hold a path, a thread, a state, two counts and the numbers of lines each"
            )
    return SampledStack(path, thread, state, tuple(lines[at] for at in numbers)), Weight(count, ns)


@dataclass(frozen=True, slots=True)
class Samples(Mergeable):
    """All samples of a run.

    Attributes:
        dropped: samples that were taken and are not in it, by cause: one of `DROPS`.
        late: how many times the sampler looked late, because all cores were busy: it sees too many waits then.
        looks: how many times it looked.
        cpu_ns: what that took of a core, outside the program.
    """

    stacks: Mapping[SampledStack, Weight] = stored(by_key, Codec(_write_stacks, _read_stacks), factory=dict)
    dropped: Mapping[str, int] = stored(counts, COUNTS, optional=True, factory=dict)
    late: int = stored(add, WHOLE, least=0, default=0)
    looks: int = stored(add, WHOLE, least=0, default=0)
    cpu_ns: int = stored(add, WHOLE, least=0, default=0)

    @property
    def is_late(self) -> bool:
        """Whether so many were late that they show too many waits."""
        return self.late > LATE_SHARE * self.looks > 0

    @property
    def count(self) -> int:
        """How many there are."""
        return sum(weight.count for weight in self.stacks.values())

    def by_path(self) -> dict[str, dict[SampledStack, Weight]]:
        """Return the stacks of each node, those of threads in no account left out."""
        return self._grouped(lambda stack: None if stack.thread else stack.path)

    def apart(self) -> dict[str, dict[SampledStack, Weight]]:
        """Return the stacks of threads that are in no account, by what the threads are called."""
        return self._grouped(lambda stack: stack.thread or None)

    def _grouped(self, by: Callable[[SampledStack], str | None]) -> dict[str, dict[SampledStack, Weight]]:
        found: dict[str, dict[SampledStack, Weight]] = defaultdict(dict)
        for stack, weight in self.stacks.items():
            if (key := by(stack)) is not None:
                found[key][stack] = weight
        return dict(found)

    def problems_in(self, known: Collection[str]) -> Iterator[str]:
        """Yield each rule of the model that is broken here; `known` are the paths of the profile's nodes."""
        if any(count < 0 for count in self.dropped.values()):
            yield "a number of dropped samples is negative"
        yield from self.problems()
        unknown = next((stack.path for stack in self.stacks if stack.path not in known), None)
        if unknown is not None:
            yield f"samples are of a node that is not there: {quoted(unknown)}"
