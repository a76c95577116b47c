"""Where an update's time went: the budget of `--verbose-every`, claimed times, and this machine's memcpy."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np
import torch

import ticktree
from ticktree.profile import Node

from .networks import Encoder

UPDATE = "train/update"
# Rows whose children are printed. The second critic's convolutions would only repeat the first one's.
EXPANDED = {
    *("", "sample", "sample/states", "sample/next states"),
    *("target", "actor", "critic 1", "critic 1/forward", "critic 2"),
}

CLAIMED_NODE = "claimed by the breakdown"
# Seconds that the published breakdown gives for a batch of 256 on a CPU.
CLAIMED_SAMPLE_S = 0.020
CLAIMED_CONV_S = (0.05e-3, 0.05e-3, 0.04e-3)
CLAIMED_BATCH = 256

COPY_BYTES = 64 * 1024 * 1024
COPIES = 8


class Budget:
    """Means over the updates since the last budget: the later snapshot less the earlier."""

    def __init__(self) -> None:
        self.last: Node | None = None

    def render(self, update: int) -> str:
        """Return the budget of the updates since the last call, ending with update number `update`."""
        now: Node | None = ticktree.snapshot().root
        for name in UPDATE.split("/"):
            now = now.children.get(name) if now else None
        last, self.last = self.last, now
        count = now.count - (last.count if last else 0) if now else 0
        if now is None or count == 0:
            return "no budget: ticktree is not recording (TICKTREE_OFF is set, or it was disabled)"
        mean_ns = (now.total_ns - (last.total_ns if last else 0)) / count
        title = f"update {update}, mean of {count}"
        lines = _lines(now, last, count, mean_ns)
        return "\n".join([f"{title:<44}{mean_ns / 1e6:10.2f} ms", *lines])


def _lines(now: Node, last: Node | None, count: int, update_ns: float, path: str = "") -> Iterator[str]:
    indent = "   " * (path.count("/") + 1 if path else 0) + "- "

    def line(name: str, ns: int, rate: str = "") -> str:
        return f"{indent + name:<44}{ns / count / 1e6:10.2f} ms {ns / count / update_ns:7.1%}{rate}"

    for name, child in now.children.items():
        child_last = last.children.get(name) if last else None
        total_ns = child.total_ns - (child_last.total_ns if child_last else 0)
        yield line(name, total_ns, _rate(child, child_last, total_ns))
        child_path = f"{path}/{name}" if path else name
        if child_path in EXPANDED:
            yield from _lines(child, child_last, count, update_ns, child_path)
    yield line("[self]", now.self_ns - (last.self_ns if last else 0))


def _rate(now: Node, last: Node | None, total_ns: int) -> str:
    for unit, format_rate in (("bytes", "{:9.2f} GB/s"), ("flops", "{:9.1f} GFLOP/s")):
        work = getattr(now.work, unit, 0) - (getattr(last.work, unit, 0) if last else 0)
        if work and total_ns:
            return format_rate.format(work / total_ns)
    return ""


def record_claimed_times(encoder: Encoder, obs_shape: tuple[int, ...]) -> None:
    """Record the published breakdown's times, as durations measured elsewhere, under a separate node.

    Each with the work that this program does in it. The report says whether they can be true of this machine.
    """
    state_bytes = 4 * math.prod(obs_shape)
    with ticktree.section(CLAIMED_NODE):
        ticktree.record_duration(
            "sample", CLAIMED_SAMPLE_S, bytes=2 * state_bytes * CLAIMED_BATCH, items=CLAIMED_BATCH
        )
        for number, (seconds, flops) in enumerate(zip(CLAIMED_CONV_S, encoder.flops, strict=True), 1):
            ticktree.record_duration(
                f"conv{number}", seconds, flops=flops * CLAIMED_BATCH, items=CLAIMED_BATCH
            )


def measure_memcpy() -> None:
    """Copy 64 MiB a few times, onto used memory and into fresh memory: what every other rate compares with.

    Fresh memory is what a new array or tensor gets: the kernel hands it out zeroed, a page at a time, when it
    is first touched. numpy asks for huge pages, torch by default does not, so the two differ.
    """
    source = np.ones(COPY_BYTES, np.uint8)
    used = np.ones(COPY_BYTES, np.uint8)
    copies: dict[str, Callable[[], object]] = {
        "onto used memory": lambda: np.copyto(used, source),
        "into fresh numpy memory": source.copy,
        "into fresh torch memory": torch.from_numpy(source).clone,
    }
    with ticktree.section("memcpy"):
        for name, copy in copies.items():
            for _ in range(COPIES):
                with ticktree.section(name) as section:
                    copy()
                    section.work(bytes=COPY_BYTES)
