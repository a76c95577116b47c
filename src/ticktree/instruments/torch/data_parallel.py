"""DistributedDataParallel: in a backward pass, the wait for other ranks' gradients after this rank's are computed.

Its reducer starts each all-reduce from inside the pass, while the rest of the gradients is computed, and waits for all
in a callback at the pass's end. Two callbacks around that one separate the wait from the work: overlap is work.
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
    """Wrap `DistributedDataParallel` (torch.nn.parallel.distributed)."""
    import torch

    # Private: `_find_tensors`, `queue_callback`, `_sync_buffers`.
    require_tested("torch", TESTED, f"{module.__name__}:DistributedDataParallel.__init__")
    engine = torch.autograd.Variable._execution_engine
    waits = _GradientWaits(recorder, engine, arrivals)
    sync_wait = Wait(arrivals.channel, BUFFERS)

    def make_forward(forward: Callable[..., Any]) -> Callable[..., Any]:
        def wrapper(self: Any, *args: Any, **kwargs: Any) -> Any:
            waits.close()  # a pass may have ended in an exception, say because a rank has died
            outputs = forward(self, *args, **kwargs)
            if recorder.recording and self.require_backward_grad_sync and torch.is_grad_enabled():
                waits.prepare(module._find_tensors(outputs), self.process_group)
            return outputs

        return wrapper

    def make_sync(sync: Callable[..., Any]) -> Callable[..., Any]:
        def wrapper(self: Any) -> Any:
            return sync_wait.call(sync, (self,))

        return wrapper

    patches.wrap(module, "DistributedDataParallel.forward", make_forward)
    patches.wrap(module, "DistributedDataParallel._sync_buffers", make_sync)


class _GradientWaits:
    """The waits at the ends of backward passes: one per pass, even through several models."""

    def __init__(self, recorder: Recorder, engine: Any, arrivals: Arrivals) -> None:
        self._recorder = recorder
        self._engine = engine
        self._arrivals = arrivals
        self._section = recorder.section(GRADIENTS, wait=True)
        self._waiting_thread = 0  # the thread whose wait is open

    def prepare(self, tensors: Any, group: Any) -> None:
        """Record the wait of the next backward pass through the outputs of a forward pass."""
        thread, is_queued = threading.get_ident(), False

        def queue(_gradient: Any) -> None:
            nonlocal is_queued
            if not is_queued:  # by another output
                is_queued = True
                # Before the reducer queues its own: callbacks run in the order in which they were queued.
                self._engine.queue_callback(begin)

        def begin() -> None:
            # On a device's thread it does not wait.
            if self._recorder.recording and not self._waiting_thread and threading.get_ident() == thread:
                arrival = self._arrivals.arrive(group)
                self._waiting_thread = thread
                self._section.__enter__()
                self._engine.queue_callback(lambda: self._end(arrival))

        for tensor in tensors:
            if tensor.requires_grad:
                tensor.register_hook(queue)

    def _end(self, arrival: Arrival | None) -> None:
        if arrival is not None and arrival.key is not None:
            self._recorder.woken_by(self._arrivals.channel.name, arrival.key)
        self.close()

    def close(self) -> None:
        """End this thread's wait, if it has not ended."""
        if self._waiting_thread == threading.get_ident():
            self._waiting_thread = 0
            self._section.__exit__(None, None, None)
