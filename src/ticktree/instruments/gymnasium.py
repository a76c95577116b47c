"""gymnasium: the calls of the outermost env and of vectors of envs, and steps as ticks.

On demand, its wrappers, each with its own share: every layer costs one more call.
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
_OUTERMOST_RANK, _WRAPPER_RANK = 1, 0  # the former is around the latter
_BASES = {"gymnasium.core": ("Env", "env"), "gymnasium.vector.vector_env": ("VectorEnv", "envs")}
# Methods of AsyncVectorEnv, and whether they wait for the workers; the workers' pipes tell for which.
_ASYNC = {"reset_async": False, "reset_wait": True, "step_async": False, "step_wait": True}


@lru_cache(maxsize=1)
def env_loop(recorder: Recorder) -> UnmarkedLoop:
    """Return the loop of the steps of one env, or vector of envs, per thread. For programs that mark nothing."""
    return unmarked_loop(recorder, LOOP)


def _wrap(patches: Patches, module: ModuleType, recorder: Recorder) -> None:
    """Wrap envs; of envs in wrappers only the outermost call counts, which has no single call site."""
    ticks = env_loop(recorder)
    before = {"step": ticks.begins, "close": ticks.is_over}
    base, title = _BASES[module.__name__]
    for name in METHODS:
        section = recorder.timed_section(f"{title}.{name}", NO_SITE)
        options: dict[str, Any] = {"subclasses": True, "rank": _OUTERMOST_RANK}
        patches.section(module, f"{base}.{name}", section, None, before.get(name), **options)


def _wrap_async(patches: Patches, module: ModuleType, recorder: Recorder) -> None:
    for name, waits in _ASYNC.items():
        site = site_of(getattr(module.AsyncVectorEnv, name, None))
        # Programs may call it without `step`.
        before = env_loop(recorder).begins if name == "step_async" else None
        section = recorder.timed_section(name, site, wait=waits)
        patches.section(module, f"AsyncVectorEnv.{name}", section, None, before)


def _wrap_wrappers(patches: Patches, module: ModuleType, recorder: Recorder) -> None:
    """Make each class's methods sections with its name; what it inherits and calls is part of its call."""
    base, _ = _BASES[module.__name__]
    for name in METHODS:
        default = recorder.timed_section(name, NO_SITE)

        def env_section(env: Any, name: str = name) -> Any:
            kind = type(env)
            return recorder.timed_section(f"{kind.__name__}.{name}", site_of(getattr(kind, name)))

        layer = Layer(of_each=True)
        options: dict[str, Any] = {"rank": _WRAPPER_RANK, "choice": SectionsByObject(env_section)}
        patches.section(module, f"{base}.{name}", default, layer, subclasses=True, **options)


_TESTED = ">=1.1.0,<1.5"
INSTRUMENT = Instrument(
    "gymnasium",
    tested=_TESTED,
    hooks={**dict.fromkeys(_BASES, _wrap), "gymnasium.vector.async_vector_env": _wrap_async},
)
WRAPPERS = Instrument("gymnasium", tested=_TESTED, hooks=dict.fromkeys(_BASES, _wrap_wrappers))
