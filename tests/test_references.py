"""The page that says where everything of five hand-made profilers is: each line is shown by something, and true."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "references.md"
LINK = re.compile(r"\[((?:[^\[\]]|\[[^\]]*\])+)\]\([^)]+\)")
CODE = re.compile(r"`([^`]+)`")
ITEM = re.compile(r"^- (.+(?:\n  .+)*)", re.MULTILINE)


def rows():
    items = [" ".join(item.split()) for item in ITEM.findall(PAGE.read_text(encoding="utf-8"))]
    return [item.split(" → ") for item in items if " → " in item]


ROWS = rows()


@pytest.fixture(scope="module")
def sources():
    folders = (ROOT / "src", ROOT / "workloads")
    return "\n".join(path.read_text(encoding="utf-8") for folder in folders for path in folder.rglob("*.py"))


def test_all_five_documents_are_there():
    text = PAGE.read_text(encoding="utf-8")
    headings = re.findall(r"^## (.+)$", text, re.MULTILINE)
    assert len(headings) == 6
    assert len(ROWS) > 100


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0][:60])
def test_each_line_says_what_shows_it(row):
    reference, replacement = row
    assert reference
    shown_by = [name for name in CODE.findall(replacement) if name.startswith(("src/", "tests/"))]
    assert LINK.search(replacement) or shown_by
    for name in shown_by:
        assert (ROOT / name).exists(), name


def said_to_be_here_under_the_same_name():
    for reference, replacement in ROWS:
        if re.match(r"the same\b|rows of these names|a row\b", LINK.sub(r"\1", replacement)):
            # A call's name is what is before its parentheses; a command line has spaces and is no name.
            yield from (
                name.partition("(")[0].lstrip("@") for name in CODE.findall(reference) if " " not in name
            )


@pytest.mark.parametrize("name", sorted({*said_to_be_here_under_the_same_name()}))
def test_what_is_said_to_have_the_same_name_has_it(name, sources):
    # Operations and options of five programs: `rtc.enabled` may be a field of a dataclass, `_draw_walls` an ending.
    last = name.removeprefix("super()").lstrip("-._").rpartition(".")[2]
    assert last in sources or last.replace("-", "_") in sources
