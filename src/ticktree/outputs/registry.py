"""The registry: every format a profile can be written in, by name."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, TextIO

from ticktree.errors import TicktreeError
from ticktree.outputs.options import ViewOptions
from ticktree.profile import Profile

if TYPE_CHECKING:
    from ticktree.profile.timeline import Timeline


def wanted(module: str, by: str, extra: str) -> ModuleType:
    """Return the imported `module`.

    Raises:
        TicktreeError: it is not installed.
    """
    library = module.partition(".")[0]
    try:
        return import_module(module)
    except ImportError as error:
        if (error.name or "").partition(".")[0] != library:
            raise  # it is there, and itself lacks something
        raise TicktreeError(f"{by} needs {library}: python -m pip install 'ticktree[{extra}]'") from None


@dataclass(frozen=True, slots=True)
class Output:
    """A format.

    Attributes:
        name: what it is called on the command line.
        suffix: how its files' names end.
        binary: whether it is no text, and nothing that a terminal could show.
        tells_losses: whether a file of it says what could not be recorded.
        uses_events: whether it shows calls one by one too, where a run's timeline has them.
        needs_events: whether it shows nothing but those.
        module: where its code is, as `render_NAME`; "" where the module of its name has it as `render`.
    """

    name: str
    suffix: str
    binary: bool = False
    tells_losses: bool = True
    uses_events: bool = False
    needs_events: bool = False
    module: str = ""

    @property
    def takes_events(self) -> bool:
        """Whether it is given the timeline of a run that has one."""
        return self.uses_events or self.needs_events

    def render(
        self, profile: Profile, options: ViewOptions | None = None, timeline: Timeline | None = None
    ) -> bytes:
        """Return `profile` in this format; the same bytes each time it is asked for.

        Raises:
            TicktreeError: only single calls are shown, and there are none: they are not made up from totals.
        """
        options = options or ViewOptions()
        if timeline is None and (self.needs_events or (self.uses_events and options.only == "calls")):
            raise TicktreeError(
                f"no timeline was recorded, and {self.name} shows calls one by one; "
                "to record one: ticktree run --timeline"
            )
        # Imported when first wanted: who writes JSON need not wait for a library that draws.
        module = import_module(f"ticktree.outputs.{self.module or self.name}")
        render = getattr(module, f"render_{self.name}" if self.module else "render")
        given = (timeline,) if self.takes_events else ()
        rendered: bytes = render(profile, options, *given)
        return rendered


_JSON = Output("json", ".json")
_REPORTS = (
    Output("terminal", ".txt"),
    Output("markdown", ".md"),
    Output("text", ".txt"),
    _JSON,
    Output("agent", ".json"),
    Output("html", ".html", uses_events=True),
    Output("png", ".png", binary=True, module="charts"),
    Output("svg", ".svg", module="charts"),
)
_EXPORTS = (
    _JSON,
    Output("mlagents", ".json"),
    Output("collapsed", ".txt", tells_losses=False, module="stacks"),
    Output("speedscope", ".json", uses_events=True, module="stacks"),
    Output("pprof", ".pb.gz", binary=True, module="stacks"),
    Output("prometheus", ".prom"),
    Output("otlp", ".jsonl", uses_events=True),
    Output("csv", ".csv", tells_losses=False, module="tabular"),
    Output("parquet", ".parquet", binary=True, module="tabular"),
    Output("tensorboard", ".tfevents", binary=True, module="curves"),
    Output("perfetto", ".pftrace", binary=True, needs_events=True, module="traces"),
    Output("chrome", ".json", needs_events=True, module="traces"),
    Output("rerun", ".rrd", binary=True, uses_events=True, module="curves"),
    Output("mcap", ".mcap", binary=True, uses_events=True),
)

# What `ticktree report` shows, and what `ticktree export` writes for other programs.
OUTPUTS = {output.name: output for output in _REPORTS}
EXPORTS = {output.name: output for output in _EXPORTS}


def print_summary(profile: Profile, stream: TextIO) -> None:
    """Print `profile` on `stream`: as wide as its terminal, coloured only there, in its own encoding."""
    text = OUTPUTS["terminal"].render(profile, options_for(stream)).decode()
    encoding = stream.encoding or "utf-8"
    stream.write(text.encode(encoding, "replace").decode(encoding))
    stream.flush()


def options_for(stream: TextIO) -> ViewOptions:
    """Return how to draw on `stream`; where it is no terminal, 100 columns without colours."""
    width = ViewOptions().width
    color = stream.isatty() and "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"
    with suppress(OSError, ValueError):  # it is no terminal, or only like a file
        width = os.get_terminal_size(stream.fileno()).columns or width
    return ViewOptions(width=width, color=color)
