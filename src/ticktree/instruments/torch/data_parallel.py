"""DistributedDataParallel: in a backward pass, the wait for other ranks' gradients after this rank has made its own.

Its reducer starts each all-reduce from inside the pass, while the rest of the gradients is computed, and waits for all
in a callback at the pass's end. Two callbacks around that one tell the wait from the work: what overlaps is work.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from types import ModuleType
from typing import Any

from ticktree.instruments.patches import Patches
from ticktree.instruments.targets import require_tested
from ticktree.instruments.torch.peers import Arrival, Arrivals
from ticktree.instruments.torch.sections import TESTED
from ticktree.recorder import Recorder, Wait

GRADIENTS = "DDP all_reduce"
BUFFERS = "DDP buffers"


def wrap(patches: Patches, recorder: Recorder, module: ModuleType, arrivals: Arrivals) -> None:
    """Wraps `DistributedDataParallel` (torch.nn.parallel.distributed)."""
    import torch

    # Private: `_find_tensors`, `queue_callback`, `_sync_buffers`.
    require_tested("torch", TESTED, f"{module.__name__}:DistributedDataParallel.__init__")
    engine = torch.autograd.Variable._execution_engine
    gradients = _Gradients(recorder, engine, arrivals)
    syncing = Wait(arrivals.channel, BUFFERS)

    def make_forward(forward: Callable[..., Any]) -> Callable[..., Any]:
        def wrapper(self: Any, *args: Any, **kwargs: Any) -> Any:
            gradients.close()  # of a pass that ended in an exception, as where a rank has died
            outputs = forward(self, *args, **kwargs)
            if recorder.recording and self.require_backward_grad_sync and torch.is_grad_enabled():
                gradients.await_those_of(module._find_tensors(outputs), self.process_group)
            return outputs

        return wrapper

    def make_sync(sync: Callable[..., Any]) -> Callable[..., Any]:
        def wrapper(self: Any) -> Any:
            return syncing.call(sync, (self,))

        return wrapper

    patches.wrap(module, "DistributedDataParallel.forward", make_forward)
    patches.wrap(module, "DistributedDataParallel._sync_buffers", make_sync)


class _Gradients:
    """The waits at the ends of backward passes: of one through several models, one for all of them."""

    def __init__(self, recorder: Recorder, engine: Any, arrivals: Arrivals) -> None:
        self._recorder = recorder
        self._engine = engine
        self._arrivals = arrivals
        self._section = recorder.section(GRADIENTS, wait=True)
        self._waiting_thread = 0  # whose wait is open

    def await_those_of(self, tensors: Any, group: Any) -> None:
        """Have the next pass through the outputs of a forward pass tell its wait from its work."""
        thread, is_queued = threading.get_ident(), False

        def begin(_gradient: Any) -> None:
            nonlocal is_queued
            if not is_queued:  # by another of the outputs
                is_queued = True
                # Before the reducer queues its own: callbacks run in the order in which they were queued.
                self._engine.queue_callback(computed)

        def computed() -> None:
            # On a device's thread it does not wait.
            if self._recorder.recording and not self._waiting_thread and threading.get_ident() == thread:
                arrival = self._arrivals.arrive(group)
                self._waiting_thread = thread
                self._section.__enter__()
                self._engine.queue_callback(lambda: self._reduced(arrival))

        for tensor in tensors:
            if tensor.requires_grad:
                tensor.register_hook(begin)

    def _reduced(self, arrival: Arrival | None) -> None:
        if arrival is not None and arrival.key is not None:
            self._recorder.woken_by(self._arrivals.channel.name, arrival.key)
        self.close()

    def close(self) -> None:
        """End this thread's wait, if it has not ended."""
        if self._waiting_thread == threading.get_ident():
            self._waiting_thread = 0
            self._section.__exit__(None, None, None)
