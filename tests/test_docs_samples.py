"""Samples of reports in the docs are of the report as it is."""

from __future__ import annotations

import re

import pytest

from support.docs_samples import BLOCK, DOCS, golden, is_golden, is_sample, samples

# Titles and words of earlier reports, which no report has any more.
EARLIER = re.compile(
    r"^(?:Worth doing|Not worth doing|bottlenecks of .*)$|host clock, tsc|if free", re.MULTILINE
)
PAGES = sorted(DOCS.rglob("*.md"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(DOCS).as_posix())
def test_a_page_shows_no_report_of_an_earlier_layout_and_golden_files_as_they_are(page):
    text = page.read_text(encoding="utf-8")
    for block in BLOCK.finditer(text):
        if block["language"] != "python":
            assert not EARLIER.search(block["body"])
        remark = block["remark"] or ""
        if is_golden(remark):
            assert block["body"] == golden(remark), "PYTHONPATH=tests python -m support.docs_samples"


def test_a_sample_is_known_with_the_program_above_it():
    program = "```python\nprint(1)\n```\n\n"
    page = f"{program}<!-- output -->\n```text\n1\n```\n<!-- output: ticktree run x.py -->\n```text\n```\n"
    assert [(block["remark"], program) for block, program in samples(page)] == [
        ("output", "print(1)\n"),
        ("output: ticktree run x.py", "print(1)\n"),
    ]
    assert not is_sample("checked")
    assert not is_sample(None)
