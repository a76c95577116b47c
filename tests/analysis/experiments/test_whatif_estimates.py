"""Experiments: what blocks of known ticks say."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable

import pytest

from ticktree.analysis.experiments.estimates import FASTER, NOTHING, SLOWER, Block, estimate, exact, plans

MS = 1_000_000
TICKS = 20


def a_block(
    what: tuple[int, int, int], tick_ns: float, at_ns: int = 0, owed_ns: float = 0.0, spent_ns: float = 5 * MS
) -> Block:
    """A block whose ticks, without the delays in them, take `tick_ns`."""
    whole = int(TICKS * (tick_ns + owed_ns))
    owed = int(TICKS * owed_ns)
    return Block(
        *what, TICKS, at_ns, at_ns + whole, owed, 0, 0, whole // 2, owed // 2, (int(TICKS * spent_ns),)
    )


def measured(
    tick_of: Callable[[tuple[int, int, int]], float],
    seed: int = 1,
    blocks: int = 120,
    noise: float = 0.01,
    trend: float = 0.0,
) -> list[Block]:
    """Blocks of a program whose tick is `tick_of` what is done, on a machine with noise."""
    shuffled = random.Random(seed)
    found = []
    for number, what in enumerate(plans(1, [50], blocks, seed)):
        true = tick_of(what) * (1 + trend * number) * shuffled.lognormvariate(0.0, noise)
        owed = 2.5 * MS if what[0] == FASTER else 0.0
        found.append(a_block(what, true, number * 10**9, owed))
    return found


def a_pipeline(work_ms: float) -> Callable[[tuple[int, int, int]], float]:
    """A section of 5 ms on one thread, and on another one work of so many: the longer of them is the tick."""

    def tick(what: tuple[int, int, int]) -> float:
        intervention, _, percent = what
        length = 5 * MS * (1 + {NOTHING: 0, FASTER: -1, SLOWER: 1}[intervention] * percent / 100)
        return max(length, work_ms * MS)

    return tick


def test_a_plan_leaves_a_quarter_of_the_blocks_alone_and_does_everything_equally_often():
    counts = Counter(plans(3, [10, 50], 1200, seed=7))
    untouched = counts.pop((NOTHING, 0, 0))
    assert untouched == pytest.approx(300, abs=6)
    assert len(counts) == 3 * 2 + 3
    assert max(counts.values()) - min(counts.values()) <= 1


def test_a_plan_is_another_for_another_seed_and_the_same_for_the_same():
    assert plans(2, [50], 50, 1) == plans(2, [50], 50, 1) != plans(2, [50], 50, 2)


def test_the_tick_of_a_block_is_without_the_delays_in_it():
    assert a_block((FASTER, 0, 50), 3 * MS, owed_ns=2 * MS).tick_ns == 3 * MS


def test_a_section_that_all_wait_for_gains_what_amdahl_says():
    (found,) = estimate("loop", ["a"], [50], measured(a_pipeline(0))).predictions
    assert found.gain_percent == pytest.approx(50, abs=1.5)
    assert found.amdahl_percent == pytest.approx(50, abs=1)
    assert found.verdict == "gain"


def test_where_another_path_takes_over_the_gain_ends_there():
    found = estimate("loop", ["a"], [50], measured(a_pipeline(3)))
    (prediction,) = found.predictions
    assert prediction.gain_percent == pytest.approx(40, abs=1.5)
    assert prediction.low_percent < 40 < prediction.high_percent
    assert found.slopes["a"].loss_percent == pytest.approx(50, abs=2)
    assert found.slopes["a"].critical == pytest.approx(1, abs=0.05)


def test_a_section_that_no_thread_waits_for_gains_nothing():
    found = estimate("loop", ["a"], [50], measured(a_pipeline(9)))
    (prediction,) = found.predictions
    assert prediction.low_percent < 0 < prediction.high_percent < 3
    assert prediction.verdict == "no gain"
    assert found.slopes["a"].critical == pytest.approx(0, abs=0.05)


def test_a_trend_of_the_whole_program_is_no_gain():
    (found,) = estimate("loop", ["a"], [50], measured(a_pipeline(9), trend=0.003)).predictions
    assert found.high_percent - found.low_percent < 4
    assert found.verdict == "no gain"


def test_an_interval_with_both_0_and_the_bound_cannot_tell():
    (found,) = estimate("loop", ["a"], [50], measured(a_pipeline(9), blocks=24, noise=0.15)).predictions
    assert found.verdict == "cannot tell"


def test_too_few_blocks_have_no_interval():
    (found,) = estimate("loop", ["a"], [50], measured(a_pipeline(0), blocks=6)).predictions
    assert (found.low_percent, found.high_percent, found.verdict) == (None, None, "cannot tell")
    (found,) = estimate("loop", ["a"], [50], []).predictions
    assert (found.gain_percent, found.verdict) == (None, "cannot tell")


def test_a_gain_that_a_delay_does_not_cost_is_doubted():
    """A loop that sleeps until the next tick is due: delays shorten its sleep, and the clock seems to run faster."""

    def tick(what: tuple[int, int, int]) -> float:
        return 2.5 * MS if what[0] == FASTER else 5 * MS

    (found,) = estimate("loop", ["a"], [50], measured(tick)).predictions
    assert found.verdict == "estimates disagree"


def test_a_doubt_leaves_no_verdict():
    found = estimate("loop", ["a"], [50], measured(a_pipeline(0)), doubts=["it waits for a lock"])
    assert [each.verdict for each in found.predictions] == ["cannot tell"]
    assert "it waits for a lock" in found.notes


def test_blocks_with_unpaid_delays_are_ignored():
    blocks = measured(a_pipeline(0))
    wrong = [Block(*(FASTER, 0, 50), TICKS, 0, 10**12, 0, 0, 1, 0, 0, (0,))] * 40
    assert (
        estimate("loop", ["a"], [50], blocks + wrong).predictions
        == estimate("loop", ["a"], [50], blocks).predictions
    )


def test_a_program_that_has_not_settled_is_named():
    uneven = [
        Block(*block.key, TICKS, block.began_ns, block.ended_ns, block.owed_ns, 0, 0, 1, 0, block.spent_ns)
        if block.intervention == FASTER
        else block
        for block in measured(a_pipeline(0))
    ]
    uneven = [
        Block(*block.key, TICKS, block.began_ns, block.ended_ns, 0, 0, 0, TICKS * MS // 8, 0, block.spent_ns)
        if block.intervention == FASTER
        else block
        for block in uneven
    ]
    assert any("--settle" in note for note in estimate("loop", ["a"], [50], uneven).notes)
    assert not estimate("loop", ["a"], [50], measured(a_pipeline(0))).notes


def test_intervals_contain_the_true_gain_as_often_as_their_confidence():
    held = 0
    for seed in range(100):
        (found,) = estimate(
            "loop", ["a"], [50], measured(a_pipeline(3), seed, blocks=60, noise=0.08)
        ).predictions
        held += found.low_percent <= 40 <= found.high_percent
    assert 90 <= held <= 100


def test_where_nothing_runs_concurrently_amdahls_law_is_the_answer():
    found = exact("loop", 10.0, {"loop/a": 0.4}, [25, 50], ["why"])
    assert [(each.gain_percent, each.verdict) for each in found.predictions] == [
        (10.0, "exact"),
        (20.0, "exact"),
    ]
