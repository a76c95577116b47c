"""Sampled calls on the page in Chromium: boxes and rows below self time; all there is of a run without sections."""

from __future__ import annotations

import pytest

from support.example_profiles import MS, node
from support.example_samples import CRUNCH, MAIN, NAP, sampled, sampled_training, stack, unmarked
from ticktree.profile import Profile

ROW_PX = 24


def boxes(page):
    return page.locator("canvas.icicle").bounding_box()


def card_at(page, part, row):
    """What the card says where the mouse is at this part of the width, in this row of boxes."""
    box = boxes(page)
    page.mouse.move(box["x"] + part * box["width"], box["y"] + (row + 0.5) * ROW_PX)
    return page.locator(".card").inner_text()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_run_without_sections_is_a_tree_of_functions(scheme, open_report):
    page = open_report(unmarked(), scheme=scheme).page
    assert not page.locator(".nothing").count()
    assert page.locator(".line .name bdi").all_inner_texts() == ["main", "crunch", "nap"]
    assert page.locator(".line .name em").all_inner_texts() == ["[sampled]"] * 3
    said = card_at(page, 0.3, 2)
    assert said.startswith("crunch: 707 ms, 71%")
    assert "sampled, 70 samples, share 61\N{EN DASH}79% of [self] \N{MIDDLE DOT} lib.py:7" in said
    assert page.locator("#functions h3").all_inner_texts() == [
        "Where the run goes [sampled], 99 samples",
        "Other threads [sampled], 5 samples",
    ]


def test_sampled_self_time_is_hatched_and_shows_its_calls(open_report):
    step = node("step", [1000 * MS], node("act", [400 * MS]))
    samples = sampled({stack("step", MAIN, CRUNCH): 30, stack("step", NAP): 10})
    page = open_report(Profile(root=node("root", [], step), samples=samples)).page
    assert card_at(page, 0.2, 2).startswith("act: 400 ms, 40%")
    assert card_at(page, 0.7, 2) == "[self]: 600 ms, 60% \N{MIDDLE DOT} sampled, 40 samples"
    assert card_at(page, 0.6, 4).startswith(
        "crunch: 450 ms, 45% \N{MIDDLE DOT} sampled, 30 samples, share 60"
    )
    assert card_at(page, 0.9, 3).startswith("nap: 150 ms, 15%")
    # A hatched box has more than one colour where it has no letters.
    colors = page.evaluate(
        """() => {
          const canvas = document.querySelector("canvas.icicle");
          const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
          const seen = new Set();
          for (let at = 0; at < data.length; at += 4) seen.add(data.slice(at, at + 3).join());
          return [...seen];
        }"""
    )
    assert "230,225,214" in colors


def test_self_time_unfolds_into_calls_that_a_search_finds(open_report):
    page = open_report(sampled_training()).page
    assert not page.locator(".line.sampled").count()
    page.get_by_role("button", name="Unfold all").click()
    assert page.locator(".line.sampled bdi").all_inner_texts() == [
        *("Agent.update", "crunch", "nap", "(suspended)", "main")
    ]
    page.get_by_role("button", name="Fold all", exact=True).click()
    page.get_by_placeholder("Search").fill("crunch")
    assert page.locator(".line .name").first.inner_text().startswith("▾\ntrain")
    assert page.locator(".line.sampled bdi").all_inner_texts() == ["Agent.update", "crunch"]
    page.locator(".line.sampled").last.click()
    assert "80 samples" in page.locator(".details .pieces").inner_text()
    assert page.locator(".details h2").inner_text() == "crunch"
    assert "section=" not in page.url
