"""torchrl: the names that programs give `timeit`, collectors, environments and replay buffers."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from functools import lru_cache, partial
from types import ModuleType
from typing import Any

from ticktree.instruments.patches import Patches
from ticktree.instruments.targets import Instrument, Target
from ticktree.instruments.ticks import unmarked_loop
from ticktree.recorder import Layer, Recorder, Section, UnmarkedLoop
from ticktree.recorder.site import NO_SITE
from ticktree.recorder.timed import timed_generator

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


class _Iterations:
    """Ticks in programs that mark nothing: from one batch to the next.

    Batches come from a collector, or from a buffer where there is none. Where they are taken within a `timeit`, it
    begins the tick: which one it is, the first batch tells.
    """

    def __init__(self, ticks: UnmarkedLoop) -> None:
        self._ticks = ticks
        self._source = self._name = ""
        self._open = threading.local()

    def enters(self, name: str) -> None:
        """A `timeit` begins."""
        if name == self._name and not self._names():
            self._ticks.begins(self)
        self._names().append(name)

    def leaves(self) -> None:
        """The innermost one ends."""
        if self._names():
            self._names().pop()

    def takes_batch(self, source: str) -> None:
        """A batch is taken from a collector or a buffer."""
        if not self._source:
            self._source, self._name = source, next(iter(self._names()), "")
        if source == self._source and not self._name:
            self._ticks.begins(self)

    def _names(self) -> list[str]:
        if not hasattr(self._open, "names"):
            self._open.names = []
        names: list[str] = self._open.names
        return names


class _Batch:
    """The section of a collector's batch."""

    def __init__(self, section: Section, iterations: _Iterations) -> None:
        self._section, self._iterations = section, iterations

    def __enter__(self) -> None:
        self._iterations.takes_batch("collector")
        self._section.__enter__()

    def __exit__(self, *error: object) -> None:
        self._section.__exit__(*error)  # type: ignore[arg-type]


@lru_cache(maxsize=1)
def _iterations(recorder: Recorder) -> _Iterations:
    return _Iterations(unmarked_loop(recorder, LOOP))


def _wrap_timers(patches: Patches, module: ModuleType, recorder: Recorder) -> None:
    """As a context and, because its wrapper enters it, as a decorator."""
    is_compiling = module.torch.compiler.is_compiling
    iterations = _iterations(recorder)

    def make_enter(enter: Callable[..., Any]) -> Callable[..., Any]:
        def __enter__(self: Any) -> Any:  # noqa: N807 (what it is)
            if not is_compiling():
                iterations.enters(str(self.name))
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
                    iterations.leaves()

        return __exit__

    patches.wrap(module, "timeit.__enter__", make_enter)
    patches.wrap(module, "timeit.__exit__", make_exit)


def _wrap_collectors(patches: Patches, module: ModuleType, recorder: Recorder) -> None:
    base = _base_in(module, _COLLECTORS)
    if base is None:
        return
    collecting = recorder.timed_section("collector next", NO_SITE)
    waiting = recorder.timed_section("collector wait", NO_SITE, wait=True)
    iterations = _iterations(recorder)

    def make(method: Callable[..., Any], owner: type) -> Callable[..., Any]:
        # These have own processes that collect; the others collect here and now.
        waits = "Multi" in owner.__name__ or "Async" in owner.__name__
        return timed_generator(method, _Batch(waiting if waits else collecting, iterations))

    patches.wrap_in_subclasses(module, f"{base}.iterator", make)
    for name in ("rollout", "update_policy_weights_"):
        section = recorder.timed_section(name, NO_SITE)
        patches.section(module, f"{base}.{name}", section, subclasses=True, required=False)


def _takes_sample(iterations: _Iterations, _buffer: Any) -> None:
    iterations.takes_batch("buffer")


def _wrap_buffers(patches: Patches, module: ModuleType, recorder: Recorder) -> None:
    base, layer = _base_in(module, _BUFFERS), Layer()
    for name in ("add", "extend", "sample") if base else ():
        section = recorder.timed_section(f"buffer {name}", NO_SITE)
        before = partial(_takes_sample, _iterations(recorder)) if name == "sample" else None
        patches.section(module, f"{base}.{name}", section, layer, before, subclasses=True)


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
