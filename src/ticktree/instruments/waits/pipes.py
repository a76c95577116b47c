"""Pipes of multiprocessing: a message is known by the inode of the end that it arrives at."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from types import ModuleType
from typing import Any

from ticktree.instruments.patches import Patches
from ticktree.recorder import Channel, PipeFunction, Recorder, Wait

CHANNEL = "pipe"
# On the connection: its own inode, and the keys of the channels where it receives and where arrives what it sends. A
# forked child has them too; a connection that was sent to another process looks its other end up in the run's table.
_NEAR, _ARRIVES, _REACHES = "_ticktree_near", "_ticktree_arrives", "_ticktree_reaches"


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


def wrap(patches: Patches, recorder: Recorder, module: ModuleType) -> None:
    """Wraps connections where they read and write: what is packed and unpacked there is work, not waiting."""
    arrivals = Channel(recorder, CHANNEL)
    _wrap_messages(patches, arrivals, module)
    _wrap_polling(patches, arrivals, module)
    _wrap_pipe(patches, arrivals, module)
    _wrap_several(patches, arrivals, module)


def _wrap_messages(patches: Patches, arrivals: Channel, module: ModuleType) -> None:
    recorder = arrivals.recorder
    receiving, sending = (recorder.section(f"Connection.{name}", wait=True) for name in ("recv", "send"))

    def arrives(connection: Any) -> int:
        near = inode(connection)
        key = arrivals.hash(near) if near is not None else 0
        setattr(connection, _ARRIVES, key)
        return key

    def reaches(connection: Any) -> int:
        far = _far_end(recorder, connection)
        key = arrivals.hash(far) if far else 0
        setattr(connection, _REACHES, key)
        return key

    def make_receive(receive: Callable[..., Any]) -> Callable[..., Any]:
        return PipeFunction(receive, receiving, arrivals, _ARRIVES, arrives, sends=False)

    def make_send(send: Callable[..., Any]) -> Callable[..., Any]:
        # The reader that empties a full pipe does not signal.
        return PipeFunction(send, sending, arrivals, _REACHES, reaches, sends=True)

    patches.wrap_own(module, "Connection._recv_bytes", make_receive)
    patches.wrap_own(module, "Connection._send_bytes", make_send)


def _far_end(recorder: Recorder, connection: Any) -> int:
    """The inode of the end where arrives what is sent here; 0 where it is not known."""
    try:
        status = os.fstat(connection.fileno())
    except (OSError, ValueError):  # it is closed
        return 0
    # Both ends of a pipe are one inode; each of a pair of sockets has its own.
    return status.st_ino if stat.S_ISFIFO(status.st_mode) else recorder.alias(status.st_ino)


def _wrap_polling(patches: Patches, arrivals: Channel, module: ModuleType) -> None:
    polling = Wait(arrivals, "Connection.poll")

    def make_poll(poll: Callable[..., Any]) -> Callable[..., Any]:
        def wrapper(self: Any, timeout: float | None = 0.0) -> Any:
            if timeout == 0:
                return poll(self, timeout)
            return polling.call(poll, (self, timeout), inode(self), bool)

        return wrapper

    patches.wrap_own(module, "_ConnectionBase.poll", make_poll)


def _wrap_pipe(patches: Patches, arrivals: Channel, module: ModuleType) -> None:
    def make_pipe(pipe: Callable[..., Any]) -> Callable[..., Any]:
        def wrapper(duplex: bool = True) -> Any:
            ends = pipe(duplex)
            if duplex and arrivals.recorder.recording:
                _remember(arrivals, *ends)
            return ends

        return wrapper

    patches.wrap_own(module, "Pipe", make_pipe)


def _wrap_several(patches: Patches, arrivals: Channel, module: ModuleType) -> None:
    awaiting = Wait(
        arrivals, "connection.wait"
    )  # which of them it will be is not known before: no channel is named

    def make_wait(wait: Callable[..., Any]) -> Callable[..., Any]:
        def wrapper(object_list: Any, timeout: float | None = None) -> Any:
            if timeout is not None and timeout <= 0:
                return wait(object_list, timeout)
            return awaiting.call(wait, (object_list, timeout))

        return wrapper

    patches.wrap_own(module, "wait", make_wait)


def _remember(arrivals: Channel, one: Any, other: Any) -> None:
    """The two ends of a pair of sockets."""
    near, far = inode(one), inode(other)
    if near is None or far is None:
        return
    setattr(one, _REACHES, arrivals.hash(far))
    setattr(other, _REACHES, arrivals.hash(near))
    arrivals.recorder.alias(near, far)
    arrivals.recorder.alias(far, near)
