from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ticktree.outputs.writing.visible import visible


@given(st.text())
def test_only_visible_characters_remain(text):
    assert all(
        unicodedata.category(character)[0] not in "CZ" or character == " " for character in visible(text)
    )
    visible(text).encode("utf-8")


@pytest.mark.parametrize("text", ["train", "a/b", "日本語", "שלום", "e\u0301", "😀", ""])
def test_readable_names_stay_unchanged(text):
    assert visible(text) == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31m", r"\x1b[31m"),
        ("a\nb", r"a\nb"),
        ("\u202e", r"\u202e"),
        ("\ud800", r"\ud800"),
        ("\u2028", r"\u2028"),
    ],
)
def test_characters_that_move_the_cursor_or_turn_the_line_are_escaped(text, shown):
    assert visible(text) == shown
