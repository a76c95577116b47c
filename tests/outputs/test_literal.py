from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ticktree.outputs.writing.visible import encodable, literal

nuisances = st.text(alphabet=list("\\/enx0ua\n\x00\ud800\u202e ;"), max_size=5)


@given(nuisances, nuisances)
def test_different_names_stay_different(one, other):
    assert (literal(one) == literal(other)) is (one == other)


@given(st.text())
def test_all_of_it_can_be_seen_and_written(text):
    assert literal(text).isprintable()
    encodable(text).encode()


@pytest.mark.parametrize(
    ("name", "written"), [("train/x", "train/x"), ("", r"\e"), ("a\nb", r"a\nb"), (r"a\nb", r"a\\nb")]
)
def test_names_that_can_be_read_are_left_alone_and_others_escaped(name, written):
    assert literal(name) == written


def test_only_what_has_no_bytes_is_escaped_for_formats_that_take_any_text():
    assert encodable("a\n\x00\u202e") == "a\n\x00\u202e"
    assert encodable("\ud800") == r"\ud800"
