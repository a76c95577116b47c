"""The quickstarts: each program runs under `ticktree run`, and its report has the rows that the page names."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.docs_samples import BLOCK, DOCS

PAGE = (DOCS / "quickstarts.md").read_text(encoding="utf-8")
ROWS = re.compile(r"^Rows: (.*?)\.", re.MULTILINE)
LONGEST = 20
FAKE_ROS = Path(__file__).parent / "support" / "fake_ros"


def quickstarts() -> Iterator[tuple[str, str, list[str]]]:
    """The heading, program and rows of each that can run in this environment."""
    for part in PAGE.split("\n## ")[1:]:
        block = BLOCK.search(part)
        if block and block["language"] == "python" and not (block["remark"] or "").startswith("not run"):
            rows = ROWS.search(part)
            assert rows, part
            yield part.partition("\n")[0], block["body"], re.findall(r"`([^`]+)`", rows[1])


STARTS = list(quickstarts())


def names(node: dict[str, object]) -> Iterator[str]:
    yield str(node["name"])
    for child in node["children"]:
        yield from names(child)


@pytest.mark.slow
@pytest.mark.parametrize(("title", "program", "rows"), STARTS, ids=[title for title, *_ in STARTS])
def test_a_quickstart_records_the_rows_that_it_names(title, program, rows, tmp_path, monkeypatch):
    for module in re.findall(r"^(?:import|from) (\w+)", program, re.MULTILINE):
        if module == "rclpy":  # of a ROS installation: the stand-in of tests/instruments/test_rclpy.py
            monkeypatch.setenv("PYTHONPATH", str(FAKE_ROS))
        else:
            pytest.importorskip(module)
    monkeypatch.chdir(tmp_path)
    Path("train.py").write_text(program, encoding="utf-8")
    ticktree = [sys.executable, "-m", "ticktree"]
    done = subprocess.run(
        [*ticktree, "run", "--quiet", "train.py"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    report = subprocess.run(
        [*ticktree, "report", "--format", "json"], capture_output=True, text=True, check=True
    )
    found = set(names(json.loads(report.stdout)["tree"]))
    assert set(rows) <= found, sorted(found)


def test_the_quickstarts_are_short_and_most_of_them_run():
    blocks = [block["body"] for block in BLOCK.finditer(PAGE) if block["language"] == "python"]
    code = [[line for line in body.splitlines() if line.strip()] for body in blocks]
    assert max(map(len, code)) <= LONGEST
    assert len(STARTS) >= 6
