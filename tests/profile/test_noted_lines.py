"""Lines of note: written and read, and which samples they explain."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.example_samples import stack
from ticktree.profile import CodeLine
from ticktree.profile.noted_lines import KINDS, kind_of, read_noted_lines, write_noted_lines

LINE = CodeLine("f", "/home/me/train.py", 7)
OUTSIDE = CodeLine("main", "/home/me/train.py", 30)
NUMPY = CodeLine("stack", "/site-packages/numpy/_core/shape_base.py", 400)
JSON = CodeLine("dumps", "/usr/lib/python3.11/json/__init__.py", 183)
COPY = CodeLine("deepcopy", "/usr/lib/python3.11/copy.py", 128)
OWN = CodeLine("g", "/home/me/other.py", 3)

files = st.text(st.characters(exclude_categories=("Cs", "Cc", "Zl", "Zp")), min_size=1)
noted = st.dictionaries(
    st.tuples(files, st.integers(0, 99999)), st.frozensets(st.sampled_from(sorted(KINDS)), min_size=1)
)


@given(noted)
def test_what_is_written_is_read(lines):
    assert read_noted_lines(write_noted_lines(lines)) == lines


@pytest.mark.parametrize(
    "text", ["", "lock", "lock train.py", "lock train.py:x", "other train.py:3", "lock a:²"]
)
def test_what_is_no_noted_line_is_left_out(text):
    assert read_noted_lines(text) == {}


@pytest.mark.parametrize(
    ("kind", "inner_lines", "state", "is_within"),
    [
        ("array-of-list", [], "running", True),
        ("array-of-list", [LINE, NUMPY], "running", True),  # a comprehension's frame has the line of its call
        ("array-of-list", [NUMPY], "gil", True),
        ("array-of-list", [OWN], "running", False),
        ("array-of-list", [], "io", False),
        ("json", [JSON, OWN], "running", True),  # an encoder of the program
        ("json", [], "running", False),  # what else the line does
        ("deep-copy", [COPY, COPY], "running", True),
        ("deep-copy", [OWN, COPY], "running", False),
        ("element-loop", [], "running", True),
        ("element-loop", [NUMPY], "running", True),
        ("element-loop", [OWN], "running", False),
        ("deque", [CodeLine("Random.sample", "/usr/lib/python3.11/random.py", 477)], "running", True),
        ("deque", [], "running", False),
        ("poll", [], "sleep", True),
        ("poll", [], "running", False),
        ("lock", [], "lock", True),
        ("lock", [], "running", False),
        ("lock", [OWN], "lock", False),
        ("program", [CodeLine("run", "/usr/lib/python3.11/subprocess.py", 548)], "blocked", True),
    ],
)
def test_a_sample_is_of_a_lines_kind_if_what_the_line_calls_fits(kind, inner_lines, state, is_within):
    result = kind_of(
        stack("train", OUTSIDE, LINE, *inner_lines, state=state), {(LINE.file, LINE.line): frozenset([kind])}
    )
    assert result == ((kind, LINE) if is_within else None)
