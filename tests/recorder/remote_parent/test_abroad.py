"""Work for sections of other processes is below nodes of the same names."""

from __future__ import annotations

import asyncio
import threading

import pytest

import ticktree
from ticktree.recorder import Channel, Wait
from ticktree.recorder._native import call_under, follow, latest_of, names_of, origin_under


@pytest.fixture
def recorder():
    recorder = ticktree.Recorder(virtual_clock=True)
    yield recorder
    recorder.disable()


def work(recorder, ns=10, name="work"):
    with recorder.section(name):
        recorder.advance(ns)
    return "done"


def node_at(profile, *names):
    node = profile.root
    for name in names:
        node = node.children[name]
    return node


def test_the_names_of_a_place_lead_from_the_root_to_it(recorder):
    assert names_of(recorder.place()) == ()
    with recorder.section("train"), recorder.section("a/b\0c"):
        assert names_of(recorder.place()) == ("train", "a/b\0c")


def test_the_names_go_on_from_where_a_thread_was_started(recorder):
    found = []

    def run():
        with recorder.section("inner"):
            found.append(names_of(recorder.place()))

    with recorder.section("outer"):
        thread = threading.Thread(target=run)
        thread.start()
        thread.join()
    assert found == [("outer", "inner")]


def test_a_place_in_memory_that_was_given_up_has_no_names(recorder):
    place = recorder.place()
    recorder.reset()
    assert names_of(place) in (None, ())


def test_what_is_called_under_names_hangs_there_and_the_names_have_no_calls_of_their_own(recorder):
    assert call_under(recorder, ("train", "update"), work, (recorder,), {"ns": 30}) == "done"
    assert call_under(recorder, ("train", "update"), work, (recorder,), {}) == "done"
    work(recorder)
    profile = recorder.snapshot()
    profile.check()
    assert node_at(profile, "train", "update", "work").count == 2
    assert node_at(profile, "train", "update", "work").total_ns == 40
    assert [node_at(profile, "train").count, node_at(profile, "train").self_ns] == [0, 0]
    assert node_at(profile, "work").count == 1, "afterwards it hangs where it did"


def test_what_a_call_raises_is_raised_and_the_place_is_left(recorder):
    def fail():
        work(recorder)
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        call_under(recorder, ("far",), fail, (), {})
    work(recorder)
    assert (
        node_at(recorder.snapshot(), "far", "work").count == node_at(recorder.snapshot(), "work").count == 1
    )


def test_inside_an_open_section_it_stays_there(recorder):
    with recorder.section("here"):
        call_under(recorder, ("far",), work, (recorder,), {})
    profile = recorder.snapshot()
    assert node_at(profile, "here", "work").count == 1
    assert "far" not in profile.root.children


def test_a_recorder_that_records_nothing_calls_all_the_same(recorder):
    recorder.disable()
    assert call_under(recorder, ("far",), work, (recorder,), {}) == "done"


def test_names_past_the_most_that_are_taken_are_left_out(recorder):
    names = tuple(f"level {number}" for number in range(100))
    call_under(recorder, names, work, (recorder,), {})
    assert node_at(recorder.snapshot(), *names[:64], "work").count == 1


def test_tasks_side_by_side_hang_each_under_its_own_names(recorder):
    async def task(name):
        recorder.origin_var.set(origin_under(recorder, ("far", name)))
        with recorder.section("step"):
            await asyncio.sleep(0)
            recorder.advance(5)
            await asyncio.sleep(0)

    async def main():
        loop = asyncio.get_running_loop()
        await asyncio.gather(*(asyncio.ensure_future(task(name), loop=loop) for name in ("a", "b", "a")))

    asyncio.run(main())
    profile = recorder.snapshot()
    profile.check()
    assert node_at(profile, "far", "a", "step").count == 2
    assert node_at(profile, "far", "b", "step").count == 1


def test_of_several_keys_the_one_signalled_last_is_told(recorder):
    channel = Channel(recorder, "ray", own=True)
    assert latest_of(channel, [b"one", b"two"]) is None
    for key in (b"one", b"two", b"one"):
        recorder.advance(10)
        channel.wakes(key)
    assert latest_of(channel, [b"one", b"two"]) == b"one"
    assert latest_of(channel, [b"two", b"never"]) == b"two"


def test_the_critical_path_of_work_goes_on_from_who_called_for_it(recorder):
    calls, results = Channel(recorder, "ray call", own=True), Channel(recorder, "ray", own=True)
    called, done = threading.Event(), threading.Event()

    def worker():
        called.wait()
        follow(calls, b"word")
        call_under(recorder, ("train",), work, (recorder, 60), {})
        results.wakes(b"result")
        done.set()

    thread = threading.Thread(target=worker, name="worker")
    thread.start()
    waits = Wait(results, "wait")
    with recorder.section("train"):
        recorder.advance(40)
        calls.wakes(b"word")
        called.set()
        waits.call(done.wait, (10,), lambda _: latest_of(results, [b"result"]))
    thread.join()
    profile = recorder.snapshot()
    assert node_at(profile, "train", "work").total_ns == 60
    names = {thread.id: thread.thread_name for thread in profile.threads.values()}
    path = {(names[place.thread], place.path): ns for place, ns in profile.critical.items() if ns}
    assert path == {("MainThread", "train"): 40, ("worker", "train/work"): 60}
