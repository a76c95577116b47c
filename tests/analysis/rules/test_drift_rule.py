from __future__ import annotations

import pytest

from support.findings import findings
from support.steady_loops import MS, loop_of, sections, watched
from ticktree.analysis.rules.changes import DriftRule, PhaseChangeRule


def findings_of(rule, took_ns, ticks=400, **options):
    return findings(loop_of(ticks, sections(took_ns, **options)), rules=[rule])


def steady(n):
    return 6 * MS


def test_a_program_that_keeps_a_growing_list_drifts():
    kept: list[int] = []

    def log(n):
        kept.append(n)
        return 2 * MS + len(kept) * MS // 100

    (finding,) = findings_of(DriftRule(), {"act": steady, "log": log})
    assert (finding.rule, finding.path) == ("drift", "train/log")
    assert finding.message == (
        "train becomes slower during the run: 8.21 ms per tick at first, 12.0 ms at the end; log "
        "explains 100% of that"
    )
    assert 0.1 < finding.saving.share < 0.25
    assert finding.severity == "warning"
    assert finding.facts["tick_after_ns"] == pytest.approx(12 * MS, rel=0.05)


def test_a_program_whose_work_grows_with_each_tick_drifts_however_much():
    """From 30 us to 400 us: in logarithms a curve, and no line."""
    (finding,) = findings_of(
        DriftRule(), {"act": lambda n: MS // 100, "search": lambda n: 20_000 + 32 * n}, ticks=12_000
    )
    assert finding.path == "train/search"
    assert finding.facts["tick_after_ns"] > 3 * finding.facts["tick_before_ns"]


def test_a_program_that_becomes_faster_is_reported_as_well():
    (finding,) = findings_of(DriftRule(), {"act": lambda n: 10 * MS * (1 - n / 1000)})
    assert finding.message == (
        "train becomes faster during the run: 10.1 ms per tick at first, 6.20 ms at the end; act "
        "explains 100% of that"
    )
    assert finding.kind == "measurement"


def test_a_steady_program_does_not_drift():
    assert findings_of(DriftRule(), {"act": steady, "log": steady}) == []


def test_a_step_is_no_drift_and_a_drift_is_no_step():
    stepping = {"act": lambda n: (6 if n < 250 else 9) * MS}
    rising = {"act": lambda n: 6 * MS * (1 + n / 500)}
    assert findings_of(DriftRule(), stepping) == []
    assert findings_of(PhaseChangeRule(), rising) == []


def test_the_finding_states_that_no_section_explains_the_change():
    rising = {name: lambda n: 6 * MS * (1 + n / 500) for name in ("a", "b", "c")}
    (finding,) = findings_of(DriftRule(), rising)
    assert finding.path == "train"
    assert finding.message == (
        "train becomes slower during the run: 19.2 ms per tick at first, 32.7 ms at the end, in no "
        "single section"
    )


@pytest.mark.parametrize("rule", [DriftRule(), PhaseChangeRule()])
def test_while_others_take_the_cores_a_change_may_be_theirs(rule):
    took_ns = (
        (lambda n: 6 * MS * (1 + n / 500)) if rule.name == "drift" else (lambda n: (6 if n < 250 else 9) * MS)
    )
    profile = loop_of(400, sections({"act": took_ns}))
    (alone,) = findings(watched(profile, used=[0.9] * 9, others=[0.0] * 9, waiting=[0.0] * 9), rules=[rule])
    assert alone.kind == "recommendation"
    (doubtful,) = findings(
        watched(profile, used=[0.7] * 9, others=[1.3] * 9, waiting=[0.3] * 9), rules=[rule]
    )
    assert doubtful.kind == "measurement"
    assert doubtful.message.endswith("so the change may be theirs: measure on an idle machine")


@pytest.mark.parametrize(
    ("others", "kind"),
    [
        ([0.0] * 9, "recommendation"),
        ([1.0] * 9, "recommendation"),  # all the time: then it did not change anything
        ([0.0] * 6 + [0.9] * 3, "measurement"),
        ([0.0] * 20 + [0.9], "recommendation"),  # for a twentieth of the run
        ([0.9], "measurement"),  # it is not known what was before and after
        ([0.0], "recommendation"),
    ],
)
def test_where_others_were_busier_at_times_a_change_may_be_theirs(others, kind):
    stepping = {"act": lambda n: (6 if n < 250 else 9) * MS}
    readings = {"used": [0.9] * len(others), "others": others, "waiting": [0.0] * len(others)}
    (finding,) = findings(watched(loop_of(400, sections(stepping)), **readings), rules=[PhaseChangeRule()])
    assert finding.kind == kind
    assert finding.message.endswith(
        "; other processes used more cores at times, so the change may be theirs: measure on an idle machine"
    ) == (kind == "measurement")
