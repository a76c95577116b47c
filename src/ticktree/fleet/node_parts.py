"""A run on a Ray cluster, and the part of it that each node records.

A node's part is a separate run on that machine, which all workers of the run there find:

    TMP/ticktree-cluster-UID/lock             held while a process looks for a part or makes it
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
from ticktree.files.owner import Owner, boot_id, process_start
from ticktree.files.trust import require_private
from ticktree.run.finishing import RunDirectory
from ticktree.run.memory import memory_bases, remove_memory

# How many digits of a node's id name its part.
NODE_DIGITS = 16


def run_reference(run: RunDirectory, parent: str, environment: Mapping[str, str]) -> dict[str, Any]:
    """Return what a run's workers on other machines must know of it, as plain values.

    Args:
        run: The run.
        parent: The run's node that is the parent of workers on the run's own machine.
        environment: The environment variables that configure recording.
    """
    return {
        "run": str(run.path),
        "id": run.id,
        "name": run.manifest.metadata.get("name", "run"),
        "boot": run.manifest.owner.boot_id,
        "began_ns": run.manifest.began_ns,
        "parent": parent,
        "environment": dict(environment),
    }


def local_run(reference: Mapping[str, Any]) -> RunDirectory | None:
    """Return the run if this process can write into its memory, on its machine and the same tmpfs; else None."""
    try:
        run = RunDirectory.join(Path(reference["run"]))
    except TicktreeError:
        return None
    is_same_run = run.id == reference["id"] and run.manifest.owner.boot_id == boot_id()
    return (
        run
        if is_same_run and not run.is_finished() and run.memory_dir.parent.parent in memory_bases()
        else None
    )


def find_part(reference: Mapping[str, Any], node: str) -> RunDirectory | None:
    """Return the part of a run that a node records; None if it has not begun.

    Args:
        reference: The result of `run_reference`.
        node: The node's id.

    Raises:
        TicktreeError: The part belongs to another user.
    """
    link = _link(reference, node)
    return RunDirectory.join(link.resolve()) if link.is_symlink() else None


def join_part(reference: Mapping[str, Any], node: str, elapsed_ns: Callable[[], int]) -> RunDirectory:
    """Return the part of a run that a node records, and begin it if necessary.

    Args:
        reference: The result of `run_reference`.
        node: The node's id.
        elapsed_ns: Returns how long the run has lasted, by its own machine's clock.

    Raises:
        TicktreeError: The part's directory cannot be made.
    """
    with _locked():
        return find_part(reference, node) or _begin_part(reference, node, elapsed_ns)


def end_part(reference: Mapping[str, Any], node: str, part: RunDirectory) -> None:
    """Remove a part's memory and directory: workers that still run on its machine stop recording."""
    remove_memory(part.memory_dir)
    shutil.rmtree(part.path, ignore_errors=True)
    with suppress(OSError):
        _link(reference, node).unlink()


def _begin_part(reference: Mapping[str, Any], node: str, elapsed_ns: Callable[[], int]) -> RunDirectory:
    part = RunDirectory.create(str(reference["name"]), _folder(), argv=(), supervised=True)
    began_ns = int(reference["began_ns"])
    if reference["boot"] != boot_id():
        # Clocks of two machines are unrelated, but their durations agree. The begin is late by at most the time that
        # the answer took.
        began_ns = max(1, time.clock_gettime_ns(time.CLOCK_MONOTONIC) - elapsed_ns())
    # The owner is the node's own process, which started this one: workers end before it does.
    starter = os.getppid()
    owner = Owner.current()._replace(pid=starter, started=process_start(starter) or 0)
    part.manifest = part.manifest._replace(began_ns=began_ns, owner=owner)
    part.describe({"host": platform.node()})
    _link(reference, node).symlink_to(part.path)
    return part


def _link(reference: Mapping[str, Any], node: str) -> Path:
    return _folder() / f"{reference['id']}.{node[:NODE_DIGITS]}"


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
