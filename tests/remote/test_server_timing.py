"""The Server-Timing header: whatever is written is read back, and whatever comes from outside is survived."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ticktree.remote.server_timing import (
    BYTES_AT_MOST,
    METRICS_AT_MOST,
    NAME_AT_MOST,
    READ_AT_MOST,
    Report,
    Row,
    format_header,
    metrics_of,
    parse_header,
)

# As the W3C's Server Timing has it, with what it takes from RFC 9110: written here anew, by its own grammar.
TOKEN = r"[!#$%&'*+.^_`|~0-9A-Za-z-]+"
QUOTED = r'"(?:[\t \x21\x23-\x5b\x5d-\x7e]|\\[\t \x21-\x7e])*"'
PARAMETER = rf"[ \t]*;[ \t]*{TOKEN}[ \t]*=[ \t]*(?:{TOKEN}|{QUOTED})"
METRIC = rf"{TOKEN}(?:{PARAMETER})*"
FIELD = re.compile(rf"{METRIC}(?:[ \t]*,[ \t]*{METRIC})*")

DURATIONS = st.integers(0, 10**15)
NAMES = st.text(max_size=NAME_AT_MOST)


@st.composite
def reports(draw, rows_at_most=12):
    depth, rows = 0, []
    for _ in range(draw(st.integers(0, rows_at_most))):
        depth = draw(st.integers(1, depth + 1))
        total_ns = draw(DURATIONS)
        rows.append(Row(depth, draw(NAMES), total_ns, draw(st.integers(0, total_ns))))
    return Report(draw(NAMES), draw(DURATIONS), tuple(rows))


def clean(text):
    """A lone surrogate cannot be said in UTF-8: it is escaped."""
    return text.encode("utf-8", "backslashreplace").decode()


@given(reports())
def test_what_is_written_is_read_back(report):
    said = parse_header(format_header(report, at_most=1 << 20))
    assert (
        said.report
        == Report(
            clean(report.name),
            report.total_ns,
            tuple(row._replace(name=clean(row.name)) for row in report.rows),
        )
        or said.unreadable
    )  # only what is longer than anybody reads
    if len(format_header(report, at_most=1 << 20)) <= READ_AT_MOST:
        assert not said.unreadable


@pytest.mark.slow
@given(reports(rows_at_most=60), st.integers(64, BYTES_AT_MOST))
def test_what_is_written_is_a_field_of_the_standard_and_no_longer_than_asked(report, at_most):
    text = format_header(report, at_most)
    assert FIELD.fullmatch(text)
    assert text.isascii()
    assert len(text) <= at_most


@pytest.mark.slow
@given(reports(rows_at_most=60), st.integers(200, BYTES_AT_MOST))
def test_what_is_cut_is_in_a_row_of_the_rest_under_the_row_that_it_was_in(report, at_most):
    """What is right below the request takes the same together, however much is cut."""
    rows = parse_header(format_header(report, at_most)).report.rows
    top = [row for row in rows if row.depth == 1]
    if top:
        assert sum(row.total_ns for row in top) == sum(row.total_ns for row in report.rows if row.depth == 1)


@given(reports())
def test_the_short_way_of_reading_reads_what_the_standards_grammar_does(report):
    text = format_header(report)
    assert parse_header(text) == parse_header(f"{text} ")


def test_the_longest_are_kept():
    rows = tuple(Row(1, f"section {at}", 1_000_000 + at) for at in range(200))
    kept = parse_header(format_header(Report("GET /", 10**9, rows), 1024)).report.rows
    *longest, rest = kept
    assert rest.name == "others"
    assert {row.name for row in longest} == {f"section {at}" for at in range(200 - len(longest), 200)}
    assert rest.total_ns == sum(row.total_ns for row in rows[: 200 - len(longest)])


@given(st.text() | st.text(alphabet='ab=;,"\\ \td.1', max_size=200))
def test_nothing_that_comes_from_outside_raises(text):
    said = parse_header(text)
    assert said.unreadable >= 0
    assert all(ns >= 0 for _, ns in said.foreign)


@pytest.mark.parametrize(
    "text",
    [
        '"' * 8000,
        "a;" * 4000,
        'a;b="' + "\\" * 8000,
        " " * 8000,
        "a" + " " * 8000,
        ',"' * 4000,
        'a;b="\\",' * 1000,
    ],
)
@pytest.mark.timeout(20)
def test_what_is_made_to_take_long_does_not(text):
    metrics, _ = metrics_of(text)
    assert len(metrics) <= METRICS_AT_MOST


def test_metrics_of_others_are_read_as_they_write_them():
    said = parse_header(
        'cache;desc="Cache Read";dur=23.2, db;dur=53, app ; dur = 47.2;x, miss, total;dur="120"'
    )
    assert said.report is None
    assert said.foreign == (
        ("cache", 23_200_000),
        ("db", 53_000_000),
        ("app", 47_200_000),
        ("total", 120_000_000),
    )
    assert not said.unreadable


@pytest.mark.parametrize("duration", ["-1", "1e3", "NaN", "inf", "", "1.2.3", "9" * 16, "٣"])
def test_a_duration_that_is_none_is_absent_and_never_a_number(duration):
    assert parse_header(f'db;dur="{duration}"').foreign == ()


def test_of_parameters_that_are_there_twice_the_first_counts():
    assert parse_header("db;dur=1;dur=2").foreign == (("db", 1_000_000),)


def test_what_is_no_metric_is_counted_and_the_next_is_read():
    said = parse_header("db;dur=1, =3, app;dur=2")
    assert said.foreign == (("db", 1_000_000), ("app", 2_000_000))
    assert said.unreadable == 1


def test_a_proxy_may_add_its_own_before_and_after():
    text = f"edge;dur=1, {format_header(Report('GET /', 5_000_000, (Row(1, 'work', 4_000_000),)))}, cdn;dur=2"
    said = parse_header(text)
    assert said.report == Report("GET /", 5_000_000, (Row(1, "work", 4_000_000),))
    assert said.foreign == (("edge", 1_000_000), ("cdn", 2_000_000))


def test_a_row_without_a_row_around_it_is_none():
    said = parse_header("total;dur=5;ticktree=1, work;dur=4;d=3")
    assert said.report.rows == ()
    assert said.unreadable == 1


def test_what_goes_beyond_what_is_read_is_counted():
    assert parse_header("db;dur=1, " * 1000).unreadable
