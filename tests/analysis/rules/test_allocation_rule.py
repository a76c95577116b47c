from __future__ import annotations

import mmap

import pytest

from ticktree.analysis.rules.memory import AllocationRule

RULE = AllocationRule()
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


def test_fresh_memory_in_every_tick_is_told(program):
    allocate_in_every_tick(program)
    (found,) = program.found(RULE)
    assert found.path == "control/resize"
    assert found.facts["page_faults_per_tick"] >= PAGES
    assert found.saving.share == pytest.approx(PAGES * 2_000 / 5_000_000, rel=0.2)
    assert found.message == (
        "Reuse memory across ticks (out=, copy_): each tick of control touches at least 4.19 MB of fresh "
        "memory (1,024 page faults), perhaps in resize at 839 MB/s, which costs about 2.05 ms of 5.00 ms"
    )


@pytest.mark.parametrize(("kept_share", "is_found"), [(1.0, False), (0.1, True)])
def test_memory_that_the_run_keeps_cannot_be_used_again(program, kept_share, is_found):
    allocate_in_every_tick(program)
    for _ in range(3):
        program.gauge("machine/growth", kept_share * PAGES * 4096 / 5e-3)
    assert bool(program.found(RULE)) == is_found


def test_memory_that_is_used_again_is_not_spoken_of(program):
    memory = fresh()
    touch(memory)
    for _ in program.ticks(20):
        touch(memory)
        program.recorder.advance(5_000_000)
    memory.close()
    assert program.found(RULE) == []


def test_where_a_tick_takes_much_longer_it_is_not_spoken_of(program):
    for _ in program.ticks(20):
        memory = fresh()
        touch(memory)
        program.recorder.advance(500_000_000)
        memory.close()
    assert program.found(RULE) == []


def test_fresh_memory_in_one_tick_alone_is_not_spoken_of(program):
    for tick in program.ticks(20):
        if tick == 7:
            memory = fresh()
            touch(memory)
            memory.close()
        program.recorder.advance(50_000_000 if tick == 7 else 5_000_000)
    assert program.found(RULE) == []
