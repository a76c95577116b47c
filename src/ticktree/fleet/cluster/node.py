"""A node's part of a run: a run of its own on that machine, found by all who work for the run there.

TMP/ticktree-cluster-UID/lock             held while a part is looked for or made
TMP/ticktree-cluster-UID/RUN-ID.NODE      a link to the part's directory
"""

from __future__ import annotations

import fcntl
import os
import platform
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from ticktree.errors import TicktreeError
from ticktree.files.owner import Owner, boot_id, start_of
from ticktree.files.trust import require_private
from ticktree.run.finishing import RunDirectory
from ticktree.run.memory import remove_memory

_DIGITS = 16


def find_part(word: Mapping[str, Any], node: str) -> RunDirectory | None:
    """The part of a run that is recorded on a node; None where nobody has begun it.

    Args:
        word: The run's.
        node: The node's id.

    Raises:
        TicktreeError: It is none of this user's.
    """
    link = _link(word, node)
    return RunDirectory.join(link.resolve()) if link.is_symlink() else None


def join_part(word: Mapping[str, Any], node: str, elapsed_ns: Callable[[], int]) -> RunDirectory:
    """The same, begun if it is not.

    Args:
        word: The run's.
        node: The node's id.
        elapsed_ns: Tells how long the run has been going on, by its own machine's clock.

    Raises:
        TicktreeError: There is no place for it.
    """
    with _locked():
        return find_part(word, node) or _begun(word, node, elapsed_ns)


def end_part(word: Mapping[str, Any], node: str, part: RunDirectory) -> None:
    """Gives back all that a part has on its machine: who still works there records no longer."""
    remove_memory(part.memory_dir)
    shutil.rmtree(part.path, ignore_errors=True)
    with suppress(OSError):
        _link(word, node).unlink()


def _begun(word: Mapping[str, Any], node: str, elapsed_ns: Callable[[], int]) -> RunDirectory:
    part = RunDirectory.create(str(word["name"]), _folder(), argv=(), supervised=True)
    began_ns = int(word["began_ns"])
    if word["boot"] != boot_id():
        # Clocks of two machines have nothing in common; how long ago something was, they agree on. It is late by as
        # long as the answer took at most.
        began_ns = max(1, time.clock_gettime_ns(time.CLOCK_MONOTONIC) - elapsed_ns())
    # While the node's own process lives, which started this one, its workers may.
    starter = os.getppid()
    owner = Owner.current()._replace(pid=starter, started=start_of(starter) or 0)
    part.manifest = part.manifest._replace(began_ns=began_ns, owner=owner)
    part.describe({"host": platform.node()})
    _link(word, node).symlink_to(part.path)
    return part


def _link(word: Mapping[str, Any], node: str) -> Path:
    return _folder() / f"{word['id']}.{node[:_DIGITS]}"


def _folder() -> Path:
    folder = Path(tempfile.gettempdir()) / f"ticktree-cluster-{os.geteuid()}"
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        raise TicktreeError(
            f"no place for this node's part of the run in {folder}: {error.strerror}"
        ) from None
    require_private(folder)
    return folder


@contextmanager
def _locked() -> Iterator[None]:
    try:
        fd = os.open(_folder() / "lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise TicktreeError(f"no place for this node's part of the run: {error.strerror}") from None
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        yield
    finally:
        os.close(fd)
