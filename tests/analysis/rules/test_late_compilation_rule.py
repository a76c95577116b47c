from __future__ import annotations

import pytest

import ticktree
from support.findings import findings
from support.steady_loops import MS, S, loop_of
from ticktree.analysis.rules.torch import COMPILING, LateCompilationRule


def findings_of(profile):
    return findings(profile, rules=[LateCompilationRule()])


def compiling(when, ticks=100, **options):
    """A loop that compiles for 200 ms in the ticks for which `when` says so."""

    def tick(recorder: ticktree.Recorder, n: int) -> None:
        with recorder.section("model"):
            recorder.advance(10 * MS)
            if when(n):
                with recorder.section(COMPILING):
                    recorder.advance(200 * MS)

    return loop_of(ticks, tick, **options)


def test_compiling_once_more_after_the_warm_up_is_reported():
    (finding,) = findings_of(compiling(lambda n: n in (0, 60, 70), warmup=5))
    assert (finding.rule, finding.path) == ("late-compilation", "train/model/torch compile")
    assert finding.message == (
        "Avoid recompilation in model (dynamic=True, torch._dynamo.mark_dynamic, or padding to a few "
        "shapes): torch.compile compiles 2 more times after the warm-up of train, for 400 ms in total"
    )
    assert "dynamic=True" in finding.message
    assert finding.saving.share == pytest.approx(0.4 / 1.6)
    assert finding.facts["worst_ticks_share"] == 0.25


def test_compiling_in_the_warm_up_is_what_it_is_for():
    assert findings_of(compiling(lambda n: n in (0, 3), warmup=5)) == []


def test_without_a_warm_up_the_first_ticks_may_compile_and_later_ones_may_not():
    assert findings_of(compiling(lambda n: n in (0, 2), warmup=0)) == []
    (finding,) = findings_of(compiling(lambda n: n in (0, 60), warmup=0))
    assert finding.facts["recompilations"] == 1


def test_compilation_in_an_inner_loop_is_reported_for_that_loop():
    recorder = ticktree.Recorder(virtual_clock=True)
    for _ in recorder.loop("epoch", range(3), warmup=0):
        for n in recorder.loop("batch", range(40), warmup=4):
            recorder.advance(10 * MS)
            if n == 20:
                with recorder.section(COMPILING):
                    recorder.advance(S)
    recorder.disable()
    (finding,) = findings_of(recorder.snapshot())
    assert finding.path == "epoch/batch/torch compile"
    assert finding.message == (
        "Avoid recompilation in batch (dynamic=True, torch._dynamo.mark_dynamic, or padding to a few "
        "shapes): torch.compile compiles 3 more times after the warm-up of batch, for 3.00 s in total"
    )


def test_a_program_that_compiles_nothing_is_not_reported():
    assert findings_of(compiling(lambda n: False, warmup=5)) == []
