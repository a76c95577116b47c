"""DistributedDataParallel: in a backward pass, the wait for other ranks' gradients after this rank has made its own.

Its reducer starts each all-reduce from inside the pass, while the rest of the gradients is computed, and waits for them
in a callback at the pass's end. Two callbacks around that one tell the wait from the work: what overlaps is work.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from types import ModuleType
from typing import TYPE_CHECKING, Any

from ticktree.recorder import Wait

if TYPE_CHECKING:
    from ticktree.instrument.patches import Patches
    from ticktree.instrument.torch.arrivals import Arrivals
    from ticktree.recorder import Recorder

GRADIENTS = "DDP all_reduce"
BUFFERS = "DDP buffers"


def wrap(patches: Patches, recorder: Recorder, module: ModuleType, arrivals: Arrivals) -> None:
    """Wraps `DistributedDataParallel` (torch.nn.parallel.distributed)."""
    import torch

    engine = torch.autograd.Variable._execution_engine
    syncing = Wait(arrivals.channel, BUFFERS)

    def make_forward(forward: Callable[..., Any]) -> Callable[..., Any]:
        def wrapper(self: Any, *args: Any, **kwargs: Any) -> Any:
            outputs = forward(self, *args, **kwargs)
            if recorder.recording and self.require_backward_grad_sync and torch.is_grad_enabled():
                _Gradients(recorder, engine, arrivals, self.process_group).watch(
                    module._find_tensors(outputs)
                )
            return outputs

        return wrapper

    def make_sync(sync: Callable[..., Any]) -> Callable[..., Any]:
        def wrapper(self: Any) -> Any:
            return syncing.call(sync, (self,))

        return wrapper

    if hasattr(module, "_find_tensors") and hasattr(engine, "queue_callback"):
        patches.wrap_at(module, "DistributedDataParallel.forward", make_forward)
    patches.wrap_at(module, "DistributedDataParallel._sync_buffers", make_sync)


class _Gradients:
    """The wait of one backward pass."""

    def __init__(self, recorder: Recorder, engine: Any, arrivals: Arrivals, group: Any) -> None:
        self._recorder = recorder
        self._engine = engine
        self._arrivals = arrivals
        self._group = group
        self._section = recorder.section(GRADIENTS, wait=True)
        self._thread = threading.get_ident()
        self._key: tuple[str, int] | None = None
        self._is_queued = False

    def watch(self, tensors: Any) -> None:
        """Begin with the first gradient that arrives at the outputs of a forward pass."""
        for tensor in tensors:
            if tensor.requires_grad:
                tensor.register_hook(self._begin)

    def _begin(self, _gradient: Any) -> None:
        # Before the reducer queues its own: callbacks run in the order in which they were queued.
        if not self._is_queued:
            self._is_queued = True
            self._engine.queue_callback(self._computed)

    def _computed(self) -> None:
        """All gradients of this rank are there: next, the reducer waits for those of the others."""
        if threading.get_ident() != self._thread or not self._recorder.recording:
            return  # on a device's thread, where it waits for nobody
        self._key = self._arrivals.arrive(self._group)
        self._section.__enter__()
        self._engine.queue_callback(self._reduced)

    def _reduced(self) -> None:
        if self._key is not None:
            self._recorder.unblocked_by(self._arrivals.channel.name, self._key)
        self._section.__exit__(None, None, None)
