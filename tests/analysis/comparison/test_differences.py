"""What else differs between two sides."""

from __future__ import annotations

import ticktree
from ticktree.analysis.comparison.differences import differences
from ticktree.profile import Profile


def of(**facts):
    return Profile(metadata={key.replace("__", "."): frozenset({value}) for key, value in facts.items()})


def test_facts_that_can_change_the_speed_come_first():
    base = of(command="train.py --buffer list", version__torch="2.12.0", host="a", name="x")
    new = of(command="train.py --buffer ring", version__torch="2.13.0", host="a", name="y")
    found = differences([base], [new])
    assert [(d.key, d.base, d.new, d.is_ground) for d in found] == [
        ("version.torch", "2.12.0", "2.13.0", True),
        ("command", "train.py --buffer list", "train.py --buffer ring", False),
    ]


def test_a_fact_of_one_side_only_is_a_difference():
    (found,) = differences([of(env__OMP_NUM_THREADS="1")], [of()])
    assert (found.base, found.new, found.is_ground) == ("1", "", True)


def test_sides_with_the_same_facts_do_not_differ():
    assert differences([of(host="a"), of(host="b")], [of(host="b"), of(host="a")]) == []


def test_ceilings_are_no_difference():
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


def test_the_number_of_threads_of_a_library_can_change_the_speed():
    (found,) = differences([with_threads(1)], [with_threads(2)])
    assert found == ("threads.torch", "1", "2", True)
    assert differences([with_threads(2)], [with_threads(2)]) == []


def test_a_missing_number_of_threads_is_no_difference():
    assert differences([with_threads(2)], [with_threads()]) == []
