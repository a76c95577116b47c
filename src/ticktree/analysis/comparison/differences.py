"""Differences: what else differs between the two sides, besides what is compared."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ticktree.profile import Profile
from ticktree.profile.machine import threads
from ticktree.profile.metadata import Value, ordered

# What changes how long anything takes, whatever the program does: unlike in these, two runs say nothing of it.
_GROUNDS = (
    "host",
    "system",
    "cpu",
    "cores",
    "cores_usable",
    "gpus",
    "python",
    "python.optimize",
    "implementation",
    "clock",
)
_THREADS = "threads."
_GROUND_PREFIXES = ("version.", "env.", _THREADS)
# What is of the run itself, or of ticktree: different in any two runs.
_OF_THE_RUN = ("name", "started_ns", "unfinished", "times_enabled", "section_cost_ns")
# What ticktree knows of the machine's ceilings changes when it measures them; the machine does not.
_OF_TICKTREE_PREFIX = "ceiling."


class Difference(NamedTuple):
    """A fact that the sides do not share.

    Attributes:
        key: of the profile's metadata.
        base: its values on that side, as text; "" where it is not known.
        new: its values on this side.
        is_ground: whether it alone may make anything faster or slower.
    """

    key: str
    base: str
    new: str
    is_ground: bool

    def to_dict(self) -> dict[str, str]:
        """Return it as `--format json` writes it."""
        return {"key": self.key, "base": self.base, "new": self.new}


def differences(base: Sequence[Profile], new: Sequence[Profile]) -> list[Difference]:
    """Every fact that differs, those that may make anything faster or slower first.

    Args:
        base: The runs on one side.
        new: Those on the other.
    """
    old, young = _facts(base), _facts(new)
    found = [
        Difference(key, _text(old.get(key, set())), _text(young.get(key, set())), _is_ground(key))
        for key in sorted(old.keys() | young.keys())
        if not _is_of_the_run(key) and old.get(key) != young.get(key)
        # A program that was killed did not come to say how many threads it had.
        if not key.startswith(_THREADS) or (key in old and key in young)
    ]
    return sorted(found, key=lambda difference: not difference.is_ground)


def _facts(runs: Sequence[Profile]) -> dict[str, set[Value]]:
    facts: dict[str, set[Value]] = {}
    for run in runs:
        for key, values in run.metadata.items():
            facts.setdefault(key, set()).update(values)
        for library, count in threads(run.gauges).items():
            facts.setdefault(f"{_THREADS}{library}", set()).add(count)
    return facts


def _text(values: set[Value]) -> str:
    return ", ".join(str(value) for value in ordered(values))


def _is_ground(key: str) -> bool:
    return key in _GROUNDS or key.startswith(_GROUND_PREFIXES)


def _is_of_the_run(key: str) -> bool:
    return key in _OF_THE_RUN or key.startswith(_OF_TICKTREE_PREFIX)
