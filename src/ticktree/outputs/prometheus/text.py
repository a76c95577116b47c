"""The text format."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ticktree.outputs.prometheus.families import Family, Labels
from ticktree.outputs.prometheus.histograms import Durations


def text(families: Iterable[Family | Durations]) -> bytes:
    """Return what a scrape or a text file collector reads; a metric without series is not in it."""
    return "".join(line for family in families for line in _lines(family)).encode()


def _lines(family: Family | Durations) -> Iterator[str]:
    name = f"ticktree_{family.name}"
    for number, (ending, labels, value) in enumerate(_series(family)):
        if not number:
            yield f"# HELP {name} {family.about}\n# TYPE {name} {family.kind}\n"
        inner = ",".join(f'{label}="{_escaped(text)}"' for label, text in labels.items())
        yield f"{name}{ending}{{{inner}}} {value!r}\n"


def _series(family: Family | Durations) -> Iterator[tuple[str, Labels, float]]:
    """Yield of each series the end of its name, its labels and its value."""
    if isinstance(family, Family):
        yield from (("", labels, value) for labels, value in family.samples)
        return
    for labels, stats in family.samples:
        for limit_s, count in family.buckets(stats):
            yield "_bucket", {**labels, "le": repr(limit_s)}, count
        yield "_bucket", {**labels, "le": "+Inf"}, stats.count
        yield "_sum", labels, family.sum_s(stats)
        yield "_count", labels, stats.count


def _escaped(text: str) -> str:
    # Line ends are escapes already: labels are plainly visible.
    return text.replace("\\", "\\\\").replace('"', '\\"')
