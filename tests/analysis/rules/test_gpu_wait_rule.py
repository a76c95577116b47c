"""Waits for a GPU in a loop, and what a GPU that is never idle leaves to gain."""

from __future__ import annotations

import pytest

from support.findings import findings
from support.rule_programs import Program
from support.steady_loops import watched
from ticktree.analysis.rules.sections import EvaluationRule
from ticktree.analysis.rules.torch import GpuWaitRule, PageableCopiesRule, UnusedGradientsRule

TICKS, TICK_MS = 1000, 10.0


def training(name: str = "wait for cuda", ms: float = 4.0, used: float | None = 0.5, waits: int = 2):
    """A loop of ten seconds, with so much of each tick in one section; its GPU is idle before and after."""
    with Program() as program:
        for _ in program.ticks(TICKS, "train"):
            for _ in range(waits):
                program.spend(name, ms / waits, bytes=1_000_000)
            program.gauge("torch/pinned copies", 0)
            program.spend("update", TICK_MS - ms)
        profile = program.profile()
    return profile if used is None else watched(profile, **{"gpu0/used": [0.0, *[used] * 10, 0.0]})


def findings_of(profile, rule=None):
    return findings(profile, rules=[rule or GpuWaitRule()])


def test_waits_for_a_gpu_that_is_idle_for_the_rest_of_the_tick_are_reported() -> None:
    (finding,) = findings_of(training())
    assert (finding.path, finding.loop) == ("train/wait for cuda", "train")
    assert finding.saved_share == pytest.approx(0.4)
    assert finding.message.endswith(
        "2 waits for it take 4.00 ms of a tick of train, and the GPU is in use 50% of the time"
    )


def test_no_more_is_saved_than_the_gpu_is_idle() -> None:
    (finding,) = findings_of(training(used=0.85))
    assert finding.saved_share == pytest.approx(0.15)
    assert findings_of(training(used=1.0)) == []


def test_torchs_cache_that_is_emptied_in_each_tick_is_reported() -> None:
    (finding,) = findings_of(training("empty_cache", waits=1))
    assert finding.message == (
        "Do not call torch.cuda.empty_cache() in each tick: it takes 4.00 ms of a tick of train, and what it gives "
        "back is allocated again; the GPU is in use 50% of the time"
    )


@pytest.mark.parametrize(
    "profile",
    [training(used=None), training(ms=0.4), training("copy to cpu")],
    ids=["no counters", "short", "another row"],
)
def test_other_loops_are_left_alone(profile) -> None:
    assert findings_of(profile) == []


def test_what_leaves_the_gpu_as_much_to_do_saves_no_more_than_it_is_idle() -> None:
    (copies,) = findings_of(training("copy to cuda", used=0.8), PageableCopiesRule())
    assert copies.saved_share == pytest.approx(0.2)
    (unused,) = findings_of(training("backward with unused gradients", used=0.8), UnusedGradientsRule())
    assert unused.saved_share == pytest.approx(0.2)  # half of 40%: it is work of the GPU too
    (evaluated,) = findings_of(training("evaluate_policy", used=0.8), EvaluationRule())
    assert evaluated.saved_share == pytest.approx(0.4)
    (unknown,) = findings_of(training("copy to cuda", used=None), PageableCopiesRule())
    assert unknown.saved_share == pytest.approx(0.4)
