"""Invented runs in a history."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ticktree.profile.run_summary import Measure, RunSummary

DAY_NS = 86_400 * 10**9
LAPTOP = {"cpu": "Small CPU", "cores": 4, "cores_usable": 4}
SERVER = {"cpu": "Large CPU", "cores": 64, "cores_usable": 64}


def measure(ns: float, share: float = 0.5, is_loop: bool = False) -> Measure:
    """A section of ten calls that took so long each."""
    total_ns = round(ns)
    return Measure(10, 10 * total_ns, total_ns, total_ns, total_ns, 2 * total_ns, share, is_loop)


def run(
    at: int,
    sections: Mapping[str, float],
    commit: str = "",
    loops: Sequence[str] = ("train",),
    **facts: object,
) -> RunSummary:
    """The run of a day."""
    metadata = {"command": "train.py", "name": "train", **LAPTOP, **facts}
    if commit:
        metadata |= {"git.commit": commit, "git.dirty": False}
    measures = {path: measure(ns, is_loop=path in loops) for path, ns in sections.items()}
    return RunSummary(f"run-{at}", f"20260101-{at:06}-train", (20_000 + at) * DAY_NS, metadata, measures)


def days(
    values: Sequence[float], commits: Sequence[str] = (), path: str = "train", **facts: object
) -> list[RunSummary]:
    """A run a day of one section."""
    return [run(at, {path: ns}, commits[at] if commits else "", **facts) for at, ns in enumerate(values)]
