"""Programs on a virtual clock: their sections take as long as they say, exactly."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TypeAlias

import ticktree
from support.findings import findings
from ticktree.analysis.finding import Finding, Settings
from ticktree.analysis.third_party import Rule
from ticktree.profile import Profile
from ticktree.recorder.site import NO_SITE, Site

MS = 1_000_000

# What is known of one machine, or what of each of several.
Fact: TypeAlias = float | str | tuple[float | str, ...]


class Program:
    """A recorder of its own, and short words for what a program does with it."""

    def __init__(self) -> None:
        self.recorder = ticktree.Recorder(virtual_clock=True)

    def __enter__(self):
        return self

    def __exit__(self, *error: object) -> None:
        self.recorder.disable()

    def ticks(self, count: int, name: str = "control", **options: object) -> Iterator[int]:
        """A loop of so many ticks; its warm-up is found by itself unless `warmup` says what it is."""
        return self.recorder.loop(name, range(count), **options)

    def spend(self, name: str, ms: float, wait: bool = False, at: Site = NO_SITE, **work: int) -> None:
        """A section that takes so long, and says what work it did; called nowhere, unless it is said where."""
        with self.recorder.timed_section(name, at, wait=wait) as section:
            self.recorder.advance(round(ms * MS))
            if work:
                section.work(**work)

    @contextmanager
    def inside(self, name: str, **work: int) -> Iterator[None]:
        """A section around others."""
        with self.recorder.section(name) as section:
            yield
            if work:
                section.work(**work)

    def gauge(self, name: str, value: float) -> None:
        self.recorder.gauge(name, value)

    def profile(self, **metadata: Fact) -> Profile:
        """What was recorded, of a machine of which so much is known, or of several."""
        profile = self.recorder.snapshot()
        profile.check()
        facts = {key.replace("__", "."): _values(value) for key, value in metadata.items()}
        return replace(profile, metadata={**profile.metadata, **facts})

    def found(self, rule: Rule, settings: Settings | None = None, **metadata: Fact) -> list[Finding]:
        """What `rule` finds in it."""
        return findings(self.profile(**metadata), settings, [rule])


def _values(fact: Fact) -> frozenset[float | str]:
    return frozenset(fact if isinstance(fact, tuple) else {fact})


def robot_tick(
    program: Program, preprocessing: float = 10, inference: float = 100, merge: float = 0.0
) -> None:
    """A tick as the guide to real-time chunking names its parts; all times in milliseconds."""
    with program.inside("get_actions"):
        program.spend("get_actions.preprocessing", preprocessing)
        program.spend("get_actions.policy_inference", inference)
        program.spend("get_actions.postprocessing", 2)
        if merge:
            program.spend("get_actions.action_queue_merge", merge)
