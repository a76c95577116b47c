"""Memory that recording uses, and whether it grows with the number of sections.

Each timer records in a fresh process, whose resident memory (shared pages included, which is where
ticktree keeps its nodes) is read as the count goes up by powers of ten.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from itertools import repeat
from multiprocessing import get_context
from multiprocessing.connection import Connection

import psutil  # type: ignore[import-untyped, unused-ignore]

import ticktree
from harness.race import Block
from harness.report import Absent, Figure, Report, options, progress
from harness.scratch import recording
from peers import ADAPTERS, load_peers

MIB = 1 << 20
TARGET_MIB = 1.0
COUNTS = (100_000, 1_000_000, 10_000_000, 100_000_000)
PEER_COUNTS = (100_000, 400_000)


def training_loop(turns: int) -> None:
    """Ten sections a turn, at seven places of the tree, in a loop that has ticks."""
    section = ticktree.section
    for _ in ticktree.loop("train", repeat(None, turns // 10)):
        with section("act"), section("observe"):
            pass
        with section("update"):
            with section("sample"):
                for _ in range(4):
                    with section("convert"):
                        pass
            with section("critic"):
                pass
            with section("actor"):
                pass


def resident() -> int:
    """Bytes of this process in memory."""
    gc.collect()
    return int(psutil.Process().memory_info().rss)


def watch(block: Block, counts: Sequence[int], sender: Connection) -> None:
    """Records up to each count in turn and reports the resident bytes there."""
    done = 0
    for count in counts:
        block(count - done)
        done = count
        sender.send(resident())


def watch_ticktree(counts: Sequence[int], sender: Connection) -> None:
    """The whole life of the process that records with ticktree."""
    with recording():
        watch(training_loop, counts, sender)


def watch_peer(adapter: str, name: str, counts: Sequence[int], sender: Connection) -> None:
    """The whole life of a process that records with a peer."""
    with ExitStack() as stack:
        peers, _ = load_peers(stack, [adapter])
        (block,) = (peer.block for peer in peers if peer.name == name)
        watch(block, counts, sender)


def sizes_of(target: Callable[..., None], *arguments: str, counts: Sequence[int]) -> list[int]:
    """The resident bytes of a fresh process after each count.

    Raises:
        EOFError: the process died before it was through.
    """
    context = get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=target, args=(*arguments, counts, sender))
    process.start()
    sender.close()
    with receiver:
        sizes = [receiver.recv() for _ in counts]
    process.join()
    return sizes


def growth(name: str, sizes: Mapping[int, int], *, target: float | None = None, note: str = "") -> Figure:
    """A row: how far the resident bytes at those counts range, and what that is a section."""
    difference = max(sizes.values()) - min(sizes.values())
    min_count, max_count = min(sizes), max(sizes)
    also = {
        "from sections": min_count,
        "to": max_count,
        "bytes a section": difference / (max_count - min_count),
    }
    return Figure(f"{name}, growth", difference / MIB, "MiB", target=target, also=also, note=note)


def measure_ticktree(counts: Sequence[int]) -> list[Figure]:
    progress(f"ticktree: {counts[-1]:,} sections")
    sizes = dict(zip(counts, sizes_of(watch_ticktree, counts=counts), strict=True))
    return [
        *(Figure("ticktree, resident", size / MIB, "MiB", also={"to": n}) for n, size in sizes.items()),
        growth("ticktree", sizes, target=TARGET_MIB),
    ]


def measure_peers(counts: Sequence[int]) -> list[Figure | Absent]:
    lines: list[Figure | Absent] = []
    for adapter in ADAPTERS:
        with ExitStack() as stack:
            peers, absent = load_peers(stack, [adapter])
        for peer in peers:
            progress(f"{peer.name}: {counts[-1]:,} sections")
            sizes = sizes_of(watch_peer, adapter, peer.name, counts=counts)
            lines.append(growth(peer.name, dict(zip(counts, sizes, strict=True)), note=peer.described))
        lines += absent
    return lines


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--no-peers", action="store_true", help="ticktree alone")
    arguments = parser.parse_args()
    lines = [
        *measure_ticktree(COUNTS[:-1] if arguments.quick else COUNTS),
        *([] if arguments.no_peers else measure_peers(PEER_COUNTS)),
    ]
    Report("memory", "Resident memory as sections are recorded", lines).print(as_json=arguments.json)


if __name__ == "__main__":
    main()
