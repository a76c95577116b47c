from __future__ import annotations

import random
from dataclasses import replace

import pytest

from support.findings import findings
from support.steady_loops import watched
from ticktree.analysis.rules.memory import MemoryGrowthRule

MB = 1_000_000
SECONDS = 60


def grown(program, per_second, start=400 * MB, memory=None):
    """A run of which so many bytes came in each of its seconds."""
    for _ in program.ticks(50, "train", warmup=0):
        program.spend("update", 10)
    resident = [start]
    for more in per_second:
        resident.append(resident[-1] + more)
    profile = watched(program.profile(), resident=resident[1:], growth=per_second)
    if memory is not None:
        profile = replace(profile, metadata={**profile.metadata, "memory_bytes": frozenset([memory])})
    return findings(profile, rules=[MemoryGrowthRule()])


def noise(mean, seed=1):
    dice = random.Random(seed)
    return [mean * dice.uniform(0.5, 1.5) for _ in range(SECONDS)]


def test_memory_that_grows_in_each_second_is_reported_per_second_and_per_tick(program):
    (finding,) = grown(program, [3 * MB] * SECONDS)
    assert finding.message == (
        "the run's memory grows by 3.00 MB/s, 30.0 kB per tick of train, in 100% of its seconds, and is 580 MB at the "
        "end: unless that is a buffer that is filled by plan, look for what is kept"
    )
    assert (finding.kind, finding.severity, finding.path) == ("size", "info", "train")


def test_memory_that_will_be_full_within_an_hour_is_a_recommendation(program):
    (finding,) = grown(program, [200 * MB] * 10, memory=8_400 * MB)
    assert finding.message == (
        "Look for what is kept (losses with their graph, lists, caches): the run's memory grows by 200 MB/s, 2.00 MB "
        "per tick of train, and at that pace the machine's is full in 30.0 s"
    )
    assert (finding.kind, finding.severity, finding.path, finding.saving) == (
        "recommendation",
        "warning",
        "train",
        None,
    )


def test_a_run_without_ticks_may_still_import(program):
    def found(seconds):
        with program.recorder.section("evaluate"):
            program.recorder.advance(10**9)
        growth = [200 * MB] * seconds
        resident = [400 * MB + 200 * MB * second for second in range(1, seconds + 1)]
        profile = watched(program.profile(), resident=resident, growth=growth)
        profile = replace(profile, metadata={**profile.metadata, "memory_bytes": frozenset([16_000 * MB])})
        return findings(profile, rules=[MemoryGrowthRule()])

    assert found(10) == []
    assert len(found(40)) == 1


def test_memory_that_lasts_for_longer_is_a_size(program):
    (finding,) = grown(program, [3 * MB] * SECONDS, memory=64_000 * MB)
    assert finding.kind == "size"


def test_so_is_what_grows_by_more_and_less(program):
    assert grown(program, noise(3 * MB))


@pytest.mark.parametrize(
    "per_second",
    [
        [300 * MB, *[0] * (SECONDS - 1)],  # imports, a model
        [6 * MB] * 30 + [0] * 30,  # a buffer that is full after half of the time
        ([9 * MB] * 9 + [-81 * MB]) * 6,  # filled and cleared
        [3 * MB] * 20,  # too short to tell
        [0.1 * MB] * SECONDS,
        [3 * MB] * (SECONDS - 1) + [-150 * MB],  # given back at the end
    ],
    ids=["once", "full", "cleared", "short", "little", "given back"],
)
def test_memory_that_fills_once_or_is_freed_does_not_grow_throughout(program, per_second):
    assert grown(program, per_second) == []


def test_memory_of_imports_is_no_growth_of_the_run(program):
    """Stable-baselines3's PPO in a run of nine seconds: all it took, it took in the first six."""
    taken = [size * MB for size in (206, 31, 15, 6, 55, 42, 1, 0.4, 0.1)]
    assert grown(program, taken, memory=25_000 * MB) == []
    assert grown(program, [*taken[:6], 15 * MB, 20 * MB, 25 * MB], memory=25_000 * MB)


def test_an_unobserved_machine_gives_no_finding(program):
    program.spend("update", 10)
    assert program.found(MemoryGrowthRule()) == []


@pytest.mark.parametrize(("startup_s", "is_found"), [(1, True), (6, False)])
def test_what_grows_until_the_first_tick_does_not_count(program, startup_s, is_found):
    for _ in program.ticks(50, "train", warmup=0):
        program.spend("update", 10)
    resident = [400 * MB + second * 200 * MB for second in range(10)]
    profile = watched(program.profile(), resident=resident, growth=[200 * MB] * 10)
    first = profile.loops["train"].first_ticks.started_wall_ns
    metadata = {"memory_bytes": frozenset([8_400 * MB]), "started_ns": frozenset([first - startup_s * 10**9])}
    all_findings = findings(
        replace(profile, metadata={**profile.metadata, **metadata}), rules=[MemoryGrowthRule()]
    )
    assert bool(all_findings) is is_found
