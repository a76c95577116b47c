"""The wire format, against the real decoder: what protobuf reads is what was written."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ticktree.outputs import protobuf as pb
from ticktree.outputs.writing.visible import encodable

pytest.importorskip("google.protobuf", reason="our messages were not read by protobuf's own decoder")
from support.protobuf_schemas import message_class

FIELDS = {
    "whole": (1, "int64"),
    "positive": (2, "uint64"),
    "whole_list": (3, "repeated int64"),
    "real": (4, "double"),
    "reals": (5, "repeated double"),
    "short_real": (6, "oneof float"),
    "words": (7, "string"),
    "raw": (8, "bytes"),
    "below": (9, "repeated Everything"),
    "flag": (2000, "bool"),
}
Everything = message_class("Everything", {"Everything": FIELDS})

whole = st.integers(-(2**63), 2**63 - 1)
real = st.floats(allow_nan=False)
short = st.floats(allow_nan=False, width=32)


@given(
    whole,
    st.integers(0, 2**64 - 1),
    st.lists(whole),
    real,
    st.lists(real),
    short,
    st.text(),
    st.binary(),
    st.booleans(),
)
def test_every_type_of_field_is_read_back(a, b, c, d, e, f, g, h, i):
    flat = pb.integer(1, a) + pb.integer(2, b) + pb.integers(3, c) + pb.double(4, d) + pb.doubles(5, e)
    flat += pb.single(6, f) + pb.text(7, g) + pb.blob(8, h) + pb.integer(2000, i)
    read = Everything.FromString(flat + pb.message(9, flat) + pb.message(9, b""))
    for one in (read, read.below[0]):
        assert (one.whole, one.positive, list(one.whole_list), list(one.reals)) == (a, b, c, e)
        assert (one.real, one.short_real, one.words, one.raw, one.flag) == (d, f, encodable(g), h, i)
        assert math.copysign(1, one.real) == math.copysign(1, d)
    assert len(read.below) == 2
    assert not read.below[1].ByteSize()


@given(whole, st.text(), real)
def test_the_bytes_are_those_that_protobuf_itself_writes(a, g, d):
    expected = Everything(whole=a, words=encodable(g), real=d).SerializeToString(deterministic=True)
    assert pb.integer(1, a) + pb.double(4, d) + pb.text(7, g) == expected


def test_a_field_in_a_oneof_is_written_even_if_it_is_zero():
    assert Everything.FromString(pb.single(6, 0.0)).WhichOneof("one_of") == "short_real"
    assert Everything.FromString(b"").WhichOneof("one_of") is None


def test_a_required_field_is_written_even_if_it_is_zero():
    assert pb.integer(1, 0) == pb.double(4, 0.0) == b""
    assert pb.integer(1, 0, present=True) == b"\x08\x00"
    assert pb.double(4, 0.0, present=True) == b"\x21" + bytes(8)


@pytest.mark.parametrize("number", [2**64, -(2**63) - 1])
def test_a_number_that_does_not_fit_is_refused_and_not_cut(number):
    with pytest.raises(OverflowError, match="64 bits"):
        pb.varint(number)
