"""torchrl: the names that programs give `timeit`, collectors, environments and replay buffers."""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Callable
from functools import lru_cache, wraps
from types import ModuleType
from typing import TYPE_CHECKING, Any

from ticktree.instruments.patches import Patches
from ticktree.instruments.targets import Instrument, Target
from ticktree.instruments.ticks import unmarked_loop
from ticktree.recorder import Layer
from ticktree.recorder.site import NO_SITE
from ticktree.recorder.timed import timed_generator

if TYPE_CHECKING:
    from ticktree.recorder import Recorder, Section, UnmarkedLoop

# Where nothing else makes ticks, one is from a collector's batch to its next; or from one `timeit` to the next of its
# name, where the batch is collected in such a section.
LOOP = "iteration"

# Where base classes are, with the module where older versions (before 0.11) have them.
_COLLECTORS = {
    "torchrl.collectors._base": "BaseCollector",
    "torchrl.collectors.collectors": "DataCollectorBase",
}
_BUFFERS = {
    "torchrl.data.replay_buffers.replay_buffers.base": "ReplayBuffer",
    "torchrl.data.replay_buffers.replay_buffers": "ReplayBuffer",
}

_TARGETS = [
    Target(f"torchrl.envs.common:EnvBase.{name}", f"env {name}", True, layer="env")
    for name in ("reset", "step")
]


class _Name:
    """Stands for a name whose sections begin ticks."""


class _Batch:
    """The section of a collector's batch; it begins a tick."""

    def __init__(self, section: Section, ticks: UnmarkedLoop, collector: Any) -> None:
        self._section, self._ticks, self._collector = section, ticks, collector

    def __enter__(self) -> None:
        self._ticks.begins(self._collector)
        self._section.__enter__()

    def __exit__(self, *error: object) -> None:
        self._section.__exit__(*error)  # type: ignore[arg-type]


@lru_cache(maxsize=1)
def _ticks(recorder: Recorder) -> UnmarkedLoop:
    return unmarked_loop(recorder, LOOP)


def _wrap_timers(patches: Patches, module: ModuleType, recorder: Recorder) -> None:
    """As a context and, because its wrapper enters it, as a decorator."""
    is_compiling = module.torch.compiler.is_compiling
    ticks, names = _ticks(recorder), defaultdict[str, _Name](_Name)

    def make_enter(enter: Callable[..., Any]) -> Callable[..., Any]:
        def __enter__(self: Any) -> Any:  # noqa: N807 (what it is)
            if not is_compiling():
                ticks.begins(names[str(self.name)])
                recorder.section(str(self.name)).__enter__()
            return enter(self)

        return __enter__

    def make_exit(leave: Callable[..., Any]) -> Callable[..., Any]:
        def __exit__(self: Any, exc_type: Any, exc_val: Any, exc_tb: Any) -> Any:  # noqa: N807 (what it is)
            try:
                return leave(self, exc_type, exc_val, exc_tb)
            finally:
                if not is_compiling():
                    recorder.section(str(self.name)).__exit__(None, None, None)

        return __exit__

    patches.wrap(module, "timeit.__enter__", make_enter)
    patches.wrap(module, "timeit.__exit__", make_exit)


def _wrap_collectors(patches: Patches, module: ModuleType, recorder: Recorder) -> None:
    base = _base_in(module, _COLLECTORS)
    if base is None:
        return
    collecting = recorder.timed_section("collector next", NO_SITE)
    waiting = recorder.timed_section("collector wait", NO_SITE, wait=True)
    ticks = _ticks(recorder)

    def make(method: Callable[..., Any], owner: type) -> Callable[..., Any]:
        # These have own processes that collect; the others collect here and now.
        waits = "Multi" in owner.__name__ or "Async" in owner.__name__
        section = waiting if waits else collecting

        @wraps(method)
        def iterator(self: Any) -> Any:
            return timed_generator(method, _Batch(section, ticks, self))(self)

        return iterator

    patches.wrap_in_subclasses(module, f"{base}.iterator", make)
    for name in ("rollout", "update_policy_weights_"):
        section = recorder.timed_section(name, NO_SITE)
        patches.section(module, f"{base}.{name}", section, subclasses=True, required=False)


def _wrap_buffers(patches: Patches, module: ModuleType, recorder: Recorder) -> None:
    base, layer = _base_in(module, _BUFFERS), Layer()
    for name in ("add", "extend", "sample") if base else ():
        section = recorder.timed_section(f"buffer {name}", NO_SITE)
        patches.section(module, f"{base}.{name}", section, layer, subclasses=True)


def _base_in(module: ModuleType, places: dict[str, str]) -> str | None:
    """The base class's name in a module; None in the one of older versions, where the other has it."""
    name = places[module.__name__]
    newer = next(iter(places))
    return None if module.__name__ != newer and newer in sys.modules else name


INSTRUMENT = Instrument(
    "torchrl",
    tested=">=0.8.0,<0.15",
    targets=_TARGETS,
    hooks={
        "torchrl._utils": _wrap_timers,
        **dict.fromkeys(_COLLECTORS, _wrap_collectors),
        **dict.fromkeys(_BUFFERS, _wrap_buffers),
    },
)
