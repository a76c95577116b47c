"""The hook that Ray runs in each starting worker of a recorded job, whether or not ticktree is installed there."""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any

# Begins to record in a worker. By name: it is imported there, and imports this package.
_WORKER = "ticktree.session.ray_worker"


def _hook(*, reference: dict[str, Any], worker: str, key: str, program_hook: Any) -> None:
    """Pickled by value: it may use only its own names."""
    from importlib import import_module

    from ray._common import signature

    def begin() -> bool:
        try:
            module = import_module(worker)
        except ImportError:
            return False
        return bool(module.begin(reference))

    def make(recover: Any) -> Any:
        def recover_args(packed: Any) -> Any:
            args, kwargs = recover(packed)
            kwargs.pop(key, None)
            return args, kwargs

        return recover_args

    if not begin():  # calls still carry our argument: remove it
        signature.recover_args = make(signature.recover_args)
    if isinstance(program_hook, str):
        from ray._common.utils import load_class

        program_hook = load_class(program_hook)
    if program_hook is not None:
        program_hook()


def make_hook(reference: dict[str, Any], key: str, program_hook: Any) -> Callable[[], None]:
    """Return the hook for one job.

    Args:
        reference: The result of `run_reference`.
        key: The name of the argument that calls carry.
        program_hook: The program's own hook, run after ours: a function, or its import path; None if there is none.
    """
    hook = FunctionType(_hook.__code__, {"__builtins__": __builtins__}, "ticktree")
    hook.__kwdefaults__ = {
        "reference": reference,
        "worker": _WORKER,
        "key": key,
        "program_hook": program_hook,
    }
    hook.__module__ = "__main__"  # so that it is pickled by value
    hook.__qualname__ = hook.__name__ = getattr(program_hook, "__name__", None) or "ticktree"
    return hook
