"""A report of 10,000 nodes answers: how fast is printed, for machines differ; that it draws little is asserted."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from support.example_profiles import node
from support.frame_times import frames
from ticktree.profile import Profile

NODES = 10_000


def large() -> Profile:
    """A tree of 10,000 nodes, ten children each until there are no more."""
    dice = random.Random(4)
    level = [node(f"leaf {at}", [dice.randrange(1_000, 9_000_000)]) for at in range(NODES - 1112)]
    for size in (1000, 100, 10, 1):
        below, level = level, []
        for at in range(size):
            inside = below[at::size]
            took = sum(child.total_ns for child in inside)
            level.append(node(f"part {size} {at}", [took + 1000], *inside))
    return replace(Profile.empty(), root=node("root", [], *level))


@pytest.fixture
def page(open_report):
    page = open_report(large()).page
    page.get_by_role("button", name="Unfold all").click()
    return page


@pytest.mark.parametrize(
    ("what", "act"),
    [
        ("scrolling the ledger", "(at) => scrollBy(0, 2000)"),
        ("the mouse over the icicle", """(at) => {
            const canvas = document.querySelector('.icicle'), box = canvas.getBoundingClientRect();
            const to = { clientX: box.left + at * 10, clientY: box.top + 60, bubbles: true };
            canvas.dispatchEvent(new MouseEvent('mousemove', to));
        }"""),
        ("typing in the search", """(at) => {
            const input = document.querySelector('input');
            input.value = 'leaf ' + at;
            input.dispatchEvent(new Event('input', { bubbles: true }));
        }"""),
    ],
)  # fmt: skip
def test_ten_thousand_nodes_are_shown_quickly(page, what, act, capsys):
    said, _ = frames(page, act)
    with capsys.disabled():
        print(f"\n  {NODES:,} nodes, {what}: {said}")
    assert page.locator(".line").count() < 300


def test_only_the_lines_on_the_screen_are_drawn_and_they_are_the_right_ones(page):
    assert int(page.get_by_role("treegrid").get_attribute("aria-rowcount")) > NODES
    page.evaluate("document.querySelector('.lines').scrollIntoView(); scrollBy(0, 28 * 5000)")
    page.wait_for_selector('.line[data-place="5005"]')
    line = page.locator('.line[data-place="5005"]')
    assert line.get_attribute("aria-rowindex") == "5007"
    assert 0 <= line.bounding_box()["y"] < 800
    assert page.locator(".line").count() < 300
