"""Programs on a virtual clock, written as a user would write them: exact to the nanosecond, whatever the machine."""

from __future__ import annotations

from dataclasses import replace

import ticktree
from ticktree.profile import Node, Profile
from ticktree.profile import path as paths

MS = 1_000_000


class Program:
    """A recorder, and how long things take."""

    def __init__(self) -> None:
        self.recorder = ticktree.Recorder(virtual_clock=True)
        self.section = self.recorder.section
        self.loop = self.recorder.loop
        self.record_duration = self.recorder.record_duration

    def work(self, name: str, ms: float, **options) -> None:
        """A section that takes so long."""
        with self.section(name, **options):
            self.take(ms)

    def take(self, ms: float) -> None:
        """Time that passes wherever the program is."""
        self.recorder.advance(round(ms * MS))

    def profile(self) -> Profile:
        """What was recorded so far."""
        profile = self.recorder.snapshot()
        profile.check()
        return profile


def with_node(profile: Profile, path: str, **fields) -> Profile:
    """The profile, with a node that knows something else."""

    def changed(node: Node, names: tuple[str, ...]) -> Node:
        if not names:
            return replace(node, **fields)
        below = {**node.children, names[0]: changed(node.children[names[0]], names[1:])}
        return replace(node, children=below)

    return replace(profile, root=changed(profile.root, paths.split(path)))
