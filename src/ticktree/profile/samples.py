"""Samples: which Python code ran during a node's self time, as an external sampler observed it.

Samples are taken at random moments and never change a node's times. A sample represents the average time between two
samples; that time grows when sampling would cost too much, so samples are weighted by it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any, NamedTuple

from ticktree.profile.fields import COUNTS, INT, Codec, Fields, Object, quoted
from ticktree.profile.table import Mergeable, add, by_key, column, counts

# States of a thread, in the order of the native module's numbers.
STATES = ("running", "gil", "lock", "sleep", "io", "blocked", "suspended")
# Why samples were dropped, in the order of the native module's numbers.
DROPS = ("stacks_that_changed", "sections_that_changed", "threads_not_readable", "samples_without_room")
# Fewer samples show nothing: a share of 50% may then be 30% or 70%.
MIN_SAMPLES = 20
_LIMIT = 2**63
# A larger share of late samples makes the shares of waits doubtful.
LATE_SHARE = 0.05
# Facts of a run from its samples: the loop that takes most of its time, how to mark it, and a function worth a focus.
SAMPLED_LOOP = "sampled.loop"
SAMPLED_LOOP_CODE = "sampled.loop_code"
SAMPLED_FUNCTION = "sampled.function"


class CodeLine(NamedTuple):
    """A line of code that was executing, or waiting for its call to return.

    Attributes:
        file: the code object's file name.
        line: 0 if unknown.
    """

    function: str
    file: str
    line: int

    @property
    def place(self) -> str:
        """The line as `train.py:7`, without the folder of its file."""
        return f"{PurePath(self.file).name}:{self.line}"


class SampledStack(NamedTuple):
    """The state of one thread in one sample.

    Attributes:
        path: the node whose self time passed.
        thread: empty if it is one of that node's threads; else the label of a thread without a node.
        state: one of `STATES`; "suspended" is a task that waits for its turn.
        lines: from the call that opened the section to the innermost.
    """

    path: str
    thread: str
    state: str
    lines: tuple[CodeLine, ...]


@dataclass(frozen=True, slots=True)
class Weight(Mergeable):
    """How often a stack was sampled, and the time that these samples represent."""

    count: int = column(add, INT, minimum=1, default=1)
    ns: int = column(add, INT, minimum=0, default=0)


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
    lines = [_read_line(table, value) for value in table.list("lines")]
    stacks: dict[SampledStack, Weight] = {}
    for row in table.list("rows"):
        stack, weight = _read_row(table, row, lines)
        stacks[stack] = weight
    return stacks


def _read_line(table: Fields, value: Any) -> CodeLine:
    match value:
        case [str(function), str(file), int(line)] if 0 <= line < _LIMIT:
            pass
        case _:
            table.fail("'lines' should hold a function, a file and the number of a line each")
    return CodeLine(function, file, line)


def _read_row(table: Fields, row: Any, lines: list[CodeLine]) -> tuple[SampledStack, Weight]:
    match row:
        case [str(path), str(thread), str(state), int(count), int(ns), list(numbers)] if (
            state in STATES
            and 0 < count < _LIMIT
            and 0 <= ns < _LIMIT
            and all(type(number) is int and 0 <= number < len(lines) for number in numbers)
        ):
            pass
        case _:
            table.fail(
                "'rows' should hold a path, a thread, a state, two counts and the numbers of lines each"
            )
    return SampledStack(path, thread, state, tuple(lines[number] for number in numbers)), Weight(count, ns)


@dataclass(frozen=True, slots=True)
class Samples(Mergeable):
    """All samples of a run.

    Attributes:
        dropped: samples that were taken and dropped, by cause: one of `DROPS`.
        late: how often the sampler ran late, because all cores were busy: it then observes too many waits.
        rounds: how often the sampler ran.
        cpu_ns: CPU time of the sampler, which runs outside the program.
    """

    stacks: Mapping[SampledStack, Weight] = column(by_key, Codec(_write_stacks, _read_stacks), factory=dict)
    dropped: Mapping[str, int] = column(counts, COUNTS, optional=True, factory=dict)
    late: int = column(add, INT, minimum=0, default=0)
    rounds: int = column(add, INT, minimum=0, default=0)
    cpu_ns: int = column(add, INT, minimum=0, default=0)

    @property
    def is_late(self) -> bool:
        """Whether so many samples were late that they show too many waits."""
        return self.late > LATE_SHARE * self.rounds > 0

    @property
    def count(self) -> int:
        """Number of samples."""
        return sum(weight.count for weight in self.stacks.values())

    def by_path(self) -> dict[str, dict[SampledStack, Weight]]:
        """Return the stacks of each node; those of threads without a node are left out."""
        return self._group(lambda stack: None if stack.thread else stack.path)

    def apart(self) -> dict[str, dict[SampledStack, Weight]]:
        """Return the stacks of threads without a node, by the threads' labels."""
        return self._group(lambda stack: stack.thread or None)

    def _group(self, group_of: Callable[[SampledStack], str | None]) -> dict[str, dict[SampledStack, Weight]]:
        groups: dict[str, dict[SampledStack, Weight]] = defaultdict(dict)
        for stack, weight in self.stacks.items():
            if (key := group_of(stack)) is not None:
                groups[key][stack] = weight
        return dict(groups)

    def problems_in(self, node_paths: Collection[str]) -> Iterator[str]:
        """Yield each rule of the model that is broken here; `node_paths` are the paths of the profile's nodes."""
        if any(count < 0 for count in self.dropped.values()):
            yield "a number of dropped samples is negative"
        yield from self.problems()
        unknown = next((stack.path for stack in self.stacks if stack.path not in node_paths), None)
        if unknown is not None:
            yield f"samples are of a node that is not there: {quoted(unknown)}"
