"""torch: forward and backward passes, optimizers, data loaders; calls of torch.compile; unused gradients.

On demand: the layers of forward.py, and flops.py. compiling.py is `torch-compile`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from importlib import import_module
from types import ModuleType
from typing import Any

from ticktree.instruments.patches import Patches
from ticktree.instruments.targets import Instrument
from ticktree.instruments.torch import copies, flops, forward, optimizers
from ticktree.instruments.torch.gradients import Gradients
from ticktree.instruments.torch.sections import TESTED
from ticktree.recorder import Flag, Layer, Recorder, Section, TimedFunction
from ticktree.recorder.site import NO_SITE, site_of

# How many functions and modules were given to torch.compile; rules/no_compilation.py reads it.
COMPILED_GAUGE = "torch/compiled"
# Whether autograd detects anomalies; rules/torch.py reads it.
ANOMALY_GAUGE = "torch/anomaly detection"


def _wrap(patches: Patches, torch: ModuleType, recorder: Recorder) -> None:
    # torch's own function for this costs a microsecond when caches are cold.
    is_compiling = Flag(torch.compiler, "_is_compiling_flag")
    gradients = Gradients(recorder)
    patches.on_undo(flops.remove_listeners)
    recorder.gauge(COMPILED_GAUGE, 0)
    patches.wrap(torch, "compile", partial(_make_compile, recorder))
    patches.wrap(torch, "set_anomaly_enabled", partial(_make_set_anomaly, recorder))
    patches.wrap(torch, "nn.Module.__call__", forward.section_maker(recorder, is_compiling))
    copies.wrap(patches, recorder, torch)
    patches.wrap(torch.autograd, "backward", partial(gradients.make_backward, unless=is_compiling))
    for owner, name in ((torch.autograd, "grad"), (torch.nn.utils, "clip_grad_norm_")):
        section = recorder.timed_section("autograd.grad" if name == "grad" else name, NO_SITE)
        patches.section(owner, name, section, Layer(), unless=is_compiling)
    # torch.optim hides the module under its own name.
    optimizers.wrap(patches, recorder, import_module("torch.optim.optimizer"), is_compiling, gradients)


def _make_compile(recorder: Recorder, function: Callable[..., Any]) -> Callable[..., Any]:
    count = 0

    def compile_counted(*args: Any, **kwargs: Any) -> Any:
        nonlocal count
        count += 1
        recorder.gauge(COMPILED_GAUGE, count)
        return function(*args, **kwargs)

    return compile_counted


def _make_set_anomaly(recorder: Recorder, function: Callable[..., Any]) -> Callable[..., Any]:
    def set_anomaly_enabled(*args: Any, **kwargs: Any) -> Any:
        result = function(*args, **kwargs)
        torch = sys.modules["torch"]
        if not torch.compiler.is_compiling():  # the compiler enables it for each graph of a backward pass
            recorder.gauge(ANOMALY_GAUGE, int(torch.is_anomaly_enabled()))
        return result

    return set_anomaly_enabled


def _wrap_loaders(patches: Patches, module: ModuleType, recorder: Recorder) -> None:
    """Wrap a training loop's wait for its next batch."""

    def section(name: str, function: Any, *, wait: bool = False) -> Section:
        return recorder.timed_section(name, site_of(function), wait=wait)

    def make_next(method: Callable[..., Any]) -> Callable[..., Any]:
        # Without workers the batch is made here and now: that is work.
        wait, load = section("DataLoader wait", method, wait=True), section("DataLoader load", method)

        def __next__(self: Any) -> Any:  # noqa: N807 (its wrapper)
            with wait if self._num_workers else load:
                return method(self)

        return __next__

    def make_iter(method: Callable[..., Any]) -> Callable[..., Any]:
        return TimedFunction(method, section("DataLoader start", method))

    patches.wrap(module._BaseDataLoaderIter, "__next__", make_next)
    # Once per epoch: it starts the workers, or makes persistent ones begin again.
    patches.wrap(module.DataLoader, "__iter__", make_iter)


def _wrap_fetchers(patches: Patches, module: ModuleType, recorder: Recorder) -> None:
    """Wrap making a batch from the dataset's items. In the loop's own process that is the `DataLoader load`."""
    worker, section = import_module("torch.utils.data._utils.worker"), recorder.section("fetch batch")

    def make(method: Callable[..., Any]) -> Callable[..., Any]:
        def fetch(self: Any, possibly_batched_index: Any) -> Any:
            if worker.get_worker_info() is None:
                return method(self, possibly_batched_index)
            with section:
                return method(self, possibly_batched_index)

        return fetch

    for name in ("_MapDatasetFetcher", "_IterableDatasetFetcher"):
        patches.wrap(module, f"{name}.fetch", make)


INSTRUMENT = Instrument(
    "torch",
    tested=TESTED,
    hooks={
        "torch": _wrap,
        "torch.utils.data.dataloader": _wrap_loaders,
        "torch.utils.data._utils.fetch": _wrap_fetchers,
    },
)
