"""The tables of how processes worked together, and what is worth doing."""

from __future__ import annotations

from dataclasses import replace

from support.example_profiles import control, training
from support.example_trainers import LEARNER, MS, S, Trainer, node, straggling_trainer, thread
from support.example_workers import ids, run_of_workers, stepping
from support.virtual_programs import Program
from ticktree.analysis import Finding
from ticktree.analysis.context import Context
from ticktree.outputs import OUTPUTS, ViewOptions
from ticktree.outputs.sentences import with_sentences
from ticktree.outputs.view.build import RECOMMENDATIONS_SHOWN, report_view
from ticktree.outputs.view.headline import evidence
from ticktree.outputs.view.tables import CRITICAL_SHOWN, critical, processes, why_idle
from ticktree.profile import CriticalNode, Profile, Waker, Wakes
from ticktree.profile.short_names import ShortNames

PLAIN = ViewOptions()


def render_text(profile: Profile, **options) -> str:
    return OUTPUTS["terminal"].render(profile, ViewOptions(**options)).decode()


def sections(text: str) -> list[str]:
    return [block.split("  ")[0].strip() for block in text.split("\n\n")[1:]]


def test_the_parts_are_in_the_order_in_which_they_are_read():
    assert sections(render_text(straggling_trainer())) == [
        "Recommendations\n 1",
        "loops",
        "Where a step of train goes (self time)",
        "A step of train (from 1%)",
    ]
    assert sections(render_text(straggling_trainer(), all=True)) == [
        "Recommendations\n 1",
        "loops",
        "Where a step of train goes (self time)",
        "A step of train",
        "The run",
        "sections of train",
        "train by category",
        "processes",
        "why idle",
        "critical path",
    ]


def test_empty_parts_are_absent():
    quiet = Trainer(signals=False).profile()
    assert not {"why idle", "critical path"} & set(sections(render_text(quiet, all=True)))
    for make in (control, training):
        assert not {"processes", "why idle", "critical path"} & set(sections(render_text(make(), all=True)))
    even = Program()
    for _ in even.loop("loop", range(300)):
        for name in "abcd":
            even.work(name, 10)
    assert sections(render_text(even.profile())) == [
        "loops",
        "Where a step of loop goes (self time)",
        "A step of loop (from 1%)",
    ]


def test_each_role_has_a_row_of_what_it_did_with_its_time():
    profile = straggling_trainer()
    learner, workers = processes(profile, Context(profile), None).entries
    assert (learner.name, *learner.cells) == ("learner", "1", "15.1 s", "64%", "", "")
    assert (workers.name, *workers.cells) == ("env worker", "4", "57.2 s", "61%", "57%", "env worker 3")


def wait_of(wakers) -> Profile:
    wait = node("wait", {LEARNER: [5 * MS] * 100}, wait=True, wakers=wakers)
    return run_of_workers(stepping([4] * 4), wait, others=[thread(LEARNER, "learner", last_ns=S)])


def notes(profile: Profile, options: ViewOptions = PLAIN) -> tuple[str, ...]:
    table = why_idle(Context(profile), options)
    assert table is not None
    return tuple(table.entries[0].notes)


def test_the_waker_that_ends_most_of_a_wait_is_named():
    who = ids(4)
    wakers = {
        Waker("q", LEARNER, who[n], "step"): Wakes(25, ms * MS, 0) for n, ms in enumerate((50, 50, 50, 350))
    }
    assert notes(wait_of(wakers)) == ("100% for 4 × env worker in step, 70% of it env worker 3",)
    even = {Waker("q", LEARNER, each, "step"): Wakes(25, 125 * MS, 0) for each in who}
    assert notes(wait_of(even)) == ("100% for 4 × env worker in step",)


def test_what_is_not_known_of_a_wait_is_said_and_so_is_a_slow_wake():
    wakers = {Waker("q", LEARNER, ids(4)[0], ""): Wakes(50, 300 * MS, 20 * MS)}
    assert notes(wait_of(wakers)) == (
        "60% for env worker 0",
        "40%, unknown for what",
        "continues 400 µs after it was woken",
    )


def test_long_lists_of_wakers_are_cut_unless_all_are_requested():
    names = [f"step {n}" for n in range(5)]
    steps = [stepping([1] * 4, name=name) for name in names]
    wakers = {Waker("q", LEARNER, ids(4)[0], name): Wakes(20, 100 * MS, 0) for name in names}
    wait = node("wait", {LEARNER: [5 * MS] * 100}, wait=True, wakers=wakers)
    profile = run_of_workers(*steps, wait, others=[thread(LEARNER, "learner", last_ns=S)])
    assert notes(profile)[-1] == "40% for others"
    assert len(notes(profile)) == 4
    assert len(notes(profile, ViewOptions(all=True))) == 5


def test_a_run_without_wake_edges_has_no_reasons_for_waits():
    profile = Trainer(signals=False).profile()
    assert why_idle(Context(profile), PLAIN) is None
    assert critical(profile, PLAIN) is None


def test_the_critical_path_says_how_long_whose_sections_were_and_what_could_be_won():
    table = critical(straggling_trainer(), PLAIN)
    assert table is not None
    longest = table.entries[0]
    assert (longest.name, *longest.cells) == ("env worker 3 in physics", "52%", "8.51 s", "2.10×")
    assert "Bounds, not forecasts" in table.remark


def test_stretches_beyond_the_longest_are_one_row_unless_all_are_asked_for():
    steps = [stepping([4] * 4, name=f"step {n}") for n in range(9)]
    places = {CriticalNode(ids(4)[0], f"step {n}"): 100 - n for n in range(9)}
    profile = replace(run_of_workers(*steps), critical=places)
    table = critical(profile, PLAIN)
    assert table is not None
    assert [entry.name for entry in table.entries][-2:] == ["env worker 0 in step 5", "3 shorter"]
    assert len(table.entries) == CRITICAL_SHOWN + 1
    whole = critical(profile, ViewOptions(all=True))
    assert whole is not None
    assert len(whole.entries) == 9


def test_of_a_role_that_shares_a_stretch_the_one_with_most_of_it_is_named():
    places = {CriticalNode(ids(4)[0], "step"): 80, CriticalNode(ids(4)[1], "step"): 20}
    table = critical(replace(run_of_workers(stepping([4] * 4)), critical=places), PLAIN)
    assert table is not None
    (only,) = table.entries
    assert (only.name, only.notes) == ("env worker in step", ["80% of it env worker 0"])
    assert only.cells[-1] == "-"


def test_evidence_is_read_as_numbers_with_their_units():
    finding = Finding(
        rule="some-rule",
        path="",
        message="it waits",
        facts={
            "per_call_ns": 4_140_000,
            "copied_bytes": 2_000_000,
            "as_long_factor": 2.5,
            "calls": 1000,
            "known_by": "wake edges",
        },
    )
    assert evidence(finding) == [
        "4.14 ms per call",
        "2.00 MB copied",
        "2.5× as long",
        "1,000 calls",
    ]


def test_advice_is_safe_to_show():
    finding = Finding(rule="x\x1b[2J", path="", message="a\x1b[2Jb", facts={"k\x1b": 1})
    (render_text,) = with_sentences([finding], ShortNames())
    assert render_text.message == r"a\x1b[2Jb"
    assert evidence(finding) == [r"1 k\x1b"]


def test_only_the_next_recommendations_are_shown_unless_all_are_requested():
    crews = [
        thread(f"{role}{n}-7/1", f"crew {role}", n)
        for role in range(1, RECOMMENDATIONS_SHOWN + 3)
        for n in range(4)
    ]
    took = {one.id: [(80 if int(one.id[1]) == 3 else 40) * MS] * 100 for one in crews}
    profile = run_of_workers(node("step", took, concurrent=True), count=0, others=crews)
    assert len(report_view(Context(profile), PLAIN).recommendations) == RECOMMENDATIONS_SHOWN
    assert (
        len(report_view(Context(profile), ViewOptions(all=True)).recommendations) == RECOMMENDATIONS_SHOWN + 2
    )
