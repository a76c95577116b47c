"""The registry: every format a profile can be written in, by name."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module

from ticktree.outputs.options import ViewOptions
from ticktree.profile import Profile


@dataclass(frozen=True, slots=True)
class Output:
    """A format.

    Attributes:
        name: what it is called on the command line; its code is the module of that name here.
        suffix: how its files' names end.
    """

    name: str
    suffix: str

    def render(self, profile: Profile, options: ViewOptions | None = None) -> bytes:
        """Return `profile` in this format; the same bytes each time it is asked for."""
        # Imported when first wanted: who writes JSON need not wait for a library that draws.
        module = import_module(f"ticktree.outputs.{self.name}")
        rendered: bytes = module.render(profile, options or ViewOptions())
        return rendered


_JSON = Output("json", ".json")

# What `ticktree report` shows, and what `ticktree export` writes for other programs.
_VIEWS = (Output("terminal", ".txt"), Output("markdown", ".md"), _JSON, Output("html", ".html"))
OUTPUTS = {output.name: output for output in _VIEWS}
EXPORTS = {output.name: output for output in (_JSON, Output("mlagents", ".json"))}
