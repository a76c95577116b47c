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
        binary: whether it is no text, and nothing that a terminal could show.
        tells_losses: whether a file of it says what could not be recorded.
    """

    name: str
    suffix: str
    binary: bool = False
    tells_losses: bool = True

    def render(self, profile: Profile, options: ViewOptions | None = None) -> bytes:
        """Return `profile` in this format; the same bytes each time it is asked for."""
        # Imported when first wanted: who writes JSON need not wait for a library that draws.
        module = import_module(f"ticktree.outputs.{self.name}")
        rendered: bytes = module.render(profile, options or ViewOptions())
        return rendered


_JSON = Output("json", ".json")
_REPORTS = (
    Output("terminal", ".txt"),
    Output("markdown", ".md"),
    Output("text", ".txt"),
    _JSON,
    Output("html", ".html"),
    Output("png", ".png", binary=True),
    Output("svg", ".svg"),
)
_EXPORTS = (
    _JSON,
    Output("mlagents", ".json"),
    Output("collapsed", ".txt", tells_losses=False),
    Output("speedscope", ".json"),
    Output("pprof", ".pb.gz", binary=True),
    Output("prometheus", ".prom"),
    Output("otlp", ".jsonl"),
    Output("csv", ".csv", tells_losses=False),
    Output("parquet", ".parquet", binary=True),
    Output("tensorboard", ".tfevents", binary=True),
)

# What `ticktree report` shows, and what `ticktree export` writes for other programs.
OUTPUTS = {output.name: output for output in _REPORTS}
EXPORTS = {output.name: output for output in _EXPORTS}
