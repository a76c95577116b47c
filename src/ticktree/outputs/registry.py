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
        needs_events: whether it shows calls one by one, which only a run's timeline has.
    """

    name: str
    suffix: str
    binary: bool = False
    needs_events: bool = False

    def render(
        self, profile: Profile, options: ViewOptions | None = None, timeline: Timeline | None = None
    ) -> bytes:
        """Return `profile` in this format; the same bytes each time it is asked for.

        Args:
            profile: what was recorded.
            options: how to show it.
            timeline: its calls one by one, where they were recorded; for formats that need them.

        Raises:
            TicktreeError: this format needs a timeline, and there is none: it is not made up from totals.
        """
        if self.needs_events and timeline is None:
            raise TicktreeError(
                f"no timeline was recorded, and {self.name} shows calls one by one; "
                "to record one: ticktree run --timeline"
            )
        # Imported when first wanted: who writes JSON need not wait for a library that draws.
        module = import_module(f"ticktree.outputs.{self.name}")
        given = (timeline,) if self.needs_events else ()
        rendered: bytes = module.render(profile, options or ViewOptions(), *given)
        return rendered


_JSON = Output("json", ".json")

# What `ticktree report` shows, and what `ticktree export` writes for other programs.
OUTPUTS = {output.name: output for output in (Output("terminal", ".txt"), Output("markdown", ".md"), _JSON)}
_EXPORTS = (
    _JSON,
    Output("mlagents", ".json"),
    Output("perfetto", ".pftrace", binary=True, needs_events=True),
    Output("chrome", ".json", needs_events=True),
)
EXPORTS = {output.name: output for output in _EXPORTS}
