"""The registry: every format of a profile, by name."""

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


def import_library(module: str, by: str, extra: str) -> ModuleType:
    """Return the imported `module`.

    Raises:
        TicktreeError: it is not installed.
    """
    library = module.partition(".")[0]
    try:
        return import_module(module)
    except ImportError as error:
        if (error.name or "").partition(".")[0] != library:
            raise  # it is installed, but one of its own imports is not
        raise TicktreeError(f"{by} needs {library}: python -m pip install 'ticktree[{extra}]'") from None


@dataclass(frozen=True, slots=True)
class Output:
    """A format.

    Attributes:
        name: its name on the command line.
        suffix: the suffix of its files.
        binary: whether it is not text, which a terminal cannot show.
        tells_losses: whether its files contain the losses.
        uses_events: whether it also shows single calls, if a run has a timeline.
        needs_events: whether it shows single calls only.
        module: the module with its function `render_NAME`; "" if the module of its name has a function `render`.
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
        """Return `profile` in this format; the same bytes every time.

        Raises:
            TicktreeError: the format shows single calls only, and there are none: they cannot be derived from totals;
                or a library that the format needs is not installed.
        """
        options = options or ViewOptions()
        if timeline is None and (self.needs_events or (self.uses_events and options.only == "calls")):
            raise TicktreeError(
                f"no timeline was recorded, and {self.name} shows calls one by one; "
                "to record one: ticktree run --timeline"
            )
        # Imported on first use: writing JSON must not wait for a drawing library.
        module = import_module(f"ticktree.outputs.{self.module or self.name}")
        render = getattr(module, f"render_{self.name}" if self.module else "render")
        arguments = (timeline,) if self.takes_events else ()
        rendered: bytes = render(profile, options, *arguments)
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
    """Print `profile` on `stream`, in its encoding; on a terminal, in its width and with colours."""
    text = OUTPUTS["terminal"].render(profile, options_for(stream)).decode()
    encoding = stream.encoding or "utf-8"
    stream.write(text.encode(encoding, "replace").decode(encoding))
    stream.flush()


def options_for(stream: TextIO) -> ViewOptions:
    """Return how to draw on `stream`; 100 columns without colours if it is not a terminal."""
    width = ViewOptions().width
    color = stream.isatty() and "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"
    with suppress(OSError, ValueError):  # it is not a terminal, or only a file-like object
        width = os.get_terminal_size(stream.fileno()).columns or width
    return ViewOptions(width=width, color=color)
