"""Lightning: the phases that its Trainer tells its profiler of, under the names it gives them.

A Trainer without a profiler has one that does nothing: that one is wrapped. `TicktreeProfiler` is for programs that
name theirs: `Trainer(profiler=TicktreeProfiler())`. Both packages are known, `lightning` and `pytorch_lightning`.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Any

from ticktree.instruments.patches import Make, Patches
from ticktree.instruments.targets import Instrument
from ticktree.recorder import OWN, Recorder

PACKAGES = ("lightning.pytorch", "pytorch_lightning")
# Ticks are training batches, each with what was waited for it.
BATCH = "training batch"

_EPOCH = "run_training_epoch"
_NEXT_BATCH = "train_dataloader_next"
# Callbacks tell themselves apart by their settings: ModelCheckpoint{'monitor': None, ...}.
_SETTINGS = re.compile(r"\{.*\}")


def _wrap(patches: Patches, module: ModuleType, recorder: Recorder) -> None:
    """Wraps the profiler of a Trainer that was given none."""

    def after(tell: Callable[[Recorder, str], None]) -> Make:
        def make(method: Callable[..., Any]) -> Callable[..., Any]:
            def wrapper(self: Any, action_name: str) -> Any:
                tell(recorder, action_name)
                return method(self, action_name)

            return wrapper

        return make

    patches.wrap(module, "PassThroughProfiler.start", after(begin))
    patches.wrap(module, "PassThroughProfiler.stop", after(end))


def begin(recorder: Recorder, action: str) -> None:
    """Opens the section of a phase; the wait for a batch begins a tick."""
    if action.endswith(_NEXT_BATCH):
        recorder.tick(BATCH)
    recorder.section(_name(action)).__enter__()


def end(recorder: Recorder, action: str) -> None:
    """Closes it; what followed the last batch is not a tick."""
    if action == _EPOCH:
        recorder.tick(BATCH)
    recorder.section(_name(action)).__exit__(None, None, None)


@cache
def _name(action: str) -> str:
    return _SETTINGS.sub("", action)


@cache
def _profiler_of(package: str) -> type:
    base: Any = import_module(f"{package}.profilers").Profiler

    class TicktreeProfiler(base):  # type: ignore[misc]
        """A profiler for Lightning's Trainer: its phases are sections of the run that ticktree records."""

        def start(self, action_name: str) -> None:
            """Opens the section of a phase."""
            begin(OWN, action_name)

        def stop(self, action_name: str) -> None:
            """Closes it."""
            end(OWN, action_name)

    TicktreeProfiler.__module__ = __name__
    TicktreeProfiler.__qualname__ = "TicktreeProfiler"
    return TicktreeProfiler


def __getattr__(name: str) -> Any:
    """`TicktreeProfiler` is made on first access: from the package that the program has imported."""
    if name != "TicktreeProfiler":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    there = [package for package in PACKAGES if package in sys.modules]
    there += [package for package in PACKAGES if find_spec(package.partition(".")[0]) is not None]
    if not there:
        raise ImportError("TicktreeProfiler needs lightning or pytorch-lightning, and neither is installed")
    return _profiler_of(there[0])


INSTRUMENT = Instrument(
    "lightning", tested=">=2.2.0,<2.7", hooks={f"{package}.profilers.base": _wrap for package in PACKAGES}
)
