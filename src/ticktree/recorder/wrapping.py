"""Wrapping a function of somebody else's, and putting it back."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any


def wrap(owner: Any, name: str, hook: Callable[..., Any]) -> Callable[[], None]:
    """Replace a function of a class or a module: whoever calls it calls `hook` with it and the arguments.

    Returns:
        What puts it back.
    """
    original = getattr(owner, name)

    @functools.wraps(original)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return hook(original, *args, **kwargs)

    def undo() -> None:
        # Somebody may have wrapped it again meanwhile; theirs then stays, and ours under it does no harm.
        if getattr(owner, name) is wrapper:
            setattr(owner, name, original)

    setattr(owner, name, wrapper)
    return undo
