"""Tables keep within their width, give up columns in order, and keep those they have where they are."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from rich.text import Text

from ticktree.live.columns import LiveColumn, LiveTable

COLUMNS = [
    LiveColumn("first", 5, lambda item: item, 0, "now"),
    LiveColumn("second", 8, lambda item: item, 2, "now"),
    LiveColumn("third", 8, lambda item: item, 1, "before"),
]


def titles(width: int) -> list[str]:
    return [column.title for column in LiveTable(COLUMNS, width, 10, 10).columns]


def test_columns_of_the_highest_rank_are_dropped_first():
    assert titles(100) == ["first", "second", "third"]
    assert titles(30) == ["first", "third"]
    assert titles(20) == ["first"]
    assert titles(5) == []


@given(st.text(max_size=40), st.text(max_size=20), st.integers(1, 60))
def test_no_line_is_wider_than_the_terminal(name, cell, width):
    table = LiveTable(COLUMNS, width, min(10, width), 20)
    cells = "".join(filter(str.isprintable, cell))
    for line in (*table.headings("a title"), table.line(cells, Text("".join(filter(str.isprintable, name))))):
        assert line.cell_len <= width


def test_numbers_and_units_are_aligned():
    table = LiveTable([LiveColumn("time", 8, lambda item: item, 0)], 40, 10, 10)
    lines = [
        table.line(item, Text("x")).plain for item in ("1.23 ms", "45.6 µs", "789 ns", "1.05 s", "7", "")
    ]
    assert [line[12:] for line in lines] == [
        "1.23 ms ",
        "45.6 µs ",
        " 789 ns ",
        "1.05 s  ",
        "       7",
        "        ",
    ]


def test_a_heading_that_does_not_fit_loses_words_before_letters():
    columns = [LiveColumn("a", 6, str, 0, "last 10 s of it"), LiveColumn("b", 4, str, 0, "overall")]
    groups, _ = LiveTable(columns, 80, 8, 8).headings("")
    assert groups.plain.split() == ["last", "ov…l"]
