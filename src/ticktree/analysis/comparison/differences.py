"""Differences: the facts, other than timings, that differ between the two sides of a comparison."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ticktree.profile import Profile
from ticktree.profile.machine import library_threads
from ticktree.profile.metadata import Value, ordered

# Facts that change durations whatever the program does: a comparison of such runs does not compare the program.
_TIMING_FACTS = (
    *("host", "system", "cpu", "cores", "cores_usable", "gpus", "gpu"),
    *("python", "python.optimize", "implementation", "clock"),
)
_THREADS = "threads."
_TIMING_PREFIXES = ("version.", "env.", _THREADS)
# Facts of the run itself, or of ticktree, which differ between any two runs.
_RUN_FACTS = ("name", "started_ns", "unfinished", "times_enabled", "section_cost_ns")
# ticktree's record of the machine's ceilings changes when it measures them; the machine does not.
_CEILING_PREFIX = "ceiling."


class Difference(NamedTuple):
    """A fact that the sides do not share.

    Attributes:
        key: of the profile's metadata.
        base: its values in the base, as text; "" if unknown.
        new: its values in the new runs, likewise.
        is_ground: whether it alone may make the program faster or slower.
    """

    key: str
    base: str
    new: str
    is_ground: bool

    def to_dict(self) -> dict[str, str]:
        """Return its fields for `--format json`."""
        return {"key": self.key, "base": self.base, "new": self.new}


def differences(base: Sequence[Profile], new: Sequence[Profile]) -> list[Difference]:
    """Return all facts that differ, those that may make the program faster or slower first."""
    before, after = _facts(base), _facts(new)
    results = [
        Difference(
            key,
            _text(before.get(key, set())),
            _text(after.get(key, set())),
            is_ground=key in _TIMING_FACTS or key.startswith(_TIMING_PREFIXES),
        )
        for key in sorted(before.keys() | after.keys())
        if key not in _RUN_FACTS and not key.startswith(_CEILING_PREFIX)
        if before.get(key) != after.get(key)
        # A program that was killed did not record its number of threads.
        if not key.startswith(_THREADS) or (key in before and key in after)
    ]
    return sorted(results, key=lambda difference: not difference.is_ground)


def _facts(runs: Sequence[Profile]) -> dict[str, set[Value]]:
    facts: dict[str, set[Value]] = {}
    for run in runs:
        for key, values in run.metadata.items():
            facts.setdefault(key, set()).update(values)
        for library, count in library_threads(run.gauges).items():
            facts.setdefault(f"{_THREADS}{library}", set()).add(count)
    return facts


def _text(values: set[Value]) -> str:
    return ", ".join(str(value) for value in ordered(values))
