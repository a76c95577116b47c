"""torch: forward and backward passes, optimizers, data loaders; what is given to torch.compile; unused gradients.

On demand: layers.py and flops.py. compiling.py is `torch-compile`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

from ticktree.instrument.patches import Patches
from ticktree.instrument.torch import copies, flops, forward, loading, optimizers
from ticktree.instrument.torch.gradients import Gradients
from ticktree.recorder import Flag, Layer, OutermostFunction
from ticktree.recorder.site import NO_SITE

if TYPE_CHECKING:
    from ticktree.recorder import Recorder

# How many functions and modules were given to torch.compile; rules/no_compilation.py looks for it.
COMPILED_GAUGE = "torch/compiled"

_patches = Patches()


def install(recorder: Recorder) -> None:
    """Wraps modules, backward passes, optimizers and data loaders when torch is imported."""
    _patches.watch("torch", partial(_wrap, recorder))
    _patches.watch("torch.utils.data.dataloader", lambda module: loading.wrap(_patches, recorder, module))
    _patches.watch("torch.utils.data._utils.fetch", lambda module: _wrap_fetchers(recorder, module))


def uninstall() -> None:
    """Puts everything back."""
    _patches.undo()
    flops.tell_nobody()


def _wrap(recorder: Recorder, torch: ModuleType) -> None:
    is_compiling = _asks(torch.compiler)
    gradients = Gradients(recorder)
    recorder.gauge(COMPILED_GAUGE, 0)
    _patches.wrap(torch, "compile", partial(_counted, recorder))
    _patches.wrap(torch.nn.Module, "__call__", forward.recorded(recorder, is_compiling))
    copies.wrap(_patches, recorder, torch)
    _patches.wrap(torch.autograd, "backward", partial(gradients.around_backward, unless=is_compiling))
    _patches.wrap(torch.autograd, "grad", partial(_plain, recorder, "autograd.grad", is_compiling))
    _patches.wrap(
        torch.nn.utils, "clip_grad_norm_", partial(_plain, recorder, "clip_grad_norm_", is_compiling)
    )
    # torch.optim hides the module under its own name.
    optimizers.wrap(_patches, recorder, import_module("torch.optim.optimizer"), is_compiling, gradients)


def _asks(compiler: ModuleType) -> Callable[[], bool]:
    """What tells whether torch is compiling. Its own function costs a microsecond where caches are cold."""
    if hasattr(compiler, "_is_compiling_flag"):
        return Flag(compiler, "_is_compiling_flag")
    asks: Callable[[], bool] = compiler.is_compiling
    return asks


def _plain(recorder: Recorder, name: str, is_compiling: Callable[[], bool], function: Any) -> Any:
    return OutermostFunction(function, recorder.timed_section(name, NO_SITE), Layer(), unless=is_compiling)


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
