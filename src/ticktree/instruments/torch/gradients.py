"""Gradients that are computed and thrown away, and by which backward pass, inferred from the optimizers."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import PurePath
from statistics import median
from types import CodeType, FrameType
from typing import Any, TypeAlias
from weakref import WeakKeyDictionary, WeakSet

from ticktree.instruments.torch import flops
from ticktree.instruments.torch.instances import itself
from ticktree.instruments.torch.node_times import NodeTimes, cpu_roots
from ticktree.recorder import CallSites, Flag, Layer, OutermostFunction, Recorder, Redirection, Section
from ticktree.recorder.site import NO_SITE, Site

# The section of a backward pass, and that of one of which it is known that gradients it computes are not used, with
# the gauges of what part of all numbers in them that is, and of what part of the pass's time they take: each followed
# by the line that calls the pass. analysis/rules/torch.py looks for the latter three.
PLAIN = "backward"
SECTION = "backward with unused gradients"
GAUGE = "torch/unused gradients/"
TIME_GAUGE = "torch/time of unused gradients/"

# Of so many parameters of an optimizer it is looked whether a pass has written their gradients: passes reach whole
# networks, and to look at all would cost as much as clearing them.
LOOKED_AT = 3
# What a place does in its first calls it continues to do. From then on one call in so many is checked, of its
# own calls or of all; the number is no whole number of steps: else it would always be the same place's call.
FIRST_CALLS = 50
THEN_EVERY = 64
# A pass whose gradients were thrown away so often, and in most of its calls, will do it again. A step left out because
# a gradient overflowed throws some away too, now and then.
LEAST_TIMES = 3
MOSTLY_SHARE = 0.5
# Passes are distinguished by where they are called from: the section, and so many lines.
FRAMES = 4
MOST_SITES = 1000
# Of the passes of a place known to be wasteful the nodes of so many are timed, which takes five to eight microseconds
# per node. Their median leaves out one that waited for a core.
TIMED_PASSES = 5

_State: TypeAlias = tuple[int, int] | None
# Optimizers, with the states of their gradients before a pass.
_Before: TypeAlias = "list[tuple[Any, _Watched, list[_State]]]"
# Where parameters are: the number of their group, and their place in it.
_Places: TypeAlias = Sequence[tuple[int, int]]


@dataclass(slots=True, eq=False)
class _Site:
    """A place in the program that calls a backward pass."""

    number: int
    codes: tuple[CodeType, ...]  # kept, so that no other code takes their place in memory
    line: Site  # the innermost of them
    section: Section | None = None  # what its passes are once they are known to be wasteful
    reach: WeakKeyDictionary[_Watched, int] = field(
        default_factory=WeakKeyDictionary
    )  # as of a pass, by optimizer
    turns: int = 0  # calls that came here
    calls: int = 0  # of them, those that were looked at
    wasteful: int = 0  # those some of whose gradients were thrown away
    used: int = 0  # numbers in gradients that were stepped with
    unused: int = 0  # and in those that were thrown away
    steps: WeakSet[_Watched] = field(default_factory=WeakSet)  # optimizers that stepped with what was written
    clears: WeakSet[_Watched] = field(default_factory=WeakSet)  # and those that threw it away
    timings: int = 0  # passes whose nodes were timed
    time_shares: list[float] = field(default_factory=list)  # the part of each that unused gradients took

    def is_wasteful(self) -> bool:
        return self.wasteful >= LEAST_TIMES and self.wasteful >= MOSTLY_SHARE * self.calls

    def at(self) -> str:
        file, number, _ = self.line
        return f"{PurePath(file).name}:{number}"

    def unused_parameters(self) -> frozenset[int]:
        """Return the `id` of each parameter that only optimizers have which throw its gradients away."""
        cleared = (watched.parameters for watched in self.clears)
        return frozenset().union(*cleared).difference(*(watched.parameters for watched in self.steps))


@dataclass(slots=True, eq=False)
class _Pass:
    """One call of it."""

    site: _Site
    is_wasteful: bool = False


@dataclass(slots=True, eq=False, weakref_slot=True)
class _Watched:
    """An optimizer: where the checked parameters are in its groups, and which sites wrote their gradients."""

    groups: int
    looked_at: _Places
    places: _Places  # all of them
    parameters: frozenset[int]  # their `id`: the optimizer keeps them
    written_by: list[_Pass] = field(default_factory=list)


# What becomes of the gradients that a pass wrote for an optimizer.
Resolve: TypeAlias = Callable[[_Pass, _Watched], None]


class Gradients:
    """Watches backward passes and optimizers. What goes wrong while watching ends it, and nothing else.

    Only passes that are to be looked at come here, and what optimizers do next: all others are sections by
    their own accord, of one name or the other by where they are called from. `stepping` is the layer of optimizers'
    calls of `step`.
    """

    def __init__(self, recorder: Recorder) -> None:
        self.stepping = Layer(of_each=True)
        self._recorder = recorder
        self._plain = recorder.timed_section(PLAIN, NO_SITE)
        self._layer = Layer()
        self._watched: WeakKeyDictionary[Any, _Watched] = WeakKeyDictionary()
        self._sites: dict[int, _Site] = {}
        self._call_sites = CallSites(recorder, FRAMES)
        self._has_failed = False
        self._passes = Redirection()
        self._acts: list[tuple[Redirection, Callable[..., Any]]] = []
        self._pauses = 0
        flops.listen(self._look_at_next)

    def around_backward(self, function: Callable[..., Any], unless: Flag | None = None) -> Any:
        """Return `function`, a backward pass, as a section, with a look at whose gradients it writes."""
        return OutermostFunction(
            function,
            self._plain,
            self._layer,
            choice=self._call_sites,
            unless=unless,
            redirection=self._passes,
        )

    def register(self, optimizer: Any) -> None:
        """Has it watched from now on."""
        if self._has_failed:
            return
        try:
            optimizer = itself(optimizer)
            if optimizer not in self._watched:
                self._watched[optimizer] = _watch(optimizer)
        except Exception:
            self._fail()

    def redirection(self, resolve: Resolve, sections: Callable[[Any], Section]) -> Redirection:
        """Return the one that a method of optimizers takes while it is awaited what they do with gradients."""

        def way(method: Callable[..., Any], optimizer: Any, /, *args: Any, **kwargs: Any) -> Any:
            with sections(optimizer):
                result = method(optimizer, *args, **kwargs)
            self._resolve(optimizer, resolve)
            return result

        self._acts.append((Redirection(), way))
        return self._acts[-1][0]

    def use(self, this: _Pass, watched: _Watched) -> None:
        """Notes that an optimizer stepped with what a pass wrote."""
        this.site.used += this.site.reach[watched]
        this.site.steps.add(watched)
        for other in self._watched.values():  # what others clear of the same parameters was used
            if other is not watched and this in other.written_by and other.parameters & watched.parameters:
                other.written_by.remove(this)

    def mark_unused(self, this: _Pass, watched: _Watched) -> None:
        """Notes that an optimizer cleared what a pass wrote."""
        site = this.site
        site.unused += site.reach[watched]
        site.clears.add(watched)
        if not this.is_wasteful:
            this.is_wasteful = True
            site.wasteful += 1
            self._name(site)
        if site.is_wasteful():
            self._recorder.gauge(GAUGE + site.at(), site.unused / (site.used + site.unused))

    def _backward(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        site, before = self._begin(self._call_sites.number())
        times = self._node_times(site, *args, **kwargs) if before is not None else None
        with self._section_of(site) or self._plain as section, times or nullcontext():
            result = flops.counted(section, function, *args, **kwargs)
        if site is not None and before is not None:
            self._end(site, before, times)
        return result

    def _begin(self, call_sites: int) -> tuple[_Site | None, _Before | None]:
        if self._has_failed:
            return None, None
        try:
            site = self._sites.get(call_sites) or self._new_site(call_sites, sys._getframe(2))
            site.turns += 1
            if flops.count is not None and site.turns > FIRST_CALLS and site.turns % THEN_EVERY:
                return site, None
            return site, [
                (each, watched, _states(each, _looked_at(site, watched)))
                for each, watched in self._up_to_date()
            ]
        except Exception:
            self._fail()
            return None, None

    def _node_times(
        self, site: _Site | None, tensors: Any = (), *more: Any, inputs: Any = None, **_: Any
    ) -> NodeTimes | None:
        """Return what times the nodes of a pass, where it is one of those that are timed.

        Where there are more than three arguments by position, `inputs` may be one: the leaves that the pass is limited
        to, with which nothing is unused.
        """
        if (
            site is None
            or inputs is not None
            or len(more) > 3
            or flops.count is not None  # counting takes longer than what is counted
            or site.timings >= TIMED_PASSES
            or not site.is_wasteful()
        ):
            return None
        site.timings += 1
        try:
            roots = cpu_roots(tensors)
            return NodeTimes(roots, site.unused_parameters()) if roots else None
        except Exception:
            site.timings = TIMED_PASSES
            return None

    def _end(self, site: _Site, before: _Before, times: NodeTimes | None) -> None:
        try:
            site.calls += 1
            share = times.unused_share() if times is not None else None
            if share is not None:
                site.time_shares.append(share)
                self._recorder.gauge(TIME_GAUGE + site.at(), median(site.time_shares))
            this = _Pass(site)
            stepping = self.stepping.within
            for optimizer, watched, states in before:
                if not _has_written(site, optimizer, watched, states):
                    continue
                # A step's closure called for the pass: what it writes is for this very step.
                if optimizer is stepping:
                    self.use(this, watched)
                else:
                    watched.written_by.append(this)
            self._name(site)
            self._await()
            if site.turns < FIRST_CALLS:
                self._look_at_next()
            else:
                self._look_later()
        except Exception:
            self._fail()

    def _resolve(self, optimizer: Any, resolve: Resolve) -> None:
        """Resolve what becomes of the gradients that were written since `optimizer` last acted."""
        try:
            watched = self._watched.get(itself(optimizer))
            if watched is None or not watched.written_by:
                return
            for this in watched.written_by:
                resolve(this, watched)
            watched.written_by.clear()
            self._await()
        except Exception:
            self._fail()

    def _name(self, site: _Site) -> None:
        self._call_sites.name(site.number, self._section_of(site))

    def _section_of(self, site: _Site | None) -> Section | None:
        """Return the section of a place's passes once they are known to be wasteful; its line is the place's."""
        if site is None or not site.is_wasteful():
            return None
        if site.section is None:
            site.section = self._recorder.timed_section(SECTION, site.line)
        return site.section

    def _look_at_next(self) -> None:
        self._passes.way = None if self._has_failed and not flops.count else self._backward
        self._passes.after = 0

    def _look_later(self) -> None:
        if not flops.count:
            self._pauses += 1
            self._passes.after = THEN_EVERY // 2 + self._pauses % THEN_EVERY

    def _await(self) -> None:
        is_awaited = any(watched.written_by for watched in self._watched.values())
        for redirection, way in self._acts:
            redirection.way = way if is_awaited else None

    def _fail(self) -> None:
        self._has_failed = True
        for number in self._sites:
            self._call_sites.name(number, None)
        for redirection, _ in self._acts:
            redirection.way = None
        self._look_at_next()

    def _up_to_date(self) -> list[tuple[Any, _Watched]]:
        """Return the optimizers that are watched; set up again where they were given more parameters."""
        for optimizer, watched in list(self._watched.items()):
            if watched.groups != len(optimizer.param_groups):
                self._watched[optimizer] = _watch(optimizer)
        return list(self._watched.items())

    def _new_site(self, call_sites: int, frame: FrameType | None) -> _Site:
        if len(self._sites) >= MOST_SITES:
            raise OverflowError("a program that calls backward from everywhere")
        codes: list[CodeType] = []
        line = _line_of(frame)
        while frame is not None and len(codes) < FRAMES:
            codes.append(frame.f_code)
            frame = frame.f_back
        site = self._sites[call_sites] = _Site(call_sites, tuple(codes), line)
        return site


def _line_of(frame: FrameType | None) -> Site:
    """Return the innermost line that is not torch's own: `Tensor.backward` calls `torch.autograd.backward`."""
    while frame is not None and str(frame.f_globals.get("__name__")).partition(".")[0] == "torch":
        frame = frame.f_back
    if frame is None:
        return NO_SITE
    return frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_qualname


def _watch(optimizer: Any) -> _Watched:
    places = [
        (number, index)
        for number, group in enumerate(optimizer.param_groups)
        for index in range(len(group["params"]))
    ]
    last = len(places) - 1
    chosen = sorted(
        {places[last * part // max(1, LOOKED_AT - 1)] for part in range(LOOKED_AT)} if places else ()
    )
    parameters = frozenset(id(_parameter(optimizer, place)) for place in places)
    return _Watched(len(optimizer.param_groups), chosen, places, parameters)


def _parameter(optimizer: Any, place: tuple[int, int]) -> Any:
    group, index = place
    return optimizer.param_groups[group]["params"][index]


def _looked_at(site: _Site, watched: _Watched) -> _Places:
    """Return the parameters to be looked at: all, where it is not known which of them the passes of a place write."""
    return watched.looked_at if watched in site.reach else watched.places


def _has_written(site: _Site, optimizer: Any, watched: _Watched, before: list[_State]) -> bool:
    """Tell whether a pass has written gradients of an optimizer; and note how many numbers, if all were looked at.

    A loss may go through one of two networks that have one optimizer.
    """
    places = _looked_at(site, watched)
    written = [
        place
        for place, was, now in zip(places, before, _states(optimizer, places), strict=True)
        if was != now
    ]
    if watched not in site.reach:
        site.reach[watched] = sum(_parameter(optimizer, place).numel() for place in written)
    elif written and not site.reach[watched]:  # the place writes what it did not
        del site.reach[watched]
        return False
    return bool(written)


def _states(optimizer: Any, places: _Places) -> list[_State]:
    """Return what differs where a gradient was written: where it is, and how often it has been changed in place."""
    states: list[_State] = []
    for place in places:
        gradient = _parameter(optimizer, place).grad
        states.append(None if gradient is None else (gradient.data_ptr(), gradient._version))
    return states
