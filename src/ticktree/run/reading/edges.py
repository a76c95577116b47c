"""Who unblocked whom, as one memory file has it."""

from __future__ import annotations

from typing import NamedTuple

from ticktree.run.reading import layout
from ticktree.run.reading.image import Image, ProcessKey


class NodeAddress(NamedTuple):
    """A node of any process of the run.

    Attributes:
        process: Whose memory file it is in.
        node: Its reference there.
    """

    process: ProcessKey
    node: int


class Edge(NamedTuple):
    """Waits of one node that ended by signals from one other, through one channel.

    Attributes:
        node: The reference of the node that waited, in this file.
        channel: The name that was signalled.
        by: What was open where it was signalled.
        waits: How many.
        waited_ns: For how long they were blocked.
        handover_ns: Of that, from the signal until the wait was over.
    """

    node: int
    channel: str
    by: NodeAddress
    waits: int
    waited_ns: int
    handover_ns: int


def edges_of(image: Image) -> list[Edge]:
    """Every edge of a memory file.

    Raises:
        DamagedError: The file says what cannot be.
    """
    return [_edge(image, record) for _, record in image.edges() if record.count]


def _edge(image: Image, record: layout.Record) -> Edge:
    # One that was caught in the middle of a write may know more of its hand-over than of its wait.
    handover_ns = min(record.handover_ns, record.waited_ns)
    return Edge(
        node=record.node,
        channel=image.text(record.channel),
        by=place(record, record.by_node),
        waits=record.count,
        waited_ns=record.waited_ns,
        handover_ns=handover_ns,
    )


def place(record: layout.Record, node: int) -> NodeAddress:
    """The node that a record names together with its process."""
    return NodeAddress(ProcessKey(record.pid, record.start, record.incarnation or 1), node)
