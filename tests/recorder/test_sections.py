from __future__ import annotations

import pickle
import sys
from contextlib import ExitStack

import pytest

import ticktree
from support.recorder.queries import counts, losses, node, times


def test_sections_nest_and_their_self_time_is_the_rest(recorder):
    for _ in range(3):
        with recorder.section("update"):
            recorder.advance(5)
            with recorder.section("sample"):
                recorder.advance(20)
            recorder.advance(5)
    assert counts(recorder) == {"update": 3, "update/sample": 3}
    update = node(recorder, "update")
    assert (update.total_ns, update.self_ns, update.stats.min_ns, update.stats.max_ns) == (90, 30, 30, 30)
    assert not update.parallel


def test_the_same_name_below_two_parents_is_two_nodes(recorder):
    for outer in ("train", "evaluate"):
        with recorder.section(outer), recorder.section("step"):
            recorder.advance(1)
    assert counts(recorder) == {"train": 1, "train/step": 1, "evaluate": 1, "evaluate/step": 1}


def test_a_section_is_one_object_however_often_it_is_requested(recorder):
    assert recorder.section("x") is recorder.section("x")
    assert recorder.section("x", wait=True) is recorder.section("x", wait=True)
    assert recorder.section("x").name == "x"


def test_entering_gives_the_section_and_leaving_swallows_nothing(recorder):
    section = recorder.section("x")
    with section as entered:
        assert entered is section
    with pytest.raises(KeyError, match="mine"), section:
        raise KeyError("mine")
    assert counts(recorder) == {"x": 2}


def test_an_exception_ends_every_section_it_passes_through(recorder):
    def fail():
        with recorder.section("b"), recorder.section("c"):
            recorder.advance(3)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError), recorder.section("a"):
        fail()
    with recorder.section("a"):
        pass
    assert counts(recorder) == {"a": 2, "a/b": 1, "a/b/c": 1}
    assert losses(recorder) == {}


def test_direct_recursion_is_a_node_a_level(recorder):
    def down(levels):
        with recorder.section("down"):
            recorder.advance(10)
            if levels:
                down(levels - 1)

    down(2)
    assert times(recorder) == {"down": 30, "down/down": 20, "down/down/down": 10}
    assert [node(recorder, path).self_ns for path in ("down", "down/down", "down/down/down")] == [10, 10, 10]


def test_mutual_recursion_keeps_both_apart(recorder):
    def even(number):
        with recorder.section("even"):
            recorder.advance(1)
            if number:
                odd(number - 1)

    def odd(number):
        with recorder.section("odd"):
            recorder.advance(1)
            if number:
                even(number - 1)

    even(3)
    assert times(recorder) == {"even": 4, "even/odd": 3, "even/odd/even": 2, "even/odd/even/odd": 1}


def test_a_recursion_that_python_stops_leaves_all_its_sections(recorder):
    def down():
        with recorder.section("down"):
            recorder.advance(1)
            down()

    with pytest.raises(RecursionError), recorder.section("outer"):
        down()
    assert node(recorder, "outer").count == 1
    assert node(recorder, "outer/down").open is None
    assert "unmatched_leaves" not in losses(recorder)
    with recorder.section("after"):
        pass
    assert counts(recorder)["after"] == 1


def test_sections_left_out_of_order_are_unwound_and_counted(recorder):
    outer, inner = recorder.section("outer"), recorder.section("inner")
    outer.__enter__()
    inner.__enter__()
    recorder.advance(7)
    outer.__exit__(None, None, None)
    inner.__exit__(None, None, None)
    assert losses(recorder) == {"unwound_sections": 1, "unmatched_leaves": 1}
    assert times(recorder) == {"outer": 7, "outer/inner": 7}
    assert counts(recorder) == {"outer": 1, "outer/inner": 0}
    with recorder.section("next"):
        recorder.advance(1)
    assert counts(recorder)["next"] == 1


def test_a_leave_without_an_enter_is_counted_and_ignored(recorder):
    recorder.section("never").__exit__(None, None, None)
    assert losses(recorder) == {"unmatched_leaves": 1}
    assert counts(recorder) == {}


def test_leaving_twice_does_not_leave_the_section_around(recorder):
    inner = recorder.section("inner")
    with recorder.section("outer"):
        with inner:
            pass
        inner.__exit__(None, None, None)
        recorder.advance(4)
    assert times(recorder)["outer"] == 4
    assert losses(recorder) == {"unmatched_leaves": 1}


def test_an_exit_stack_leaves_what_it_entered(recorder):
    def begin(stack):
        for name in ("a", "b", "c"):
            stack.enter_context(recorder.section(name))

    with ExitStack() as stack:
        begin(stack)
        recorder.advance(2)
    assert times(recorder) == {"a": 2, "a/b": 2, "a/b/c": 2}
    assert losses(recorder) == {}


def test_a_section_may_be_entered_in_one_function_and_left_in_another(recorder):
    section = recorder.section("connection")

    def connect():
        section.__enter__()

    def close():
        section.__exit__(None, None, None)

    with recorder.section("session"):
        connect()
        with recorder.section("query"):
            recorder.advance(3)
        close()
    assert times(recorder) == {"session": 3, "session/connection": 3, "session/connection/query": 3}
    assert losses(recorder) == {}


def test_work_is_added_up_and_waits_are_marked(recorder):
    for _ in range(2):
        with recorder.section("read", wait=True) as read:
            read.work(bytes=100, items=4)
            read.work(flops=7)
    read = node(recorder, "read")
    assert (read.work.bytes, read.work.items, read.work.flops) == (200, 8, 14)
    assert read.wait


def test_work_outside_the_section_is_a_loss(recorder):
    recorder.section("read").work(bytes=1)
    assert losses(recorder) == {"unmatched_leaves": 1}
    assert counts(recorder) == {}


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), -1, 2**64])
def test_work_that_is_no_amount_is_a_loss_and_adds_nothing(recorder, bad):
    with recorder.section("read") as read:
        read.work(bytes=bad, items=3)
    assert node(recorder, "read").work is None
    assert losses(recorder) == {"bad_values": 1}


def test_device_time_is_unsupported_not_nothing(recorder, monkeypatch):
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    with recorder.section("forward", device="cuda"):
        pass
    assert node(recorder, "forward").device == "nothing that uses such a device was imported"


def test_a_section_survives_pickling_as_the_section_of_its_name(recorder):
    assert pickle.loads(pickle.dumps(recorder.section("x"))) is ticktree.section("x")


@pytest.mark.parametrize("arguments", [(), ("a", "b")])
def test_a_section_takes_one_name(recorder, arguments):
    with pytest.raises(TypeError, match="section"):
        recorder.section(*arguments)


def test_a_section_takes_no_unknown_option(recorder):
    with pytest.raises(TypeError):
        recorder.section("x", colour="red")
