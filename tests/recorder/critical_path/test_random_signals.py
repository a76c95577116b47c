"""Random programs of threads that signal each other: the recorder's critical path equals the one traced backwards."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import ticktree
from support.recorder.critical_path_reference import Place, Waiting
from support.recorder.lockstep import Puppet, Self
from support.thorough import part_of
from ticktree.run.reading.image import Image
from ticktree.run.reading.layout import NodeFlag
from ticktree.run.reading.signals import critical_path, edges_of

CHANNELS = ("red", "green", "blue")
NAMES = ("a", "b", "c")
MAX_THREADS = 5

actions = st.one_of(
    st.tuples(st.just("enter"), st.sampled_from(NAMES), st.booleans()),
    st.tuples(st.just("leave")),
    st.tuples(st.just("advance"), st.integers(0, 1000)),
    st.tuples(st.just("signal"), st.sampled_from(CHANNELS)),
    st.tuples(st.just("woken_by"), st.sampled_from(CHANNELS)),
    st.tuples(st.just("start")),
)
programs = st.lists(st.tuples(st.integers(0, MAX_THREADS - 1), actions), max_size=80)


class Performance:
    """Plays a program with real threads, and on the reference."""

    def __init__(self) -> None:
        self.recorder = ticktree.Recorder(virtual_clock=True)
        self.reference = Waiting()
        self.puppets: list[Puppet | Self] = [Self()]
        self.open: list[list[Any]] = [[]]

    def play(self, program: list[tuple[int, tuple[Any, ...]]]) -> None:
        try:
            for number, (action, *details) in program:
                index = number % len(self.puppets)
                getattr(self, action)(index, self._name(index), *details)
            self.compare()
        finally:
            for puppet in self.puppets[1:]:
                puppet.end()
            self.recorder.disable()

    def compare(self) -> None:
        image = Image(self.recorder.image())
        places = node_places(image)
        critical = {places[place.node]: ns for place, ns in critical_path(image).items()}
        if self.reference.threads["main"].touched:
            assert critical == self.reference.critical_path()
            assert sum(critical.values()) == self.recorder.ticks
        else:
            assert critical == {}
        edges = {
            (places[edge.node], edge.channel, places[edge.waker.node]): [
                edge.waits,
                edge.waited_ns,
                edge.latency_ns,
            ]
            for edge in edges_of(image)
        }
        assert edges == self.reference.edges

    def enter(self, index: int, thread: str, name: str, wait: bool) -> None:
        section = self.recorder.section(f"wait {name}" if wait else name, wait=wait)
        self.puppets[index].do(section.__enter__)
        self.open[index].append(section)
        self.reference.enter(thread, section.name, wait=wait)

    def leave(self, index: int, thread: str) -> None:
        if self.open[index]:
            section = self.open[index].pop()
            self.puppets[index].do(lambda: section.__exit__(None, None, None))
            self.reference.leave(thread)

    def advance(self, index: int, thread: str, ns: int) -> None:
        self.recorder.advance(ns)
        self.reference.now += ns

    def signal(self, index: int, thread: str, channel: str) -> None:
        self.puppets[index].do(lambda: self.recorder.wakes(channel))
        self.reference.wakes(thread, channel)

    def woken_by(self, index: int, thread: str, channel: str) -> None:
        self.puppets[index].do(lambda: self.recorder.woken_by(channel))
        self.reference.woken_by(thread, channel)

    def start(self, index: int, thread: str) -> None:
        if len(self.puppets) == MAX_THREADS:
            return
        name = self._name(len(self.puppets))
        starter = self.puppets[index]
        self.puppets.append(Puppet(name, starter if isinstance(starter, Puppet) else None))
        self.open.append([])
        self.reference.start(name, thread)
        # A thread is heard of first when it records something.
        self.enter(len(self.puppets) - 1, name, "begin", False)
        self.leave(len(self.puppets) - 1, name)

    def _name(self, index: int) -> str:
        return f"thread {index}" if index else "main"


def node_places(image: Image) -> dict[int, Place]:
    """Which thread, and which path in it, each node is."""
    trees = {ref: tree.thread_name.decode() for ref, tree in image.trees()}
    places: dict[int, Place] = {}
    for ref, node in image.nodes():
        thread = trees[node.tree] if trees[node.tree].startswith("thread ") else "main"
        above = () if node.flags & NodeFlag.ROOT else (*places[node.parent][1], image.text(node.name))
        places[ref] = (thread, above)
    return places


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(programs)
def test_the_critical_path_of_any_program_is_the_one_found_backwards_from_its_end(program):
    Performance().play(program)


@pytest.mark.slow
@settings(max_examples=part_of(3000), deadline=None, suppress_health_check=list(HealthCheck))
@given(programs)
def test_the_critical_path_of_very_many_programs_is_the_one_found_backwards(program):
    Performance().play(program)
