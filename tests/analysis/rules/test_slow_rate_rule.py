from __future__ import annotations

import pytest

from support.findings import findings
from ticktree.analysis.rules.work import SlowRateRule

RULE = SlowRateRule()
HERE = {
    "ceiling__source": "measured",
    "ceiling__memcpy_bytes_per_s": 10_000_000_000,
    "ceiling__flops_per_s_thread": 100_000_000_000,
    "ceiling__flops_per_s": 190_000_000_000,
    "cores_usable": 2,
}
MANY_CORES = {**HERE, "ceiling__flops_per_s": 5_000_000_000_000, "cores_usable": 64}
STATES = 37_700_000


def train(program, ms: float, rest: float = 20, name: str = "float", **options) -> None:
    for _ in program.ticks(20, "train"):
        program.spend(name, ms, **options)
        program.spend("backward", rest)


def test_bytes_converted_into_fresh_memory_are_reported_with_the_saving(program):
    train(program, 40, bytes=STATES)
    (finding,) = program.found(RULE, **HERE)
    assert (finding.path, finding.severity) == ("train/float", "critical")
    assert finding.message == (
        "Let float write into reused memory, in the order of that memory: it moves 37.7 MB in 40.0 ms, "
        "942 MB/s, and this machine copies memory 11× as fast (10.0 GB/s)"
    )
    assert finding.saving.share == pytest.approx((40 - 3.77) / 60)


@pytest.mark.parametrize("ms", [3.7, 8.3, 18.8])
def test_a_fifth_of_memcpy_is_fast_enough(program, ms):
    train(program, ms, bytes=STATES)
    assert program.found(RULE, **HERE) == []


def test_next_to_an_update_of_ten_seconds_it_is_not_reported(program):
    train(program, 40, rest=10_000, bytes=STATES)
    assert program.found(RULE, **HERE) == []


def test_an_unmeasured_machine_gives_no_finding(program):
    train(program, 40, bytes=STATES, flops=1000)
    assert program.found(RULE) == []
    assert program.found(RULE, ceiling__source="reckoned", ceiling__flops_per_s=1_250_000_000_000) == []


def test_of_several_machines_the_slowest_says_what_is_slow(program):
    train(program, 40, bytes=STATES)
    both = {**HERE, "ceiling__memcpy_bytes_per_s": (4_000_000_000, 40_000_000_000)}
    assert program.found(RULE, **both) == []


def test_what_is_waited_for_is_not_slow(program):
    train(program, 40, wait=True, bytes=STATES)
    assert program.found(RULE, **HERE) == []


def test_a_section_in_a_wait_is_not_slow(program):
    for _ in program.ticks(20, "train"):
        with program.recorder.section("receive", wait=True):
            program.spend("read", 40, bytes=STATES)
    assert program.found(RULE, **HERE) == []


def test_what_the_sections_in_it_take_is_theirs(program):
    for _ in program.ticks(20, "train"):
        with program.inside("step", bytes=STATES):
            program.spend("backward", 40)
    assert program.found(RULE, **HERE) == []


def test_a_section_that_computes_fast_on_what_it_reads_slowly_is_not_slow(program):
    train(program, 40, bytes=STATES, flops=4_000_000_000)
    assert program.found(RULE, **HERE) == []


def test_a_section_whose_computing_cannot_be_judged_is_not_judged_by_its_bytes(program):
    train(program, 40, bytes=STATES, flops=4_000_000_000)
    only_memory = {key: value for key, value in HERE.items() if "flops" not in key}
    assert program.found(RULE, **only_memory) == []


def test_what_a_device_does_is_not_slow(program):
    for _ in program.ticks(20, "train"):
        with program.recorder.section("copy", device="cuda") as section:
            program.recorder.advance(40_000_000)
            section.work(bytes=STATES)
    assert program.found(RULE, **HERE) == []


@pytest.mark.parametrize(("waiting", "told"), [(0.3, 1), (0.6, 0), (1.0, 0)])
def test_time_that_others_took_is_not_its_own_slowness(program, waiting, told):
    train(program, 30, bytes=STATES)  # at an eighth of memcpy
    program.gauge("machine/waiting", waiting)
    assert len(program.found(RULE, **HERE)) == told


def test_few_bytes_a_call_want_more_of_them(program):
    train(program, 1, rest=1, bytes=4000)
    (finding,) = program.found(RULE, **HERE)
    assert finding.message == (
        "Process more per call of float: it moves 4.00 kB in 1.00 ms, 4.00 MB/s, and this machine copies "
        "memory 2,500× as fast (10.0 GB/s)"
    )


def test_a_product_on_one_of_many_cores_wants_more_threads(program):
    train(program, 30, flops=2_200_000_000, name="conv1")
    (finding,) = program.found(RULE, **MANY_CORES)
    assert finding.message == (
        "Let conv1 use more threads, if cores are free: it does 2.20 GFLOP in 30.0 ms, 73.3 GFLOP/s, and "
        "this machine multiplies matrices 68× as fast (5.00 TFLOP/s)"
    )
    train(program, 30, flops=2_200_000_000, name="conv1")
    assert program.found(RULE, **HERE) == []


def test_a_product_slower_than_one_thread_is_small_or_oddly_laid_out(program):
    train(program, 30, flops=1_000_000)
    (finding,) = program.found(RULE, **MANY_CORES)
    assert finding.message == (
        "Use larger batches and fewer calls of float: it does 1.00 MFLOP in 30.0 ms, 33.3 MFLOP/s, and "
        "this machine multiplies matrices 150,000× as fast (5.00 TFLOP/s)"
    )


def test_large_products_that_are_slow_have_other_reasons(program):
    train(program, 1000, flops=2_200_000_000)
    (finding,) = program.found(RULE, **HERE)
    assert finding.message == (
        "Check the batch size, dtype and memory layout of float: it does 2.20 GFLOP in 1.00 s, 2.20 "
        "GFLOP/s, and this machine multiplies matrices 86× as fast (190 GFLOP/s)"
    )


def test_of_several_slow_sections_in_a_loop_the_largest_saving_is_reported_and_the_others_are_counted(
    program,
):
    for _ in program.ticks(20, "train"):
        program.spend("float", 20, bytes=STATES)
        program.spend("divide", 40, bytes=STATES)
        program.spend("stack", 20, bytes=STATES)
    (finding,) = program.found(RULE, **HERE)
    assert finding.path == "train/divide"
    assert finding.message == (
        "Let divide write into reused memory, in the order of that memory: it moves 37.7 MB in 40.0 ms, "
        "942 MB/s, and this machine copies memory 11× as fast (10.0 GB/s); 2 other sections there are "
        "also slow"
    )
    assert finding.saving.share == pytest.approx(1 - 3 * 3.77 / 80)


def test_too_few_ticks_say_nothing(program):
    for _ in program.ticks(9, "train"):
        program.spend("float", 40, bytes=STATES)
    assert program.found(RULE, **HERE) == []


def test_it_is_part_of_a_report(program):
    train(program, 40, bytes=STATES)
    assert "slow-rate" in {found.rule for found in findings(program.profile(**HERE))}
