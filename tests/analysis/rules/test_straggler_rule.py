from __future__ import annotations

from dataclasses import replace

import pytest

from support.example_trainers import S, Trainer, node, straggling_trainer, thread
from support.example_workers import ids, run_of_workers, stepping
from support.findings import findings
from ticktree.analysis.finding import Finding
from ticktree.analysis.rules.workers import MIN_SAVING_SHARE, StragglerRule
from ticktree.profile import Profile


def findings_of(profile: Profile) -> list[Finding]:
    return findings(profile, rules=[StragglerRule()])


def test_it_says_who_by_how_much_where_and_who_waits_for_it():
    (finding,) = findings_of(straggling_trainer())
    assert finding.message == (
        "env worker 3 takes 2.3× as long per call as its 3 peers in env step, most of it in physics; "
        "learner waits for it 100% of the time in step_wait"
    )
    assert (finding.rule, finding.path) == ("straggler", "make envs/env step/physics")


def test_its_evidence_is_what_was_measured():
    (finding,) = findings_of(straggling_trainer())
    assert finding.facts["worker"] == "env worker 3"
    assert finding.facts["per_call_ns"] == pytest.approx(9.65e6, rel=0.01)
    assert finding.facts["per_call_by_peers_ns"] == pytest.approx(4.14e6, rel=0.01)
    assert finding.facts["calls"] == 1000
    assert finding.facts["known_by"] == "wake edges"
    assert finding.facts["waited_for_it_ns"] <= finding.facts["waited_ns"]


def test_how_severe_it_is_follows_from_what_the_run_could_be_shorter():
    (finding,) = findings_of(straggling_trainer())
    assert finding.severity == "critical"
    assert finding.saving.share == pytest.approx(0.335, abs=0.01)
    (slight,) = findings_of(Trainer(slow={3: 3.9}).profile())
    assert (slight.severity, slight.facts["worker"]) == ("info", "env worker 3")


def test_equal_workers_are_not_reported():
    assert findings_of(Trainer().profile()) == []


def test_an_estimated_wait_is_an_upper_bound():
    (finding,) = findings_of(Trainer(slow={3: 8.5}, signals=False).profile())
    assert finding.message == (
        "env worker 3 takes 2.3× as long per call as its 3 peers in env step, most of it in physics; "
        "learner waits for it up to 57% of the time in step_wait"
    )
    assert finding.facts["known_by"] == "equal numbers of calls"


def test_without_waits_no_saving_is_known():
    (finding,) = findings_of(run_of_workers(stepping([40, 40, 40, 80])))
    assert finding.message == "env worker 3 takes 2.0× as long per call as its 3 peers in step"
    assert finding.severity == "info"
    assert finding.saving is None


def test_more_calls_are_distinguished_from_longer_calls():
    took = {who: [400_000_000] * calls for who, calls in zip(ids(4), (3, 3, 3, 9), strict=True)}
    (finding,) = findings_of(run_of_workers(node("job", took, concurrent=True)))
    assert finding.message == "env worker 3 has 3.0× as much to do as its 3 peers in job"


def test_of_several_the_worst_is_named_and_the_others_are_counted():
    (finding,) = findings_of(run_of_workers(stepping([40, 40, 40, 40, 90, 80]), count=6))
    assert finding.message.startswith("env worker 4 takes")
    assert (
        finding.message
        == "env worker 4 takes 2.2× as long per call as its 5 peers in step; 1 other worker also straggles"
    )


def test_too_little_to_matter_is_not_reported():
    excess_ns = 400_000_000
    step = stepping([4, 4, 4, 8])
    assert findings_of(run_of_workers(step, run_ns=round(excess_ns / MIN_SAVING_SHARE * 1.01))) == []
    assert len(findings_of(run_of_workers(step, run_ns=round(excess_ns / MIN_SAVING_SHARE * 0.99)))) == 1


def test_a_profile_that_does_not_say_who_did_what_has_none():
    profile = straggling_trainer()
    assert findings_of(Profile(root=profile.root)) == []


def test_each_run_of_several_is_judged_by_itself():
    first = run_of_workers(stepping([40, 40, 40, 80]))
    others = [thread(f"{n}-9/1", run="run-2", last_ns=10 * S) for n in range(100, 104)]
    took = {worker.id: [ms * 1_000_000] * 100 for worker, ms in zip(others, (40, 90, 40, 40), strict=True)}
    second = run_of_workers(node("step", took, concurrent=True), count=0, others=others)
    assert [finding.facts["worker"] for finding in findings_of(first.merge(second))] == [
        "env worker 5",
        "env worker 3",
    ]


def test_a_single_peer_is_in_the_singular():
    (finding,) = findings_of(run_of_workers(stepping([40, 90]), count=2))
    assert "as its only peer in step" in finding.message


def test_names_are_as_the_program_chose_them():
    profile = run_of_workers(stepping([40, 40, 40, 80]))
    hostile = {key: replace(finding, role="\x1b[2J") for key, finding in profile.threads.items()}
    (finding,) = findings_of(replace(profile, threads=hostile))
    assert finding.facts["worker"] == "\x1b[2J 3"
