"""What else differs between two sides."""

from __future__ import annotations

import ticktree
from ticktree.analysis.comparison.differences import differences
from ticktree.profile import Profile


def of(**facts):
    return Profile(metadata={key.replace("__", "."): frozenset({value}) for key, value in facts.items()})


def test_what_alone_can_make_a_run_faster_comes_first_and_says_so():
    base = of(command="train.py --buffer list", version__torch="2.12.0", host="a", name="x")
    new = of(command="train.py --buffer ring", version__torch="2.13.0", host="a", name="y")
    found = differences([base], [new])
    assert [(d.key, d.base, d.new, d.is_ground) for d in found] == [
        ("version.torch", "2.12.0", "2.13.0", True),
        ("command", "train.py --buffer list", "train.py --buffer ring", False),
    ]


def test_a_fact_known_of_one_side_only_is_a_difference():
    (found,) = differences([of(env__OMP_NUM_THREADS="1")], [of()])
    assert (found.base, found.new, found.is_ground) == ("1", "", True)


def test_sides_of_several_runs_are_alike_where_they_hold_the_same_facts():
    assert differences([of(host="a"), of(host="b")], [of(host="b"), of(host="a")]) == []


def test_what_ticktree_knows_of_the_machines_ceilings_is_no_difference():
    unmeasured = of(**{"ceiling.source": "reckoned", "ceiling.flops_per_s": 10**12})
    measured = of(**{"ceiling.source": "measured", "ceiling.flops_per_s": 10**11})
    assert differences([unmeasured], [measured]) == []
    assert differences([unmeasured], [of(x=1)])[0].key == "x"


def with_threads(*counts):
    gauges = {"machine/threads/torch": gauge("machine/threads/torch", *counts)} if counts else {}
    return Profile(gauges=gauges)


def gauge(name, *values):
    recorder = ticktree.Recorder(virtual_clock=True)
    for value in values:
        recorder.gauge(name, value)
    found = recorder.snapshot().gauges[name]
    recorder.disable()
    return found


def test_how_many_threads_a_library_had_is_a_ground():
    (found,) = differences([with_threads(1)], [with_threads(2)])
    assert found == ("threads.torch", "1", "2", True)
    assert differences([with_threads(2)], [with_threads(2)]) == []


def test_a_program_that_did_not_come_to_say_its_threads_differs_in_nothing():
    assert differences([with_threads(2)], [with_threads()]) == []
