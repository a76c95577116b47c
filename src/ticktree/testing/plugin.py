"""The pytest plugin: the fixture `ticktree_check`, and its options.

pytest imports this module wherever ticktree is installed. So it imports nothing slow, and does nothing unless a test
requests the fixture.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from ticktree.testing import SECTION

if TYPE_CHECKING:
    from ticktree.testing.check import Check


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options."""
    group = parser.getgroup("ticktree", "budgets of what tests run (ticktree)")
    group.addoption(
        "--ticktree-save",
        metavar="DIR",
        type=Path,
        help="keep the profile of every check there, as a baseline for later",
    )
    group.addoption(
        "--ticktree-baseline",
        metavar="DIR",
        type=Path,
        help="be no slower than the profiles that --ticktree-save kept there",
    )


@pytest.fixture
def ticktree_check(request: pytest.FixtureRequest) -> Check:
    """A check: called with budgets, it records what runs in its `with` block, which fails if it breaks them.

    Without an argument the budgets are those of [tool.ticktree.budgets] in pyproject.toml.
    """
    from ticktree.testing.check import Check

    return Check(request.node)


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Print the trees of passed checks, with `-v`; pytest itself prints those of failures."""
    if terminalreporter.verbosity < 1:
        return
    for report in terminalreporter.getreports("passed"):
        for title, text in report.sections:
            if SECTION in title:
                terminalreporter.section(f"{SECTION}: {report.nodeid}")
                terminalreporter.write(text)
