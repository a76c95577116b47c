from __future__ import annotations

import pytest

from ticktree.analysis.rules.deadlines import TooFewTicksRule, ticks_for

RULE = TooFewTicksRule()


def run(program, ticks, **options):
    for _ in program.ticks(ticks, **options):
        program.spend("policy", 1)
    return program.found(RULE)


def test_nine_ticks_say_nothing(program):
    (finding,) = run(program, 9)
    assert (finding.path, finding.severity) == ("control", "info")
    assert (
        finding.message
        == "control has 9 ticks: too few for any statistics; record at least 10, and 299 for a p99"
    )


def test_twenty_ticks_say_a_mean_and_a_median(program):
    (finding,) = run(program, 20)
    assert finding.message == "control has 20 ticks: too few for a p90, which needs 29"
    assert (finding.facts["percentile"], finding.facts["needed_ticks"]) == (90, 29)


def test_a_loop_without_a_rate_is_judged_by_its_p90(program):
    assert run(program, 29) == []


@pytest.mark.parametrize(("ticks", "findings"), [(298, 1), (299, 0)])
def test_a_loop_with_a_rate_is_judged_by_its_p99(program, ticks, findings):
    assert len(run(program, ticks, hz=30)) == findings


def test_ticks_of_warm_up_do_not_count(program):
    (finding,) = run(program, 12, warmup=5)
    assert finding.message.startswith("control has 7 ticks after its warm-up: too few")
    assert finding.facts["warmup_ticks"] == 5


def test_a_program_without_loops_has_no_ticks_to_count(program):
    program.spend("policy", 1)
    assert program.found(RULE) == []


@pytest.mark.parametrize(("q", "ticks"), [(0.5, 5), (0.9, 29), (0.95, 59), (0.99, 299), (0.999, 2995)])
def test_the_ticks_a_percentile_needs_are_wilks(q, ticks):
    assert ticks_for(q) == ticks
    assert 1 - q**ticks >= 0.95 > 1 - q ** (ticks - 1)
