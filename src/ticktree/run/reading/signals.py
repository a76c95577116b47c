"""Wake edges, and the critical path to a thread's last moment, in one memory file.

`recorder/critical_path/` records them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import NamedTuple

from ticktree.run.memory import ProcessKey
from ticktree.run.reading import layout
from ticktree.run.reading.accounts import Clock, main_tree
from ticktree.run.reading.image import Image
from ticktree.run.reading.layout import NodeFlag


class NodeAddress(NamedTuple):
    """A node of any process of the run."""

    process: ProcessKey
    node: int


class Edge(NamedTuple):
    """Waits of one node that signals of another node ended, through one channel.

    Attributes:
        node: The reference of the node that waited, in this file.
        channel: The signalled name.
        waker: The node that was open when it was signalled.
        latency_ns: The part of `waited_ns` from the signal until the end of the wait.
    """

    node: int
    channel: str
    waker: NodeAddress
    waits: int
    waited_ns: int
    latency_ns: int


def edges_of(image: Image) -> list[Edge]:
    """Return every edge of a memory file."""
    return [_edge(image, record) for _, record in image.edges() if record.count]


def _edge(image: Image, record: layout.Record) -> Edge:
    return Edge(
        node=record.node,
        channel=image.text(record.channel),
        waker=node_address(record, record.by_node),
        waits=record.count,
        waited_ns=record.waited_ns,
        # A record copied during a write may have a longer hand-over than wait.
        latency_ns=min(record.latency_ns, record.waited_ns),
    )


def node_address(record: layout.Record, node: int) -> NodeAddress:
    """Return the node that a record names, with its process."""
    return NodeAddress(ProcessKey(record.pid, record.start, record.incarnation or 1), node)


# The node for shares that were too small, or too many, to stay separate.
OTHER_NODES = NodeAddress(ProcessKey(0, 0, 1), 0)


def critical_path(image: Image) -> Mapping[NodeAddress, int]:
    """Return the critical path from the run's begin to the last moment of a process's main thread.

    Returns:
        Nanoseconds by node; they sum to that moment. Empty if the thread neither woke another nor was woken.
    """
    trees = dict(image.trees())
    main = trees.get(main_tree(trees))
    if main is None or not main.path:
        return {}
    path = image.record(main.path, layout.Path)
    if not (path.signals or path.unblocks):
        return {}
    tree = trees.get(path.tree)
    if tree is None or path.count > layout.SHARES:
        raise image.damage_error("a critical path leads out of it")
    shares: dict[NodeAddress, int] = defaultdict(int)
    for share in path.shares[: path.count]:
        shares[node_address(share, share.node) if share.node else OTHER_NODES] += share.ns
    root = NodeAddress(image.writer, tree.root)
    _match_total(shares, root, path.mark_ns)
    for address, ns in _recent_shares(image, path, root).items():
        shares[address] += ns
    return {address: ns for address, ns in shares.items() if ns}


def _recent_shares(image: Image, path: layout.Record, root: NodeAddress) -> dict[NodeAddress, int]:
    """Return the shares since the last update of the path: each node's growth, and the rest for the root."""
    frames = [frame for frame in image.open_frames().values() if frame.node]
    clock, last = Clock(image.header), image.header.last
    now = max([last.ticks, path.mark_ticks, *(frame.start for frame in frames)])
    ended_ns = last.monotonic_ns + clock.ns(now - last.ticks) - image.header.run_began_ns
    elapsed_ns = max(0, ended_ns - path.mark_ns)
    growths = {ref: ticks for ref, ticks in _self_growths(image, path.tree, frames, now).items() if ticks > 0}
    ticks = max(now - path.mark_ticks, sum(growths.values()))
    shares = defaultdict(
        int, {NodeAddress(image.writer, ref): growth * elapsed_ns // ticks for ref, growth in growths.items()}
    )
    _match_total(shares, root, elapsed_ns)
    return shares


def _self_growths(image: Image, tree: int, frames: list[layout.Record], now: int) -> dict[int, int]:
    """Return each node's self time in clock ticks since it was marked, including open calls."""
    nodes = {
        ref: node
        for ref, node in image.nodes()
        if node.tree == tree and not node.flags & (NodeFlag.ROOT | NodeFlag.NS)
    }
    growths = {ref: node.own - node.marked_own for ref, node in nodes.items()}
    for frame in frames:
        if frame.node in growths:
            until = frame.cover_start if frame.active else now
            growths[frame.node] += max(0, until - frame.start - frame.covered)
    return growths


def _match_total(shares: dict[NodeAddress, int], root: NodeAddress, total_ns: int) -> None:
    """Make shares sum to a total by adding the difference to the root.

    They already do, unless the process was stopped or copied during an update.
    """
    sum_ns = sum(shares.values())
    if sum_ns > total_ns:
        for address in shares:
            shares[address] = shares[address] * total_ns // sum_ns
        sum_ns = sum(shares.values())
    shares[root] = shares.get(root, 0) + total_ns - sum_ns
