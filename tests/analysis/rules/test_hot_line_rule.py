"""Lines that are known to be slow, found by samples and the program's source."""

from __future__ import annotations

from dataclasses import replace

import pytest

from support.example_samples import sampled_store, stack
from support.findings import findings
from support.sampled_runs import run_sampled
from ticktree.analysis.rules.copies import ListOfArraysRule
from ticktree.analysis.rules.lines import HotLineRule
from ticktree.profile import CodeLine, Weight

HOT = CodeLine("Buffer.sample", "/home/ada/train.py", 7)
OTHER = CodeLine("Buffer.sample", "/home/ada/train.py", 9)
RULES = [HotLineRule(), ListOfArraysRule()]


def findings_of(profile):
    return findings(profile, rules=RULES)


@pytest.mark.parametrize(
    ("kind", "rule", "message"),
    [
        (
            "pickle",
            "hot-line",
            "Pickle only what is new, or do so less often: the pickle made at train.py:7 in store",
        ),
        (
            "growing-array",
            "hot-line",
            "Write into an array that is allocated once, or join a list of the parts at the end: the array that "
            "grows, and is copied for it, at train.py:7 in store",
        ),
        (
            "array-of-list",
            "list-of-arrays",
            "Keep stored items in one preallocated array and index batches out of it: the array made of a list at "
            "train.py:7 in store",
        ),
        (
            "element-loop",
            "hot-line",
            "Compute with whole arrays instead of with one element after the other: the loop over elements at "
            "train.py:7 in store",
        ),
    ],
)
def test_a_line_of_each_kind_is_reported(kind, rule, message):
    counts = {(HOT, "running"): 60, (OTHER, "gil"): 15, (OTHER, "sleep"): 25}
    noted = f"{kind} {HOT.file}:7\n{kind} {OTHER.file}:9"
    (finding,) = findings_of(sampled_store(counts, noted))
    assert finding.message == f"{message} takes 6.00 ms of each tick of train, 60% of it [sampled]"
    assert (finding.rule, finding.path, finding.loop, finding.severity) == (
        rule,
        "train/store",
        "train",
        "critical",
    )
    assert finding.saving is not None
    assert finding.saving.share == pytest.approx(0.6)


@pytest.mark.parametrize(
    "profile",
    [
        sampled_store({(HOT, "running"): 90}),
        sampled_store({(HOT, "running"): 15, (OTHER, "running"): 85}, f"pickle {HOT.file}:7"),
        sampled_store({(HOT, "running"): 15}, f"pickle {HOT.file}:7"),
        sampled_store({(HOT, "io"): 90}, f"pickle {HOT.file}:7"),
    ],
    ids=["nothing noted", "little", "few samples", "waits"],
)
def test_other_samples_give_no_finding(profile):
    assert findings_of(profile) == []


def test_data_that_is_converted_in_three_lines_and_more():
    lines = [CodeLine("to_batch", "/home/ada/train.py", number) for number in (7, 8, 9)]
    noted = "\n".join(f"conversion {line.file}:{line.line}" for line in lines)
    (finding,) = findings_of(sampled_store({(line, "running"): 20 + line.line for line in lines}, noted))
    assert finding.message == (
        "Convert once, into the type and layout that are used: converting arrays in several lines, as train.py:9 in "
        "store takes 8.00 ms of each tick of train, 80% of it [sampled]"
    )
    assert findings_of(sampled_store({(line, "running"): 40 for line in lines[:2]}, noted)) == []


def test_one_inference_for_all_inputs_is_not_free():
    call = CodeLine("Linear.forward", "/lib/torch/nn/modules/linear.py", 134)
    profile = sampled_store({}, f"one-by-one {HOT.file}:7")
    stacks = {stack("train/store", HOT, call): Weight(100, 10**9)}
    (finding,) = findings_of(replace(profile, samples=replace(profile.samples, stacks=stacks)))
    assert finding.message == (
        "Stack the inputs and infer once for all of them: the inference for one after the other at train.py:7 in "
        "store takes 8.00 ms of each tick of train, 80% of it [sampled]"
    )
    assert finding.saving.share == pytest.approx(0.5 * 0.8)


def test_an_f_string_that_is_logged_is_no_waste():
    noted = f"eager-log {HOT.file}:7"
    (finding,) = findings_of(sampled_store({(HOT, "running"): 60}, noted))
    assert finding.facts["line_kind"] == "eager-log"
    profile = sampled_store({(HOT, "running"): 60}, noted)
    handled = stack(
        "train/store", HOT, CodeLine("Logger.handle", "/usr/lib/python3.11/logging/__init__.py", 1632)
    )
    stacks = {**profile.samples.stacks, handled: Weight(5, 50_000_000)}
    assert findings_of(replace(profile, samples=replace(profile.samples, stacks=stacks))) == []


COPIES = """
import copy, time

def configured(config):
    return copy.deepcopy(config)

def main():
    config = {number: [number] for number in range(2000)}
    end = time.perf_counter() + 2
    while time.perf_counter() < end:
        configured(config)

main()
"""


@pytest.mark.slow
def test_an_unmarked_program_that_copies_deeply(tmp_path):
    profile, _ = run_sampled(tmp_path, COPIES, "--quiet", before="")
    assert [
        (finding.rule, finding.path, finding.loop, finding.facts["line"]) for finding in findings_of(profile)
    ] == [("hot-line", "", None, "program.py:5")]


MARKED = """
import time
import numpy as np
import ticktree

items = [(np.zeros(64, np.float32), number) for number in range(512)]
end = time.perf_counter() + 4
for tick in ticktree.loop("train", iter(lambda: time.perf_counter() < end, False)):
    with ticktree.section("sample"):
        batch = np.stack([item[0] for item in items])
    with ticktree.section("update"):
        batch.sum()
"""


@pytest.mark.slow
def test_a_section_that_is_marked_keeps_the_samples_of_such_lines(tmp_path):
    profile, _ = run_sampled(tmp_path, MARKED, "--quiet", before="")
    assert profile.samples is not None
    assert {stack.path for stack in profile.samples.stacks} == {"train/sample"}
    assert [(finding.rule, finding.path, finding.facts["line"]) for finding in findings_of(profile)] == [
        ("list-of-arrays", "train/sample", "program.py:10")
    ]


POLLING = """
import time
from concurrent.futures import ThreadPoolExecutor

import ticktree

def infer():
    time.sleep({infer_s})

def wait_for(job):
    while not job.done():
        time.sleep({sleep_s})

pool = ThreadPoolExecutor(1)
for tick in ticktree.loop("evaluate", range({ticks})):
    with ticktree.section("quality"):
        wait_for(pool.submit(infer))
"""


@pytest.mark.slow
def test_a_sleep_until_work_is_done_that_takes_less(tmp_path):
    profile, _ = run_sampled(
        tmp_path, POLLING.format(infer_s=0.002, sleep_s=0.05, ticks=50), "--quiet", before=""
    )
    (finding,) = findings_of(profile)
    assert (finding.path, finding.facts["line_kind"], finding.facts["line"]) == (
        "evaluate/quality",
        "poll",
        "program.py:12",
    )
    worked_ns = profile.root.at("evaluate/quality/infer").total_ns
    slept_ns = finding.facts["in_line_ns"] * profile.loops["evaluate"].ticks
    assert finding.saving.share == pytest.approx(
        (slept_ns - worked_ns) / profile.root.at("evaluate").total_ns, abs=0.02
    )


@pytest.mark.slow
def test_a_sleep_until_work_is_done_that_takes_as_long(tmp_path):
    profile, _ = run_sampled(
        tmp_path, POLLING.format(infer_s=0.2, sleep_s=0.002, ticks=12), "--quiet", before=""
    )
    assert findings_of(profile) == []
