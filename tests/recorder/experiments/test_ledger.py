"""The ledger of experiments, on a virtual clock: the debt, the content of a block, and when nothing happens."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

import ticktree
from ticktree.recorder import Ledger, begin_experiments

MS = 1_000_000
NOTHING, FASTER, SLOWER = range(3)


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger(tmp_path / "experiments.ttx")


@pytest.fixture
def recorder(tmp_path: Path, ledger: Ledger) -> ticktree.Recorder:
    recorder = ticktree.Recorder(virtual_clock=True)
    recorder.section("made before")
    assert begin_experiments(recorder, tmp_path / "experiments.ttx")
    recorder.enable()
    return recorder


def begin(ledger: Ledger, plans: list[tuple[int, int, int]], most_ns: int = 10**12) -> None:
    targets = [("main", "a"), ("main", "b")]
    ledger.begin(
        ("main",), targets, plans, rest_ticks=1, settle_ticks=2, block_ticks=10, block_most_ns=most_ns
    )


def run(recorder: ticktree.Recorder, ticks: int) -> None:
    """Ticks of 10 ms, 4 of them in `a` and 3 in a wait for something outside."""
    for _ in recorder.loop("main", iterable=range(ticks)):
        with recorder.section("a"):
            recorder.advance(4 * MS)
        with recorder.section("b"), recorder.section("io", wait=True):
            recorder.advance(3 * MS)
        recorder.advance(3 * MS)


def tick_ms(block: tuple) -> float:
    """What a tick of a block took, delays included."""
    return (block[5] - block[4]) / block[3] / MS


def test_before_it_begins_nothing_is_done(recorder, ledger):
    run(recorder, 30)
    assert ledger.blocks() == []


def test_a_block_in_which_nothing_is_done_holds_ticks_as_they_are(recorder, ledger):
    begin(ledger, [(NOTHING, 0, 0)])
    run(recorder, 30)
    blocks = ledger.blocks()
    assert len(blocks) == 2  # the tick that begins the first, then thirteen each
    assert [(tick_ms(block), block[3], block[6], block[7]) for block in blocks] == [(10, 10, 0, 0)] * 2
    assert blocks[0][11] == (40 * MS, 30 * MS)
    assert blocks[0][9] == 50 * MS  # after half of its ticks


def test_who_runs_the_faster_section_does_not_pause_and_all_others_owe_it(recorder, ledger):
    begin(ledger, [(FASTER, 0, 50)])
    run(recorder, 16)
    (block,) = ledger.blocks()
    assert tick_ms(block) == 10
    assert block[6] == 10 * 2 * MS


def test_a_slower_section_is_slower_by_its_part(recorder, ledger):
    begin(ledger, [(SLOWER, 1, 50)])
    run(recorder, 16)
    (block,) = ledger.blocks()
    assert tick_ms(block) == 11.5
    assert block[7] == 10 * 1.5 * MS


def test_another_thread_pauses_where_its_section_ends(recorder, ledger):
    begin(ledger, [(FASTER, 0, 50)])
    paused: list[int] = []

    def other() -> None:
        with recorder.section("meets the ledger"):
            pass
        started.set()
        go.wait()
        before = recorder.ticks
        with recorder.section("other"):
            pass
        paused.append(recorder.ticks - before)

    started, go = threading.Event(), threading.Event()
    thread = threading.Thread(target=other)
    thread.start()
    started.wait()
    run(recorder, 7)  # two begin the block: five calls of 4 ms, half of each as debt
    go.set()
    thread.join()
    assert paused == [5 * 2 * MS]


def test_a_block_that_its_loop_has_left_ends_and_nothing_more_is_owed(recorder, ledger):
    begin(ledger, [(FASTER, 0, 50)], most_ns=30 * MS)
    run(recorder, 30)
    assert ledger.blocks() == []  # each took longer than it may


def test_a_ledger_that_was_stopped_leaves_the_program_alone(recorder, ledger):
    begin(ledger, [(SLOWER, 0, 50)])
    ledger.stop()
    before = recorder.ticks
    run(recorder, 20)
    assert recorder.ticks - before == 20 * 10 * MS
    assert ledger.blocks() == []


def test_a_program_that_nobody_watches_any_more_is_left_alone(recorder, ledger):
    """Its supervisor was killed: blocks end, and later ones do nothing."""
    begin(ledger, [(SLOWER, 0, 50)])
    ledger.watch(150 * MS)  # the second of these blocks of 13 ticks, rests included, lasts longer
    run(recorder, 60)
    before = recorder.ticks
    run(recorder, 20)
    assert recorder.ticks - before == 20 * 10 * MS
    ledger.watch(10**12)
    run(recorder, 30)
    assert recorder.ticks - before > 50 * 10 * MS  # as long as there is a watcher
    assert ledger.blocks()


def test_accounts_are_exact_in_a_run_with_experiments(recorder, ledger):
    from ticktree.session.showing import profile_of

    begin(ledger, [(SLOWER, 0, 90), (FASTER, 1, 50)])
    run(recorder, 60)
    profile = profile_of(recorder, "experiments")
    profile.check()
    assert profile.root.at("main/a").total_ns == 60 * 4 * MS
    assert profile.loops["main"].ticks == 60


def test_a_file_that_is_no_ledger_is_not_joined(tmp_path, ledger):
    other = tmp_path / "other"
    other.write_bytes(b"no ledger")
    for path in (other, tmp_path / "missing"):
        assert not begin_experiments(ticktree.Recorder(virtual_clock=True), path)
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "experiments.ttx")
    assert not begin_experiments(ticktree.Recorder(virtual_clock=True), link)


def test_a_ledger_is_made_once_and_for_its_user_alone(tmp_path, ledger):
    assert (tmp_path / "experiments.ttx").stat().st_mode & 0o777 == 0o600
    with pytest.raises(OSError, match="cannot make"):
        Ledger(tmp_path / "experiments.ttx")


def test_a_plan_that_cannot_be_is_refused(ledger):
    with pytest.raises(ValueError, match="sections"):
        ledger.begin(("main",), [], [(0, 0, 0)], rest_ticks=1, settle_ticks=1, block_ticks=1, block_most_ns=1)
    with pytest.raises(ValueError, match="too long"):
        ledger.begin(
            ("main",),
            [("x" * 2000,)],
            [(0, 0, 0)],
            rest_ticks=1,
            settle_ticks=1,
            block_ticks=1,
            block_most_ns=1,
        )
    begin(ledger, [(NOTHING, 0, 0)])
    with pytest.raises(ValueError, match="begun"):
        begin(ledger, [(NOTHING, 0, 0)])
