"""Pipes of multiprocessing: a message is known by the inode of the end that it arrives at."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from types import ModuleType
from typing import TYPE_CHECKING, Any

from ticktree.instrument.patches import Patches
from ticktree.instrument.waits.call import Wait

if TYPE_CHECKING:
    from ticktree.recorder import Recorder

CHANNEL = "pipe"
# On the connection: (its own inode, that of the other end), once both are known. A forked child has it too; one that
# was sent elsewhere does not, and looks the other end up in the run's table.
_ENDS = "_ticktree_ends"


def inode(connection: Any) -> int | None:
    """Of this end of a pipe; None where it is closed."""
    ends = connection.__dict__.get(_ENDS)
    if ends is not None:
        return int(ends[0])
    try:
        return os.fstat(connection.fileno()).st_ino
    except (OSError, ValueError):
        return None


def _far_end(recorder: Recorder, connection: Any) -> int | None:
    """The inode of the end where arrives what is sent here; None where it is not known."""
    ends = connection.__dict__.get(_ENDS)
    if ends is not None:
        return int(ends[1])
    try:
        status = os.fstat(connection.fileno())
    except (OSError, ValueError):
        return None
    far = status.st_ino if stat.S_ISFIFO(status.st_mode) else recorder.alias(status.st_ino)
    if not far:
        return None
    setattr(connection, _ENDS, (status.st_ino, far))
    return far


def wrap(patches: Patches, recorder: Recorder, module: ModuleType) -> None:
    """Wraps connections where they read and write: what is packed and unpacked there is work, not waiting."""
    signal = recorder.auto_signal
    receiving = Wait(recorder, "Connection.recv", CHANNEL)
    sending = Wait(recorder, "Connection.send", "pipe space")
    polling = Wait(recorder, "Connection.poll", CHANNEL)

    def make_receive(receive: Callable[..., Any]) -> Callable[..., Any]:
        def wrapper(self: Any, *args: Any, **kwargs: Any) -> Any:
            return receiving.call(receive, inode, (self, *args), kwargs)

        return wrapper

    def make_send(send: Callable[..., Any]) -> Callable[..., Any]:
        def wrapper(self: Any, *args: Any, **kwargs: Any) -> Any:
            far = _far_end(recorder, self)
            if far is not None:
                signal(CHANNEL, far)
            return sending.call(send, _nobody, (self, *args), kwargs)

        return wrapper

    def make_poll(poll: Callable[..., Any]) -> Callable[..., Any]:
        def wrapper(self: Any, timeout: float | None = 0.0) -> Any:
            if timeout == 0:
                return poll(self, timeout)
            return polling.call(poll, inode, (self, timeout), {}, bool)

        return wrapper

    def make_pipe(pipe: Callable[..., Any]) -> Callable[..., Any]:
        def wrapper(duplex: bool = True) -> Any:
            ends = pipe(duplex)
            if duplex:
                _remember(recorder, *ends)
            return ends

        return wrapper

    patches.wrap(module.Connection, "_recv_bytes", make_receive)
    patches.wrap(module.Connection, "_send_bytes", make_send)
    patches.wrap(module._ConnectionBase, "poll", make_poll)
    patches.wrap(module, "Pipe", make_pipe)


def _nobody(_connection: Any) -> None:
    """Who empties a full pipe does not say so."""


def _remember(recorder: Recorder, one: Any, other: Any) -> None:
    """The two ends of a pair of sockets, each of which has an inode of its own."""
    near, far = inode(one), inode(other)
    if near is None or far is None:
        return
    setattr(one, _ENDS, (near, far))
    setattr(other, _ENDS, (far, near))
    recorder.alias(near, far)
    recorder.alias(far, near)
