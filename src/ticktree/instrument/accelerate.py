"""accelerate: what an Accelerator does beside torch.

Its `backward`, `clip_grad_norm_` and optimizers call torch's, which are rows of `torch`.
"""

from __future__ import annotations

from types import ModuleType
from typing import TYPE_CHECKING

from ticktree.instrument.methods import ClassHierarchy, Guard, simply
from ticktree.instrument.patches import Patches

if TYPE_CHECKING:
    from ticktree.recorder import Recorder

_patches = Patches()

_METHODS = (
    "prepare",
    "gather",
    "gather_for_metrics",
    "reduce",
    "pad_across_processes",
    "log",
    "save_state",
    "load_state",
)


def install(recorder: Recorder) -> None:
    """Wraps `Accelerator` when it is imported."""
    _patches.watch("accelerate.accelerator", lambda module: _wrap(recorder, module))


def uninstall() -> None:
    """Puts everything back."""
    _patches.undo()


def _wrap(recorder: Recorder, module: ModuleType) -> None:
    accelerators, guard = ClassHierarchy(_patches, module.Accelerator), Guard()
    for name in _METHODS:
        accelerators.wrap(name, simply(recorder, f"Accelerator.{name}"), guard)
    waiting = simply(recorder, "Accelerator.wait_for_everyone", wait=True)
    accelerators.wrap("wait_for_everyone", waiting, guard)
