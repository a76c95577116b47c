"""Changes of a running program that `ticktree try` tries: each does what a finding advises, without an edit.

Each begins when the library that it changes is imported. A remedy that does not fit the program leaves it as it is.
"""

from __future__ import annotations

import functools
import gc
import os
import sys
import threading
from collections.abc import Callable, Mapping
from importlib import import_module
from types import FrameType, ModuleType
from typing import Any, TypeAlias
from weakref import WeakKeyDictionary

from ticktree.recorder import Recorder
from ticktree.recorder.imports import when_imported

# The remedies, with commas between them, each as its name or NAME=NUMBER; `ticktree try` sets it.
REMEDIES_VARIABLE = "TICKTREE_REMEDIES"
# Before the name of a remedy: the gauge that it sets when it changes something.
APPLIED_GAUGE = "remedy/"

# How many passes of a call site are observed before anything changes.
_LEARNED_PASSES = 6
_FRAMES = 3
_GC_THRESHOLD = 50_000

_CallStack: TypeAlias = "tuple[tuple[object, int], ...]"
Applied: TypeAlias = Callable[[], object]  # called when a remedy changes something
Change: TypeAlias = Callable[[ModuleType, Applied], None]


def from_environment() -> dict[str, int]:
    """Return the remedies that this program runs with, by name, and how many each gives; 0 where none are counted."""
    words = (word.partition("=") for word in os.environ.get(REMEDIES_VARIABLE, "").split(","))
    return {name: int(number) if number.isdecimal() else 0 for name, _, number in words}


def apply_from_environment(recorder: Recorder) -> None:
    """Apply those remedies that are patches; the others are environment variables, which are set already.

    Args:
        recorder: Gets a gauge for each patch that changes something.
    """
    for name in from_environment():
        if name in PATCHES:
            PATCHES[name](functools.partial(recorder.gauge, APPLIED_GAUGE + name, 1))


# -- unused gradients --------------------------------------------------------------------------------------------


class _Pass:
    """The gradients that one backward pass wrote, until they are used or cleared."""

    __slots__ = ("call_site", "unresolved")

    def __init__(self, call_site: _CallSite, written: set[int]) -> None:
        self.call_site = call_site
        self.unresolved = written


class _CallSite:
    """A call site of backward passes: which parameters' gradients were used, and which were cleared."""

    __slots__ = ("cleared", "inputs", "is_settled", "passes", "used")

    def __init__(self) -> None:
        self.passes = 0
        self.used: set[int] = set()
        self.cleared: dict[int, int] = {}
        self.is_settled = False
        self.inputs: list[Any] | None = None


class _NeededGradients:
    """Limits backward passes to the parameters whose gradients an optimizer steps with.

    For the first passes of each call site, notes which gradients it writes, which of them an optimizer uses and which
    are cleared unused. Later passes get `inputs`: all parameters except those that were never used. Nothing else of a
    pass changes. A call site is left alone if its graph has leaves that no optimizer has.
    """

    def __init__(self, torch: ModuleType, applied: Applied) -> None:
        self._torch = torch
        self._applied = applied
        self._parameters: dict[int, Any] = {}
        self._optimizers: set[int] = set()
        self._call_sites: dict[_CallStack, _CallSite] = {}
        self._open: list[_Pass] = []

    def backward(self, function: Callable[..., Any], tensors: Any, *args: Any, **kwargs: Any) -> Any:
        """Call `function`, `torch.autograd.backward`."""
        distributed = self._torch.distributed
        if (
            args[4:]
            or kwargs.get("inputs") is not None
            or (distributed.is_available() and distributed.is_initialized())
        ):
            return function(tensors, *args, **kwargs)
        site = self._call_sites.setdefault(_call_stack(sys._getframe(2)), _CallSite())
        if not site.is_settled and site.passes >= _LEARNED_PASSES:
            self._settle(site, tensors)
        if site.inputs is not None:
            return function(tensors, *args, **{**kwargs, "inputs": site.inputs})
        before = None if site.is_settled or not self._parameters else self._states()
        result = function(tensors, *args, **kwargs)
        if before is not None:
            now = self._states()
            site.passes += 1
            self._open.append(_Pass(site, {number for number in now if now[number] != before.get(number)}))
        return result

    def resolve(self, parameters: list[Any], is_used: bool) -> None:
        """Note that an optimizer used the gradients of `parameters`, or that they were cleared."""
        numbers = {id(parameter) for parameter in parameters}
        for open_pass in self._open:
            resolved = open_pass.unresolved & numbers
            open_pass.unresolved -= numbers
            if is_used:
                open_pass.call_site.used |= resolved
            else:
                for number in resolved:
                    open_pass.call_site.cleared[number] = open_pass.call_site.cleared.get(number, 0) + 1
        self._open = [open_pass for open_pass in self._open if open_pass.unresolved][-64:]

    def watch(self, optimizer: Any) -> list[Any]:
        """Return the parameters of an optimizer, and watch them from now on."""
        parameters = [parameter for group in optimizer.param_groups for parameter in group["params"]]
        if id(optimizer) not in self._optimizers:
            self._optimizers.add(id(optimizer))
            self._parameters |= {id(parameter): parameter for parameter in parameters}
            self._call_sites.clear()  # what was learned did not include these parameters
            self._open.clear()
        return parameters

    def _states(self) -> dict[int, tuple[int, int]]:
        return {
            number: (parameter.grad.data_ptr(), parameter.grad._version)
            for number, parameter in self._parameters.items()
            if parameter.grad is not None
        }

    def _settle(self, site: _CallSite, tensors: Any) -> None:
        site.is_settled = True
        unused = {
            number for number, times in site.cleared.items() if times >= _LEARNED_PASSES - 1
        } - site.used
        if not unused or not site.used or not _leaves(tensors) <= self._parameters.keys():
            return
        site.inputs = [
            parameter
            for number, parameter in self._parameters.items()
            if number not in unused and parameter.requires_grad
        ]
        self._applied()


def _call_stack(frame: FrameType | None) -> _CallStack:
    """Return the call stack of a pass: the innermost frames outside torch and ticktree, with their instructions."""
    frames: list[tuple[object, int]] = []
    while frame is not None and len(frames) < _FRAMES:
        if not str(frame.f_globals.get("__name__", "")).startswith(("torch.", "ticktree.")):
            frames.append((frame.f_code, frame.f_lasti))
        frame = frame.f_back
    return tuple(frames)


def _leaves(tensors: Any) -> set[int]:
    """Return the `id` of each leaf whose gradient a pass from `tensors` would write."""
    roots = [tensors] if hasattr(tensors, "grad_fn") else list(tensors)
    pending = [root.grad_fn for root in roots if root.grad_fn is not None]
    seen_functions, leaves = set(pending), set()
    while pending:
        function = pending.pop()
        if hasattr(function, "variable"):
            leaves.add(id(function.variable))
        for following, _ in function.next_functions:
            if following is not None and following not in seen_functions:
                seen_functions.add(following)
                pending.append(following)
    return leaves


def _need_gradients(torch: ModuleType, applied: Applied) -> None:
    needed = _NeededGradients(torch, applied)
    backward, optimizer = torch.autograd.backward, torch.optim.Optimizer
    optimizer_zero, module_zero = optimizer.zero_grad, torch.nn.Module.zero_grad

    @functools.wraps(backward)
    def limited(tensors: Any, *args: Any, **kwargs: Any) -> Any:
        return needed.backward(backward, tensors, *args, **kwargs)

    @functools.wraps(optimizer_zero)
    def zero_grad(self: Any, *args: Any, **kwargs: Any) -> Any:
        needed.resolve(needed.watch(self), is_used=False)
        return optimizer_zero(self, *args, **kwargs)

    @functools.wraps(module_zero)
    def module_zero_grad(self: Any, *args: Any, **kwargs: Any) -> Any:
        needed.resolve(list(self.parameters()), is_used=False)
        return module_zero(self, *args, **kwargs)

    def step(optimizer: Any, *_: Any) -> None:
        needed.resolve(needed.watch(optimizer), is_used=True)

    torch.autograd.backward = limited
    optimizer.zero_grad, torch.nn.Module.zero_grad = zero_grad, module_zero_grad
    import_module("torch.optim.optimizer").register_optimizer_step_pre_hook(step)


# -- compilation -------------------------------------------------------------------------------------------------


class _ThreadState(threading.local):
    """Whether this thread is in a module's forward pass."""

    is_in_forward = False


def _compile_called(torch: ModuleType, applied: Applied) -> None:
    """Compile each module that the program calls, at its first call; the modules that it calls are part of it."""
    call, is_compiling, thread = torch.nn.Module.__call__, torch.compiler.is_compiling, _ThreadState()

    @functools.wraps(call)
    def compiled(self: Any, *args: Any, **kwargs: Any) -> Any:
        if is_compiling() or thread.is_in_forward:
            return call(self, *args, **kwargs)
        thread.is_in_forward = True
        try:
            if self._compiled_call_impl is None and type(self).__name__ != "OptimizedModule":
                self.compile()
                applied()
            return call(self, *args, **kwargs)
        finally:
            thread.is_in_forward = False

    torch.nn.Module.__call__ = compiled


# -- the others --------------------------------------------------------------------------------------------------


def _freeze_collected(applied: Applied) -> None:
    """Set aside what is alive after the first full collection, and collect more rarely."""

    def freeze(phase: str, facts: Mapping[str, int]) -> None:
        if phase == "stop" and facts["generation"] == 2:
            gc.callbacks.remove(freeze)
            gc.freeze()

    gc.callbacks.append(freeze)
    gc.set_threshold(_GC_THRESHOLD, *gc.get_threshold()[1:])
    applied()


def _make_synchronous(vector: ModuleType, applied: Applied) -> None:
    """Make a `SyncVectorEnv` where the program makes an `AsyncVectorEnv`."""
    shared_options = ("copy", "observation_mode", "autoreset_mode")

    def make(env_fns: Any, *args: Any, **kwargs: Any) -> Any:
        if args:  # positional arguments are for processes
            return asynchronous(env_fns, *args, **kwargs)
        applied()
        return vector.SyncVectorEnv(env_fns, **{key: kwargs[key] for key in shared_options if key in kwargs})

    asynchronous = vector.AsyncVectorEnv
    vector.AsyncVectorEnv = make  # type: ignore[attr-defined]


def _make_dummies(vec_env: ModuleType, applied: Applied) -> None:
    """Make a `DummyVecEnv` where the program makes a `SubprocVecEnv` of stable-baselines3."""

    class SubprocVecEnv(vec_env.DummyVecEnv):  # type: ignore[misc, name-defined]
        def __init__(self, env_fns: Any, *_of_processes: Any, **_more: Any) -> None:
            applied()
            super().__init__(env_fns)

    vec_env.SubprocVecEnv = SubprocVecEnv  # type: ignore[attr-defined]


def _give_workers(data: ModuleType, applied: Applied) -> None:
    """Give workers to each `DataLoader` that has none."""
    _keep_workers(data, applied, from_environment()["loader-workers"])


def _keep_workers(data: ModuleType, applied: Applied, number: int = 0) -> None:
    """Keep the workers of each `DataLoader` that starts some in each epoch, or `number` of them of each that has none.

    A loader draws a seed for its workers when it starts them. These draw one in each epoch, as without the remedy:
    otherwise the numbers that a program draws next, and with them the order of its batches, would differ.
    """
    loader, torch = data.DataLoader, import_module("torch")
    initialize, iterate = loader.__init__, loader.__iter__
    has_begun: WeakKeyDictionary[Any, bool] = WeakKeyDictionary()

    @functools.wraps(initialize)
    def init(self: Any, dataset: Any, *args: Any, **kwargs: Any) -> None:
        workers = kwargs.get("num_workers", 0)
        if len(args) < 5 and bool(workers) != bool(number) and not kwargs.get("persistent_workers"):
            kwargs |= {"num_workers": workers or number, "persistent_workers": True}
            has_begun[self] = False
            applied()
        initialize(self, dataset, *args, **kwargs)

    @functools.wraps(iterate)
    def begin(self: Any) -> Any:
        if has_begun.get(self):
            torch.empty((), dtype=torch.int64).random_(generator=self.generator)
        if self in has_begun:
            has_begun[self] = True
        return iterate(self)

    loader.__init__, loader.__iter__ = init, begin


def _when_imported(name: str, changes: Mapping[str, Change]) -> Callable[[Applied], None]:
    """Return what applies changes when their modules are imported.

    It prints a line on standard error if one fails: the trial then shows nothing about the remedy.
    """

    def changed(change: Change, applied: Applied, module: ModuleType) -> None:
        try:
            change(module, applied)
        except Exception as error:
            print(f"ticktree: the remedy {name} cannot be applied: {error!r}", file=sys.stderr)

    def apply(applied: Applied) -> None:
        for module, change in changes.items():
            when_imported(module, functools.partial(changed, change, applied))

    return apply


_BY_MODULE: Mapping[str, Mapping[str, Change]] = {
    "unused-gradients": {"torch": _need_gradients},
    "compile": {"torch": _compile_called},
    "sync-vector-env": {
        "gymnasium.vector": _make_synchronous,
        "stable_baselines3.common.vec_env": _make_dummies,
    },
    "loader-workers": {"torch.utils.data": _give_workers},
    "persistent-workers": {"torch.utils.data": _keep_workers},
}
PATCHES: Mapping[str, Callable[[Applied], object]] = {
    "gc-freeze": _freeze_collected,
    **{name: _when_imported(name, changes) for name, changes in _BY_MODULE.items()},
}
