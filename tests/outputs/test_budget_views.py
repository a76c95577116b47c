"""What `ticktree check` and `ticktree compare` show, in each form."""

from __future__ import annotations

import html
import json
import re

import pytest
from markdown_it import MarkdownIt
from rich.cells import cell_len

import ticktree
from ticktree.analysis.budgets.check import check
from ticktree.analysis.budgets.plan import Plan, budget_of
from ticktree.analysis.comparison.compare import compare
from ticktree.analysis.comparison.differences import Difference
from ticktree.outputs import ViewOptions
from ticktree.outputs.budgets import CHECKS
from ticktree.outputs.comparison import COMPARISONS

# What markdown, HTML, a table or the place where it is shown could take for something else.
HOSTILE = [
    "a|b",
    "</details>",
    "`x`",
    "**x**",
    "_x_",
    "@somebody",
    "[a](b)",
    "x\ny",
    "\x1b[31m",
    "$x$",
    "\\|",
    "~~x~~",
]


def profile(names, factor=1.0):
    recorder = ticktree.Recorder(virtual_clock=True)
    for _ in recorder.loop("loop", range(50), warmup=0):
        for name in names:
            with recorder.section(name):
                recorder.advance(int(40_000_000 * factor))
    found = recorder.snapshot()
    recorder.disable()
    return found


@pytest.fixture(scope="module")
def checked():
    """A check of sections with hostile names, some of whose budgets failed and some pass."""
    budgets = ("loop/* mean <= 1 ms", "loop/* mean >= 1 ms", "loop missed <= 1%", "loop slower = 50%")
    base, new = profile(HOSTILE), profile(HOSTILE, 1.01)
    return check([new], Plan(tuple(map(budget_of, budgets)), slower=0.5), [base])


def tables(document):
    """The cells' texts, as markdown says them, of each table in it."""
    page = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"]).render(document)
    rows = [
        re.findall(r"<tr>(.*?)</tr>", table, re.DOTALL)
        for table in re.findall(r"<table>(.*?)</table>", page, re.DOTALL)
    ]
    cells = re.compile(r"<t[hd][^>]*>(.*?)</t[hd]>", re.DOTALL)
    plain = re.compile(r"<!-- -->|</?(?:strong|em)>")
    return [
        [[html.unescape(plain.sub("", cell)) for cell in cells.findall(row)] for row in table]
        for table in rows
    ]


def escaped(name):
    return name.replace("\n", r"\n").replace("\x1b", r"\x1b")


def test_markdown_of_a_check_has_tables_with_literal_names(checked):
    document = CHECKS["markdown"](checked, [], ViewOptions(all=True)).decode()
    failed, passed = tables(document)
    assert failed[0][:5] == passed[0][:5] == ["budget", "verdict", "measured", "budget", "margin"]
    paths = [result.path for result in checked.results if result.budget.bound.most == 1e6]
    assert [row[0] for row in failed[1 : 1 + len(HOSTILE)]] == [f"{escaped(path)} mean" for path in paths]
    assert {row[1] for row in failed[1 : 1 + len(HOSTILE)]} == {"fail"}
    assert {row[1] for row in passed[1:]} == {"pass"}
    assert all(len(row) == len(table[0]) for table in (failed, passed) for row in table)


def test_only_passed_budgets_are_folded(checked):
    document = CHECKS["markdown"](checked, [], ViewOptions()).decode()
    before, _, after = document.partition("<details>")
    assert document.count("<details>") == document.count("\n</details>") == 1
    assert "| pass |" not in before
    assert "| fail |" not in after
    assert document.startswith("# ")


def test_what_differs_from_the_baselines_runs_comes_first(checked):
    apart = [Difference("command", "a --x", "a --y", False)]
    document = CHECKS["markdown"](checked, apart, ViewOptions()).decode()
    assert document.index("a --x") < document.index("| fail |")


@pytest.mark.parametrize("width", [40, 60, 100, 200])
def test_nothing_is_wider_than_the_terminal(checked, width):
    for line in CHECKS["terminal"](checked, [], ViewOptions(width=width)).decode().splitlines():
        assert cell_len(line) <= width
        assert line.isprintable()


def test_the_json_of_a_check_has_these_fields_and_no_others(checked):
    document = json.loads(CHECKS["json"](checked, [], ViewOptions()))
    counts = ("fail", "not_measured", "inconclusive", "pass")
    assert list(document) == ["schema", "runs", "unit", *counts, "budgets", "differences"]
    assert sum(document[count] for count in counts) == len(document["budgets"])
    fields = [
        "path",
        "kind",
        "measure",
        "unit",
        "status",
        "measured",
        "at_least",
        "at_most",
        "margin_percent",
        "note",
        "source",
    ]
    shift = ["low_percent", "high_percent"]
    for budget in document["budgets"]:
        assert list(budget) == fields + (shift if budget["measure"] == "slower" else [])


def test_markdown_of_a_comparison_has_tables_with_literal_names():
    compared = compare([profile(HOSTILE)], [profile(HOSTILE, 1.5)])
    document = COMPARISONS["markdown"](compared, [], ViewOptions(all=True)).decode()
    assert document.startswith("# ticktree compare\n")
    loops, sections = tables(document)
    assert [row[0] for row in loops[1:]] == ["loop"]
    names = {row[0].strip().replace("\u00a0", "") for row in sections[2:]}
    assert names == {escaped(name) for name in HOSTILE}
    assert all(len(row) == len(table[0]) for table in (loops, sections) for row in table)


def test_the_same_check_gives_the_same_bytes_every_time(checked):
    for form in CHECKS.values():
        assert form(checked, [], ViewOptions()) == form(checked, [], ViewOptions())


def test_a_name_without_room_is_cut_and_its_tone_is_none():
    long = "backward with unused gradients of the twin critics in a row"
    difference = compare([profile([long])], [profile([long], factor=2.0)])
    text = COMPARISONS["terminal"](difference, [], ViewOptions(width=60, all=True)).decode()
    assert re.search(r"^ +backw.*…", text, re.MULTILINE), text
    for tone in ("alarm", "faint", "strong", "plain", "good"):
        assert tone not in text
