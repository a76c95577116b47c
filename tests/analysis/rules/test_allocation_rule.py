from __future__ import annotations

import mmap

import pytest

from ticktree.analysis.rules.memory import AllocationRule

RULE = AllocationRule()
NS = 1_000_000_000
PAGES = 1024

pytestmark = pytest.mark.skipif(
    not hasattr(mmap, "MADV_NOHUGEPAGE"), reason="this system does not tell a thread's page faults"
)


def fresh() -> mmap.mmap:
    """Memory that was never touched, and comes in small pages."""
    memory = mmap.mmap(-1, PAGES * 4096)
    memory.madvise(mmap.MADV_NOHUGEPAGE)
    return memory


def touch(memory: mmap.mmap) -> None:
    for page in range(PAGES):
        memory[page * 4096] = 1


def allocate_in_every_tick(program) -> None:
    for _ in program.ticks(20):
        with program.inside("resize", bytes=PAGES * 4096):
            memory = fresh()
            touch(memory)
            program.recorder.advance(5_000_000)
            memory.close()


def test_fresh_memory_in_every_tick_is_reported(program):
    allocate_in_every_tick(program)
    (finding,) = program.found(RULE)
    assert finding.path == "control/resize"
    assert finding.facts["page_faults_per_tick"] >= PAGES
    assert finding.saving.share == pytest.approx(PAGES * 2_000 / 5_000_000, rel=0.2)
    assert finding.message == (
        "Reuse memory across ticks (out=, copy_): each tick of control touches at least 4.19 MB of fresh "
        "memory (1,024 page faults), perhaps in resize at 839 MB/s, which costs about 2.05 ms of 5.00 ms"
    )


@pytest.mark.parametrize(("kept_share", "is_found"), [(1.0, False), (0.1, True)])
def test_memory_that_the_run_keeps_cannot_be_used_again(program, kept_share, is_found):
    allocate_in_every_tick(program)
    for _ in range(3):
        program.gauge("machine/growth", kept_share * PAGES * 4096 / 5e-3)
    assert bool(program.found(RULE)) == is_found


def test_memory_that_is_used_again_is_not_reported(program):
    memory = fresh()
    touch(memory)
    for _ in program.ticks(20):
        touch(memory)
        program.recorder.advance(5_000_000)
    memory.close()
    assert program.found(RULE) == []


def test_where_a_tick_takes_much_longer_it_is_not_reported(program):
    for _ in program.ticks(20):
        memory = fresh()
        touch(memory)
        program.recorder.advance(500_000_000)
        memory.close()
    assert program.found(RULE) == []


def test_fresh_memory_in_one_tick_alone_is_not_reported(program):
    for tick in program.ticks(20):
        if tick == 7:
            memory = fresh()
            touch(memory)
            memory.close()
        program.recorder.advance(50_000_000 if tick == 7 else 5_000_000)
    assert program.found(RULE) == []


def run_without_loops(program, *, faults, system=0.6, used=1.0, growth=0.0, huge_pages=0.0):
    """A run that repeats nothing, and what the machine told of its seconds."""
    with program.inside("search"):
        program.recorder.advance(8 * NS)
    for _ in range(6):
        program.gauge("machine/faults", faults)
        program.gauge("machine/huge_pages", huge_pages)
        program.gauge("machine/system", system)
        program.gauge("machine/used", used)
        program.gauge("machine/growth", growth)
    return program.found(RULE)


def test_in_a_run_that_repeats_nothing_fresh_memory_is_reported_per_second(program):
    (finding,) = run_without_loops(program, faults=700_000.0)
    assert finding.path == ""
    assert finding.saving.share == pytest.approx(0.6)  # no more than the kernel took
    assert finding.message == (
        "Reuse memory (out=, copy_): the run touches 2.87 GB/s of fresh memory (700,000 page faults per second), "
        "which costs about 60% of its time"
    )


def test_huge_pages_are_fresh_memory_too(program):
    (finding,) = run_without_loops(program, faults=65_000.0, huge_pages=1800.0)
    assert finding.saving.share == pytest.approx(0.13 + 1800 * 220e-6, rel=0.02)
    assert (
        "touches 4.04 GB/s of fresh memory (65,000 page faults and 1,800 huge pages per second)"
        in finding.message
    )


@pytest.mark.parametrize(
    "said",
    [
        {"faults": 50_000.0},
        {"faults": 700_000.0, "system": 0.1},
        {"faults": 700_000.0, "used": 4.0},  # a part of four threads' time
        {"faults": 700_000.0, "growth": 700_000.0 * 4096},
    ],
)
def test_a_run_that_needs_its_memory_or_loses_little_by_it_is_not_reported(program, said):
    assert run_without_loops(program, **said) == []
