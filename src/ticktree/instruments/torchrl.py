"""torchrl: programs' names in `timeit`, collectors, environments and replay buffers."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from functools import lru_cache
from types import ModuleType
from typing import Any

from ticktree.instruments.patches import Patches
from ticktree.instruments.targets import Instrument, Target
from ticktree.instruments.ticks import unmarked_loop
from ticktree.recorder import Layer, Recorder, Section, UnmarkedLoop
from ticktree.recorder.site import NO_SITE
from ticktree.recorder.timed import timed_generator

LOOP = "iteration"

# The modules of base classes; the second is that of versions before 0.11.
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

    Batches come from a collector, or from a buffer if there is none. If the first batch is taken within a `timeit`,
    that `timeit` begins the ticks.
    """

    def __init__(self, ticks: UnmarkedLoop) -> None:
        self._ticks = ticks
        self._source = self._name = ""
        self._open = _OpenTimers()

    def enter(self, name: str) -> None:
        """Note that a `timeit` begins."""
        if name == self._name and not self._open.names:
            self._ticks.begins(self)
        self._open.names.append(name)

    def leave(self) -> None:
        """Note that the innermost `timeit` ends."""
        if self._open.names:
            self._open.names.pop()

    def take_batch(self, source: str) -> None:
        """Note that a batch is taken from a collector or a buffer."""
        if not self._source:
            self._source, self._name = source, next(iter(self._open.names), "")
        if source == self._source and not self._name:
            self._ticks.begins(self)


class _OpenTimers(threading.local):
    def __init__(self) -> None:
        self.names: list[str] = []


class _BatchSection:
    """The section of a collector's batch."""

    def __init__(self, section: Section, iterations: _Iterations) -> None:
        self._section, self._iterations = section, iterations

    def __enter__(self) -> None:
        self._iterations.take_batch("collector")
        self._section.__enter__()

    def __exit__(self, *error: object) -> None:
        self._section.__exit__(*error)  # type: ignore[arg-type]


@lru_cache(maxsize=1)
def _iterations(recorder: Recorder) -> _Iterations:
    return _Iterations(unmarked_loop(recorder, LOOP))


def _wrap_timers(patches: Patches, module: ModuleType, recorder: Recorder) -> None:
    """Wrap `timeit` as a context and, because its decorator enters it, as a decorator."""
    is_compiling = module.torch.compiler.is_compiling
    iterations = _iterations(recorder)

    def make_enter(enter: Callable[..., Any]) -> Callable[..., Any]:
        def __enter__(self: Any) -> Any:  # noqa: N807 (its wrapper)
            if not is_compiling():
                iterations.enter(str(self.name))
                recorder.section(str(self.name)).__enter__()
            return enter(self)

        return __enter__

    def make_exit(leave: Callable[..., Any]) -> Callable[..., Any]:
        def __exit__(self: Any, exc_type: Any, exc_val: Any, exc_tb: Any) -> Any:  # noqa: N807 (its wrapper)
            try:
                return leave(self, exc_type, exc_val, exc_tb)
            finally:
                if not is_compiling():
                    recorder.section(str(self.name)).__exit__(None, None, None)
                    iterations.leave()

        return __exit__

    patches.wrap(module, "timeit.__enter__", make_enter)
    patches.wrap(module, "timeit.__exit__", make_exit)


def _wrap_collectors(patches: Patches, module: ModuleType, recorder: Recorder) -> None:
    base = _base_class(module, _COLLECTORS)
    if base is None:
        return
    collect = recorder.timed_section("collector next", NO_SITE)
    wait = recorder.timed_section("collector wait", NO_SITE, wait=True)
    iterations = _iterations(recorder)

    def make(method: Callable[..., Any], owner: type) -> Callable[..., Any]:
        # These collect in other processes; all others collect here and now.
        waits = "Multi" in owner.__name__ or "Async" in owner.__name__
        return timed_generator(method, _BatchSection(wait if waits else collect, iterations))

    patches.wrap_in_subclasses(module, f"{base}.iterator", make)
    for name in ("rollout", "update_policy_weights_"):
        section = recorder.timed_section(name, NO_SITE)
        patches.section(module, f"{base}.{name}", section, subclasses=True, required=False)


def _wrap_buffers(patches: Patches, module: ModuleType, recorder: Recorder) -> None:
    base, layer = _base_class(module, _BUFFERS), Layer()
    iterations = _iterations(recorder)

    def take_sample(_buffer: Any) -> None:
        iterations.take_batch("buffer")

    for name in ("add", "extend", "sample") if base else ():
        section = recorder.timed_section(f"buffer {name}", NO_SITE)
        before = take_sample if name == "sample" else None
        patches.section(module, f"{base}.{name}", section, layer, before, subclasses=True)


def _base_class(module: ModuleType, classes: dict[str, str]) -> str | None:
    """Return the base class's name in a module; None in an older version's module if the newer one has it."""
    newer = next(iter(classes))
    return None if module.__name__ != newer and newer in sys.modules else classes[module.__name__]


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
