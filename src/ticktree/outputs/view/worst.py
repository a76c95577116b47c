"""Where the time of a loop's worst ticks went."""

from __future__ import annotations

from collections.abc import Iterator

from ticktree.outputs.options import ViewOptions
from ticktree.outputs.writing import formatting
from ticktree.outputs.writing.visible import visible
from ticktree.profile import Loop, Profile, WorstTick
from ticktree.profile import path as paths
from ticktree.profile.short_names import ShortNames

TICKS_SHOWN = 3
PARTS_SHOWN = 3
# A part that takes so many times as long as usual is worth a word.
UNUSUAL = 1.5
# A part that another fills this far is better named by the other.
FILLED = 0.8

_CAUSES = {
    "gc_ns": "garbage collector",
    "voluntary_switches": "voluntary switch",
    "involuntary_switches": "involuntary switch",
    "minor_faults": "minor page fault",
    "major_faults": "major page fault",
}


def worst_ticks(
    profile: Profile, loop: Loop, options: ViewOptions, names: ShortNames | None = None
) -> list[list[str]]:
    """Return the worst ticks of `loop`, the longest first, each piece by piece: when, how long, and why.

    Unless all are asked for, the longest and at most two more, if they are out of the ordinary.

    Args:
        profile: what the loop is in.
        loop: which.
        options: whether all are asked for.
        names: what nodes are called for short; None where nobody has looked yet.
    """
    names = names or ShortNames(profile.root)
    limit_ns = loop.budget_ns or UNUSUAL * (loop.stats.p50_ns or 0)
    ticks = [tick for place, tick in enumerate(loop.worst) if not place or tick.duration_ns > limit_ns]
    shown = loop.worst if options.all else ticks[:TICKS_SHOWN]
    return [[_when(tick), *_parts(profile, loop, tick, options, names), *_causes(tick)] for tick in shown]


def _when(tick: WorstTick) -> str:
    started = formatting.time(tick.started_ns)
    return f"tick {formatting.count(tick.tick)} at {started} took {formatting.time(tick.duration_ns)}"


def _parts(
    profile: Profile, loop: Loop, tick: WorstTick, options: ViewOptions, names: ShortNames
) -> list[str]:
    parts = [_Part(profile, loop, tick, path, names) for path in _chief_parts(loop, tick)]
    parts.sort(key=lambda part: (-part.excess_ns, part.path))
    return [part.text() for part in (parts if options.all else parts[:PARTS_SHOWN])]


def _causes(tick: WorstTick) -> list[str]:
    return [_cause(key, amount) for key, amount in sorted(tick.causes.items()) if amount]


class _Part:
    """A part of a tick, and how long it usually takes."""

    def __init__(self, profile: Profile, loop: Loop, tick: WorstTick, path: str, names: ShortNames) -> None:
        self.path = path
        self.took_ns = tick.breakdown[path]
        self.name = visible(names.joined(paths.split(path)[len(paths.split(loop.path)) :]))
        node = profile.root.find(path)
        self.usual_ns = 0 if node is None else loop.calls_of(node).sum_ns // max(1, loop.stats.count)
        self.excess_ns = self.took_ns - self.usual_ns

    def text(self) -> str:
        said = f"{self.name} {formatting.time(self.took_ns)}"
        if self.usual_ns and self.took_ns > UNUSUAL * self.usual_ns:
            said += f" (usually {formatting.time(self.usual_ns)})"
        return said


def _chief_parts(loop: Loop, tick: WorstTick) -> Iterator[str]:
    """Yield the parts directly below the loop, each followed down to whatever fills it."""
    below: dict[tuple[str, ...], list[str]] = {}
    for path in tick.breakdown:
        below.setdefault(paths.split(path)[:-1], []).append(path)
    for part in below.get(paths.split(loop.path), []):
        chief = part
        while True:
            longest = max(below.get(paths.split(chief), []), key=tick.breakdown.__getitem__, default=None)
            if longest is None or tick.breakdown[longest] < FILLED * tick.breakdown[chief]:
                break
            chief = longest
        yield chief


def _cause(key: str, amount: int) -> str:
    name = visible(key.removesuffix("_ns").replace("_", " "))
    if key.endswith("_ns"):
        return f"{_CAUSES.get(key, name)} {formatting.time(amount)}"
    if key in _CAUSES:
        return formatting.counted(amount, _CAUSES[key])
    return f"{formatting.count(amount)} {name}"
