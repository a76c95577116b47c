"""gymnasium's vector environments: what is sent to the workers, and the wait for them, apart."""

from __future__ import annotations

from functools import partial
from types import ModuleType
from typing import TYPE_CHECKING, Any

from ticktree.instrument.patches import Patches
from ticktree.recorder import TimedFunction

if TYPE_CHECKING:
    from ticktree.recorder import Recorder

_patches = Patches()

# Each with whether it waits for the workers; their pipes say which of them it was.
_METHODS = {"reset_async": False, "reset_wait": True, "step_async": False, "step_wait": True}


def install(recorder: Recorder) -> None:
    """Wraps `AsyncVectorEnv` when it is imported. Who it waited for is known where `waits` is installed too."""
    _patches.watch("gymnasium.vector.async_vector_env", lambda module: _wrap(recorder, module))


def uninstall() -> None:
    """Puts everything back."""
    _patches.undo()


def _wrap(recorder: Recorder, module: ModuleType) -> None:
    for name, waits in _METHODS.items():
        _patches.wrap(module.AsyncVectorEnv, name, partial(_timed, recorder, waits))


def _timed(recorder: Recorder, waits: bool, method: Any) -> Any:
    code = method.__code__
    site = (code.co_filename, code.co_firstlineno, getattr(code, "co_qualname", code.co_name))
    section = recorder.timed_section(method.__name__, site, wait=waits)
    return TimedFunction(method, section)
