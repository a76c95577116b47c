"""A history in each format: the same numbers, and nothing in it but text whatever a section is called."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Sequence

import pytest

from support.history_series import SERVER, days, run
from ticktree.analysis.history.history import Commit, History, Trend, history
from ticktree.outputs import ViewOptions
from ticktree.outputs.history import BINARY_FORMATS, HISTORIES
from ticktree.outputs.history_parts import ROWS, downsample, scale_of, spark

A, B = "a" * 40, "b" * 40
HOSTILE = "</title><script>alert(1)</script>`````\x1b[2J\u202e|<img src=x onerror=y>"


def trend(values: Sequence[float]) -> Trend:
    return history(days(values)).series[0].trends[0]


def slowed(path: str = "train", **facts: object) -> History:
    values = [1e6 + 1e4 * (at % 5) for at in range(12)] + [1.5e6 + 1e4 * (at % 4) for at in range(10)]
    found = history(days(values, [A] * 12 + [B] * 10, path, **facts), nodes=[path])
    return History(found.series, found.statistic, found.threshold, found.nodes, {B: Commit(HOSTILE, 3)})


@pytest.mark.parametrize("form", [form for form in HISTORIES if form not in ("png", "svg")])
def test_a_format_drawn_twice_is_the_same_twice(form):
    found = slowed()
    assert HISTORIES[form](found, ViewOptions()) == HISTORIES[form](found, ViewOptions())


@pytest.mark.parametrize("form", ["png", "svg"])
def test_a_picture_drawn_twice_is_the_same_twice(form):
    pytest.importorskip("matplotlib")
    found = slowed(HOSTILE)
    picture = HISTORIES[form](found, ViewOptions())
    assert picture == HISTORIES[form](found, ViewOptions())
    assert (form in BINARY_FORMATS) is (form == "png")
    if form == "svg":
        assert "bbbbbbbbb" in picture.decode()


@pytest.mark.parametrize("width", [40, 77, 120, 300])
def test_the_terminals_view_is_no_wider_than_the_terminal(width):
    lines = HISTORIES["terminal"](slowed(), ViewOptions(width=width)).decode().splitlines()
    assert max(map(len, lines)) <= width
    assert sum(line.count("●") for line in lines) in range(15, 23)  # where runs share a column, one is seen
    assert all(line == line.rstrip() for line in lines)


def test_colours_mark_what_became_slower():
    plain = HISTORIES["terminal"](slowed(), ViewOptions()).decode()
    colored = HISTORIES["terminal"](slowed(), ViewOptions(color=True)).decode()
    assert "\x1b[31m●" in colored
    assert "\x1b" not in plain


@pytest.mark.parametrize("form", ["terminal", "markdown", "html"])
def test_a_sections_name_is_only_text(form):
    document = HISTORIES[form](slowed(HOSTILE), ViewOptions(width=200)).decode()
    assert "\x1b" not in document
    assert "\u202e" not in document
    if form == "html":
        assert "<script" not in document
        assert "<img" not in document
    if form == "markdown":
        (fence,) = re.findall(r"^(`{3,})text$", document, re.MULTILINE)
        assert len(fence) == 6
        rest = document.replace("\n", " ").partition(f" {fence} ")[2]
        assert "<script" not in rest


def test_the_page_runs_and_fetches_nothing_and_has_the_json_in_it():
    page = HISTORIES["html"](slowed(), ViewOptions()).decode()
    assert "default-src 'none'" in page
    assert not re.search(r"https?://", page)
    figures = re.findall(r"<svg viewBox.*?</svg>", page, re.DOTALL)
    (figure,) = [ElementTree.fromstring(each) for each in figures]
    assert len(figure.findall(".//circle")) == 22
    titles = [title.text for title in figure.iter("title")]
    assert "bbbbbbbbb" in titles[-1]


def test_the_page_gives_the_json_back():
    import base64

    found = slowed()
    page = HISTORIES["html"](found, ViewOptions()).decode()
    packed = re.search(r"data:application/json;base64,([^\"]+)", page)
    assert json.loads(base64.b64decode(packed[1])) == json.loads(HISTORIES["json"](found, ViewOptions()))


def test_every_format_names_the_commit_its_subject_and_other_possible_causes():
    text = HISTORIES["markdown"](slowed(), ViewOptions()).decode()
    row = next(line for line in text.splitlines() if line.startswith("| train | bbbbbbbbb"))
    assert re.search(r"\| \+4\d\.\d% \| \+\d+\.\d% to \+\d+\.\d% \|", row.replace("\u00a0", " "))
    assert "one of 3 commits since aaaaaaaaa" in row


def test_an_unchanged_commit_is_not_blamed():
    values = [1e6 + 1e4 * (at % 5) for at in range(10)]
    runs = days(values, [A] * 10, **{"version.torch": "1"})
    runs += [run(10 + at, {"train": 2 * ns}, A, **{"version.torch": "2"}) for at, ns in enumerate(values)]
    text = HISTORIES["markdown"](history(runs), ViewOptions()).decode()
    assert "no commit lies between" in text
    assert "version.torch 1 → 2" in text


def test_replaced_machines_are_counted_and_shown_on_request():
    runs = [*days([1e6] * 9), *[run(20 + at, {"train": 1e6}, **SERVER) for at in range(9)]]
    found = history(runs)
    text = HISTORIES["terminal"](found, ViewOptions()).decode()
    assert "Small CPU" not in text
    assert "1 series of machines that were replaced not shown (--all)." in text
    assert "Small CPU" in HISTORIES["terminal"](found, ViewOptions(all=True)).decode()


def test_an_outlier_does_not_compress_the_other_values():
    values = [1e6, 1.1e6, 0.9e6, 1.05e6, 0.95e6, 1e6, 1.1e6, 0.9e6, 1e8]
    scale = scale_of(trend(values))
    assert scale.is_outside(1e8)
    assert not any(scale.is_outside(value) for value in values[:-1])
    assert scale.fraction(1.1e6) - scale.fraction(0.9e6) > 0.1
    assert scale.fraction(1e8) == 1.0


def test_a_level_that_few_runs_have_reached_is_on_the_scale():
    scale = scale_of(trend([1e6 + 1e4 * (at % 5) for at in range(40)] + [9e6, 9.1e6, 9e6]))
    assert not scale.is_outside(9e6)


@pytest.mark.slow
def test_a_trend_in_a_few_characters_goes_up_where_the_values_do():
    assert spark(trend([1.0] * 5 + [2.0] * 5)) in ("▁▁▁▁▁█████", "▁▁▁▁▁▇▇▇▇▇")
    assert len(spark(trend([float(at + 1) for at in range(1000)]))) == 18
    assert downsample([1.0, 2.0, 3.0, 100.0], 2) == [1.5, 51.5]


def test_values_that_never_differ_are_drawn_in_the_middle():
    scale = scale_of(trend([5.0] * 9))
    assert 0.4 < scale.fraction(5.0) < 0.6
    assert ROWS % 2 == 0
