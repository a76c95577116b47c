"""Lightning: the phases that its Trainer reports to its profiler, by the Trainer's names for them.

A Trainer without a profiler has one that does nothing, which is wrapped. `TicktreeProfiler` is for programs that
pass one: `Trainer(profiler=TicktreeProfiler())`. Supports both packages, `lightning` and `pytorch_lightning`.
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
# Ticks are training batches, including the wait for each.
BATCH = "training batch"

_EPOCH = "run_training_epoch"
_NEXT_BATCH = "train_dataloader_next"
# Names of callbacks end with their settings: ModelCheckpoint{'monitor': None, ...}.
_SETTINGS = re.compile(r"\{.*\}")


def _wrap(patches: Patches, module: ModuleType, recorder: Recorder) -> None:
    """Wrap the profiler of a Trainer that has no other."""

    def make_before(note: Callable[[Recorder, str], None]) -> Make:
        def make(method: Callable[..., Any]) -> Callable[..., Any]:
            def wrapper(self: Any, action_name: str) -> Any:
                note(recorder, action_name)
                return method(self, action_name)

            return wrapper

        return make

    patches.wrap(module, "PassThroughProfiler.start", make_before(begin))
    patches.wrap(module, "PassThroughProfiler.stop", make_before(end))


def begin(recorder: Recorder, action: str) -> None:
    """Open the section of a phase; the wait for a batch begins a tick."""
    if action.endswith(_NEXT_BATCH):
        recorder.tick(BATCH)
    recorder.section(_name(action)).__enter__()


def end(recorder: Recorder, action: str) -> None:
    """Close it; the time after the last batch is no tick."""
    if action == _EPOCH:
        recorder.tick(BATCH)
    recorder.section(_name(action)).__exit__(None, None, None)


@cache
def _name(action: str) -> str:
    return _SETTINGS.sub("", action)


@cache
def _make_profiler(package: str) -> type:
    base: Any = import_module(f"{package}.profilers").Profiler

    class TicktreeProfiler(base):  # type: ignore[misc]
        """A profiler for Lightning's Trainer: its phases are sections of the run that ticktree records."""

        def start(self, action_name: str) -> None:
            """Open the section of a phase."""
            begin(OWN, action_name)

        def stop(self, action_name: str) -> None:
            """Close it."""
            end(OWN, action_name)

    TicktreeProfiler.__module__ = __name__
    TicktreeProfiler.__qualname__ = "TicktreeProfiler"
    return TicktreeProfiler


def __getattr__(name: str) -> Any:
    """Make `TicktreeProfiler` on first access, from the package that the program has imported."""
    if name != "TicktreeProfiler":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    packages = [package for package in PACKAGES if package in sys.modules]
    packages += [package for package in PACKAGES if find_spec(package.partition(".")[0]) is not None]
    if not packages:
        raise ImportError("TicktreeProfiler needs lightning or pytorch-lightning, and neither is installed")
    return _make_profiler(packages[0])


INSTRUMENT = Instrument(
    "lightning", tested=">=2.2.0,<2.7", hooks={f"{package}.profilers.base": _wrap for package in PACKAGES}
)
