"""The files of what the supervisor observes while a run continues.

    MEMORY DIRECTORY/machine.json    gauges of the machine so far; replaced atomically every few readings
    MEMORY DIRECTORY/samples.json    all stack samples so far; replaced atomically every few seconds

They are next to the memory files, on tmpfs, and are deleted with them: every reader of the run finds them, whether the
supervisor is alive or was killed, and writing them does not stall any process.

A sample names its node as the memory file does, by process and reference: the path is known only when the run is
read.

History of the formats
    ticktree-machine/1  the first.
    ticktree-samples/1  the first.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from ticktree.files.atomic import write_atomically
from ticktree.files.guarded import MissingFileError, decoding, parse_json, read_bytes
from ticktree.profile import Gauge
from ticktree.profile.fields import Fields, Object
from ticktree.profile.machine import is_machine_gauge
from ticktree.profile.profile_json import GAUGES
from ticktree.profile.samples import STATES, CodeLine, Weight
from ticktree.run.memory import ProcessKey
from ticktree.run.naming import MACHINE, SAMPLES

_FORMATS = {MACHINE: "ticktree-machine/1", SAMPLES: "ticktree-samples/1"}
_MAX_BYTES = {MACHINE: 1 << 20, SAMPLES: 1 << 28}
_COUNTS = ("late", "rounds", "cpu_ns")

Content = TypeVar("Content")


def _write(path: Path, fields: Object) -> None:
    text = json.dumps({"format": _FORMATS[path.name], **fields})
    write_atomically(path, f"{text}\n".encode(), follow=False)


def _read(path: Path, read: Callable[[Fields], Content], default: Content) -> Content:
    try:
        data = read_bytes(path, _MAX_BYTES[path.name], follow=False)
    except MissingFileError:
        return default
    with decoding(path):
        fields = Fields(parse_json(data), path.name)
        if fields.raw("format") != _FORMATS[path.name]:
            fields.fail(f"its format is not {_FORMATS[path.name]}")
        return read(fields)


def write_gauges(folder: Path, gauges: Mapping[str, Gauge]) -> None:
    """Write the machine's gauges to a run's memory directory, in place of the previous ones.

    Raises:
        OSError: There is no space, or the run has been finished.
    """
    _write(folder / MACHINE, {"gauges": GAUGES.write(gauges, {})})


def read_gauges(folder: Path) -> dict[str, Gauge]:
    """Return the gauges in `folder`, by name; empty if there are none.

    Raises:
        FileError: The file is not valid.
    """
    return _read(folder / MACHINE, _parse_gauges, {})


def _parse_gauges(fields: Fields) -> dict[str, Gauge]:
    gauges: dict[str, Gauge] = GAUGES.read(fields, "gauges")
    for name, gauge in gauges.items():
        if not is_machine_gauge(name):
            fields.fail("it contains a gauge that is not a reading of the machine")
        for problem in gauge.problems():
            fields.fail(problem)
    return gauges


class ThreadSample(NamedTuple):
    """A thread's state at the moment of a sample.

    Attributes:
        node: the reference of its open section; 0 for none.
        thread: the label of its time outside all sections; empty if the tree includes that time as self time.
    """

    process: ProcessKey
    node: int
    thread: str
    state: str
    lines: tuple[CodeLine, ...]


@dataclass(frozen=True)
class StackSamples:
    """All samples of a run.

    Attributes:
        dropped: number of dropped samples by cause.
        late: number of late rounds of sampling.
        rounds: number of rounds of sampling.
        cpu_ns: CPU time of sampling.
        is_requested: whether the user requested samples: otherwise they count only if sections explain too little.
    """

    stacks: Mapping[ThreadSample, Weight] = field(default_factory=dict)
    dropped: Mapping[str, int] = field(default_factory=dict)
    late: int = 0
    rounds: int = 0
    cpu_ns: int = 0
    is_requested: bool = False


def write_samples(folder: Path, samples: StackSamples) -> None:
    """Write these samples in place of the previous ones.

    Raises:
        OSError: There is no space, or the run has been finished.
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
        for sample, weight in samples.stacks.items()
    ]
    fields = {
        "requested": samples.is_requested,
        "dropped": dict(samples.dropped),
        **{name: getattr(samples, name) for name in _COUNTS},
        "processes": list(processes),
        "lines": list(lines),
        "rows": rows,
    }
    _write(folder / SAMPLES, fields)


def read_samples(folder: Path) -> StackSamples:
    """Return the samples in `folder`; empty if there are none.

    Raises:
        FileError: The file is not valid.
    """
    return _read(folder / SAMPLES, _parse_samples, StackSamples())


def _parse_samples(fields: Fields) -> StackSamples:
    processes = [ProcessKey(*numbers) for numbers in fields.rows("processes", 3)]
    lines = [CodeLine(str(function), str(file), int(line)) for function, file, line in fields.list("lines")]
    stacks = dict(_parse_row(row, processes, lines) for row in fields.list("rows"))
    numbers = {name: fields.integer(name) for name in _COUNTS}
    return StackSamples(stacks, fields.counts("dropped"), is_requested=fields.flag("requested"), **numbers)


def _parse_row(row: Any, processes: list[ProcessKey], lines: list[CodeLine]) -> tuple[ThreadSample, Weight]:
    process, node, thread, state, count, ns, numbers = row
    if not all(type(number) is int and number >= 0 for number in (process, node, state, count, ns, *numbers)):
        raise ValueError("a number that cannot be")
    stack = tuple(lines[number] for number in numbers)
    sample = ThreadSample(processes[process], node, str(thread), STATES[state], stack)
    return sample, Weight(count, ns)
