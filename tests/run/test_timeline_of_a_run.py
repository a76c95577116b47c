"""The timeline of a run: live, dead, folded, finished, damaged; no call twice, none torn, losses counted."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from dataclasses import replace

import numpy as np
import pytest

from support.memory_images import changed, place, recorder_on
from ticktree.profile.timeline import BEFORE_THE_TIMELINE, CalledNode, Lane, Timeline, merge_timelines
from ticktree.run import timeline as timelines
from ticktree.run.finishing import RunDirectory
from ticktree.run.folding import fold_finished
from ticktree.run.reading import layout
from ticktree.run.reading.image import DamagedError, Image
from ticktree.run.reading.reader import read_images
from ticktree.run.reading.records import events_in, events_of_file
from ticktree.run.timeline import pack_columns, read_columns, timeline_of_image

STARTED = 1  # the machine's first clock tick: a process that has these pids now is another one


def image_of(pid=900001, calls=3, events=100):
    recorder = recorder_on(identity=(pid, STARTED, "boot"), timeline=events)
    recorder.name_process("robot")
    for _ in range(calls):
        with recorder.section("a"):
            recorder.advance(2)
            with recorder.section("b"):
                recorder.advance(3)
    return recorder.image()


def put(run, *pids, **options):
    for pid in pids:
        (run.memory_dir / f"{pid}-{STARTED}.tt").write_bytes(image_of(pid, **options))


def rows(timeline):
    return [
        (timeline.lanes[lane].pid, timeline.nodes[node].path, start, duration)
        for lane, node, start, duration in zip(
            timeline.lane.tolist(),
            timeline.node.tolist(),
            timeline.start_ns.tolist(),
            timeline.duration_ns.tolist(),
        )
    ]


def expected_rows(pid, calls=3):
    return [row for at in range(calls) for row in ((pid, "a", 5 * at, 5), (pid, "a/b", 5 * at + 2, 3))]


def test_a_run_without_timeline_has_none(run):
    put(run, 900001, events=0)
    assert run.timeline() is None
    run.finish()
    assert run.timeline() is None
    assert not (run.path / "timeline").exists()


def test_a_timeline_is_the_same_before_and_after_a_fold_and_when_the_run_is_finished(run):
    put(run, 900001, 900002)
    before = run.timeline()
    assert list(before.problems()) == []
    assert sorted(rows(before)) == sorted(expected_rows(900001) + expected_rows(900002))
    assert fold_finished(run) == 2
    assert run.memory_files() == []
    assert sorted(rows(run.timeline())) == sorted(rows(before))
    put(run, 900003)
    run.finish()
    after = RunDirectory.open(run.path).timeline()
    assert sorted(rows(after)) == sorted(rows(before) + expected_rows(900003))
    assert {lane.process_name for lane in after.lanes} == {"robot"}
    assert after.clocks == {"virtual"}


def test_no_call_is_read_twice_after_a_killed_fold(run):
    put(run, 900001)
    timelines.keep_timeline(run)
    assert rows(run.timeline()) == expected_rows(900001)
    run.finish()
    assert rows(run.timeline()) == expected_rows(900001)


def test_the_timeline_of_saved_private_memory_is_read(run):
    run.write(f"900001-{STARTED}.tt", image_of())
    run.finish()
    assert rows(run.timeline()) == expected_rows(900001)


def test_the_size_of_files_on_disk_is_limited_and_lost_calls_are_counted(run, monkeypatch):
    monkeypatch.setattr(timelines, "MAX_BYTES", 100)
    put(run, 900001, events=4)
    assert kept_and_total(run.profile()) == (4, 6)
    run.finish()
    timeline = run.timeline()
    assert (len(timeline), timeline.overwritten) == (0, 6)
    assert kept_and_total(run.profile()) == (0, 6)


def kept_and_total(profile):
    return profile.timeline_calls - profile.losses.get(BEFORE_THE_TIMELINE, 0), profile.timeline_calls


def test_the_profile_counts_the_calls_of_a_timeline_folded_or_not(run):
    put(run, 900001, 900002, events=4)
    timeline = run.timeline()
    assert (len(timeline), timeline.overwritten) == (8, 4)
    assert kept_and_total(run.profile()) == (8, 12)
    assert fold_finished(run) == 2
    assert kept_and_total(run.profile()) == (8, 12)
    put(run, 900003, events=100)
    assert kept_and_total(run.finish()) == (14, 18)
    assert kept_and_total(RunDirectory.open(run.path).profile()) == (14, 18)
    assert run.profile().losses == {BEFORE_THE_TIMELINE: 4}


def test_calls_without_space_count_as_a_loss_once(run, monkeypatch):
    monkeypatch.setattr(timelines, "MAX_BYTES", 100)
    put(run, 900001, events=4)
    fold_finished(run)
    run.finish()
    assert kept_and_total(run.profile()) == (0, 6)


def test_a_ring_with_impossible_numbers_does_not_affect_the_profile():
    image = image_of()
    for field, value in (("done", 1 << 60), ("done", 0), ("forgotten", 7)):
        at = ring_offset(image) + getattr(layout.Ring, field).offset
        profile = read_images([Image(changed(image, at, value))], "run", [])
        assert (profile.timeline_calls, profile.losses) == (0, {})
        assert profile.root.at("a").count == 3


def test_a_childs_calls_are_below_the_node_where_it_was_started(run):
    parent = image_of(900001)
    image = changed(image_of(900002), place(layout.Header, "parent_pid"), 900001)
    image = changed(image, place(layout.Header, "parent_start"), STARTED)
    node = next(ref for ref, record in Image(parent).nodes() if record.name and record.depth == 2)
    image = changed(image, place(layout.Header, "parent_node"), node, 4)
    (run.memory_dir / f"900001-{STARTED}.tt").write_bytes(parent)
    (run.memory_dir / f"900002-{STARTED}.tt").write_bytes(image)
    paths = {path for pid, path, *_ in rows(run.timeline()) if pid == 900002}
    assert paths == {"a/b/a", "a/b/a/b"}


def ring_offset(image):
    return Image(image).header.ring * layout.LINE


@pytest.mark.parametrize(
    ("field", "value"),
    [("capacity", 0), ("capacity", 1 << 40), ("done", 7), ("begun", 5), ("begun", 1 << 60), ("forgotten", 7)],
)
def test_a_ring_with_impossible_numbers_is_refused(field, value):
    image = image_of()
    at = ring_offset(image) + getattr(layout.Ring, field).offset
    damaged = changed(image, at, value)
    with pytest.raises(DamagedError, match="timeline"):
        events_in(damaged)


def test_any_byte_of_the_events_may_be_flipped():
    image = image_of()
    begin = ring_offset(image)
    for at in range(begin, begin + 64 + 6 * 24):
        for value in (0xFF, 0x80):
            try:
                timeline = timeline_of_image(changed(image, at, image[at] ^ value, 1))
            except DamagedError:
                continue
            assert list(timeline.problems()) == []
            assert len(timeline) <= 100


def test_an_event_of_no_node_is_counted_as_lost():
    image = image_of()
    at = ring_offset(image) + 64 + layout.Event.node.offset
    timeline = timeline_of_image(changed(image, at, 0xFFFFFF, 4))
    assert (len(timeline), timeline.overwritten) == (5, 1)


def test_events_that_may_be_torn_are_left_out():
    """A writer was killed in the middle of its 7th event, in a ring of 4."""
    image = image_of(calls=3, events=4)
    events = events_in(image)
    assert (len(events.rows), events.overwritten) == (4, 2)
    torn = changed(image, ring_offset(image), 7)
    remaining = events_in(torn)
    assert remaining.rows.tolist() == events.rows.tolist()[1:]
    assert remaining.overwritten == 3


WRITER = """
import sys
from ticktree.recorder import Recorder
recorder = Recorder(virtual_clock=True)
recorder.open(sys.argv[1], identity=(1, 1, "boot"), timeline=500)
recorder.enable()
section, advance = recorder.section("a"), recorder.advance
print("ready", flush=True)
while True:
    with section:
        advance(1)
"""


def test_a_reader_of_a_live_file_gets_no_torn_event(tmp_path):
    """Every call takes 1 ns and begins when the previous one ended: a mixture of two events would not."""
    path = tmp_path / "live.tt"
    writer = subprocess.Popen([sys.executable, "-c", WRITER, str(path)], stdout=subprocess.PIPE)
    try:
        writer.stdout.readline()
        reads = 0
        while reads < 200:
            rows = events_of_file(path).rows
            assert np.all(rows["end"] - rows["start"] == 1)
            assert np.all(np.diff(rows["start"].astype(np.int64)) == 1)
            reads += 1
    finally:
        writer.kill()
        writer.wait()
        writer.stdout.close()


KILLED = """
import os, sys
import ticktree
ticktree.enable(timeline=10_000)
calls = 0
while True:
    with ticktree.section("outer"):
        with ticktree.section("inner"):
            pass
    calls += 1
    if not calls % 50:
        os.write(1, f"{calls}\\n".encode())
"""


@pytest.mark.usefixtures("memory_base")
def test_the_timeline_of_a_killed_process_is_read(tmp_path):
    process = subprocess.Popen([sys.executable, "-c", KILLED], cwd=tmp_path, stdout=subprocess.PIPE)
    reported = int(process.stdout.readline())
    process.send_signal(signal.SIGKILL)
    reported = int([str(reported), *process.stdout.read().split()][-1])
    process.wait()
    process.stdout.close()
    (run,) = RunDirectory.list(tmp_path / "ticktree-runs")
    timeline = run.timeline()
    assert list(timeline.problems()) == []
    calls = len(timeline) + timeline.overwritten
    profile = run.finish()
    counted = profile.root.at("outer").count + profile.root.at("outer/inner").count
    assert calls >= 2 * reported
    assert calls in (counted, counted - 1)  # it was killed between the two
    assert rows(run.timeline()) == rows(timeline)


LANE = Lane("1-1", 1, "robot", "actor", 7, "MainThread", 0)


def two_calls():
    column = np.array([0, 0], np.int64)
    return Timeline(
        (LANE,),
        (CalledNode("a", tick=True),),
        np.array([1, 1 << 40], np.int64),
        np.array([5, 1 << 41], np.int64),
        column,
        column,
        overwritten=3,
        clocks=frozenset({"tsc"}),
        began_wall_ns=1 << 60,
    )


def test_columns_are_read_back_unchanged_and_written_reproducibly(tmp_path):
    path, other = tmp_path / "a.npz", tmp_path / "b.npz"
    path.write_bytes(pack_columns(two_calls(), 1 << 20)[0])
    time.sleep(0.01)
    other.write_bytes(pack_columns(two_calls(), 1 << 20)[0])
    assert path.read_bytes() == other.read_bytes()
    restored, original = read_columns(path), two_calls()
    assert rows(restored) == rows(original)
    assert (
        restored.lanes,
        restored.nodes,
        restored.overwritten,
        restored.clocks,
        restored.began_wall_ns,
    ) == (
        original.lanes,
        original.nodes,
        original.overwritten,
        original.clocks,
        original.began_wall_ns,
    )
    with np.load(path) as archive:
        assert archive["start_ns"].tolist() == [1, (1 << 40) - 1]


def test_damaged_columns_are_refused(tmp_path):
    path = tmp_path / "a.npz"
    path.write_bytes(pack_columns(two_calls(), 1 << 20)[0])
    data = path.read_bytes()
    for cut in (0, 10, len(data) // 2, len(data) - 1):
        path.write_bytes(data[:cut])
        with pytest.raises(DamagedError, match=r"a\.npz"):
            read_columns(path)


def test_columns_with_impossible_values_are_refused(tmp_path):
    path = tmp_path / "a.npz"
    for column, value, reason in (("node", [0, 1], "not there"), ("lane", [9, 0], "not there")):
        damaged = replace(two_calls(), **{column: np.array(value, np.int64)})
        path.write_bytes(pack_columns(damaged, 1 << 20)[0])
        with pytest.raises(DamagedError, match=reason):
            read_columns(path)


def test_timelines_of_several_processes_are_joined_in_order_of_time():
    first = two_calls()
    second = replace(
        first,
        lanes=(LANE._replace(pid=2, process="2-1"),),
        nodes=(CalledNode("b"), CalledNode("a", tick=True)),
    )
    joined = merge_timelines([first, second])
    assert list(joined.problems()) == []
    assert rows(joined) == [
        (1, "a", 1, 5),
        (2, "b", 1, 5),
        (1, "a", 1 << 40, 1 << 41),
        (2, "b", 1 << 40, 1 << 41),
    ]
    assert joined.overwritten == 6
    assert joined.nodes == (CalledNode("a", tick=True), CalledNode("b"))
