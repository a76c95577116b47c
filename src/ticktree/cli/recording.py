"""The recording options of `ticktree run`, and the environment by which they reach the program.

A further option is an entry of `_OPTIONS`, a field of `RecordingOptions` of the same name, and what it adds to the
environment of the program, whose processes inherit it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

import click

from ticktree.errors import TicktreeError
from ticktree.instruments import BUILT_IN, DEFAULT, INSTRUMENT_VARIABLE, as_environment, chosen
from ticktree.recorder import (
    GATHER_VARIABLE,
    MEMORY_VARIABLE,
    MOST_EVENTS,
    SAMPLE_VARIABLE,
    SYNC_VARIABLE,
    TIMELINE_VARIABLE,
)
from ticktree.recorder.focus import DEEPEST, DEPTH, checked_names, focus_environment
from ticktree.session.memory_file import DEFAULT_EVENTS

_SAMPLE_HZ, _MOST_HZ = 100, 1000  # default for threads, and maximum

_Command = TypeVar("_Command", bound=Callable[..., Any])


class SampleRate(NamedTuple):
    """How samples are taken.

    Attributes:
        hz: samples per second.
        is_inside: whether a thread in each process takes them, instead of the supervisor from outside.
    """

    hz: float
    is_inside: bool = False


class _SampleType(click.ParamType[SampleRate]):
    name = "rate"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> SampleRate:
        word, _, rate = str(value).partition(":")
        is_inside = word == "thread"
        try:
            hz = float((rate or _SAMPLE_HZ) if is_inside else value)
        except ValueError:
            hz = 0.0
        if not 1 <= hz <= _MOST_HZ:
            self.fail(f"{value!r} is neither a rate from 1 to {_MOST_HZ} Hz nor thread[:HZ]", param, ctx)
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
        type=click.IntRange(0, DEEPEST),
        default=DEPTH,
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
        type=_SampleType(),
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
    """What to record; without arguments, what `ticktree run` records by default.

    Attributes:
        instrument: names of the libraries to instrument, separated by commas.
        torch_layers: whether to record every layer of torch modules as well.
        no_instrument: whether to instrument no library.
        memory: whether to sample the memory use of every section.
        device_sync: whether sections wait for their device.
        focus: the functions whose call trees are recorded.
        depth: levels of calls below them.
        warmup: first calls of each that are set aside; None for as many as differ from the rest.
        focus_c: whether C functions are recorded there as well.
        timeline: whether to keep calls one by one.
        timeline_events: the same, and how many per process.
        sample: the rate, and from where to sample; None to sample from outside, and only where sections do not explain
            most of the time.
        no_sample: whether never to sample.
        gather_every: ticks between two transfers from other machines to rank 0; 0 for one at the end.
    """

    instrument: str = DEFAULT
    torch_layers: bool = False
    no_instrument: bool = False
    memory: bool = False
    device_sync: bool = False
    focus: Sequence[str] = ()
    depth: int = DEPTH
    warmup: int | None = None
    focus_c: bool = False
    timeline: bool = False
    timeline_events: int | None = None
    sample: SampleRate | None = None
    no_sample: bool = False
    gather_every: int = 0

    def environment(self) -> dict[str, str]:
        """Return the environment variables for the program's processes.

        Raises:
            TicktreeError: A name is not known, or an option needs another one.
        """
        self._check()
        words = (
            []
            if self.no_instrument
            else [word.strip() for word in self.instrument.split(",") if word.strip()]
        )
        if self.torch_layers:
            words.append("torch-layers")
        environment = {INSTRUMENT_VARIABLE: as_environment(chosen(words))}
        if self.memory:
            environment[MEMORY_VARIABLE] = "1"
        if self.device_sync:
            environment[SYNC_VARIABLE] = "1"
        events = self.timeline_events or (DEFAULT_EVENTS if self.timeline else None)
        if events is not None:
            environment[TIMELINE_VARIABLE] = str(events)
        if self.sample is not None and self.sample.is_inside:
            environment[SAMPLE_VARIABLE] = str(self.sample.hz)
        if self.gather_every:
            environment[GATHER_VARIABLE] = str(self.gather_every)
        return environment | focus_environment(
            checked_names(self.focus), self.depth, self.focus_c, self.warmup
        )

    def _check(self) -> None:
        if self.no_instrument and self.instrument != DEFAULT:
            raise TicktreeError("--no-instrument and --instrument exclude each other: give one of them")
        if self.no_sample and self.sample is not None:
            raise TicktreeError("--sample and --no-sample exclude each other: give one of them")
        of_focus = (
            ("--depth", self.depth != DEPTH),
            ("--warmup", self.warmup is not None),
            ("--focus-c", self.focus_c),
        )
        if not self.focus:
            for option, is_given in of_focus:
                if is_given:
                    raise TicktreeError(f"{option} applies to functions in focus: it needs --focus NAME")


def options(command: _Command) -> _Command:
    """Add the options to a command; they are the fields of `RecordingOptions`."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


# Groups of the help, with names of parameters; options without a group come last.
_GROUPS = {
    "Program and run": ("is_module", "name", "out", "quiet", "is_remembered"),
    "Recording": (
        *(
            "instrument",
            "no_instrument",
            "torch_layers",
            "memory",
            "device_sync",
            "timeline",
            "timeline_events",
        ),
    ),
    "Focus": ("focus", "depth", "warmup", "focus_c"),
    "Sampling": ("sample", "no_sample"),
    "During the run": ("summary_every", "prometheus", "otlp", "every", "gather_every"),
}


class CommandThatRecords(click.Command):
    """A command with these options, in groups, whose help names the libraries that ticktree can instrument."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options in their groups."""
        waiting = {
            str(parameter.name): record
            for parameter in self.get_params(ctx)
            if isinstance(parameter, click.Option) and (record := parameter.get_help_record(ctx)) is not None
        }
        groups = {
            title: [waiting.pop(name) for name in names if name in waiting]
            for title, names in _GROUPS.items()
        }
        for title, rows in {**groups, "Other": list(waiting.values())}.items():
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """Write the names of the libraries; `ticktree doctor -v` and the documentation describe them."""
        for title, on_demand in (("Libraries instrumented by default", False), ("Libraries on demand", True)):
            names = [library.name for library in BUILT_IN if library.on_demand == on_demand]
            with formatter.section(title), formatter.indentation():
                formatter.write_text(", ".join(names))
