"""torch: forward and backward passes, optimizers, data loaders; what is given to torch.compile; unused gradients.

On demand: layers.py and flops.py. compiling.py is `torch-compile`.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

from ticktree.instrument.patches import Patches
from ticktree.instrument.torch import copies, forward, loading, optimizers
from ticktree.instrument.torch.gradients import Gradients

if TYPE_CHECKING:
    from ticktree.recorder import Recorder

# How many functions and modules were given to torch.compile; rules/no_compilation.py looks for it.
COMPILED_GAUGE = "torch/compiled"

_patches = Patches()
_hooks: list[Any] = []


def install(recorder: Recorder) -> None:
    """Wraps modules, backward passes, optimizers and data loaders when torch is imported."""
    _patches.watch("torch", partial(_wrap, recorder))
    _patches.watch("torch.utils.data.dataloader", lambda module: loading.wrap(_patches, recorder, module))
    _patches.watch("torch.utils.data._utils.fetch", lambda module: _wrap_fetchers(recorder, module))


def uninstall() -> None:
    """Puts everything back."""
    while _hooks:
        _hooks.pop().remove()
    _patches.undo()


def _wrap(recorder: Recorder, torch: ModuleType) -> None:
    is_compiling = torch.compiler.is_compiling
    recorder.gauge(COMPILED_GAUGE, 0)
    _patches.wrap(torch, "compile", partial(_counted, recorder))
    _patches.wrap(torch.nn.Module, "__call__", forward.recorded(recorder, is_compiling))
    copies.wrap(_patches, recorder, torch)
    _wrap_gradients(recorder, torch, is_compiling)
    optimizers.wrap(_patches, recorder, import_module("torch.optim.optimizer"), is_compiling)


def _wrap_gradients(recorder: Recorder, torch: ModuleType, is_compiling: Callable[[], bool]) -> None:
    gradients = Gradients(recorder, is_compiling)
    module = import_module("torch.optim.optimizer")  # torch.optim hides it under its own name
    _hooks.append(module.register_optimizer_step_post_hook(_AfterStep(gradients)))
    _patches.wrap(module.Optimizer, "zero_grad", gradients.before_clearing)
    _patches.wrap(torch.autograd, "backward", gradients.around_backward)
    _patches.wrap(torch.autograd, "grad", partial(_plain, recorder, "autograd.grad", is_compiling))
    _patches.wrap(
        torch.nn.utils, "clip_grad_norm_", partial(_plain, recorder, "clip_grad_norm_", is_compiling)
    )


class _AfterStep:
    """What torch calls after every step; nothing, where a script's optimizer is pickled by value with all hooks."""

    def __init__(self, gradients: Gradients) -> None:
        self._gradients = gradients

    def __call__(self, optimizer: Any, *_: Any) -> None:
        self._gradients.after_step(optimizer)

    def __reduce__(self) -> Any:
        return getattr, (nullcontext(), "__exit__")  # takes anything and does nothing


def _plain(
    recorder: Recorder, name: str, is_compiling: Callable[[], bool], function: Callable[..., Any]
) -> Callable[..., Any]:
    section = recorder.section(name)

    def wrapper(*args: Any, **kwargs: Any) -> Any:
        if is_compiling():
            return function(*args, **kwargs)
        with section:
            return function(*args, **kwargs)

    return wrapper


def _wrap_fetchers(recorder: Recorder, module: ModuleType) -> None:
    worker = import_module("torch.utils.data._utils.worker")
    loading.wrap_fetchers(_patches, recorder, module, worker.get_worker_info)


def _counted(recorder: Recorder, function: Callable[..., Any]) -> Callable[..., Any]:
    asked = 0

    def compile_counted(*args: Any, **kwargs: Any) -> Any:
        nonlocal asked
        asked += 1
        recorder.gauge(COMPILED_GAUGE, asked)
        return function(*args, **kwargs)

    return compile_counted
