"""Optimizers: `step` and `zero_grad`, each optimizer told apart, and the clipping of gradients."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial
from types import ModuleType
from typing import TYPE_CHECKING, Any

from ticktree.instrument.methods import Guard, Method, with_subclasses
from ticktree.instrument.torch.instances import Instances

if TYPE_CHECKING:
    from ticktree.instrument.patches import Patches
    from ticktree.recorder import Recorder, Section

_VERBS = ("step", "zero_grad")
# Classes of a script are pickled by value, as by cloudpickle: what wraps them must not be taken along.
_BY_VALUE = ("__main__", "__mp_main__")


class _Inside(threading.local):
    optimizer: Any = None


def wrap(patches: Patches, recorder: Recorder, module: ModuleType, is_compiling: Callable[[], bool]) -> None:
    """Wraps `zero_grad`, and the `step` of every class of which there is or will be an optimizer.

    torch does the same: the first optimizer of a class has it put a wrapper around that class's `step`.
    """
    optimizers = Instances(
        lambda name, _: {verb: recorder.section(f"optimizer {verb} {name}") for verb in _VERBS}
    )
    make_step, make_zero_grad = (_recorded(recorder, optimizers, verb, is_compiling) for verb in _VERBS)
    make_method = partial(Method, sections=lambda self: optimizers.of(self)["step"], guard=Guard())
    wrapped: set[type] = set()

    def wrap_step(kind: type) -> None:
        owner = next((each for each in kind.__mro__ if "step" in vars(each)), kind)
        if owner not in wrapped:
            wrapped.add(owner)
            patches.wrap(owner, "step", make_method if owner.__module__ in _BY_VALUE else make_step)

    def make_patch(patch: Callable[[Any], None]) -> Callable[[Any], None]:
        def _patch_step_function(self: Any) -> None:
            patch(self)
            wrap_step(type(self))

        return _patch_step_function

    base = module.Optimizer
    for kind in with_subclasses(base):
        if hasattr(vars(kind).get("step"), "hooked"):
            wrap_step(kind)
    patches.wrap(base, "_patch_step_function", make_patch)
    patches.wrap(base, "zero_grad", make_zero_grad)


def _recorded(
    recorder: Recorder,
    optimizers: Instances[dict[str, Section]],
    verb: str,
    is_compiling: Callable[[], bool],
) -> Callable[[Any], Any]:
    inside = _Inside()

    def make(method: Callable[..., Any]) -> Callable[..., Any]:
        def wrapper(self: Any, *args: Any, **kwargs: Any) -> Any:
            if is_compiling() or inside.optimizer is self or not recorder.recording:
                return method(self, *args, **kwargs)
            around = inside.optimizer
            inside.optimizer = self
            try:
                with optimizers.of(self)[verb]:
                    return method(self, *args, **kwargs)
            finally:
                inside.optimizer = around

        return wrapper

    return make
