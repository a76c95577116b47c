"""Blocks: sections whose `with` gives something else than the section, entered in the program's own frames."""

from __future__ import annotations

from contextlib import ExitStack

import pytest

from support.recorder.queries import counts, losses, node, times
from ticktree.recorder import Block, Entered, make_block


class Place(Entered):
    __slots__ = ()


class Named(Block):
    """A type that somebody derived."""


def block(recorder, name="block", gives=Place, holder="holder"):
    return make_block(recorder.section(name), Named, gives, holder)


def test_a_block_is_entered_and_left_as_its_section_and_gives_its_place(recorder):
    made = block(recorder)
    with made as first:
        recorder.advance(1)
        with recorder.section("inner"), made as second:
            recorder.advance(2)
    assert times(recorder) == {"block": 3, "block/inner": 2, "block/inner/block": 2}
    assert (type(first), first.holder, isinstance(made, Named)) == (Place, "holder", True)
    assert 0 != first.node != second.node != 0
    assert losses(recorder) == {}


def test_the_same_place_is_the_same_node(recorder):
    made = block(recorder)
    with made as first:
        pass
    with made as second:
        pass
    assert first.node == second.node


def test_a_block_is_seen_at_the_line_that_enters_it(recorder):
    with block(recorder):
        pass
    assert node(recorder, "block").call_site.function == "test_a_block_is_seen_at_the_line_that_enters_it"


def test_a_block_in_a_sleeping_generator_has_nobody_elses_sections_below_it(recorder):
    made = block(recorder)

    def generator():
        with made:
            yield

    for _ in generator():
        with recorder.section("use"):
            recorder.advance(1)
    assert counts(recorder) == {"block": 1, "use": 1}
    assert losses(recorder) == {}


def test_an_exit_stack_takes_blocks_and_an_exception_passes_through_them(recorder):
    with pytest.raises(KeyError), ExitStack() as stack:
        assert isinstance(stack.enter_context(block(recorder)), Place)
        raise KeyError
    assert counts(recorder) == {"block": 1}


def test_nothing_is_entered_where_its_place_cannot_be_made(recorder):
    class Broken(Entered):
        def __init__(self):
            raise LookupError

    for gives, error in ((Broken, LookupError), (list, TypeError)):
        with pytest.raises(error), block(recorder, gives=gives):
            pass
    assert counts(recorder) == {}
    assert losses(recorder) == {}


def test_while_nothing_is_recorded_a_place_is_nowhere(recorder):
    made = block(recorder)
    recorder.disable()
    with made as place:
        pass
    assert place.node == 0
    recorder.enable()
