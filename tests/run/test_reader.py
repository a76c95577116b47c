"""Reading a run: several processes, a copy during a write, and a process that is writing."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap

import pytest

from support.memory_images import busy_image, changed, place, profile_of, read_file, recorder_on
from ticktree.profile import Stats
from ticktree.run.reading import layout
from ticktree.run.reading.image import DamagedError, Image
from ticktree.run.reading.reader import read_images


def ref_of(image, path):
    """Return the reference of the node with a name."""
    view = Image(image)
    (ref,) = [ref for ref, node in view.nodes() if node.name and view.text(node.name) == path]
    return ref


def record_of(image, name):
    view = Image(image)
    return dict(view.nodes())[ref_of(image, name)]


def process_image(identity, work, parent=None):
    """Return one process's image; `parent` is (identity, node)."""
    recorder = recorder_on(identity=identity)
    work(recorder)
    image = recorder.image()
    recorder.disable()
    if parent:
        (pid, started, _, *incarnation), node = parent
        image = changed(image, place(layout.Header, "parent_pid"), pid)
        image = changed(image, place(layout.Header, "parent_start"), started)
        image = changed(image, place(layout.Header, "parent_node"), node, 4)
        image = changed(image, place(layout.Header, "parent_incarnation"), *(incarnation or [1]), 4)
    return image


def calls(recorder, name, count, ns=10):
    for _ in range(count):
        with recorder.section(name):
            recorder.advance(ns)


def join_images(*images):
    errors = []
    profile = read_images([Image(image) for image in images], "run", errors)
    profile.check()
    return profile, errors


def test_processes_of_one_run_become_one_tree():
    first = process_image((1, 1, "b"), lambda recorder: calls(recorder, "step", 2))
    second = process_image((2, 1, "b"), lambda recorder: calls(recorder, "step", 3))
    for images in ((first, second), (second, first)):
        profile, errors = join_images(*images)
        assert errors == []
        assert profile.root.at("step").count == 5
        assert profile.root.at("step").per_run == {"run": (5, 50)}


def test_programs_that_one_process_runs_are_distinguished():
    def parent_work(recorder):
        with recorder.section("exec"):
            recorder.advance(1)

    first, second = (1, 1, "b"), (1, 1, "b", 2)
    before = process_image(first, parent_work)
    after = process_image(
        second, lambda recorder: calls(recorder, "program", 2), (first, ref_of(before, "exec"))
    )
    child = process_image(
        (2, 5, "b"), lambda recorder: calls(recorder, "job", 3), (second, ref_of(after, "program"))
    )
    for images in ((before, after, child), (child, after, before)):
        profile, errors = join_images(*images)
        assert errors == []
        assert profile.root.at("exec/program/job").count == 3
    assert [str(Image(image).writer) for image in (before, after, child)] == ["1-1", "1-1-2", "2-5"]


def test_a_child_of_an_unknown_node_belongs_to_its_parents_parent_node():
    identity, worker = (1, 1, "b"), (2, 2, "b")
    parent = process_image(identity, lambda recorder: calls(recorder, "spawn", 1))
    child = process_image(
        worker, lambda recorder: calls(recorder, "job", 1), (identity, ref_of(parent, "spawn"))
    )
    grandchild = process_image((3, 3, "b"), lambda recorder: calls(recorder, "part", 1), (worker, 0))
    profile, _ = join_images(grandchild, child, parent)
    assert profile.root.at("spawn/part").count == 1
    assert profile.root.at("spawn").self_ns == 10


def test_a_file_of_another_format_is_refused():
    image = changed(busy_image(), place(layout.Header, "format"), 2, 4)
    with pytest.raises(DamagedError, match="its format is 2, not 1"):
        Image(image)


def missed_ticks_image():
    """Return an image of a loop that missed every third tick."""
    recorder = recorder_on()
    for tick in recorder.loop("loop", range(9), hz=100, warmup=0):
        with recorder.section("step"):
            recorder.advance((20 if tick % 3 == 2 else 5) * 1_000_000)
    image = recorder.image()
    recorder.disable()
    return image


def test_sums_of_a_loop_copied_during_a_write_are_not_used():
    image = missed_ticks_image()
    ((ref, record),) = Image(image).loops()
    assert profile_of(image).loops["loop"].missed_breakdown == {"loop/step": 60_000_000}
    torn = changed(image, place(layout.Loop, "sequence", ref), record.sequence + 1, 4)
    loop = profile_of(torn).loops["loop"]
    assert (loop.waited_ns, loop.causes, loop.missed_causes) == (None, None, None)
    assert (loop.missed_ns, loop.missed_breakdown) == (None, {})
    assert (loop.ticks, loop.missed) == (9, 3)


def test_sums_that_do_not_cover_all_ticks_of_the_loop_are_unknown():
    image = missed_ticks_image()
    ((ref, record),) = Image(image).loops()
    changed_image = changed(image, place(layout.LoopSums, "ticks", record.sums), 8)
    changed_image = changed(changed_image, place(layout.LoopSums, "missed", record.sums), 2)
    changed_image = changed(changed_image, place(layout.Loop, "jitter_count", ref), 7)
    loop = profile_of(changed_image).loops["loop"]
    assert (loop.waited_ns, loop.missed_ns, loop.missed_breakdown) == (None, None, {})
    assert (loop.jitter.count, loop.jitter.is_known, loop.lateness.is_known) == (7, False, True)


def test_a_childs_tree_belongs_to_the_node_that_was_open_and_is_concurrent_to_it():
    def parent_work(recorder):
        with recorder.section("spawn"):
            recorder.advance(7)

    identity = (1, 1, "b")
    parent = process_image(identity, parent_work)
    child = process_image(
        (2, 5, "b"), lambda recorder: calls(recorder, "job", 3), (identity, ref_of(parent, "spawn"))
    )
    grandchild = process_image(
        (3, 9, "b"), lambda recorder: calls(recorder, "part", 1), ((2, 5, "b"), ref_of(child, "job"))
    )
    for images in ((parent, child, grandchild), (grandchild, child, parent)):
        profile, _ = join_images(*images)
        assert {path: node.count for path, _, node in profile.root.walk() if path} == {
            "spawn": 1,
            "spawn/job": 3,
            "spawn/job/part": 1,
        }
        assert profile.root.at("spawn").total_ns == profile.root.at("spawn").self_ns == 7
        assert profile.root.at("spawn/job").concurrent_ns == 30


def test_a_child_whose_parent_has_no_file_is_a_child_of_the_root():
    child = process_image((2, 5, "b"), lambda recorder: calls(recorder, "job", 3), ((1, 1, "b"), 40))
    profile, errors = join_images(child)
    assert errors == []
    assert profile.root.at("job").count == 3


def test_processes_that_name_each_other_as_parents_are_read():
    first = process_image((1, 1, "b"), lambda recorder: calls(recorder, "a", 1), ((2, 2, "b"), 30))
    second = process_image((2, 2, "b"), lambda recorder: calls(recorder, "b", 1), ((1, 1, "b"), 30))
    third = process_image((3, 3, "b"), lambda recorder: calls(recorder, "c", 1), ((3, 3, "b"), 30))
    profile, _ = join_images(first, second, third)
    assert sum(node.count for _, _, node in profile.root.walk()) == 3


def test_a_damaged_file_loses_only_its_own_content():
    valid = process_image((1, 1, "b"), lambda recorder: calls(recorder, "step", 2))
    damaged = changed(busy_image(), place(layout.Header, "nodes"), 2**31, 4)
    profile, errors = join_images(valid, damaged)
    assert profile.root.at("step").count == 2
    assert set(profile.root.children) == {"step"}
    assert profile.losses["memory_files_damaged"] == 1
    assert len(errors) == 1


def test_a_single_damaged_file_is_an_error(tmp_path):
    path = tmp_path / "1-1.tt"
    path.write_bytes(changed(busy_image(), place(layout.Header, "nodes"), 2**31, 4))
    with pytest.raises(DamagedError, match=r"1-1\.tt"):
        read_file(path)


def test_losses_gauges_and_loops_of_processes_are_summed():
    profile, _ = join_images(
        changed(busy_image(), place(layout.Header, "pid"), 1),
        changed(busy_image(), place(layout.Header, "pid"), 2),
    )
    assert profile.losses == {"unmatched_leaves": 2, "wakes_by_unknown_processes": 2}
    assert profile.gauges["gauge"].count == 12
    assert profile.loops["main/loop"].ticks == 12
    assert len(profile.loops["main/loop"].worst) == 8


def during_a_write(image, name, **fields):
    """Return the image of a process that died while it recorded a call of this node."""
    ref = ref_of(image, name)
    image = changed(image, place(layout.Node, "sequence", ref), record_of(image, name).sequence | 1, 4)
    for field, value in fields.items():
        at = place(layout.Node, "stats", ref) + getattr(layout.Stats, field).offset
        image = changed(image, at, value)
    return image


def one_node_image():
    recorder = recorder_on()
    for length in (10, 20, 30):
        with recorder.section("x"):
            recorder.advance(length)
    image = recorder.image()
    recorder.disable()
    return image


def test_an_odd_sequence_number_alone_changes_nothing():
    image = one_node_image()
    assert profile_of(during_a_write(image, "x")).root.at("x").steady == Stats.of([10, 20, 30])


@pytest.mark.parametrize(
    "fields", [{"count": 4}, {"count": 4, "sum": 100}, {"count": 4, "sum": 100, "maximum": 40}, {"count": 2}]
)
def test_a_node_copied_during_a_write_counts_the_calls_in_its_histogram(fields):
    profile = profile_of(during_a_write(one_node_image(), "x", **fields))
    stats = profile.root.at("x").steady
    assert stats.count == 3
    assert 30 <= stats.sum_ns <= 120
    assert profile.losses == {"nodes_caught_in_a_write": 1}


def test_a_first_call_copied_during_a_write_does_not_count():
    recorder = recorder_on()
    recorder.section("x").__enter__()
    image = recorder.image()
    recorder.disable()
    profile = profile_of(during_a_write(image, "x", count=1, sum=5))
    assert profile.root.at("x").count == 0


@pytest.mark.parametrize(("count", "total"), [(2, 50), (4, 80), (0, 0)])
def test_windows_copied_during_a_write_are_left_out(count, total):
    image = during_a_write(one_node_image(), "x")
    at = place(layout.Node, "windows", ref_of(image, "x"))
    profile = profile_of(changed(changed(image, at, count), at + 8, total))
    assert profile.root.at("x").steady == Stats.of([10, 20, 30])
    assert not profile.root.at("x").windows.counts


def test_minimum_and_maximum_copied_during_a_write_are_put_in_order():
    profile = profile_of(during_a_write(one_node_image(), "x", minimum=10, maximum=0))
    stats = profile.root.at("x").steady
    assert (stats.count, stats.min_ns, stats.max_ns) == (3, 10, 10)


def test_a_loop_copied_during_a_write_loses_the_tick_being_written():
    image = busy_image()
    ref, loop = next(item for item in Image(image).loops() if item[1].worst_count > 2)
    image = changed(image, place(layout.Loop, "sequence", ref), loop.sequence | 1, 4)
    image = changed(image, place(layout.Loop, "longest_miss_run", ref), 4)
    image = changed(image, place(layout.Loop, "missed", ref), 3)
    row = place(layout.Loop, "worst", ref) + layout.WorstTick.rows.offset
    loop = profile_of(image).loops["main/loop"]
    torn = profile_of(changed(image, row, 0, 4)).loops["main/loop"]
    assert (torn.missed, torn.longest_miss_run) == (3, 3)
    assert len(torn.worst) == len(loop.worst) - 1


def test_a_gauge_copied_during_a_write_contains_its_last_reading():
    image = busy_image()
    ((ref, gauge),) = Image(image).gauges()
    image = changed(image, place(layout.Gauge, "sequence", ref), gauge.sequence | 1, 4)
    higher = changed(image, place(layout.Gauge, "maximum", ref), 0xBFF0000000000000)  # -1.0, below the last
    assert profile_of(higher).gauges["gauge"].max == gauge.last
    fewer = changed(image, place(layout.Gauge, "count", ref), gauge.count - 1)
    assert profile_of(fewer).gauges["gauge"].count == gauge.count


def test_different_counts_with_an_even_sequence_number_are_damage():
    image = one_node_image()
    ref = ref_of(image, "x")
    at = place(layout.Node, "stats", ref) + layout.Stats.count.offset
    _, errors = join_images(changed(image, at, 9))
    assert len(errors) == 1


WRITER = """
import sys, threading
from ticktree.recorder import Recorder
recorder = Recorder()
recorder.open(sys.argv[1], identity=(1, 1, "b"))
recorder.enable()
print("ready", flush=True)
number = 0
waiting = threading.Thread(target=sys.stdin.readline)
waiting.start()
while waiting.is_alive() or not number:
    number += 1
    for _ in recorder.loop("loop", range(20), hz=1000, warmup=5):
        with recorder.section("outer"):
            with recorder.section("inner"):
                pass
            recorder.record_duration("recorded", number % 100 * 1e-6)
        with recorder.section(f"name {number % 60}"):
            pass
    recorder.gauge("gauge", number)
recorder.disable()
print(number, flush=True)
"""


@pytest.fixture
def writer(tmp_path):
    path = tmp_path / "1-1.tt"
    program = WRITER
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(program), path],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ,
    )
    assert process.stdout.readline() == "ready\n"
    yield path, process
    process.kill()
    process.wait()


@pytest.mark.slow
def test_a_file_is_read_correctly_while_its_process_writes(writer):
    path, process = writer
    previous_count = 0
    for _ in range(60):
        profile = read_file(path)
        profile.check()
        loop = profile.root.children.get("loop")
        count = loop.count if loop else 0
        assert count >= previous_count
        previous_count = count
        assert not profile.losses
        if loop and "outer" in loop.children:
            assert loop.at("outer").stats.max_ns < 10**10
    process.stdin.write("\n")
    process.stdin.flush()
    rounds = int(process.stdout.readline())
    process.wait()
    profile = read_file(path)
    profile.check()
    assert profile.root.at("loop").count == profile.loops["loop"].ticks == 20 * rounds
    assert (
        profile.root.at("loop/outer/inner").count
        == profile.root.at("loop/outer/recorded").count
        == 20 * rounds
    )
    assert profile.gauges["gauge"].last == rounds
