"""gymnasium: the calls of the outermost env, those of vectors of envs, and steps as ticks.

On demand, its wrappers, each with its own share: every layer costs a call more.
"""

from __future__ import annotations

from functools import lru_cache
from types import ModuleType
from typing import Any

from ticktree.instruments.patches import Patches
from ticktree.instruments.targets import Instrument
from ticktree.instruments.ticks import unmarked_loop
from ticktree.recorder import Layer, Recorder, SectionsByObject, UnmarkedLoop
from ticktree.recorder.site import NO_SITE, site_of

LOOP = "env"
METHODS = ("reset", "step", "render", "close")
_WHOLE, _WRAPPERS = 1, 0  # ranks: the former is around the latter
_BASES = {"gymnasium.core": ("Env", "env"), "gymnasium.vector.vector_env": ("VectorEnv", "envs")}
# Of AsyncVectorEnv, each with whether it waits for the workers; their pipes tell which of them it was.
_ASYNC = {"reset_async": False, "reset_wait": True, "step_async": False, "step_wait": True}


@lru_cache(maxsize=1)
def env_loop(recorder: Recorder) -> UnmarkedLoop:
    """Return the loop of env steps: of one env, or vector of them, on each thread. For programs that mark nothing."""
    return unmarked_loop(recorder, LOOP)


def _wrap(patches: Patches, module: ModuleType, recorder: Recorder) -> None:
    """Of envs in wrappers only the outermost call counts: that is at no one place."""
    ticks = env_loop(recorder)
    before = {"step": ticks.begins, "close": ticks.is_over}
    base, title = _BASES[module.__name__]
    for name in METHODS:
        section = recorder.timed_section(f"{title}.{name}", NO_SITE)
        patches.section(
            module, f"{base}.{name}", section, None, before.get(name), subclasses=True, rank=_WHOLE
        )


def _wrap_halves(patches: Patches, module: ModuleType, recorder: Recorder) -> None:
    for name, waits in _ASYNC.items():
        site = site_of(getattr(module.AsyncVectorEnv, name, None))
        begins = (
            env_loop(recorder).begins if name == "step_async" else None
        )  # called without `step` around it
        section = recorder.timed_section(name, site, wait=waits)
        patches.section(module, f"AsyncVectorEnv.{name}", section, None, begins)


def _wrap_wrappers(patches: Patches, module: ModuleType, recorder: Recorder) -> None:
    """Each class's methods are sections called after it; what it inherits and calls is part of its call."""
    base, _ = _BASES[module.__name__]
    for name in METHODS:
        own = recorder.timed_section(name, NO_SITE)

        def section_of(env: Any, name: str = name) -> Any:
            kind = type(env)
            return recorder.timed_section(f"{kind.__name__}.{name}", site_of(getattr(kind, name)))

        layer, choice = Layer(of_each=True), SectionsByObject(section_of)
        patches.section(module, f"{base}.{name}", own, layer, subclasses=True, rank=_WRAPPERS, choice=choice)


_TESTED = ">=1.1.0,<1.5"
INSTRUMENT = Instrument(
    "gymnasium",
    tested=_TESTED,
    hooks={**dict.fromkeys(_BASES, _wrap), "gymnasium.vector.async_vector_env": _wrap_halves},
)
WRAPPERS = Instrument("gymnasium", tested=_TESTED, hooks=dict.fromkeys(_BASES, _wrap_wrappers))
