"""How fast this machine copies memory: the measure for every other rate in the profile."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch

import ticktree

SIZE = 64 * 1024 * 1024
COPIES = 8


def measure_memcpy() -> None:
    """Copy 64 MiB a few times as sections of their own: onto used memory, and into fresh memory.

    Fresh memory is what a new array or tensor gets: the kernel hands it out zeroed, a page at a time, when it
    is first touched. numpy asks for huge pages, torch by default does not, so the two differ.
    """
    source = np.ones(SIZE, np.uint8)
    used = np.ones(SIZE, np.uint8)
    tensor = torch.from_numpy(source)
    with ticktree.section("memcpy"):
        _repeat("onto used memory", lambda: np.copyto(used, source))
        _repeat("into fresh numpy memory", source.copy)
        _repeat("into fresh torch memory", tensor.clone)


def _repeat(name: str, copy: Callable[[], object]) -> None:
    for _ in range(COPIES):
        with ticktree.section(name) as section:
            copy()
            section.work(bytes=SIZE)
