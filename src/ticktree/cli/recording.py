"""The recording options of `ticktree run`, and the environment by which they reach the program.

A further option is an entry of `_OPTIONS`, a field of `RecordingOptions` of the same name, and what it adds to the
environment of the program, whose processes inherit it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import click

from ticktree.cli.options import pack_options
from ticktree.errors import TicktreeError
from ticktree.instruments import BUILT_IN, DEFAULT, INSTRUMENT_VARIABLE, as_environment, select_libraries
from ticktree.recorder import (
    GATHER_VARIABLE,
    MEMORY_VARIABLE,
    MOST_EVENTS,
    SAMPLE_VARIABLE,
    SYNC_VARIABLE,
    TIMELINE_VARIABLE,
)
from ticktree.recorder.focus import DEFAULT_DEPTH, MAX_DEPTH, check_names, focus_environment
from ticktree.session.memory_file import DEFAULT_EVENTS

_SAMPLE_HZ, _MOST_HZ = 100, 1000  # default for threads, and maximum


class SampleRate(NamedTuple):
    """Samples per second, and whether a thread in each process takes them, not the supervisor from outside."""

    hz: float
    is_inside: bool = False


def _sample_rate(_context: click.Context, _option: click.Parameter, text: str | None) -> SampleRate | None:
    if text is None:
        return None
    word, _, rate = text.partition(":")
    is_inside = word == "thread"
    try:
        hz = float((rate or _SAMPLE_HZ) if is_inside else text)
    except ValueError:
        hz = 0.0
    if not 1 <= hz <= _MOST_HZ:
        raise click.BadParameter(f"{text!r} is neither a rate from 1 to {_MOST_HZ} Hz nor thread[:HZ]")
    return SampleRate(hz, is_inside)


_OPTIONS = (
    click.option(
        "--instrument",
        metavar="LIB,...",
        default=DEFAULT,
        help="Libraries to instrument, from the lists below. `default` stands for all that are instrumented by "
        "default; -NAME leaves one out.",
    ),
    click.option("--torch-layers", is_flag=True, help="Also record every layer of torch modules."),
    click.option("--no-instrument", is_flag=True, help="Record only what the program itself marks."),
    click.option("--memory", is_flag=True, help="Sample the memory use of every section."),
    click.option(
        "--device-sync",
        is_flag=True,
        help="Wait for the device at both ends of each section whose device time is measured. This changes the "
        "program's schedule.",
    ),
    click.option(
        "--focus",
        multiple=True,
        metavar="NAME",
        help="Record every call below a function: PKG.CLASS.METHOD, or CLASS.METHOD for one in the script itself. "
        "May be given several times.",
    ),
    click.option(
        "--depth",
        type=click.IntRange(0, MAX_DEPTH),
        default=DEFAULT_DEPTH,
        show_default=True,
        help="Levels of calls to record below a function in focus.",
    ),
    click.option(
        "--warmup",
        type=click.IntRange(min=0),
        metavar="N",
        help="Set aside the first N calls of each function in focus. By default, as many as differ from the rest.",
    ),
    click.option("--focus-c", is_flag=True, help="Also record calls of C functions in focus."),
    click.option(
        "--timeline",
        is_flag=True,
        help=f"Keep the start and end of every call: the last {DEFAULT_EVENTS:,} calls per process.",
    ),
    click.option(
        "--timeline-events",
        type=click.IntRange(1, MOST_EVENTS),
        metavar="COUNT",
        help="Like --timeline, with COUNT calls per process.",
    ),
    click.option(
        "--sample",
        callback=_sample_rate,
        metavar="HZ|thread[:HZ]",
        help="Sample which code runs in the sections' self time, HZ times per second, from outside the program. "
        "`thread` samples on a thread in each process, where the system refuses the former. By default, 100 times per "
        "second, and only where sections do not explain most of the time.",
    ),
    click.option("--no-sample", is_flag=True, help="Never sample."),
    click.option(
        "--gather-every",
        type=click.IntRange(min=0),
        default=0,
        metavar="N",
        help="In a torch.distributed job, send what other machines record to the run of rank 0 every N ticks. By "
        "default (0), only at the end.",
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordingOptions:
    """What to record, as `_OPTIONS` describe it; without arguments, what `ticktree run` records by default."""

    instrument: str = DEFAULT
    torch_layers: bool = False
    no_instrument: bool = False
    memory: bool = False
    device_sync: bool = False
    focus: Sequence[str] = ()
    depth: int = DEFAULT_DEPTH
    warmup: int | None = None
    focus_c: bool = False
    timeline: bool = False
    timeline_events: int | None = None
    sample: SampleRate | None = None
    no_sample: bool = False
    gather_every: int = 0

    def environment(self) -> dict[str, str]:
        """Return the environment variables for the program's processes."""
        self._check()
        words = [] if self.no_instrument else [word.strip() for word in self.instrument.split(",")]
        if self.torch_layers:
            words.append("torch-layers")
        environment = {
            MEMORY_VARIABLE: "1" if self.memory else None,
            SYNC_VARIABLE: "1" if self.device_sync else None,
            TIMELINE_VARIABLE: self.timeline_events or (DEFAULT_EVENTS if self.timeline else None),
            SAMPLE_VARIABLE: self.sample.hz if self.sample is not None and self.sample.is_inside else None,
            GATHER_VARIABLE: self.gather_every or None,
        }
        return {
            INSTRUMENT_VARIABLE: as_environment(select_libraries(filter(None, words))),
            **{variable: str(value) for variable, value in environment.items() if value is not None},
            **focus_environment(check_names(self.focus), self.depth, self.focus_c, self.warmup),
        }

    def _check(self) -> None:
        if self.no_instrument and self.instrument != DEFAULT:
            raise TicktreeError("--no-instrument and --instrument exclude each other: give one of them")
        if self.no_sample and self.sample is not None:
            raise TicktreeError("--sample and --no-sample exclude each other: give one of them")
        is_given_by_option = {
            "--depth": self.depth != DEFAULT_DEPTH,
            "--warmup": self.warmup is not None,
            "--focus-c": self.focus_c,
        }
        conflicts = [option for option, is_given in is_given_by_option.items() if is_given]
        if conflicts and not self.focus:
            raise TicktreeError(f"{conflicts[0]} applies to functions in focus: it needs --focus NAME")


options = pack_options("recorded", RecordingOptions, _OPTIONS)

# Groups of the help, with names of parameters; options without a group come last.
_GROUPS = {
    "Program and run": ("is_module", "name", "out", "quiet", "is_remembered"),
    "Recording": (
        "instrument",
        "no_instrument",
        "torch_layers",
        "memory",
        "device_sync",
        "timeline",
        "timeline_events",
    ),
    "Focus": ("focus", "depth", "warmup", "focus_c"),
    "Sampling": ("sample", "no_sample"),
    "During the run": ("summary_every", "prometheus", "otlp", "every", "gather_every"),
}


class CommandThatRecords(click.Command):
    """A command with these options, in groups, whose help names the libraries that ticktree can instrument."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options in their groups."""
        records = {
            str(parameter.name): record
            for parameter in self.get_params(ctx)
            if isinstance(parameter, click.Option) and (record := parameter.get_help_record(ctx)) is not None
        }
        groups = {
            title: [records.pop(name) for name in names if name in records]
            for title, names in _GROUPS.items()
        }
        for title, rows in {**groups, "Other": list(records.values())}.items():
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """Write the names of the libraries; `ticktree doctor -v` and the documentation describe them."""
        for title, on_demand in (("Libraries instrumented by default", False), ("Libraries on demand", True)):
            names = [library.name for library in BUILT_IN if library.on_demand == on_demand]
            with formatter.section(title), formatter.indentation():
                formatter.write_text(", ".join(names))
