"""Blocks: sections whose `with` gives another object, entered in the program's own frames."""

from __future__ import annotations

from contextlib import ExitStack

import pytest

from support.recorder.queries import counts, losses, node, times
from ticktree.recorder import Block, Entered, make_block


class Entry(Entered):
    __slots__ = ()


class Named(Block):
    """A derived type."""


def block(recorder, name="block", gives=Entry, holder="holder"):
    return make_block(recorder.section(name), Named, gives, holder)


def test_a_block_enters_and_leaves_its_section_and_gives_its_node(recorder):
    block_object = block(recorder)
    with block_object as first:
        recorder.advance(1)
        with recorder.section("inner"), block_object as second:
            recorder.advance(2)
    assert times(recorder) == {"block": 3, "block/inner": 2, "block/inner/block": 2}
    assert (type(first), first.holder, isinstance(block_object, Named)) == (Entry, "holder", True)
    assert 0 != first.node != second.node != 0
    assert losses(recorder) == {}


def test_the_same_place_is_the_same_node(recorder):
    block_object = block(recorder)
    with block_object as first:
        pass
    with block_object as second:
        pass
    assert first.node == second.node


def test_a_block_is_seen_at_the_line_that_enters_it(recorder):
    with block(recorder):
        pass
    assert node(recorder, "block").call_site.function == "test_a_block_is_seen_at_the_line_that_enters_it"


def test_a_block_in_a_sleeping_generator_has_nobody_elses_sections_below_it(recorder):
    block_object = block(recorder)

    def generator():
        with block_object:
            yield

    for _ in generator():
        with recorder.section("use"):
            recorder.advance(1)
    assert counts(recorder) == {"block": 1, "use": 1}
    assert losses(recorder) == {}


def test_an_exit_stack_takes_blocks_and_an_exception_passes_through_them(recorder):
    with pytest.raises(KeyError), ExitStack() as stack:
        assert isinstance(stack.enter_context(block(recorder)), Entry)
        raise KeyError
    assert counts(recorder) == {"block": 1}


def test_nothing_is_entered_if_the_blocks_value_cannot_be_created(recorder):
    class Broken(Entered):
        def __init__(self):
            raise LookupError

    for gives, error in ((Broken, LookupError), (list, TypeError)):
        with pytest.raises(error), block(recorder, gives=gives):
            pass
    assert counts(recorder) == {}
    assert losses(recorder) == {}


def test_a_place_has_no_node_while_nothing_is_recorded(recorder):
    block_object = block(recorder)
    recorder.disable()
    with block_object as entry:
        pass
    assert entry.node == 0
    recorder.enable()
