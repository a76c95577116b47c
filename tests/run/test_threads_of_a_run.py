"""The threads of a run, and their shares of nodes."""

from __future__ import annotations

import threading

from support.memory_images import changed, following_threads, place, profile_of, recorder_on
from ticktree.profile import Share
from ticktree.recorder import Recorder
from ticktree.run.reading import layout
from ticktree.run.reading.image import Image
from ticktree.run.reading.reader import read_images


def in_thread(work, name):
    thread = threading.Thread(target=work, name=name)
    thread.start()
    thread.join()


def two_threads():
    """Return the image of a main thread that starts another inside a section, and their threads' ids."""
    recorder = recorder_on(identity=(7, 70, "b"))

    def work():
        with recorder.section("decode"):
            recorder.advance(4)

    with following_threads(recorder), recorder.section("train"):
        recorder.advance(10)
        in_thread(work, "decoder-3")
        with recorder.section("plan"):
            recorder.advance(2)
    image = recorder.image()
    recorder.disable()
    main, other = (f"7-70/{ref}" for ref, _ in Image(image).trees())
    return image, main, other


def test_every_thread_is_a_thread_with_its_name_and_parent_node():
    image, main, other = two_threads()
    threads = profile_of(image).threads
    assert set(threads) == {main, other}
    assert (threads[main].is_main, threads[main].parent) == (True, "")
    assert (threads[other].is_main, threads[other].parent) == (False, "train")
    assert threads[other].thread_name == "decoder-3"
    assert threads[other].process == threads[main].process == "7-70"
    assert {thread.run for thread in threads.values()} == {"run"}


def test_a_threads_role_is_its_name_without_the_number_unless_the_program_declares_one():
    image, main, other = two_threads()
    assert profile_of(image).threads[other].role == "decoder"
    tree = next(ref for ref, _ in Image(image).trees() if other.endswith(f"/{ref}"))
    train = next(node.name for _, node in Image(image).nodes() if node.name)
    declared = changed(image, place(layout.Tree, "role", tree), train, 4)
    assert profile_of(declared).threads[other].role == "train"
    process = changed(image, place(layout.Header, "role"), train, 4)
    assert profile_of(process).threads[main].role == "train"
    assert profile_of(process).threads[other].role == "decoder"
    named = changed(image, place(layout.Header, "process_name"), train, 4)
    assert (
        profile_of(named).threads[main].process_name
        == profile_of(named).threads[other].process_name
        == "train"
    )
    assert profile_of(named).threads[main].role == "train"


def test_a_node_has_the_share_of_each_thread():
    image, main, other = two_threads()
    root = profile_of(image).root
    assert root.by_thread == {main: Share(0, 16, 0)}
    assert root.at("train").by_thread == {main: Share(1, 16, 14)}
    assert root.at("train/decode").by_thread == {other: Share(1, 4, 4)}
    assert root.at("train/plan").by_thread == {main: Share(1, 2, 2)}
    assert root.at("train/decode").parallel
    assert not root.at("train/plan").parallel


def test_equal_workers_are_one_node_with_one_share_per_worker():
    images = []
    for pid in (1, 2, 3):
        recorder = recorder_on(identity=(pid, 1, "b"))
        with recorder.section("step"):
            recorder.advance(pid)
        recorder.disable()
        images.append(recorder.image())
    profile = read_images(map(Image, images), "run", [])
    profile.check()
    step = profile.root.at("step")
    assert sorted(step.by_thread.values(), key=lambda share: share.self_ns) == [
        Share(1, n, n) for n in (1, 2, 3)
    ]
    assert step.parallel


def test_a_process_that_recorded_nothing_is_a_thread_too():
    recorder = recorder_on(identity=(7, 70, "b"))
    recorder.disable()
    (thread,) = profile_of(recorder.image()).threads.values()
    assert thread.is_main
    assert thread.started_ns is not None


def test_the_root_of_a_child_process_has_no_thread():
    image, _, other = two_threads()
    child = changed(image, place(layout.Header, "parent_pid"), 3)
    profile = profile_of(child)
    assert profile.root.by_thread == {}
    assert profile.root.attributed
    assert profile.root.at("train/decode").by_thread == {other: Share(1, 4, 4)}


def test_a_damaged_file_has_no_thread():
    image, *_ = two_threads()
    errors = []
    profile = read_images([Image(changed(image, place(layout.Header, "nodes"), 2**31, 4))], "run", errors)
    assert len(errors) == 1
    assert profile.threads == {}


def test_shares_sum_to_the_nanosecond_on_a_real_clock_with_nested_threads():
    recorder = Recorder()
    recorder.open(None)
    recorder.enable()

    def work(depth):
        for name in ("a", "b"):
            with recorder.section(name):
                if depth:
                    in_thread(lambda: work(depth - 1), "worker")
                recorder.record_duration("measured", 1e-6)

    with following_threads(recorder):
        for _ in range(20):
            with recorder.section("step"):
                work(3)
    image = recorder.image()
    recorder.disable()
    profile = profile_of(image)
    assert len(profile.threads) > 4
    for path, _, node in profile.root.walk():
        assert node.attributed, path
    # A thread's nodes cover no time of their parent node, not even a rounding difference.
    (main,) = profile.root.by_thread
    assert profile.threads[main].is_main
