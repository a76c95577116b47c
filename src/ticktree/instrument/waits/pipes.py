"""Pipes of multiprocessing: a message is known by the inode of the end that it arrives at."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from types import ModuleType
from typing import TYPE_CHECKING, Any

from ticktree.instrument.patches import Patches
from ticktree.recorder import Channel, Wait

if TYPE_CHECKING:
    from ticktree.recorder import Recorder

CHANNEL = "pipe"
# On the connection: its own inode, and that of the other end. A forked child has them too; a connection that was sent
# to another process does not, and looks its other end up in the run's table.
_NEAR, _FAR = "_ticktree_near", "_ticktree_far"


def inode(connection: Any) -> int | None:
    """Of this end of a pipe; None where it is closed."""
    try:
        known: int | None = connection.__dict__.get(_NEAR)
        if known is not None:
            return known
        found = os.fstat(connection.fileno()).st_ino
    except (AttributeError, OSError, ValueError):
        return None
    setattr(connection, _NEAR, found)
    return found


def _far_end(recorder: Recorder, connection: Any) -> int | None:
    """The inode of the end where arrives what is sent here; None where it is not known."""
    known: int | None = connection.__dict__.get(_FAR)
    if known is not None:
        return known
    try:
        status = os.fstat(connection.fileno())
    except (OSError, ValueError):
        return None
    # Both ends of a pipe are one inode; each of a pair of sockets has its own.
    far = status.st_ino if stat.S_ISFIFO(status.st_mode) else recorder.alias(status.st_ino)
    if not far:
        return None
    setattr(connection, _FAR, far)
    return far


def wrap(patches: Patches, recorder: Recorder, module: ModuleType) -> None:
    """Wraps connections where they read and write: what is packed and unpacked there is work, not waiting."""
    arrivals = Channel(recorder, CHANNEL)
    _wrap_receiving(patches, arrivals, module)
    _wrap_sending(patches, arrivals, module)
    _wrap_several(patches, arrivals, module)


def _wrap_receiving(patches: Patches, arrivals: Channel, module: ModuleType) -> None:
    receiving, polling = Wait(arrivals, "Connection.recv"), Wait(arrivals, "Connection.poll")

    def make_receive(receive: Callable[..., Any]) -> Callable[..., Any]:
        def wrapper(self: Any, *args: Any) -> Any:
            return receiving.call(receive, (self, *args), self.__dict__.get(_NEAR) or inode(self))

        return wrapper

    def make_poll(poll: Callable[..., Any]) -> Callable[..., Any]:
        def wrapper(self: Any, timeout: float | None = 0.0) -> Any:
            if timeout == 0:
                return poll(self, timeout)
            return polling.call(poll, (self, timeout), inode(self), bool)

        return wrapper

    patches.wrap_own(module, "Connection._recv_bytes", make_receive)
    patches.wrap_own(module, "_ConnectionBase.poll", make_poll)


def _wrap_sending(patches: Patches, arrivals: Channel, module: ModuleType) -> None:
    recorder = arrivals.recorder
    sending = Wait(Channel(recorder, "pipe space"), "Connection.send")

    def make_send(send: Callable[..., Any]) -> Callable[..., Any]:
        def wrapper(self: Any, *args: Any) -> Any:
            if recorder.recording:
                far = self.__dict__.get(_FAR) or _far_end(recorder, self)
                if far is not None:
                    arrivals.signal(far)
            return sending.call(send, (self, *args))  # who empties a full pipe does not say so

        return wrapper

    def make_pipe(pipe: Callable[..., Any]) -> Callable[..., Any]:
        def wrapper(duplex: bool = True) -> Any:
            ends = pipe(duplex)
            if duplex and recorder.recording:
                _remember(recorder, *ends)
            return ends

        return wrapper

    patches.wrap_own(module, "Connection._send_bytes", make_send)
    patches.wrap_own(module, "Pipe", make_pipe)


def _wrap_several(patches: Patches, arrivals: Channel, module: ModuleType) -> None:
    awaiting = Wait(
        arrivals, "connection.wait"
    )  # which of them it will be is not known before: nobody is named

    def make_wait(wait: Callable[..., Any]) -> Callable[..., Any]:
        def wrapper(object_list: Any, timeout: float | None = None) -> Any:
            if timeout is not None and timeout <= 0:
                return wait(object_list, timeout)
            return awaiting.call(wait, (object_list, timeout))

        return wrapper

    patches.wrap_own(module, "wait", make_wait)


def _remember(recorder: Recorder, one: Any, other: Any) -> None:
    """The two ends of a pair of sockets."""
    near, far = inode(one), inode(other)
    if near is None or far is None:
        return
    setattr(one, _FAR, far)
    setattr(other, _FAR, near)
    recorder.alias(near, far)
    recorder.alias(far, near)
