"""Gradients that backward passes compute and optimizers throw away, inferred from the optimizers' calls."""

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
from ticktree.instruments.torch.instances import unwrap
from ticktree.instruments.torch.node_times import NodeTimes, cpu_roots
from ticktree.recorder import CallSites, Flag, Layer, OutermostFunction, Recorder, Redirection, Section
from ticktree.recorder.site import NO_SITE, Site

# The section of a backward pass, and that of a pass that is known to compute unused gradients, with gauges of their
# part of all numbers in its gradients, and of their part of its time: each gauge's name ends with the line that calls
# the pass. analysis/rules/torch.py reads the latter three.
PLAIN = "backward"
SECTION = "backward with unused gradients"
GAUGE = "torch/unused gradients/"
TIME_GAUGE = "torch/time of unused gradients/"

# The gradients of so many parameters per optimizer are checked for writes by a pass: passes write whole networks, and
# checking all parameters would cost as much as clearing them.
CHECKED_PARAMETERS = 3
# A call site's first calls predict the next ones. After them one call in so many is checked, of its calls or of all;
# the interval is no whole number of steps: otherwise it would always hit the same call site.
FIRST_CALLS = 50
CHECK_EVERY = 64
# A pass whose gradients were thrown away so often, and in most of its calls, will waste them again. A step that is
# skipped because a gradient overflowed wastes some too, now and then.
MIN_WASTEFUL_CALLS = 3
MIN_WASTEFUL_SHARE = 0.5
# Passes are distinguished by their call site: the section, and so many lines.
FRAMES = 4
MAX_SITES = 1000
# So many passes of a wasteful call site have their nodes timed, which takes five to eight microseconds per node. Their
# median leaves out one that waited for a core.
TIMED_PASSES = 5

_State: TypeAlias = tuple[int, int] | None
# Optimizers, with the states of their gradients before a pass.
_Before: TypeAlias = "list[tuple[Any, _OptimizerState, list[_State]]]"
# Positions of parameters: the number of their group, and their index in it.
_Positions: TypeAlias = Sequence[tuple[int, int]]


@dataclass(slots=True, eq=False)
class _PassSite:
    """A call site of backward passes; counts are of numbers in gradients, unless they are of calls."""

    number: int
    codes: tuple[CodeType, ...]  # stored, so that no other code gets their addresses
    line: Site  # the innermost of them
    section: Section | None = None  # of its passes once they are known to be wasteful
    written: WeakKeyDictionary[_OptimizerState, int] = field(default_factory=WeakKeyDictionary)  # by one pass
    calls: int = 0
    checked_calls: int = 0
    wasteful_calls: int = 0  # whose gradients were partly thrown away
    used: int = 0
    unused: int = 0
    used_by: WeakSet[_OptimizerState] = field(default_factory=WeakSet)  # optimizers that stepped
    cleared_by: WeakSet[_OptimizerState] = field(
        default_factory=WeakSet
    )  # optimizers that threw gradients away
    timed_calls: int = 0
    time_shares: list[float] = field(default_factory=list)  # the part of each timed call for unused gradients

    def is_wasteful(self) -> bool:
        return self.wasteful_calls >= max(MIN_WASTEFUL_CALLS, MIN_WASTEFUL_SHARE * self.checked_calls)

    def label(self) -> str:
        file, number, _ = self.line
        return f"{PurePath(file).name}:{number}"

    def unused_parameters(self) -> frozenset[int]:
        """Return the `id` of each parameter that only optimizers have which throw its gradients away."""
        cleared = (state.parameters for state in self.cleared_by)
        return frozenset().union(*cleared).difference(*(state.parameters for state in self.used_by))


@dataclass(slots=True, eq=False)
class _BackwardPass:
    """One call of a backward pass."""

    site: _PassSite
    is_wasteful: bool = False


@dataclass(slots=True, eq=False, weakref_slot=True)
class _OptimizerState:
    """An optimizer: the positions of its parameters, and the passes that wrote their gradients."""

    groups: int
    checked_positions: _Positions
    positions: _Positions  # of all parameters
    parameters: frozenset[int]  # their `id`: the optimizer refers to them
    written_by: list[_BackwardPass] = field(default_factory=list)


# Notes whether an optimizer used or cleared the gradients that a pass wrote.
Resolve: TypeAlias = Callable[[_BackwardPass, _OptimizerState], None]


class Gradients:
    """Watches backward passes and optimizers. An error while watching ends it, and affects nothing else.

    Only passes to be checked come here, and the next calls of optimizers: all others are sections without it, with
    a name by call site. `stepping` is the layer of optimizers' calls of `step`.
    """

    def __init__(self, recorder: Recorder) -> None:
        self.stepping = Layer(of_each=True)
        self._recorder = recorder
        self._plain = recorder.timed_section(PLAIN, NO_SITE)
        self._layer = Layer()
        self._optimizers: WeakKeyDictionary[Any, _OptimizerState] = WeakKeyDictionary()
        self._sites: dict[int, _PassSite] = {}
        self._call_sites = CallSites(recorder, FRAMES)
        self._has_failed = False
        self._backward_redirection = Redirection()
        self._method_redirections: list[tuple[Redirection, Callable[..., Any]]] = []
        self._pauses = 0
        flops.add_listener(self._check_next)

    def make_backward(self, function: Callable[..., Any], unless: Flag | None = None) -> Any:
        """Return `function`, a backward pass, as a section, with checks whose gradients it writes."""
        return OutermostFunction(
            function,
            self._plain,
            self._layer,
            choice=self._call_sites,
            unless=unless,
            redirection=self._backward_redirection,
        )

    def register(self, optimizer: Any) -> None:
        """Watch it from now on."""
        if self._has_failed:
            return
        try:
            optimizer = unwrap(optimizer)
            if optimizer not in self._optimizers:
                self._optimizers[optimizer] = _make_state(optimizer)
        except Exception:
            self._fail()

    def make_redirection(self, resolve: Resolve, get_section: Callable[[Any], Section]) -> Redirection:
        """Return a redirection for a method of optimizers, active while written gradients wait for their fate."""

        def around(method: Callable[..., Any], optimizer: Any, /, *args: Any, **kwargs: Any) -> Any:
            with get_section(optimizer):
                result = method(optimizer, *args, **kwargs)
            self._resolve(optimizer, resolve)
            return result

        self._method_redirections.append((Redirection(), around))
        return self._method_redirections[-1][0]

    def note_use(self, backward: _BackwardPass, state: _OptimizerState) -> None:
        """Note that an optimizer stepped with the gradients of a pass."""
        backward.site.used += backward.site.written[state]
        backward.site.used_by.add(state)
        for (
            other
        ) in self._optimizers.values():  # if others clear gradients of the same parameters, those were used
            if other is not state and backward in other.written_by and other.parameters & state.parameters:
                other.written_by.remove(backward)

    def note_clear(self, backward: _BackwardPass, state: _OptimizerState) -> None:
        """Note that an optimizer cleared the gradients of a pass."""
        site = backward.site
        site.unused += site.written[state]
        site.cleared_by.add(state)
        if not backward.is_wasteful:
            backward.is_wasteful = True
            site.wasteful_calls += 1
            self._choose_section(site)
        if site.is_wasteful():
            self._recorder.gauge(GAUGE + site.label(), site.unused / (site.used + site.unused))

    def _backward(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        site, before = self._begin(self._call_sites.number())
        times = self._node_times(site, *args, **kwargs) if before is not None else None
        with self._wasteful_section(site) or self._plain as section, times or nullcontext():
            result = flops.call(section, function, *args, **kwargs)
        if site is not None and before is not None:
            self._end(site, before, times)
        return result

    def _begin(self, call_sites: int) -> tuple[_PassSite | None, _Before | None]:
        if self._has_failed:
            return None, None
        try:
            site = self._sites.get(call_sites) or self._add_site(call_sites, sys._getframe(2))
            site.calls += 1
            if flops.counter is not None and site.calls > FIRST_CALLS and site.calls % CHECK_EVERY:
                return site, None
            return site, [
                (optimizer, state, _gradient_states(optimizer, _positions(site, state)))
                for optimizer, state in self._current_states()
            ]
        except Exception:
            self._fail()
            return None, None

    def _node_times(
        self, site: _PassSite | None, tensors: Any = (), *more: Any, inputs: Any = None, **_: Any
    ) -> NodeTimes | None:
        """Return the timer for the nodes of a pass; None if the pass is not to be timed.

        With more than three positional arguments, `inputs` may be one of them: the only leaves whose gradients the
        pass computes, none of which is unused.
        """
        if (
            site is None
            or inputs is not None
            or len(more) > 3
            or flops.counter is not None  # counting takes longer than the operations
            or site.timed_calls >= TIMED_PASSES
            or not site.is_wasteful()
        ):
            return None
        site.timed_calls += 1
        try:
            roots = cpu_roots(tensors)
            return NodeTimes(roots, site.unused_parameters()) if roots else None
        except Exception:
            site.timed_calls = TIMED_PASSES
            return None

    def _end(self, site: _PassSite, before: _Before, times: NodeTimes | None) -> None:
        try:
            site.checked_calls += 1
            share = times.unused_share() if times is not None else None
            if share is not None:
                site.time_shares.append(share)
                self._recorder.gauge(TIME_GAUGE + site.label(), median(site.time_shares))
            backward = _BackwardPass(site)
            stepping = self.stepping.within
            for optimizer, state, states in before:
                if not _has_written(site, optimizer, state, states):
                    continue
                # If a step's closure calls the pass, this step uses its gradients.
                if optimizer is stepping:
                    self.note_use(backward, state)
                else:
                    state.written_by.append(backward)
            self._choose_section(site)
            self._update_redirections()
            if site.calls < FIRST_CALLS:
                self._check_next()
            else:
                self._check_later()
        except Exception:
            self._fail()

    def _resolve(self, optimizer: Any, resolve: Resolve) -> None:
        """Resolve the gradients that were written since the last call of `optimizer`."""
        try:
            state = self._optimizers.get(unwrap(optimizer))
            if state is None or not state.written_by:
                return
            for backward in state.written_by:
                resolve(backward, state)
            state.written_by.clear()
            self._update_redirections()
        except Exception:
            self._fail()

    def _choose_section(self, site: _PassSite) -> None:
        self._call_sites.name(site.number, self._wasteful_section(site))

    def _wasteful_section(self, site: _PassSite | None) -> Section | None:
        """Return the section of a site's passes, with its line, once they are known to be wasteful; None before."""
        if site is None or not site.is_wasteful():
            return None
        if site.section is None:
            site.section = self._recorder.timed_section(SECTION, site.line)
        return site.section

    def _check_next(self) -> None:
        self._backward_redirection.way = None if self._has_failed and not flops.counter else self._backward
        self._backward_redirection.after = 0

    def _check_later(self) -> None:
        if not flops.counter:
            self._pauses += 1
            self._backward_redirection.after = CHECK_EVERY // 2 + self._pauses % CHECK_EVERY

    def _update_redirections(self) -> None:
        is_active = any(state.written_by for state in self._optimizers.values())
        for redirection, around in self._method_redirections:
            redirection.way = around if is_active else None

    def _fail(self) -> None:
        self._has_failed = True
        for number in self._sites:
            self._call_sites.name(number, None)
        for redirection, _ in self._method_redirections:
            redirection.way = None
        self._check_next()

    def _current_states(self) -> list[tuple[Any, _OptimizerState]]:
        """Return the watched optimizers; an optimizer that was given more parameters has a new state."""
        for optimizer, state in list(self._optimizers.items()):
            if state.groups != len(optimizer.param_groups):
                self._optimizers[optimizer] = _make_state(optimizer)
        return list(self._optimizers.items())

    def _add_site(self, call_sites: int, frame: FrameType | None) -> _PassSite:
        if len(self._sites) >= MAX_SITES:
            raise OverflowError("a program that calls backward from everywhere")
        codes: list[CodeType] = []
        line = _line(frame)
        while frame is not None and len(codes) < FRAMES:
            codes.append(frame.f_code)
            frame = frame.f_back
        site = self._sites[call_sites] = _PassSite(call_sites, tuple(codes), line)
        return site


def _line(frame: FrameType | None) -> Site:
    """Return the innermost line that is not torch's own: `Tensor.backward` calls `torch.autograd.backward`."""
    while frame is not None and str(frame.f_globals.get("__name__")).partition(".")[0] == "torch":
        frame = frame.f_back
    if frame is None:
        return NO_SITE
    return frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_qualname


def _make_state(optimizer: Any) -> _OptimizerState:
    positions = [
        (number, index)
        for number, group in enumerate(optimizer.param_groups)
        for index in range(len(group["params"]))
    ]
    last, parts = len(positions) - 1, CHECKED_PARAMETERS - 1
    checked = {positions[last * part // parts] for part in range(parts + 1)} if positions else ()
    parameters = frozenset(id(_parameter(optimizer, position)) for position in positions)
    return _OptimizerState(len(optimizer.param_groups), sorted(checked), positions, parameters)


def _parameter(optimizer: Any, position: tuple[int, int]) -> Any:
    group, index = position
    return optimizer.param_groups[group]["params"][index]


def _positions(site: _PassSite, state: _OptimizerState) -> _Positions:
    """Return the parameters to be checked: all, until it is known which of them the passes of a site write."""
    return state.checked_positions if state in site.written else state.positions


def _has_written(site: _PassSite, optimizer: Any, state: _OptimizerState, before: list[_State]) -> bool:
    """Return whether a pass has written gradients of an optimizer; note how many numbers, if it checked all.

    A loss may go through one of two networks that have one optimizer.
    """
    positions = _positions(site, state)
    states = zip(before, _gradient_states(optimizer, positions), strict=True)
    written = [position for position, (old, new) in zip(positions, states, strict=True) if old != new]
    if state not in site.written:
        site.written[state] = sum(_parameter(optimizer, position).numel() for position in written)
    elif (
        written and not site.written[state]
    ):  # passes of the site now write gradients that they did not before
        del site.written[state]
        return False
    return bool(written)


def _gradient_states(optimizer: Any, positions: _Positions) -> list[_State]:
    """Return values that differ if a gradient was written: its address, and the count of changes in place."""
    gradients = (_parameter(optimizer, position).grad for position in positions)
    return [None if grad is None else (grad.data_ptr(), grad._version) for grad in gradients]
