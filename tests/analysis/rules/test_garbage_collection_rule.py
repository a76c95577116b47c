from __future__ import annotations

from dataclasses import replace

import pytest

import ticktree
from support.example_samples import stack
from support.findings import findings
from support.steady_loops import MS, US, loop_of
from ticktree.analysis.rules.memory import GarbageCollectionRule
from ticktree.profile.loop import Causes
from ticktree.profile.samples import CodeLine, Samples, Weight


def findings_of(profile):
    return findings(profile, rules=[GarbageCollectionRule()])


def ticking(pauses_ns, ticks=100, **options):
    """A loop whose tick `n` takes a millisecond and a collection of `pauses_ns(n)`."""

    def tick(recorder: ticktree.Recorder, n: int) -> None:
        recorder.advance(MS)
        if pauses_ns(n):
            recorder.gc_pause(True)
            recorder.advance(pauses_ns(n))
            recorder.gc_pause(False)

    return loop_of(ticks, tick, **options)


def test_a_program_with_a_collection_every_tick_spends_its_time_there():
    profile = ticking(lambda n: 100 * US)
    loop = replace(profile.loops["train"], causes=Causes(100, 100 * 100 * US))
    (finding,) = findings_of(replace(profile, loops={"train": loop}))
    assert finding.message == (
        "Call gc.freeze() after set-up, and gc.set_threshold(50_000): the garbage collector takes 9% of train"
    )
    assert finding.facts["gc_share"] == pytest.approx(0.1 / 1.1)
    assert (finding.rule, finding.path) == ("garbage-collection", "train")


def test_the_collections_of_fast_ticks_are_a_share_of_all_ticks():
    """Of ticks of 20 us nothing is known but the collector's pauses, except of the few that it makes long."""
    profile = loop_of(6000, lambda recorder, n: recorder.advance(20 * US))
    loop = replace(profile.loops["train"], causes=Causes(5, 6000 * 2 * US))
    (finding,) = findings_of(replace(profile, loops={"train": loop}))
    assert finding.facts["gc_share"] == pytest.approx(0.1)


def test_a_program_whose_worst_ticks_are_collections_is_reported():
    (finding,) = findings_of(ticking(lambda n: 3 * MS if n % 250 == 249 else 0, 1000))
    assert finding.message == (
        "Call gc.freeze() after set-up, and gc.set_threshold(50_000): "
        "the garbage collector makes 4 of the 8 worst ticks of train, with pauses of up to 3.00 ms"
    )
    assert finding.facts["longest_pause_ns"] == 3 * MS


def test_a_program_that_is_hardly_ever_stopped_is_not_reported():
    assert findings_of(ticking(lambda n: 0)) == []
    assert findings_of(ticking(lambda n: 10 * US)) == []
    profile = ticking(lambda n: 10 * US)
    loop = replace(profile.loops["train"], causes=Causes(100, 100 * 10 * US))
    assert findings_of(replace(profile, loops={"train": loop})) == []
    assert findings_of(ticking(lambda n: 3 * MS if n == 500 else 0, 1000)) == []


def test_a_loop_without_data_about_collections_is_not_reported():
    profile = ticking(lambda n: 100 * US)
    loop = replace(profile.loops["train"], causes=None, worst=())
    assert findings_of(replace(profile, loops={"train": loop})) == []
    loop = replace(loop, causes=Causes(0))
    assert findings_of(replace(profile, loops={"train": loop})) == []


def without_loops(pause_ns):
    """A run of a second with ten pauses, in which nothing has ticks."""
    recorder = ticktree.Recorder(virtual_clock=True)
    for _ in range(10):
        with recorder.section("search"):
            recorder.advance(100 * MS - pause_ns)
            recorder.gc_pause(True)
            recorder.advance(pause_ns)
            recorder.gc_pause(False)
    recorder.note_time()
    profile = recorder.snapshot()
    recorder.disable()
    return profile


def test_in_a_run_without_loops_the_share_is_of_the_life_of_its_process():
    (finding,) = findings_of(without_loops(25 * MS))
    assert finding.message == (
        "Call gc.freeze() after set-up, and gc.set_threshold(50_000): the garbage collector takes 25% of the run"
    )
    assert finding.path == ""
    assert findings_of(without_loops(9 * MS)) == []


@pytest.mark.parametrize(
    ("importing", "saved"), [(0, 0.25), (40, 0.13), (60, None)], ids=["nothing", "some", "more"]
)
def test_before_imports_end_there_is_nothing_to_freeze(importing, saved):
    program, module = CodeLine("<module>", "main.py", 1), CodeLine("<module>", "torch/__init__.py", 9)
    stacks = {
        stack("", program, module, CodeLine("load", "torch/__init__.py", 3)): Weight(importing),
        stack("", program, CodeLine("work", "main.py", 5)): Weight(100 - importing),
    }
    all_findings = findings_of(replace(without_loops(25 * MS), samples=Samples(stacks)))
    assert [finding.saving.share for finding in all_findings] == (
        [] if saved is None else [pytest.approx(saved)]
    )
    assert [finding.facts["gc_share"] for finding in all_findings] == [pytest.approx(0.25)] * (
        saved is not None
    )
