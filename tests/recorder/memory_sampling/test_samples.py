"""CPU time and resident memory, on demand and sampled."""

from __future__ import annotations

import mmap
import sys
import time

import pytest

import ticktree
from support.recorder.queries import node

linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="resident memory is read from /proc")


@pytest.fixture
def real():
    """A recorder on the real clock."""
    recorder = ticktree.Recorder()
    yield recorder
    recorder.disable()
    recorder.snapshot().check()


def burn(seconds):
    until = time.thread_time() + seconds
    while time.thread_time() < until:
        pass


def test_cpu_time_is_the_threads_and_not_the_elapsed_time(real):
    with real.section("sleep", cpu=True):
        time.sleep(0.02)
    with real.section("work", cpu=True):
        burn(0.02)
    sleep, work = node(real, "sleep").cpu, node(real, "work").cpu
    assert (sleep.samples, work.samples) == (1, 1)
    assert sleep.wall_ns >= 20_000_000 > sleep.cpu_ns
    assert work.cpu_ns >= 20_000_000


def test_cpu_time_is_sampled_at_all_first_calls_then_one_in_sixteen(real):
    for _ in range(64 + 160):
        with real.section("work", cpu=True):
            pass
    row = node(real, "work")
    assert row.count == 224
    assert row.cpu.samples == 64 + 10


def test_without_a_request_nothing_is_sampled(real):
    with real.section("work"):
        pass
    assert (node(real, "work").cpu, node(real, "work").memory) == (None, None)


def test_a_timed_function_can_be_sampled_too(real):
    @real.timed("work", cpu=True, memory=True)
    def work():
        burn(0.001)

    work()
    assert node(real, "work").cpu.cpu_ns >= 1_000_000
    if sys.platform.startswith("linux"):
        assert node(real, "work").memory.samples == 1


@linux
def test_memory_is_the_growth_of_the_process(real):
    size = 32 * 1024 * 1024
    with real.section("grow", memory=True):
        # Mapped, not allocated: an allocator may have as much at hand, and keeps what is freed.
        mapping = mmap.mmap(-1, size)
        for page in range(0, size, mmap.PAGESIZE):
            mapping[page] = 1
    with real.section("shrink", memory=True):
        mapping.close()
    grow, shrink = node(real, "grow").memory, node(real, "shrink").memory
    assert grow.samples == shrink.samples == 1
    assert grow.change_bytes >= size * 0.9
    assert shrink.change_bytes <= -size * 0.9
    assert grow.peak_bytes >= grow.change_bytes
    assert shrink.peak_bytes >= size


def test_a_call_ended_by_disable_is_sampled_until_then(real):
    with real.section("work", cpu=True):
        burn(0.002)
        real.disable()
    row = node(real, "work")
    assert row.count == 0
    assert row.cpu is None or row.cpu.cpu_ns >= 2_000_000
