"""Where memory files go, and how much of it a run may claim."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from ticktree.errors import TicktreeError
from ticktree.files.trust import require_base
from ticktree.outputs.writing import formatting
from ticktree.run.memory import all_memory, is_private, memory_bases, usual_root

# session.py claims at most this part of what is free: data loaders and others live there too.
_CLAIM = 4
_IN_MEMORY = {"tmpfs", "ramfs", "hugetlbfs"}


def check() -> Iterator[str]:
    """Yield the place, what is free there, and what other runs occupy."""
    base = next(memory_bases())
    try:
        require_base(base)
        space = os.statvfs(base)
    except (OSError, TicktreeError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        yield f"{base} cannot be used: {why}; nothing can be recorded."
        return
    free, size = space.f_bavail * space.f_frsize, space.f_blocks * space.f_frsize
    yield (
        f"Memory files go to {base}: {formatting.size(free)} free of {formatting.size(size)}; a run claims "
        f"{formatting.size(free / _CLAIM)} at most."
    )
    if space.f_files and not space.f_favail:
        yield f"{base} has no room for more files: none can be made there."
    usual = usual_root(base)
    if os.path.lexists(usual) and not is_private(usual):
        yield f"{usual} is not a directory that only this user can enter: memory files go to one of another name."
    kind = _filesystem(base)
    if kind is not None and kind not in _IN_MEMORY:
        yield f"That is {kind}, not memory: when the kernel writes pages back, a recorded program may stall."
    unfinished = sum(1 for _ in all_memory())
    if unfinished:
        yield f"{unfinished} run{'s' if unfinished > 1 else ''} of yours on this machine not finished yet."


def _filesystem(path: Path) -> str | None:
    """The type of the file system that a path is on; None where the kernel does not say."""
    try:
        mounts = Path("/proc/self/mounts").read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    except OSError:
        return None
    resolved = path.resolve()
    best: tuple[int, str | None] = (-1, None)
    for _, point, kind, *_ in (line.split() for line in mounts):
        mounted = Path(point.encode(errors="surrogateescape").decode("unicode_escape"))
        if resolved.is_relative_to(mounted) and len(mounted.parts) >= best[0]:
            best = (len(mounted.parts), kind)
    return best[1]
