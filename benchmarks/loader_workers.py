"""Time to receive a batch from a DataLoader's workers, compared with loading it in the loop.

A loop works for some milliseconds on each batch; the items of the batch take a known time each. Printed are the
milliseconds of a tick without workers, its load, and with workers, and by how many percent that is shorter or longer.

    python benchmarks/loader_workers.py [--batches N] [--workers N] [--quick]
"""

from __future__ import annotations

import argparse
import time

import torch
from torch.utils.data import DataLoader, Dataset

ITEMS = 16
WORK_MS = (2, 8)
ITEM_US = (5, 30, 60, 125, 250, 500)


def spend(seconds: float) -> None:
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        pass


class Items(Dataset[tuple[torch.Tensor, int]]):
    """Items of 12 kB, each of which takes so long to make."""

    def __init__(self, count: int, item_us: float) -> None:
        self._count = count
        self._item_us = item_us

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
        spend(self._item_us * 1e-6)
        return torch.zeros(3, 32, 32), index


def tick_ms(batches: int, item_us: float, work_ms: float, workers: int) -> float:
    """Milliseconds of a tick, without the first batch, before which workers start."""
    loader = iter(DataLoader(Items(ITEMS * (batches + 1), item_us), batch_size=ITEMS, num_workers=workers))
    next(loader)
    began = time.perf_counter()
    for _ in loader:
        spend(work_ms * 1e-3)
    return 1e3 * (time.perf_counter() - began) / batches


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batches", type=int, default=200)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--quick", action="store_true", help="20 batches, for a look")
    options = parser.parse_args()
    batches = 20 if options.quick else options.batches
    torch.set_num_threads(1)
    for work_ms in WORK_MS:
        for item_us in ITEM_US:
            alone = tick_ms(batches, item_us, work_ms, 0)
            loaded_ms = tick_ms(batches, item_us, work_ms, options.workers)
            print(
                f"work {work_ms} ms  load {alone - work_ms:5.2f} ms  alone {alone:6.2f} ms  "
                f"{options.workers} workers {loaded_ms:6.2f} ms  {100 * (loaded_ms / alone - 1):+4.0f}%",
                flush=True,
            )


if __name__ == "__main__":
    main()
