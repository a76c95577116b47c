"""Off for the whole process: the values of the variable."""

from __future__ import annotations

from ticktree.recorder import is_off_value


def test_anything_but_nothing_and_0_turns_ticktree_off():
    assert [is_off_value(value) for value in ("", "0", "1", "no", " ")] == [False, False, True, True, True]
