"""Pipes of multiprocessing: the key of a message is the inode of the end where it arrives."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from types import ModuleType
from typing import Any

from ticktree.instruments.patches import Patches
from ticktree.recorder import Channel, PipeFunction, Recorder, Wait

CHANNEL = "pipe"
# Attributes of a connection: its own inode, and the keys on the channel of messages that it receives and sends. A
# forked child has them too; a connection that was sent to another process finds its other end in the run's table.
_INODE, _RECEIVE_KEY, _SEND_KEY = "_ticktree_inode", "_ticktree_receive_key", "_ticktree_send_key"


def inode(connection: Any) -> int | None:
    """Return the inode of this end of a pipe; None if it is closed."""
    try:
        number: int | None = connection.__dict__.get(_INODE)
        if number is None:
            number = os.fstat(connection.fileno()).st_ino
            setattr(connection, _INODE, number)
    except (AttributeError, OSError, ValueError):
        return None
    return number


def wrap(patches: Patches, recorder: Recorder, module: ModuleType) -> None:
    """Wrap the reads and writes of connections: packing and unpacking messages is work, not waiting."""
    messages = Channel(recorder, CHANNEL)
    _wrap_messages(patches, messages, module)
    _wrap_poll(patches, messages, module)
    _wrap_pipe(patches, messages, module)
    _wrap_wait(patches, messages, module)


def _wrap_messages(patches: Patches, messages: Channel, module: ModuleType) -> None:
    recorder = messages.recorder
    receiving, sending = (recorder.section(f"Connection.{name}", wait=True) for name in ("recv", "send"))

    def receive_key(connection: Any) -> int:
        near = inode(connection)
        key = messages.hash(near) if near is not None else 0
        setattr(connection, _RECEIVE_KEY, key)
        return key

    def send_key(connection: Any) -> int:
        far = _far_inode(recorder, connection)
        key = messages.hash(far) if far else 0
        setattr(connection, _SEND_KEY, key)
        return key

    def make_receive(receive: Callable[..., Any]) -> Callable[..., Any]:
        return PipeFunction(receive, receiving, messages, _RECEIVE_KEY, receive_key, sends=False)

    def make_send(send: Callable[..., Any]) -> Callable[..., Any]:
        # The reader that empties a full pipe does not signal.
        return PipeFunction(send, sending, messages, _SEND_KEY, send_key, sends=True)

    patches.wrap_own(module, "Connection._recv_bytes", make_receive)
    patches.wrap_own(module, "Connection._send_bytes", make_send)


def _far_inode(recorder: Recorder, connection: Any) -> int:
    """Return the inode of the end that receives what this end sends; 0 if it is unknown."""
    try:
        status = os.fstat(connection.fileno())
    except (OSError, ValueError):  # it is closed
        return 0
    # Both ends of a pipe are one inode; each of a pair of sockets has its own.
    return status.st_ino if stat.S_ISFIFO(status.st_mode) else recorder.alias(status.st_ino)


def _wrap_poll(patches: Patches, messages: Channel, module: ModuleType) -> None:
    wait = Wait(messages, "Connection.poll")

    def make_poll(poll: Callable[..., Any]) -> Callable[..., Any]:
        def wrapper(self: Any, timeout: float | None = 0.0) -> Any:
            if timeout == 0:
                return poll(self, timeout)
            return wait.call(poll, (self, timeout), inode(self), bool)

        return wrapper

    patches.wrap_own(module, "_ConnectionBase.poll", make_poll)


def _wrap_pipe(patches: Patches, messages: Channel, module: ModuleType) -> None:
    def make_pipe(pipe: Callable[..., Any]) -> Callable[..., Any]:
        def wrapper(duplex: bool = True) -> Any:
            ends = pipe(duplex)
            if duplex and messages.recorder.recording:
                _note_pair(messages, *ends)
            return ends

        return wrapper

    patches.wrap_own(module, "Pipe", make_pipe)


def _wrap_wait(patches: Patches, messages: Channel, module: ModuleType) -> None:
    wait_section = Wait(messages, "connection.wait")  # without a key: any of the connections may end it

    def make(wait: Callable[..., Any]) -> Callable[..., Any]:
        def wrapper(object_list: Any, timeout: float | None = None) -> Any:
            if timeout is not None and timeout <= 0:
                return wait(object_list, timeout)
            return wait_section.call(wait, (object_list, timeout))

        return wrapper

    patches.wrap_own(module, "wait", make)


def _note_pair(messages: Channel, left: Any, right: Any) -> None:
    """Note the two ends of a pair of sockets."""
    left_inode, right_inode = inode(left), inode(right)
    if left_inode is None or right_inode is None:
        return
    setattr(left, _SEND_KEY, messages.hash(right_inode))
    setattr(right, _SEND_KEY, messages.hash(left_inode))
    messages.recorder.alias(left_inode, right_inode)
    messages.recorder.alias(right_inode, left_inode)
