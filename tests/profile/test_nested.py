from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ticktree.profile import codec

DECODER = json.JSONDecoder()

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(values, st.sampled_from([None, 1]))
def test_it_reads_what_the_json_module_reads(value, indent):
    assert codec.loads(json.dumps(value, indent=indent), DECODER) == value


@given(st.text(alphabet='[]{},:"a1 \\\n', max_size=12))
def test_it_refuses_what_the_json_module_refuses(text):
    try:
        value = json.loads(text)
    except ValueError:
        with pytest.raises(ValueError):
            codec.loads(text, DECODER)
    else:
        assert codec.loads(text, DECODER) == value


def test_it_reads_what_is_nested_deeper_than_pythons_stack():
    value = codec.loads("[" * 50_000 + "]" * 50_000, DECODER)
    for _ in range(49_999):
        [value] = value
    assert value == []
