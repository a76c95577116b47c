"""Device time of CUDA, with a simulated device: work is attributed without a wait."""

from __future__ import annotations

import sys
import threading
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ticktree
from support.recorder.queries import counts, losses, node, times
from support.recorder.simulated_torch import Cuda, forget_devices, torch_with
from ticktree.analysis.context import Context
from ticktree.outputs.options import ViewOptions
from ticktree.outputs.view.headline import headline
from ticktree.recorder.device_time import cuda as cuda_clock
from ticktree.recorder.pending_device_time import settle

MS = 1_000_000


def device(recorder, path, name="cuda:0"):
    return node(recorder, f"{path}/{name}@device")


def test_asynchronous_work_is_its_sections_while_the_host_row_stays_microseconds(recorder, simulated):
    for _ in range(10):
        with recorder.section("forward", device="cuda"):
            simulated.kernel(3 * MS)
        with recorder.section("backward", device="cuda"):
            simulated.kernel(5 * MS)
    recorder.advance(100 * MS)
    assert times(recorder) == {
        "forward": 20_000,
        "forward/cuda:0@device": 30 * MS,
        "backward": 20_000,
        "backward/cuda:0@device": 50 * MS,
    }
    assert device(recorder, "forward").stats.max_ns == 3 * MS
    assert simulated.waits == 0


def test_the_host_row_is_not_charged_for_recording_events(recorder, simulated):
    simulated.record_ns, simulated.make_ns = 7_000, 30_000
    with recorder.section("train"):
        for _ in range(100):
            with recorder.section("forward", device="cuda"):
                simulated.kernel(MS)
    assert times(recorder)["train/forward"] == 100 * 2_000


def test_earlier_work_in_the_queue_is_not_a_calls_time(recorder, simulated):
    simulated.kernel(500 * MS)
    with recorder.section("forward", device="cuda"):
        simulated.kernel(3 * MS)
    recorder.advance(1000 * MS)
    assert device(recorder, "forward").total_ns == 3 * MS


def test_a_call_is_booked_once_its_end_is_reached(recorder, simulated):
    with recorder.section("forward", device="cuda"):
        simulated.kernel(3 * MS)
    assert counts(recorder) == {"forward": 1}
    recorder.advance(3 * MS)
    assert counts(recorder) == {"forward": 1, "forward/cuda:0@device": 1}


def test_later_ends_of_sections_book_earlier_calls(recorder, simulated):
    for _ in range(50):
        with recorder.section("forward", device="cuda"):
            simulated.kernel(MS)
        recorder.advance(2 * MS)
    lane = next(iter(cuda_clock._lanes.values()))
    assert len(lane) == 1  # all others were booked on the way


def test_nested_sections_have_the_work_inside_them(recorder, simulated):
    with recorder.section("update", device="cuda"):
        simulated.kernel(MS)
        with recorder.section("actor", device="cuda"):
            simulated.kernel(4 * MS)
        simulated.kernel(2 * MS)
    recorder.advance(10 * MS)
    assert device(recorder, "update").total_ns == 7 * MS
    assert device(recorder, "update/actor").total_ns == 4 * MS


def test_a_section_inside_itself_measures_each_call(recorder, simulated):
    section = recorder.section("step", device="cuda")
    with section:
        simulated.kernel(MS)
        with section:
            simulated.kernel(2 * MS)
    recorder.advance(10 * MS)
    assert device(recorder, "step").total_ns == 3 * MS
    assert device(recorder, "step/step").total_ns == 2 * MS


def test_no_event_is_created_once_the_pool_is_large_enough(recorder, simulated):
    def work():
        for _ in range(200):
            with recorder.section("forward", device="cuda"):
                simulated.kernel(MS)
            recorder.advance(3 * MS)

    work()
    created = simulated.events_made
    work()
    assert simulated.events_made == created == 64
    assert counts(recorder)["forward/cuda:0@device"] == 400


def test_a_host_far_ahead_of_its_device_is_given_more_events_between_calls(recorder, simulated):
    for _ in range(1000):
        with recorder.section("forward", device="cuda"):
            simulated.kernel(MS)
    assert 2000 <= simulated.events_made <= 4096
    recorder.advance(2000 * MS)
    assert counts(recorder)["forward/cuda:0@device"] == 1000
    assert losses(recorder) == {}


def test_without_a_free_event_a_call_is_counted_as_unknown(recorder, simulated, monkeypatch):
    monkeypatch.setattr("ticktree.recorder.device_time.cuda.MAX_EVENTS", 64)
    for _ in range(40):
        with recorder.section("forward", device="cuda"):
            simulated.kernel(MS)
    recorder.advance(100 * MS)
    assert counts(recorder) == {"forward": 40, "forward/cuda:0@device": 32}
    assert losses(recorder) == {"device_times_not_known": 8}


def test_unfinished_work_at_the_end_is_a_loss_without_a_wait(recorder, simulated):
    for ms in (1, 1, 500):
        with recorder.section("forward", device="cuda"):
            simulated.kernel(ms * MS)
    recorder.advance(5 * MS)
    before = recorder.ticks
    settle()
    assert recorder.ticks == before
    assert simulated.waits == 0
    assert counts(recorder) == {"forward": 3, "forward/cuda:0@device": 2}
    assert losses(recorder) == {"device_times_not_known": 1}


def test_unfinished_calls_when_recording_stops_are_losses(recorder, simulated):
    with recorder.section("forward", device="cuda"):
        simulated.kernel(5 * MS)
    recorder.disable()
    recorder.advance(10 * MS)
    assert losses(recorder) == {"device_times_not_known": 1}


def test_streams_of_one_device_are_distinguished(recorder, simulated):
    copies = simulated.new_stream()
    main = simulated.current_stream()
    with recorder.section("forward", device="cuda"):
        simulated.kernel(50 * MS)
    simulated.set_stream(copies)
    with recorder.section("copy", device="cuda"):
        simulated.kernel(MS)
    simulated.set_stream(main)
    recorder.advance(2 * MS)
    assert "copy/cuda:0@device" in counts(recorder)  # though the one before it goes on
    recorder.advance(60 * MS)
    assert (device(recorder, "forward").total_ns, device(recorder, "copy").total_ns) == (50 * MS, MS)


def test_a_section_that_changes_the_stream_is_timed_on_its_first_stream(recorder, simulated):
    other = simulated.new_stream()
    with recorder.section("forward", device="cuda"):
        simulated.kernel(4 * MS)
        simulated.set_stream(other)
        simulated.kernel(90 * MS)
    recorder.advance(100 * MS)
    assert device(recorder, "forward").total_ns == 4 * MS


def test_a_section_that_changes_the_device_is_timed_on_its_first_device(recorder, simulated):
    second = simulated.streams[1][0]
    with recorder.section("forward", device="cuda"):
        simulated.kernel(4 * MS)
        simulated.set_stream(second)
        simulated.kernel(90 * MS)
    with recorder.section("forward", device="cuda"):
        simulated.kernel(MS)
    recorder.advance(200 * MS)
    assert device(recorder, "forward").total_ns == 4 * MS
    assert device(recorder, "forward", "cuda:1").total_ns == MS


def test_a_numbered_device_is_measured_even_if_another_is_current(recorder, simulated):
    with recorder.section("forward", device="cuda:1"):
        simulated.streams[1][0].run(3 * MS)
        simulated.kernel(9 * MS)
    recorder.advance(10 * MS)
    assert device(recorder, "forward", "cuda:1").total_ns == 3 * MS
    assert node(recorder, "forward").children.keys() == {"cuda:1@device"}


def test_nothing_is_done_while_a_graph_is_captured_and_the_calls_are_counted(recorder, simulated):
    for _ in range(3):
        with recorder.section("forward", device="cuda"):
            simulated.kernel(MS)
    recorder.advance(10 * MS)
    graph = simulated.CUDAGraph()
    graph.capture_begin()
    queries, records, created = simulated.asked, simulated.recorded, simulated.events_made
    for _ in range(5):
        with recorder.section("forward", device="cuda"):
            simulated.kernel(MS)
    recorder.snapshot()
    assert (simulated.asked, simulated.recorded, simulated.events_made) == (queries, records, created)
    graph.capture_end()
    forward = node(recorder, "forward")
    assert (forward.count, device(recorder, "forward").count) == (8, 3)
    assert forward.device == "calls were captured into a graph, which runs as a whole"
    assert losses(recorder) == {"device_calls_captured": 5}


def test_a_section_around_a_capture_breaks_nothing(recorder, simulated):
    with recorder.section("warm", device="cuda"):
        simulated.kernel(MS)
    graph = simulated.CUDAGraph()
    with recorder.section("capture", device="cuda"):
        graph.capture_begin()
        simulated.kernel(MS)
        graph.capture_end()
    with recorder.section("half inside", device="cuda"):
        graph.capture_begin()
    graph.capture_end()
    assert not simulated.broken
    assert losses(recorder) == {"device_calls_captured": 1}


def test_a_capture_on_another_thread_is_left_alone(recorder, simulated):
    with recorder.section("forward", device="cuda"):
        simulated.kernel(MS)
    graph = simulated.CUDAGraph()
    stream = simulated.new_stream()
    main = simulated.current_stream()
    simulated.set_stream(stream)
    graph.capture_begin()
    simulated.set_stream(main)  # as this thread sees it: its own stream is not captured
    with recorder.section("forward", device="cuda"):
        simulated.kernel(MS)
    recorder.snapshot()
    graph.capture_end()
    assert not simulated.broken


def test_a_capture_that_fails_to_begin_does_not_count(recorder, simulated):
    with recorder.section("forward", device="cuda"):
        pass
    graph = simulated.CUDAGraph()
    graph.capture_begin()
    with pytest.raises(RuntimeError, match="one at a time"):
        simulated.CUDAGraph().capture_begin()
    graph.capture_end()
    assert cuda_clock.capturing.open == 0


def test_wrappers_for_captures_are_removed(recorder, simulated):
    begin = simulated.CUDAGraph.capture_begin
    with recorder.section("forward", device="cuda"):
        pass
    assert simulated.CUDAGraph.capture_begin is not begin
    cuda_clock.unwatch()
    assert simulated.CUDAGraph.capture_begin is begin


def is_gone(native_id):
    """Return whether the system has removed a thread: a joined thread may not have ended yet."""
    return not Path(f"/proc/self/task/{native_id}").exists()


def test_threads_book_their_own_calls(recorder, simulated):
    def work():
        for _ in range(5):
            with recorder.section("forward", device="cuda"):
                simulated.kernel(MS)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
        while not is_gone(thread.native_id):
            time.sleep(0.001)
    recorder.advance(100 * MS)
    forward = node(recorder, "forward")
    assert (forward.count, device(recorder, "forward").total_ns) == (15, 15 * MS)
    # It was booked later and by another: it is of the trees of those threads all the same.
    assert device(recorder, "forward").by_thread.keys() == forward.by_thread.keys()


def test_a_program_whose_device_is_not_in_use_yet_is_left_alone(recorder, simulated):
    simulated.initialized = False
    with recorder.section("forward", device="cuda"):
        pass
    assert (simulated.events_made, simulated.recorded) == (0, 0)
    assert node(recorder, "forward").device == "no device clock was in use"
    simulated.initialized = True
    with recorder.section("forward", device="cuda"):
        simulated.kernel(MS)
    recorder.advance(2 * MS)
    assert device(recorder, "forward").count == 1
    assert node(recorder, "forward").device is None


def test_a_device_in_a_bad_state_is_not_used_again_and_the_program_continues(recorder, simulated):
    with recorder.section("forward", device="cuda"):
        simulated.kernel(MS)

    def fail(self, stream=None):
        raise RuntimeError("device-side assert triggered")

    simulated.Event.record = fail
    for _ in range(3):
        with recorder.section("forward", device="cuda"):
            pass
    assert node(recorder, "forward").count == 4
    assert losses(recorder)["device_times_not_known"] >= 2


def test_the_programs_exception_propagates(recorder, simulated):
    with pytest.raises(ZeroDivisionError), recorder.section("forward", device="cuda"):
        simulated.kernel(MS)
        raise ZeroDivisionError
    recorder.advance(2 * MS)
    assert device(recorder, "forward").count == 1


def test_calls_ended_by_the_section_around_return_their_events(recorder, simulated):
    section = recorder.section("lost", device="cuda")
    for _ in range(500):
        with recorder.section("around"):
            section.__enter__()
    assert simulated.events_made <= 256
    assert losses(recorder) == {"unwound_sections": 500}


def test_a_decorated_function_has_a_device_row(recorder, simulated):
    @recorder.timed("act", device="cuda")
    def act(x):
        simulated.kernel(MS)
        return x

    assert act(3) == 3
    recorder.advance(2 * MS)
    assert device(recorder, "act").total_ns == MS


def test_on_request_the_host_waits_for_the_device(recorder, simulated, monkeypatch):
    monkeypatch.setenv("TICKTREE_DEVICE_SYNC", "1")
    simulated.kernel(50 * MS)
    with recorder.section("forward", device="cuda"):
        simulated.kernel(3 * MS)
    assert simulated.waits == 2
    assert device(recorder, "forward").total_ns == 3 * MS
    assert node(recorder, "forward").total_ns == 3 * MS
    profile = recorder.snapshot()
    assert profile.metadata["waited_for_devices"] == {True}
    assert "sections waited for their device: not the program's own schedule" in headline(
        Context(profile), ViewOptions()
    )


def test_auto_measures_the_device_in_use_and_accepts_none(recorder, simulated):
    simulated.initialized = False
    with recorder.section("forward", device="auto"):
        pass
    assert node(recorder, "forward").device is None
    simulated.initialized = True
    with recorder.section("forward", device="auto"):
        simulated.kernel(MS)
    recorder.advance(2 * MS)
    assert device(recorder, "forward").total_ns == MS


def test_auto_is_a_plain_section_if_torch_was_built_without_devices(recorder, simulated):
    sys.modules["torch"].version.cuda = None
    assert (
        recorder.section("forward", device="auto").__class__.__base__ is type(recorder.section("x")).__base__
    )


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("cpu", "work on the CPU is done when the call returns: the host's time is its time"),
        ("mps", "there is no such device here"),
        ("jax", "nothing that uses such a device was imported"),
    ],
)
def test_a_section_that_cannot_be_measured_has_a_reason(recorder, simulated, monkeypatch, name, reason):
    monkeypatch.delitem(sys.modules, "jax", raising=False)
    with recorder.section("forward", device=name):
        recorder.advance(5)
    assert node(recorder, "forward").device == reason
    assert times(recorder) == {"forward": 5}


def test_a_missing_torch_or_one_without_devices_is_a_reason(recorder, simulated, monkeypatch):
    sys.modules["torch"].version.cuda = None
    with recorder.section("built without", device="cuda"):
        pass
    monkeypatch.delitem(sys.modules, "torch")
    with recorder.section("no torch", device="cuda"):
        pass
    assert node(recorder, "built without").device == "there is no such device here"
    assert node(recorder, "no torch").device == "nothing that uses such a device was imported"


programs = st.lists(
    st.one_of(
        st.tuples(st.just("enter"), st.sampled_from("abc")),
        st.tuples(st.just("leave"), st.none()),
        st.tuples(st.just("kernel"), st.integers(1, 50)),
        st.tuples(st.just("advance"), st.integers(0, 100)),
        st.tuples(st.just("stream"), st.integers(0, 2)),
    ),
    max_size=40,
)


@settings(max_examples=60, deadline=None)
@given(programs)
def test_random_programs_have_exactly_the_device_time_of_their_streams(program):
    """The reference is each stream's queue at the beginning and end of each call."""
    recorder = ticktree.Recorder(virtual_clock=True)
    cuda = Cuda(recorder)
    streams = [cuda.current_stream(), cuda.new_stream(), cuda.new_stream()]
    torch, sys.modules["torch"] = sys.modules.get("torch"), torch_with(cuda)
    forget_devices()
    open_calls, expected = [], {}
    try:
        for action, argument in [*program, *[("leave", None)] * len(program)]:
            if action == "enter":
                stream = cuda.current_stream()
                section = recorder.section(argument, device="cuda").__enter__()
                path = "/".join([*(name for name, *_ in open_calls), argument])
                open_calls.append((argument, section, stream, max(cuda.now, stream.busy_until), path))
            elif action == "leave" and open_calls:
                _, section, stream, start, path = open_calls.pop()
                section.__exit__(None, None, None)
                expected.setdefault(path, []).append(max(cuda.now, stream.busy_until) - start)
            elif action == "kernel":
                cuda.kernel(argument, launch_ns=1)
            elif action == "advance":
                recorder.advance(argument)
            elif action == "stream":
                cuda.set_stream(streams[argument])
        recorder.advance(10**9)
        profile = recorder.snapshot()
    finally:
        sys.modules.pop("torch")
        if torch is not None:
            sys.modules["torch"] = torch
        forget_devices()
    profile.check()
    device_nodes = {path: node for path, _, node in profile.root.walk() if node.clock == "device"}
    assert {path: (node.count, node.total_ns) for path, node in device_nodes.items()} == {
        f"{path}/cuda:0@device": (len(ns), sum(ns)) for path, ns in expected.items()
    }


def test_a_torch_without_handles_of_streams_is_measured_the_same(recorder, simulated, monkeypatch):
    monkeypatch.delattr(sys.modules["torch"], "_C")
    aside = simulated.new_stream()
    for stream in (simulated.current_stream(), aside):
        simulated.set_stream(stream)
        with recorder.section("forward", device="cuda"):
            simulated.kernel(3 * MS)
    recorder.advance(10 * MS)
    assert device(recorder, "forward").total_ns == 6 * MS
