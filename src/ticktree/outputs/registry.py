"""The registry: every format a profile can be written in, by name."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING

from ticktree.errors import TicktreeError
from ticktree.outputs.options import ViewOptions
from ticktree.profile import Profile

if TYPE_CHECKING:
    from ticktree.profile.timeline import Timeline


@dataclass(frozen=True, slots=True)
class Output:
    """A format.

    Attributes:
        name: what it is called on the command line; its code is the module of that name here.
        suffix: how its files' names end.
        binary: whether it is no text, and nothing that a terminal could show.
        tells_losses: whether a file of it says what could not be recorded.
        uses_events: whether it shows calls one by one too, where a run's timeline has them.
        needs_events: whether it shows nothing but those.
    """

    name: str
    suffix: str
    binary: bool = False
    tells_losses: bool = True
    uses_events: bool = False
    needs_events: bool = False

    @property
    def takes_events(self) -> bool:
        """Whether it is given the timeline of a run that has one."""
        return self.uses_events or self.needs_events

    def render(
        self, profile: Profile, options: ViewOptions | None = None, timeline: Timeline | None = None
    ) -> bytes:
        """Return `profile` in this format; the same bytes each time it is asked for.

        Args:
            profile: what was recorded.
            options: how to show it.
            timeline: its calls one by one, where they were recorded; for formats that show them.

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
        module = import_module(f"ticktree.outputs.{self.name}")
        given = (timeline,) if self.takes_events else ()
        rendered: bytes = module.render(profile, options, *given)
        return rendered


_JSON = Output("json", ".json")
_REPORTS = (
    Output("terminal", ".txt"),
    Output("markdown", ".md"),
    Output("text", ".txt"),
    _JSON,
    Output("agent", ".json"),
    Output("html", ".html", uses_events=True),
    Output("png", ".png", binary=True),
    Output("svg", ".svg"),
)
_EXPORTS = (
    _JSON,
    Output("mlagents", ".json"),
    Output("collapsed", ".txt", tells_losses=False),
    Output("speedscope", ".json", uses_events=True),
    Output("pprof", ".pb.gz", binary=True),
    Output("prometheus", ".prom"),
    Output("otlp", ".jsonl", uses_events=True),
    Output("csv", ".csv", tells_losses=False),
    Output("parquet", ".parquet", binary=True),
    Output("tensorboard", ".tfevents", binary=True),
    Output("perfetto", ".pftrace", binary=True, needs_events=True),
    Output("chrome", ".json", needs_events=True),
    Output("rerun", ".rrd", binary=True, uses_events=True),
    Output("mcap", ".mcap", binary=True, uses_events=True),
)

# What `ticktree report` shows, and what `ticktree export` writes for other programs.
OUTPUTS = {output.name: output for output in _REPORTS}
EXPORTS = {output.name: output for output in _EXPORTS}
