"""What `ticktree run` is asked to record: its options of that kind, and what they say to the program.

An option more is one line in `_OPTIONS`, one field of `Recording` of the same name, and what it puts into the
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

_SAMPLE_HZ, _MOST_HZ = 100, 1000  # that of a thread by default; at most

_Command = TypeVar("_Command", bound=Callable[..., Any])


class SampleRate(NamedTuple):
    """How samples are taken.

    Attributes:
        hz: how many times a second.
        is_inside: on a thread in each process, instead of from outside.
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
        help="Libraries to instrument: names of those below, default for all that are so by default, "
        "-NAME to leave one out.",
    ),
    click.option("--torch-layers", is_flag=True, help="Record every layer of torch's modules, too."),
    click.option("--no-instrument", is_flag=True, help="Record nothing but what the program marks itself."),
    click.option("--memory", is_flag=True, help="Sample the memory that every section needs."),
    click.option(
        "--device-sync",
        is_flag=True,
        help="Wait for the device at both ends of each section whose device time is measured. It changes the "
        "program's schedule.",
    ),
    click.option(
        "--focus",
        multiple=True,
        metavar="NAME",
        help="Record every call below a function: PKG.CLASS.METHOD, or of the script itself CLASS.METHOD. "
        "May be given several times.",
    ),
    click.option(
        "--depth",
        type=click.IntRange(0, DEEPEST),
        default=DEPTH,
        show_default=True,
        help="How many levels of calls below a function in focus are recorded.",
    ),
    click.option(
        "--warmup",
        type=click.IntRange(min=0),
        metavar="N",
        help="Set the first N calls of each function in focus aside; by default as many as are unlike the rest.",
    ),
    click.option("--focus-c", is_flag=True, help="Record calls of C functions in focus too."),
    click.option(
        "--timeline",
        is_flag=True,
        help=f"Keep every call's start and end: the last {DEFAULT_EVENTS:,} of each process.",
    ),
    click.option(
        "--timeline-events",
        type=click.IntRange(1, MOST_EVENTS),
        metavar="COUNT",
        help="The same, of so many calls a process.",
    ),
    click.option(
        "--sample",
        type=_SampleType(),
        metavar="HZ|thread[:HZ]",
        help="Sample which code runs in sections' self time, so many times a second, from outside; thread: "
        "where the system refuses that, on a thread in each process. By default 100 times, and only where sections do "
        "not tell where most of the time goes.",
    ),
    click.option("--no-sample", is_flag=True, help="Never do that."),
    click.option(
        "--gather-every",
        type=click.IntRange(min=0),
        default=0,
        metavar="N",
        help="While a job of torch.distributed goes on, bring what its other machines record to the run of rank 0 "
        "every N ticks; by default, and with 0, only at its end.",
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordingOptions:
    """What is asked for; without arguments, what `ticktree run` records by default.

    Attributes:
        instrument: the libraries to record without an edit, by name and with commas between.
        torch_layers: whether to record every layer of torch's modules, too.
        no_instrument: whether to record none.
        memory: whether to sample the memory that every section needs.
        device_sync: whether sections wait for their device.
        focus: the functions whose call trees are recorded.
        depth: how many levels of calls below them.
        warmup: how many first calls of each are set aside; None for as many as are unlike the rest.
        focus_c: whether C functions are recorded there too.
        timeline: whether to keep calls one by one.
        timeline_events: the same, and how many of each process.
        sample: how often a second code is sampled, and from where; None for from outside, and only where sections do
            not tell where most of the time goes.
        no_sample: whether it never is.
        gather_every: after how many ticks what other machines record is brought to rank 0; 0 for only at the end.
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
        """Return what tells the program's processes.

        Raises:
            TicktreeError: There is no such thing to record, or an option has nothing to say it of.
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
            raise TicktreeError(
                "--no-instrument records no library and --instrument those it names: give one of them"
            )
        if self.no_sample and self.sample is not None:
            raise TicktreeError("--sample samples and --no-sample does not: give one of them")
        of_focus = (
            ("--depth", self.depth != DEPTH),
            ("--warmup", self.warmup is not None),
            ("--focus-c", self.focus_c),
        )
        if not self.focus:
            for option, is_given in of_focus:
                if is_given:
                    raise TicktreeError(f"{option} is of functions in focus: it needs --focus NAME")


def options(command: _Command) -> _Command:
    """Give a command the options; they are the fields of `Recording`."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


# Of the help, by the parameters' names; what is in none of them comes last.
_GROUPS = {
    "Program and run": ("is_module", "name", "out", "quiet", "is_remembered"),
    "What is recorded": (
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
    "Calls below a function": ("focus", "depth", "warmup", "focus_c"),
    "Sampling": ("sample", "no_sample"),
    "While it runs": ("summary_every", "prometheus", "otlp", "every", "gather_every"),
}


class CommandThatRecords(click.Command):
    """A command with these options, in groups, whose help names the libraries that ticktree brings."""

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
        """Name the libraries; what is recorded of each is in `ticktree doctor -v` and in the documentation."""
        for title, on_demand in (("Libraries, by default", False), ("Libraries, on demand", True)):
            names = [library.name for library in BUILT_IN if library.on_demand == on_demand]
            with formatter.section(title), formatter.indentation():
                formatter.write_text(", ".join(names))
