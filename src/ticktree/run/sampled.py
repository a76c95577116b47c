"""The file with stack samples while a run continues.

    MEMORY DIRECTORY/samples.json    all samples so far; replaced atomically every few seconds

A sample names its node as the memory file does, by process and reference: the path is known only when the run is
read.

History of the format
    ticktree-samples/1  the first.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from ticktree.files.atomic import write_atomically
from ticktree.files.guarded import MissingFileError, json_in, read_bytes, understood
from ticktree.profile.fields import Fields
from ticktree.profile.samples import STATES, CodeLine, Weight
from ticktree.run.memory import ProcessKey
from ticktree.run.naming import SAMPLES

FORMAT = "ticktree-samples/1"
_MOST_BYTES = 1 << 28
_COUNTS = ("late", "looks", "cpu_ns")


class ThreadSample(NamedTuple):
    """A thread's state at the moment of a sample.

    Attributes:
        process: the thread's process.
        node: the reference of its open section; 0 for none.
        thread: the label of its time outside all sections; empty if the tree includes that time as self time.
        state: one of `STATES`.
        lines: code lines from the call with the open section to the innermost.
    """

    process: ProcessKey
    node: int
    thread: str
    state: str
    lines: tuple[CodeLine, ...]


@dataclass(frozen=True)
class Sampled:
    """All samples of a run.

    Attributes:
        stacks: the weight of each state.
        dropped: number of dropped samples by cause.
        late: number of late rounds of sampling.
        looks: number of rounds of sampling.
        cpu_ns: CPU time of sampling.
        is_requested: whether the user requested samples: otherwise they count only if sections explain too little.
    """

    stacks: Mapping[ThreadSample, Weight] = field(default_factory=dict)
    dropped: Mapping[str, int] = field(default_factory=dict)
    late: int = 0
    looks: int = 0
    cpu_ns: int = 0
    is_requested: bool = False


def keep_samples(folder: Path, sampled: Sampled) -> None:
    """Keep these samples in place of the previous ones.

    Args:
        folder: the run's memory directory.
        sampled: all samples so far.

    Raises:
        OSError: There is no room, or the run has been finished.
    """
    lines: dict[CodeLine, int] = {}
    processes: dict[ProcessKey, int] = {}
    rows = [
        [
            processes.setdefault(sample.process, len(processes)),
            sample.node,
            sample.thread,
            STATES.index(sample.state),
            weight.count,
            weight.ns,
            [lines.setdefault(line, len(lines)) for line in sample.lines],
        ]
        for sample, weight in sampled.stacks.items()
    ]
    fields = {
        "format": FORMAT,
        "asked": sampled.is_requested,
        "dropped": dict(sampled.dropped),
        **{name: getattr(sampled, name) for name in _COUNTS},
        "processes": list(processes),
        "lines": list(lines),
        "rows": rows,
    }
    write_atomically(folder / SAMPLES, (json.dumps(fields) + "\n").encode(), follow=False)


def kept_samples(folder: Path) -> Sampled:
    """Return the samples kept in `folder`; empty if there are none.

    Raises:
        FileError: The file is not valid.
    """
    try:
        data = read_bytes(folder / SAMPLES, _MOST_BYTES, follow=False)
    except MissingFileError:
        return Sampled()
    with understood(folder / SAMPLES):
        return _sampled(Fields(json_in(data), SAMPLES))


def _sampled(fields: Fields) -> Sampled:
    if fields.raw("format") != FORMAT:
        fields.fail(f"its format is not {FORMAT}")
    processes = [ProcessKey(*numbers) for numbers in fields.rows("processes", 3)]
    lines = [CodeLine(str(function), str(file), int(line)) for function, file, line in fields.list("lines")]
    stacks = dict(_sample(row, processes, lines) for row in fields.list("rows"))
    numbers = {name: fields.whole(name) for name in _COUNTS}
    return Sampled(stacks, fields.counts("dropped"), is_requested=fields.flag("asked"), **numbers)


def _sample(row: Any, processes: list[ProcessKey], lines: list[CodeLine]) -> tuple[ThreadSample, Weight]:
    process, node, thread, state, count, ns, numbers = row
    if not all(type(number) is int and number >= 0 for number in (process, node, state, count, ns, *numbers)):
        raise ValueError("a number that cannot be")
    stack = tuple(lines[number] for number in numbers)
    sample = ThreadSample(processes[process], node, str(thread), STATES[state], stack)
    return sample, Weight(count, ns)
