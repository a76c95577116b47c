"""The ledger's columns by process, thread and role in Chromium: the terminal's numbers, and room for all."""

from __future__ import annotations

from dataclasses import replace

import pytest

from support.example_profiles import training
from support.example_trainers import Trainer, straggling_trainer
from support.hostile_profiles import NAMES
from support.ledger_rows import ledger_by
from ticktree.analysis.workers.roles import roles
from ticktree.outputs.view.tree import title_of
from ticktree.outputs.writing.visible import visible

SHOWN = "(line) => [...line.children].filter((cell) => cell.checkVisibility())"


def lines(page) -> list[list[str]]:
    return page.locator(".line").evaluate_all(
        f"""(lines) => lines.map((line) => ({SHOWN})(line).filter((cell) => !cell.matches('.name, .strip'))
            .sort((left, right) => getComputedStyle(left).order - getComputedStyle(right).order)
            .map((cell) => cell.innerText.trim()))"""
    )


def by(page, word: str) -> None:
    page.get_by_role("group", name="Whose columns").get_by_role("button", name=f"by {word}").click()
    page.get_by_role("button", name="Unfold all").click()


@pytest.mark.parametrize("word", ["process", "role"])
def test_each_worker_has_a_column_with_the_values_of_the_terminal(word, open_report):
    profile = straggling_trainer()
    page = open_report(profile).page
    by(page, word)
    assert lines(page) == ledger_by(profile, word)
    titles = page.locator(".heads .column button").evaluate_all("(heads) => heads.map((head) => head.title)")
    assert titles == [title_of(worker, word) for role in roles(profile, word) for worker in role.workers]


def test_many_workers_are_shown_as_their_spread(open_report):
    profile = Trainer(workers=24, steps=12).profile()
    page = open_report(profile).page
    by(page, "process")
    assert lines(page) == ledger_by(profile, "process", 23)
    assert page.locator(".line .strip svg").count() > 3


def test_a_click_on_a_workers_column_sorts_by_its_time(open_report):
    page = open_report(straggling_trainer()).page
    by(page, "process")
    page.locator(".heads .column button").last.click()
    below = page.locator('.line.section[aria-level="2"] bdi').all_inner_texts()
    assert below.index("env step") < below.index("next command")  # of the straggler


def test_a_single_thread_has_no_choice_of_columns(open_report):
    assert open_report(training()).page.get_by_role("group", name="Whose columns").count() == 0


@pytest.mark.parametrize("make", [straggling_trainer, lambda: Trainer(workers=24, steps=12).profile()])
def test_a_phone_shows_all_side_by_side_as_bars_and_the_most(make, open_report):
    page = open_report(make(), width=390, height=844).page
    by(page, "process")
    assert page.evaluate("document.scrollingElement.scrollWidth") <= 390
    cells = (
        page.locator(".line.section")
        .nth(3)
        .evaluate(f"(line) => ({SHOWN})(line).map((cell) => cell.className)")
    )
    assert cells == ["name", "strip", "most"]
    assert page.locator(".line .strip svg").first.is_visible()


def test_hostile_names_of_processes_are_text(open_report):
    profile = straggling_trainer()
    names = dict(zip(sorted(profile.threads), (name for name in NAMES if name.strip())))
    threads = {
        key: replace(one, role=names.get(key, one.role), process_name=names.get(key, one.process_name))
        for key, one in profile.threads.items()
    }
    report = open_report(replace(profile, threads=threads))
    by(report.page, "process")
    titles = report.page.locator(".heads .column button").evaluate_all(
        "(heads) => heads.map((head) => head.title)"
    )
    assert sorted(titles) == sorted(visible(one.role) for one in threads.values())
    assert report.page.locator("script").count() == 2
