"""Off for the whole process: the values of the variable."""

from __future__ import annotations

from ticktree.recorder import says_off


def test_anything_but_nothing_and_0_turns_ticktree_off():
    assert [says_off(value) for value in ("", "0", "1", "no", " ")] == [False, False, True, True, True]
