"""Gradients that are computed and thrown away: whose backward pass made them, told from what optimizers do next."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from types import CodeType, FrameType
from typing import TYPE_CHECKING, Any, TypeAlias
from weakref import WeakKeyDictionary

from ticktree.instrument.torch import flops

if TYPE_CHECKING:
    from ticktree.recorder import Recorder

# The section of a backward pass, and that of one of which it is known that gradients it computes are not used, with
# the gauge of what part of them. rules/unused_gradients.py looks for the latter two.
PLAIN = "backward"
SECTION = "backward with unused gradients"
GAUGE = "torch/unused gradients"

# Of so many parameters of an optimizer it is looked whether a pass has written their gradients: passes reach whole
# networks, and to look at all would cost as much as clearing them.
LOOKED_AT = 3
# What a place does in its first calls it goes on doing: from then on it is looked at now and then.
FIRST_CALLS = 50
THEN_EVERY = 16
# A pass whose gradients were thrown away so often, and in most of its calls, will do it again. A step left out because
# a gradient overflowed throws some away too, now and then.
LEAST_TIMES = 3
MOSTLY_SHARE = 0.5
# Passes are told apart by where they are called from: the section, and so many lines.
FRAMES = 4
MOST_SITES = 1000

_State: TypeAlias = tuple[int, int] | None


# Optimizers, with the states of their gradients before a pass.
_Before: TypeAlias = "list[tuple[Any, _Watched, list[_State]]]"


class _Inside(threading.local):
    """Whether a pass runs on this thread: what recomputes activations starts another inside it."""

    is_open = False


@dataclass(slots=True, eq=False)
class _Site:
    """A place in the program that calls a backward pass."""

    codes: tuple[CodeType, ...]  # kept, so that no other code takes their identities
    turns: int = 0
    calls: int = 0  # turns that were looked at
    wasteful: int = 0  # those some of whose gradients were thrown away
    used: int = 0  # numbers in gradients that were stepped with
    unused: int = 0  # and in those that were thrown away

    def is_wasteful(self) -> bool:
        return self.wasteful >= LEAST_TIMES and self.wasteful >= MOSTLY_SHARE * self.calls


@dataclass(slots=True, eq=False)
class _Pass:
    """One call of it."""

    site: _Site
    is_wasteful: bool = False


@dataclass(slots=True, eq=False)
class _Watched:
    """An optimizer: where the parameters looked at are in its groups, and who wrote gradients since it last acted."""

    groups: int
    looked_at: list[tuple[int, int]]
    numbers: int
    written_by: list[_Pass] = field(default_factory=list)


class Gradients:
    """Watches backward passes and optimizers. What goes wrong while watching ends it, and nothing else.

    Args:
        recorder: what it records into.
        is_compiling: tells whether the caller is being compiled and not run: then it must see nothing of this.
    """

    def __init__(self, recorder: Recorder, is_compiling: Callable[[], bool]) -> None:
        self._recorder = recorder
        self._is_compiling = is_compiling
        self._plain, self._wasteful = recorder.section(PLAIN), recorder.section(SECTION)
        self._inside = _Inside()
        self._watched: WeakKeyDictionary[Any, _Watched] = WeakKeyDictionary()
        self._sites: dict[Hashable, _Site] = {}
        self._has_failed = False

    def around_backward(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return `function`, a backward pass, as a section, with a look at whose gradients it writes."""

        def backward(*args: Any, **kwargs: Any) -> Any:
            if self._is_compiling() or self._inside.is_open or not self._recorder.recording:
                return function(*args, **kwargs)
            site, before = self._begin(sys._getframe(1))
            self._inside.is_open = True
            try:
                with self._wasteful if site is not None and site.is_wasteful() else self._plain as section:
                    if flops.count is None:
                        result = function(*args, **kwargs)
                    else:
                        result = flops.count(section, function, *args, **kwargs)
            finally:
                self._inside.is_open = False
            if site is not None and before is not None:
                self._end(site, before)
            return result

        return backward

    def before_clearing(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return `function`, an optimizer's `zero_grad`, with a look at whose gradients it throws away."""

        def zero_grad(optimizer: Any, *args: Any, **kwargs: Any) -> Any:
            if not self._is_compiling() and self._is_watching():
                self._acts(optimizer, self._throw_away)
            return function(optimizer, *args, **kwargs)

        return zero_grad

    def after_step(self, optimizer: Any, *_: Any) -> None:
        """Notes that an optimizer has used its gradients; a hook that torch calls after every step."""
        if not self._is_compiling() and self._is_watching():
            self._acts(optimizer, self._use)

    def _is_watching(self) -> bool:
        return not self._has_failed and self._recorder.recording

    def _begin(self, frame: FrameType) -> tuple[_Site | None, _Before | None]:
        if self._has_failed:
            return None, None
        try:
            site = self._site(frame)
            site.turns += 1
            if site.turns > FIRST_CALLS and site.turns % THEN_EVERY:
                return site, None
            every = list(self._watched.items())
            return site, [(optimizer, watched, _states(optimizer, watched)) for optimizer, watched in every]
        except Exception:
            self._has_failed = True
            return None, None

    def _end(self, site: _Site, before: _Before) -> None:
        try:
            site.calls += 1
            this = _Pass(site)
            for optimizer, watched, states in before:
                if states != _states(optimizer, watched):
                    watched.written_by.append(this)
        except Exception:
            self._has_failed = True

    def _acts(self, optimizer: Any, settle: Callable[[_Pass, _Watched], None]) -> None:
        """Settle what becomes of the gradients that were written since `optimizer` last acted."""
        try:
            watched = self._watched.get(optimizer)
            if watched is None or watched.groups != len(optimizer.param_groups):
                self._watched[optimizer] = _watch(optimizer)
                return
            for this in watched.written_by:
                settle(this, watched)
            watched.written_by.clear()
        except Exception:
            self._has_failed = True

    def _use(self, this: _Pass, watched: _Watched) -> None:
        this.site.used += watched.numbers

    def _throw_away(self, this: _Pass, watched: _Watched) -> None:
        site = this.site
        site.unused += watched.numbers
        if not this.is_wasteful:
            this.is_wasteful = True
            site.wasteful += 1
        if site.is_wasteful():
            self._recorder.gauge(GAUGE, site.unused / (site.used + site.unused))

    def _site(self, frame: FrameType | None) -> _Site:
        # By identity and instruction: code hashes by all it holds, and a line must be looked for; each cost 10 us.
        key: list[Hashable] = [self._recorder.address()]
        codes: list[CodeType] = []
        while frame is not None and len(codes) < FRAMES:
            codes.append(frame.f_code)
            key += (id(frame.f_code), frame.f_lasti)
            frame = frame.f_back
        site = self._sites.get(tuple(key))
        if site is None:
            if len(self._sites) >= MOST_SITES:
                raise OverflowError("a program that calls backward from everywhere")
            site = self._sites[tuple(key)] = _Site(tuple(codes))
        return site


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
    numbers = sum(parameter.numel() for group in optimizer.param_groups for parameter in group["params"])
    return _Watched(len(optimizer.param_groups), chosen, numbers)


def _states(optimizer: Any, watched: _Watched) -> list[_State]:
    """Return what differs where a gradient was written: where it is, and how often it has been changed in place."""
    states: list[_State] = []
    for group, index in watched.looked_at:
        gradient = optimizer.param_groups[group]["params"][index].grad
        states.append(None if gradient is None else (gradient.data_ptr(), gradient._version))
    return states
