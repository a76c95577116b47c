"""Wake edges and the critical path in the profile of a run."""

from __future__ import annotations

import threading

import pytest

from support.memory_images import changed, following_threads, place, profile_of, recorder_on
from ticktree.profile import Waker, Wakes
from ticktree.run.reading import layout
from ticktree.run.reading.image import Image
from ticktree.run.reading.reader import read_images


@pytest.fixture
def image():
    """Return the image of a main thread that waited for another thread, which it had started."""
    recorder = recorder_on(identity=(7, 70, "b"))

    def work():
        with recorder.section("collect"):
            recorder.advance(100)
            recorder.wakes("batch")

    with following_threads(recorder), recorder.section("train"):
        recorder.advance(10)
        with recorder.section("wait", wait=True):
            thread = threading.Thread(target=work)
            thread.start()
            thread.join()
            recorder.advance(5)
            recorder.woken_by("batch")
        with recorder.section("learn"):
            recorder.advance(50)
    image = recorder.image()
    recorder.disable()
    return image


def ids_of(profile):
    main = next(thread.id for thread in profile.threads.values() if thread.is_main)
    helper = next(thread.id for thread in profile.threads.values() if not thread.is_main)
    return main, helper


def only_edge(image):
    ((ref, edge),) = Image(image).edges()
    return ref, edge


def test_a_wait_names_its_waker_and_the_node_that_was_open_there(image):
    profile = profile_of(image)
    main, other = ids_of(profile)
    wait = profile.root.at("train/wait")
    assert wait.wakers == {Waker("batch", main, other, "train/wait/collect"): Wakes(1, 105, 5)}


def test_the_critical_path_sums_to_the_runs_length_and_includes_the_waker(image):
    profile = profile_of(image)
    main, other = ids_of(profile)
    assert sum(profile.critical.values()) == profile.root.total_ns == 165
    assert profile.critical[other, "train/wait/collect"] == 100
    assert profile.critical[main, "train/learn"] == 50


def as_process(image, pid, signalled_by):
    """Return the image of another process, which waited for a node of a third process."""
    ref, _ = only_edge(image)
    image = changed(image, place(layout.Header, "pid"), pid)
    return changed(image, place(layout.Edge, "pid", ref), signalled_by, 4)


def test_wake_edges_between_processes_do_not_depend_on_the_order_of_their_files(image):
    first, second = as_process(image, 1, 2), as_process(image, 2, 1)
    for images in ((first, second), (second, first)):
        profile = read_images(map(Image, images), "run", [])
        profile.check()
        wakers = profile.root.at("train/wait").wakers
        assert {(waker.thread.partition("-")[0], waker.by.partition("-")[0]) for waker in wakers} == {
            ("1", "2"),
            ("2", "1"),
        }
        assert {waker.path for waker in wakers} == {"train/wait/collect"}


def test_a_waker_without_a_file_is_a_loss(image):
    profile = profile_of(as_process(image, 1, 9))
    assert profile.root.at("train/wait").wakers == {}
    assert profile.losses == {"wakes_by_unknown_processes": 1}


def test_time_in_unknown_processes_on_the_critical_path_counts_for_the_thread_at_its_end(image):
    profile = profile_of(changed(image, place(layout.Header, "pid"), 8))
    assert sum(profile.critical.values()) == 165
    assert {thread for thread, _ in profile.critical} == {ids_of(profile)[0]}


def test_a_child_process_has_no_critical_path(image):
    child = changed(image, place(layout.Header, "parent_pid"), 3)
    assert profile_of(child).critical == {}


def test_of_repeated_processes_only_the_longest_determines_the_critical_path(image):
    profile = read_images([Image(image), Image(changed(image, place(layout.Header, "pid"), 8))], "run", [])
    assert sum(profile.critical.values()) == 165


def test_an_edge_of_a_missing_node_is_left_out(image):
    ref, _ = only_edge(image)
    assert (
        profile_of(changed(image, place(layout.Edge, "node", ref), 5, 4)).root.at("train/wait").wakers == {}
    )
