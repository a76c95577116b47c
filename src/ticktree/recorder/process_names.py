"""What a process of multiprocessing's is called.

The names that it gives by default ("SpawnProcess-1:2") say how a process was started. What it was started for is
said by its function; the number is kept.
"""

from __future__ import annotations

import functools
import re
from typing import Any

# Process-3, ForkProcess-3, SpawnProcess-1:2, ForkServerProcess-1, LokyProcess-4, ForkPoolWorker-3, ...
_DEFAULT = r"(?:Fork|Spawn|ForkServer|Loky|LokyInitMain)?(?:Process|PoolWorker)-(\d+(?::\d+)*)"

# Functions of libraries, which call what they were given by the program.
_KNOWN = {
    "multiprocessing.pool.worker": "pool worker",
    "concurrent.futures.process._process_worker": "executor worker",
    "loky.process_executor._process_worker": "loky worker",
    "torch.utils.data._utils.worker._worker_loop": "data loader worker",
}
_CALLERS = {"torch.multiprocessing.spawn._wrap"}  # the function itself is their first argument


def name_of(process: Any) -> str:
    """The name of a process, with its function's in place of multiprocessing's default."""
    name = str(process.name)
    match = re.fullmatch(_DEFAULT, name)
    target = getattr(process, "_target", None)
    if match is None or target is None:
        return name
    if _full_name(target) in _CALLERS and process._args:
        target = process._args[0]
    what = _what(target)
    return f"{what}-{match[1]}" if what else name


def _what(target: Any) -> str:
    """What a function is called; empty where that says nothing."""
    full = _full_name(target)
    for known, what in _KNOWN.items():
        if full == known or full.endswith(f".{known}"):
            return what
    qualname = str(getattr(_bare(target), "__qualname__", "") or type(target).__name__)
    return qualname.rsplit("<locals>.", 1)[-1].replace("<lambda>", "")


def _full_name(target: Any) -> str:
    bare = _bare(target)
    return f"{getattr(bare, '__module__', '')}.{getattr(bare, '__qualname__', '')}"


def _bare(target: Any) -> Any:
    while isinstance(target, functools.partial):
        target = target.func
    return target
