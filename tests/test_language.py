"""One word per concept: words that another one has replaced are in no file of the house."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "ticktree"
# Each with the word that replaces it.
REPLACED = {
    "acquaint": "cache",
    "by_unit": "by_worker",
    "by_writer": "by_thread",
    "chore": "periodic task",
    "detour": "redirection",
    "foreign/": "importers/",
    "own_ns": "self_ns",
    "parts_from_elsewhere": "parts",
    "spots": "nodes",
    "unaccounted_ns": "self_ns",
    "unblocked_by": "woken_by",
    "unfiled": "over_cap",
    "whence": "call site",
}
# What only this project wrote, or the passive that hides who does it.
BANNED = re.compile(
    r"\b(?:beside|anew|go(?:es|ing)? on|went on|all the same|in vain|(?:is|are|was|were) (?:said|told)|whoever"
    r"|hangs? under|add(?:s|ed)? up|nobody|somebody)\b",
    re.IGNORECASE,
)
PAGES = [*(SOURCE.parents[1] / "docs").rglob("*.md"), SOURCE.parents[1] / "README.md"]
FILES = [
    path
    for path in sorted(SOURCE.rglob("*"))
    if path.suffix in {".py", ".pyi", ".pyx", ".pxi", ".pxd", ".h", ".c"}
    and path.name not in {"_native.c", "_remote.c"}
]


@pytest.mark.parametrize("word", REPLACED)
def test_a_word_that_was_replaced_is_used_no_more(word: str) -> None:
    found = re.compile(rf"(?<![a-z]){re.escape(word)}", re.IGNORECASE)
    where = {
        f"{path.relative_to(SOURCE)}:{number}": line.strip()
        for path in FILES
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if found.search(line)
    }
    assert where == {}, f"write {REPLACED[word]!r}"


@pytest.mark.parametrize("path", [*FILES, *PAGES], ids=lambda path: str(path.relative_to(SOURCE.parents[1])))
def test_sentences_are_plain_english(path: Path) -> None:
    """Sentences go over the ends of lines."""
    text = re.sub(r"\s*\n\s*(?:[#*]|/\*|\*)?\s*", " ", path.read_text(encoding="utf-8"))
    assert [text[max(0, match.start() - 40) : match.end() + 40] for match in BANNED.finditer(text)] == []


# They do not tell what a variable holds or what a function does.
BANNED_NAMES = {
    *(
        "anyone",
        "each",
        "everybody",
        "found",
        "known",
        "meant",
        "mine",
        "nobody",
        "one",
        "ones",
        "ours",
        "said",
    ),
    *("somebody", "told", "wanted", "who", "whole"),
}


def names_in(path: Path) -> set[str]:
    """Return the names that a file gives to variables, parameters, functions and classes."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        elif isinstance(node, ast.arg):
            names.add(node.arg)
    return {name.strip("_") for name in names}


@pytest.mark.parametrize("path", sorted(SOURCE.rglob("*.py")), ids=lambda path: str(path.relative_to(SOURCE)))
def test_names_are_nouns_and_verbs(path: Path) -> None:
    assert names_in(path) & BANNED_NAMES == set()
