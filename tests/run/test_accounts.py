"""Ending open calls virtually: the reader's own copy of the rule, on frames by hand and by the recorder."""

from __future__ import annotations

from support.memory_images import changed, place, profile_of, recorder_on
from ticktree.run.reading import layout
from ticktree.run.reading.accounts import leave_virtually
from ticktree.run.reading.image import Image


def test_open_calls_are_ended_youngest_first_and_not_counted():
    recorder = recorder_on()
    recorder.section("outer").__enter__()
    recorder.advance(10)
    recorder.section("inner").__enter__()
    recorder.advance(5)
    profile = profile_of(recorder.image())
    outer, inner = profile.root.at("outer"), profile.root.at("outer/inner")
    assert (outer.self_ns, outer.total_ns, outer.count) == (10, 15, 0)
    assert (inner.self_ns, inner.open.count, inner.open.age_ns) == (5, 1, 5)
    assert outer.open.age_ns == 15
    recorder.disable()


def test_the_age_is_that_of_the_oldest_open_call():
    recorder = recorder_on()

    def open_section():
        with recorder.section("open"):
            yield

    generators = [open_section() for _ in range(3)]
    for generator in generators:
        next(generator)
        recorder.advance(10)
    node = profile_of(recorder.image()).root.at("open")
    assert (node.open.count, node.open.age_ns) == (3, 30)
    assert node.total_ns == 60
    assert node.concurrent_ns == 30
    recorder.disable()


def test_ending_calls_virtually_gives_the_same_times_as_disabling():
    recorder = recorder_on()

    def generator(name):
        with recorder.section(name):
            yield
            with recorder.section("later"):
                yield

    with recorder.section("main"):
        first, second = generator("first"), generator("second")
        for iterator in (first, second, first):
            next(iterator)
            recorder.advance(7)
        first.close()
        recorder.advance(1)
        virtual = profile_of(recorder.image())
        recorder.disable()
        real = profile_of(recorder.image())
    for path, _, node in real.root.walk():
        virtual_node = virtual.root.at(path)
        assert (virtual_node.self_ns, virtual_node.concurrent_ns, virtual_node.count) == (
            node.self_ns,
            node.concurrent_ns,
            node.count,
        ), path


def test_an_image_without_open_calls_adds_nothing():
    recorder = recorder_on()
    recorder.disable()
    accounts = leave_virtually(Image(recorder.image()))
    assert (dict(accounts.self_ticks), dict(accounts.concurrent), dict(accounts.ages)) == ({}, {}, {})


def test_a_frame_whose_parent_was_reused_covers_nothing():
    recorder = recorder_on()
    recorder.section("outer").__enter__()
    recorder.section("inner").__enter__()
    recorder.advance(5)
    image = recorder.image()
    youngest = max(Image(image).frames(), key=lambda item: item[1].serial)
    damaged = changed(image, place(layout.Frame, "parent_serial", youngest[0]), 999_999)
    accounts = leave_virtually(Image(damaged))
    # Five concurrent, less the five that the enclosing call subtracts from it.
    assert accounts.concurrent[youngest[1].node] == 0
    recorder.disable()


def test_the_file_of_a_dead_process_ends_when_it_last_read_the_clock(tmp_path):
    path = tmp_path / "memory.tt"
    recorder = recorder_on(path)
    recorder.section("outer").__enter__()
    recorder.advance(1_000)
    recorder.section("inner").__enter__()
    recorder.advance(1_000)
    outer = profile_of(path.read_bytes()).root.at("outer")
    assert 1_000 <= outer.open.age_ns <= 2_000
    assert outer.self_ns == 1_000
    recorder.disable()
