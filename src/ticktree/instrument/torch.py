"""torch: whether anything is given to torch.compile, and backward passes whose gradients are thrown away."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

from ticktree.instrument.gradients import Gradients
from ticktree.instrument.patches import Patches

if TYPE_CHECKING:
    from ticktree.recorder import Recorder

# How many functions and modules were given to torch.compile; rules/no_compilation.py looks for it.
COMPILED_GAUGE = "torch/compiled"

_patches = Patches()
_hooks: list[Any] = []


def install(recorder: Recorder) -> None:
    """Wraps `torch.compile`, `torch.autograd.backward` and `Optimizer.zero_grad` when torch is imported."""
    _patches.watch("torch", partial(_wrap, recorder))


def uninstall() -> None:
    """Puts everything back."""
    while _hooks:
        _hooks.pop().remove()
    _patches.undo()


def _wrap(recorder: Recorder, torch: ModuleType) -> None:
    recorder.gauge(COMPILED_GAUGE, 0)
    _patches.wrap(torch, "compile", partial(_counted, recorder))
    gradients = Gradients(recorder, torch.compiler.is_compiling)
    # Each step calls the hook; to wrap `step` itself would be to wrap it once for every sort of optimizer.
    optimizers = import_module("torch.optim.optimizer")  # torch.optim hides it under its own name
    _hooks.append(optimizers.register_optimizer_step_post_hook(gradients.after_step))
    _patches.wrap(optimizers.Optimizer, "zero_grad", gradients.before_clearing)
    _patches.wrap(torch.autograd, "backward", gradients.around_backward)


def _counted(recorder: Recorder, function: Callable[..., Any]) -> Callable[..., Any]:
    asked = 0

    def compile_counted(*args: Any, **kwargs: Any) -> Any:
        nonlocal asked
        asked += 1
        recorder.gauge(COMPILED_GAUGE, asked)
        return function(*args, **kwargs)

    return compile_counted
