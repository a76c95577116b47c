from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ticktree
from support.findings import findings
from support.profile_strategies import profiles
from ticktree.analysis import Finding
from ticktree.analysis.registry import RULES
from ticktree.analysis.rules.work import ImpossibleRateRule, SlowRateRule
from ticktree.outputs.sentences.facts import finding_fields
from ticktree.profile import Node, Profile, Stats, Work

RULE = ImpossibleRateRule()
# Two cores of a virtual machine, as they were measured.
HERE = {
    "ceiling__source": "measured",
    "ceiling__memcpy_bytes_per_s": 10_200_000_000,
    "ceiling__cache_copy_bytes_per_s": 52_000_000_000,
    "ceiling__cache_bytes": 32 << 20,
    "ceiling__flops_per_s_thread": 98_000_000_000,
    "ceiling__flops_per_s": 187_000_000_000,
    "cores_usable": 2,
}
RECKONED = {"ceiling__source": "estimated", "ceiling__flops_per_s": 1_250_000_000_000, "cores_usable": 2}
# The first convolution of a batch of 256 pictures of 96 x 96 x 4: 32 kernels of 8 x 8, stride 4.
CONV1 = 256 * 2 * 4 * 8 * 8 * 32 * 23 * 23


def train(program, conv1_ms: float, items: int = 256, ticks: int = 20) -> None:
    for _ in program.ticks(ticks, "train"):
        program.spend("sample", 17)
        program.spend("conv1", conv1_ms, flops=CONV1, items=items)


def test_a_convolution_that_no_processor_could_do_in_that_time_is_called_impossible(program):
    train(program, conv1_ms=0.05)
    (finding,) = program.found(RULE, **HERE)
    assert (finding.path, finding.severity, finding.is_wrong_number) == ("train/conv1", "critical", True)
    assert finding.message == (
        "conv1 is faster than this machine can be: 2.22 GFLOP in 50.0 µs is 44.4 TFLOP/s, 226× the 196 "
        "GFLOP/s it can reach. Probably the call returned before the work was done, or the batch size is "
        "wrong (1 instead of 256)"
    )
    assert finding.facts["declared_flops_per_s"] == pytest.approx(CONV1 / 50e-6)
    assert finding.facts["possible_items"] == pytest.approx(256 / (CONV1 / 50e-6 / 196e9))
    assert finding.facts["ceiling"] == "measured"


@pytest.mark.parametrize("conv1_ms", [30, 15, 9.1])
def test_a_convolution_that_may_have_taken_so_long_is_not(program, conv1_ms):
    train(program, conv1_ms=conv1_ms)
    assert program.found(RULE, **HERE) == []


def test_of_several_machines_the_fastest_says_what_cannot_be(program):
    train(program, conv1_ms=0.05)
    both = {**HERE, "ceiling__flops_per_s": (187_000_000_000, 90_000_000_000_000)}
    assert program.found(RULE, **both) == []


def test_a_rate_just_above_the_margin_is_reported(program):
    train(program, conv1_ms=1e3 * CONV1 / (1.26 * 196e9))
    assert len(program.found(RULE, **HERE)) == 1


def test_on_an_unmeasured_machine_the_computed_ceiling_counts(program):
    train(program, conv1_ms=0.05)
    (finding,) = program.found(RULE, **RECKONED)
    assert finding.message == (
        "conv1 is faster than this machine can be: 2.22 GFLOP in 50.0 µs is 44.4 TFLOP/s, 36× the 1.25 "
        "TFLOP/s it can reach. Probably the call returned before the work was done, or the batch size is "
        "wrong (7 instead of 256)"
    )
    assert "(7 instead of 256)" in finding.message
    assert finding.facts["ceiling"] == "estimated"


def test_an_unknown_machine_gives_no_finding(program):
    train(program, conv1_ms=0.05)
    assert program.found(RULE) == []


def test_a_duration_measured_elsewhere_is_judged_as_well_and_outside_a_loop_it_is_a_warning(program):
    with program.inside("claimed"):
        program.recorder.record_duration("conv1", 0.05e-3, flops=CONV1, items=256)
    (finding,) = program.found(RULE, **HERE)
    assert (finding.path, finding.severity, finding.is_wrong_number) == ("claimed/conv1", "warning", True)


def test_of_several_siblings_the_fastest_is_reported_and_the_others_are_named(program):
    with program.inside("claimed"):
        for name, seconds in (("conv3", 40e-6), ("conv1", 20e-6), ("conv2", 50e-6)):
            program.recorder.record_duration(name, seconds, flops=CONV1)
        program.recorder.record_duration("fc", 20e-3, flops=CONV1)
    (finding,) = program.found(RULE, **HERE)
    assert finding.path == "claimed/conv1"
    assert finding.message == (
        "conv1 is faster than this machine can be: 2.22 GFLOP in 20.0 µs is 111 TFLOP/s, 566× the 196 "
        "GFLOP/s it can reach. Probably the call returned before the work was done, or the batch size is "
        "wrong; the same holds for conv3, conv2"
    )


def test_a_batch_of_less_than_one_is_called_less_than_1(program):
    train(program, conv1_ms=0.05, items=2, ticks=1)
    (finding,) = program.found(RULE, **HERE)
    assert "(less than 1 instead of 2)" in finding.message


def test_work_of_a_device_is_not_compared_with_the_processor(program):
    with program.recorder.section("conv", device="cuda") as section:
        program.recorder.advance(50_000)
        section.work(flops=CONV1)
        program.spend("kernel", 0.01, flops=CONV1)
    assert program.found(RULE, **HERE) == []


def test_with_a_gpu_the_finding_only_asks_whether_the_program_waited_for_it(program):
    train(program, conv1_ms=0.05)
    (finding,) = program.found(RULE, **HERE, gpus=1)
    assert (finding.severity, finding.is_wrong_number) == ("warning", False)
    assert finding.message.startswith("conv1 is faster than this machine's processor can be: ")
    assert finding.message == (
        "conv1 is faster than this machine's processor can be: 2.22 GFLOP in 50.0 µs is 44.4 TFLOP/s, "
        "226× the 196 GFLOP/s it can reach; did the program wait for the GPU?"
    )


def test_what_may_be_right_in_narrower_numbers_is_not_called_wrong(program):
    train(program, conv1_ms=1e3 * CONV1 / (5 * 196e9))
    (finding,) = program.found(RULE, **HERE, ceiling__low_precision_factor=16)
    assert (finding.severity, finding.is_wrong_number) == ("warning", False)
    assert finding.message.endswith("; right only in bfloat16 or float16")


def test_beyond_narrower_numbers_it_is_wrong(program):
    train(program, conv1_ms=0.05)
    (finding,) = program.found(RULE, **HERE, ceiling__low_precision_factor=16)
    assert finding.is_wrong_number


def copy(program, ms: float, size: int) -> list[Finding]:
    program.spend("copy", ms, bytes=size)
    return program.found(RULE, **HERE)


def test_memory_that_no_core_could_have_moved_is_called_impossible(program):
    (finding,) = copy(program, 1.0, 1_000_000_000)
    assert finding.severity == "warning"
    assert finding.message == (
        "copy is faster than this machine can be: 1.00 GB in 1.00 ms is 1.00 TB/s, 16× the 61.2 GB/s it "
        "can reach. Probably nothing was copied (a view, shared memory), or the call returned before the "
        "copy was done"
    )


@pytest.mark.parametrize(
    ("ms", "size"),
    [
        (100, 1_000_000_000),  # as fast as memcpy
        (14, 1_000_000_000),  # read by two threads at once
        (0.2, 40_000_000),  # may lie in the caches
        (0.00001, 1000),  # a few bytes in no time
    ],
)
def test_memory_that_caches_or_more_threads_could_have_moved_is_not(program, ms, size):
    assert copy(program, ms, size) == []


def test_work_in_no_time_at_all_is_impossible_where_there_is_much_of_it(program):
    program.recorder.record_duration("sync", 0, flops=CONV1)
    (finding,) = program.found(RULE, **HERE)
    assert finding.is_wrong_number


def test_a_number_that_cannot_be_comes_before_all_advice(program):
    for _ in program.ticks(20, "train"):
        with program.inside("sample", bytes=75_500_000, items=256):
            program.spend("np.array", 400, bytes=75_500_000)
    program.recorder.record_duration("claimed", 0.05e-3, flops=CONV1)
    all_findings = findings(program.profile(**HERE))
    assert (all_findings[0].rule, all_findings[0].severity) == ("impossible-rate", "warning")
    assert any(finding.severity == "critical" for finding in all_findings[1:])


PROGRAM = """
import time, ticktree
for _ in ticktree.loop("train", range(12)):
    with ticktree.section("conv1") as section:
        future = "an asynchronous call has returned"
        section.work(flops={flops}, items=256)
    time.sleep(0.002)
"""


@pytest.mark.parametrize(("flops", "expected"), [(10**15, ["impossible-rate"]), (1000, [])])
def test_a_program_that_times_a_call_without_waiting_is_reported_on_any_machine(tmp_path, flops, expected):
    (tmp_path / "program.py").write_text(PROGRAM.format(flops=flops))
    command = [sys.executable, "-m", "ticktree", "run", "--quiet", "program.py"]
    subprocess.run(command, cwd=tmp_path, check=True, timeout=500)
    profile = ticktree.load(tmp_path / "ticktree-runs")
    if "ceiling.flops_per_s" not in profile.metadata:
        pytest.skip("nothing is known of this processor")
    assert [found.rule for found in findings(profile, rules=[RULE])] == expected


@pytest.mark.slow
@settings(max_examples=60)
@given(profiles(), st.sampled_from([0, 1, 1e9, 1e30, 1e299]), st.booleans())
def test_no_work_is_too_strange_to_be_judged(profile, ceiling, measured):
    metadata = {key.replace("__", "."): frozenset({ceiling}) for key in HERE}
    metadata["ceiling.source"] = frozenset({"measured" if measured else "estimated"})
    all_findings = findings(replace(profile, metadata=metadata), rules=[RULE, SlowRateRule()])
    assert all(profile.root.at(finding.path) for finding in all_findings)
    assert json.dumps([finding_fields(finding) for finding in all_findings], allow_nan=False)


def test_more_than_any_machine_will_ever_do_is_left_out():
    node = Node(name="x", self_ns=1, steady=Stats.of([1]), work=Work(flops=10**400))
    profile = Profile(root=Node(name="root", children={"x": node}))
    metadata = {key.replace("__", "."): frozenset({value}) for key, value in HERE.items()}
    assert findings(replace(profile, metadata=metadata), rules=[RULE]) == []


def test_it_is_registered_and_finds_nothing_in_an_empty_profile():
    assert RULE.name in {rule.name for rule in RULES}
    assert findings(Profile.empty(), rules=[RULE]) == []


def test_with_a_gpu_one_finding_is_about_all_sections(program):
    for _ in program.ticks(10, "train"):
        for network in ("actor", "critic"):
            with program.recorder.section(network):
                program.spend("conv1", 0.05, flops=CONV1)
                program.spend("conv2", 0.06, flops=CONV1)
    (finding,) = program.found(RULE, **HERE, gpus=1)
    assert finding.path == "train/actor/conv1"
    assert finding.message.endswith("the same holds for conv2; did the program wait for the GPU?")
