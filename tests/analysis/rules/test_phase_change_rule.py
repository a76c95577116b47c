from __future__ import annotations

import pytest

from support.findings import findings
from support.steady_loops import MS, S, loop_of, sections
from ticktree.analysis.rules.changes import PhaseChangeRule


def findings_of(took_ns, ticks=400, **options):
    return findings(loop_of(ticks, sections(took_ns, **options)), rules=[PhaseChangeRule()])


def act(n):
    return 5 * MS


def test_a_buffer_that_leaves_the_cache_is_a_phase_of_its_own():
    (finding,) = findings_of({"act": act, "sample": lambda n: (5 if n < 250 else 10) * MS})
    assert (finding.rule, finding.path) == ("phase-change", "train/sample")
    assert finding.message.startswith("train is slower from 2.")
    assert "s of the run on: 1" in finding.message
    assert finding.facts["from_ns"] == pytest.approx(2.5 * S, abs=0.2 * S)
    assert finding.facts["tick_before_ns"] == pytest.approx(10 * MS, rel=0.03)
    assert finding.facts["tick_after_ns"] == pytest.approx(15 * MS, rel=0.03)
    assert finding.saving.share == pytest.approx(150 * 5 / (400 * 10 + 150 * 5), rel=0.1)


def test_a_neighbour_that_comes_and_goes_is_reported_with_its_end():
    (finding,) = findings_of({"act": lambda n: (9 if 150 <= n < 250 else 5) * MS})
    assert " to " in finding.message
    assert finding.message == (
        "train is slower from 760 ms to 1.68 s of the run: 9.00 ms per tick, 5.00 ms otherwise; act "
        "explains 100% of that"
    )


def test_a_loop_that_becomes_faster_at_once_is_reported():
    (finding,) = findings_of({"act": lambda n: (9 if n < 200 else 5) * MS})
    assert "is faster from" in finding.message


def test_a_steady_program_with_a_warm_up_and_bursts_has_no_phases():
    def took(n):
        return (40 if n < 20 else 15 if n % 97 < 3 else 5) * MS

    profile = loop_of(400, sections({"act": took}), warmup=20)
    assert findings(profile, rules=[PhaseChangeRule()]) == []


def test_a_noisy_steady_program_has_no_phases():
    assert findings_of({"act": act}, noise=0.3) == []
