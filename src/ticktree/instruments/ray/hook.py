"""What Ray runs in each worker of a recorded job as it starts, whether or not ticktree is installed there."""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any

# What begins to record in a worker. By name: it is imported there, and knows this room.
_WORKER = "ticktree.session.ray_worker"


def _hook(*, word: dict[str, Any], worker: str, key: str, then: Any) -> None:
    """Pickled by value: it may use nothing that is not in it."""
    from importlib import import_module

    from ray._common import signature

    def begin() -> bool:
        try:
            found = import_module(worker)
        except ImportError:
            return False
        return bool(found.begin(word))

    def make(recover: Any) -> Any:
        def recover_args(packed: Any) -> Any:
            args, kwargs = recover(packed)
            kwargs.pop(key, None)
            return args, kwargs

        return recover_args

    if not begin():  # what calls carry is still to be taken out
        signature.recover_args = make(signature.recover_args)
    if isinstance(then, str):
        from ray._common.utils import load_class

        then = load_class(then)
    if then is not None:
        then()


def hook_of(word: dict[str, Any], key: str, then: Any) -> Callable[[], None]:
    """The hook for one job.

    Args:
        word: What a worker is to know; plain values.
        key: Of what calls carry.
        then: The program's own hook, run after ours: a function, or where to import it from; None without one.
    """
    made = FunctionType(_hook.__code__, {"__builtins__": __builtins__}, "ticktree")
    made.__kwdefaults__ = {"word": word, "worker": _WORKER, "key": key, "then": then}
    made.__module__ = "__main__"  # so that it is pickled by value
    made.__qualname__ = made.__name__ = getattr(then, "__name__", None) or "ticktree"
    return made
