"""Random programs, which hypothesis generates and `player.py` plays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from hypothesis import strategies as st


@dataclass(frozen=True)
class Advance:
    ns: int


@dataclass(frozen=True)
class Section:
    name: str
    body: Body


@dataclass(frozen=True)
class Timed:
    """A call of a function that @timed made a section; its body cannot be suspended."""

    name: str
    body: Body


@dataclass(frozen=True)
class Call:
    """A call of one of the program's functions, which may call each other."""

    function: int


@dataclass(frozen=True)
class Raise:
    pass


@dataclass(frozen=True)
class Catch:
    body: Body


@dataclass(frozen=True)
class Stage:
    name: str


@dataclass(frozen=True)
class Tick:
    name: str


@dataclass(frozen=True)
class Loop:
    name: str
    ticks: int
    warmup: int
    body: Body


@dataclass(frozen=True)
class Break:
    pass


@dataclass(frozen=True)
class Record:
    name: str
    ns: int


@dataclass(frozen=True)
class Suspend:
    """A generator's `yield`, a task's `await`, or a thread's handing over."""


@dataclass(frozen=True)
class Generator:
    """Makes a generator; `Resume` runs it."""

    body: Body


@dataclass(frozen=True)
class Resume:
    """Runs a generator of this stack, or one of its threads, or the next task, until it is suspended."""

    which: int


@dataclass(frozen=True)
class Close:
    """Closes a generator of this stack."""

    which: int


@dataclass(frozen=True)
class Task:
    """Makes a task that runs in a context of its own."""

    body: Body


@dataclass(frozen=True)
class InContext:
    """`Context.run` of a copy."""

    body: Body


@dataclass(frozen=True)
class Thread:
    """Starts a thread; it runs when it is resumed."""

    body: Body


@dataclass(frozen=True)
class Submit:
    """Work for an executor's thread, and waiting for it."""

    body: Body


@dataclass(frozen=True)
class Snapshot:
    pass


@dataclass(frozen=True)
class Switch:
    """`reset`, or `disable` and after so many nanoseconds `enable`."""

    what: str
    off_ns: int


Step: TypeAlias = (
    "Advance | Section | Timed | Call | Raise | Catch | Stage | Tick | Loop | Break | Record | Suspend | Generator"
    " | Resume | Close | Task | InContext | Thread | Submit | Snapshot | Switch"
)
Body: TypeAlias = tuple[Step, ...]

# Few, so that paths meet and recursion is common; stages and loops may have the names of sections.
names = st.sampled_from(["a", "b", "c"])
moments = st.integers(0, 30)
which = st.integers(0, 5)

_leaves = {
    "advance": st.builds(Advance, moments),
    "call": st.builds(Call, st.integers(0, 2)),
    "record": st.builds(Record, names, moments),
    "raise": st.just(Raise()),
    "snapshot": st.just(Snapshot()),
    "stage": st.builds(Stage, names),
    "tick": st.builds(Tick, names),
    "break": st.just(Break()),
    "suspend": st.just(Suspend()),
    "resume": st.builds(Resume, which),
    "close": st.builds(Close, which),
    "reset": st.just(Switch("reset", 0)),
    "disable": st.builds(Switch, st.just("disable"), moments),
}
# In sections only: stages and ticks need one of the same stack around them, to be ended by.
_soft = ("stage", "tick", "break")
_plain = (
    *("advance", "advance", "advance", "advance", "call", "record", "raise", "snapshot"),
    *("section", "section", "section", "section", "timed", "loop", "catch"),
)
# What the bodies that run elsewhere are made of, beside what any body is.
_elsewhere = {
    "generator": (Generator, ("suspend", "suspend", "suspend", "suspend", "resume", "close", "generator")),
    "task": (Task, ("suspend", "suspend", "suspend", "suspend", "task", "generator", "resume", "context")),
    "context": (InContext, ("generator", "resume")),
    "thread": (Thread, ("suspend", "suspend", "suspend", "generator", "resume", "context", "task")),
    "submit": (Submit, ()),
}


@st.composite
def steps(draw, more, depth, soft):
    """One step: of those that any body has, or one of `more`."""
    kinds = [*_plain, *more, *(_soft if soft else ())]
    nesting = ("section", "timed", "loop", "catch", *_elsewhere)
    kind = draw(st.sampled_from([kind for kind in kinds if depth or kind not in nesting]))
    if kind in _leaves:
        return draw(_leaves[kind])
    if kind in _elsewhere:
        make, within = _elsewhere[kind]
        return make(draw(bodies(within, depth - 1, least=3)))
    if kind == "catch":
        return Catch(draw(bodies(more, depth - 1, soft)))
    inner = draw(bodies(more, depth - 1, soft=True))
    if kind == "loop":
        return Loop(draw(names), draw(st.integers(0, 3)), draw(st.sampled_from([0, 0, 1, 2])), inner)
    return (Section if kind == "section" else Timed)(draw(names), inner)


def bodies(more=(), depth=3, soft=False, least=1):
    """Bodies of so many steps at least, so many levels deep at most."""
    return st.lists(steps(more, depth, soft), min_size=least, max_size=least + 4).map(tuple)


@dataclass(frozen=True)
class Caps:
    """How much the recorder may hold: nodes, names, levels. A call past any of them is lost, and counted."""

    nodes: int = 4096
    names: int = 4096
    depth: int = 256


@dataclass(frozen=True)
class Program:
    """What the main stack does, and the functions it and all others may call."""

    main: Body
    functions: tuple[Body, Body, Body]
    caps: Caps = Caps()


def _caps(more):
    """Mostly one cap or none, so that what is lost is not lost twice over.

    With threads the nodes have no cap: how many trees there are, each with a root, is up to the scheduler.
    """
    kinds = [
        st.just(Caps()),
        st.builds(Caps, names=st.integers(0, 4)),
        st.builds(Caps, depth=st.integers(1, 3)),
    ]
    if not {"thread", "submit"}.intersection(more):
        nodes = st.integers(1, 8)
        kinds += [st.builds(Caps, nodes), st.builds(Caps, nodes), st.builds(Caps, nodes, st.integers(1, 4))]
    return st.one_of(kinds)


def programs(*more, in_functions=()):
    """Programs with these kinds of steps beside those that all have."""
    function = bodies(in_functions, depth=2)
    return st.builds(
        Program, bodies(more, depth=4, least=6), st.tuples(function, function, function), _caps(more)
    )
