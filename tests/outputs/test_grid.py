from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from ticktree.outputs.writing.document import Entry, Head, Table
from ticktree.outputs.writing.grid import cut, draw_table

words = st.text("ab 漢é", max_size=30)
numbers = st.from_regex(r"[0-9]{1,25}( [a-z/]{1,9})?", fullmatch=True)


@st.composite
def grids(draw):
    heads = draw(st.lists(st.builds(Head, words, rank=st.integers(0, 6), words=st.booleans()), max_size=6))
    lines = draw(
        st.lists(
            st.builds(
                Entry,
                name=words,
                short=words,
                mark=words,
                cells=st.tuples(*[numbers] * len(heads)),
                notes=st.lists(st.text("ab 漢é", min_size=1, max_size=60), max_size=3),
                guide=st.sampled_from(["", "├─ ", "│  └─ ", "│  " * 12 + "└─ "]),
                trunk=st.sampled_from(["", "│  ", "   " * 12]),
            ),
            max_size=4,
        )
    )
    return Table(draw(words), "section", heads, lines)


@settings(max_examples=120)
@given(grids(), st.integers(40, 120))
def test_no_line_is_wider_than_the_grid_even_with_long_numbers(grid, width):
    rows = [text.plain for row in draw_table(grid, width) for text in row]
    assert [row for row in rows if cell_len(row) > width] == []


def test_a_column_with_a_very_long_number_is_dropped_before_the_name():
    heads = [Head("share", 0), Head("waits for", 0)]
    [_, [row]] = draw_table(Table("section", "section", heads, [Entry("update", ["12%", "1" * 35])]), 40)
    assert row.plain == "update     12%"


def test_a_text_that_was_cut_before_has_one_mark_where_it_is_cut_again():
    assert cut("backward …ward of the critics", 20) == "backward …e critics"
    assert cut("of the critics …ward", 11) == "of th…ward"
