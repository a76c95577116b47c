"""A comparison in Chromium: its numbers are the JSON's, what cannot be told looks so, and keys and phones do."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from test_report_page import HOSTILE

from support.example_profiles import MS, node
from support.example_variants import sides
from ticktree.analysis.comparison.compare import compare
from ticktree.analysis.comparison.differences import differences
from ticktree.outputs import ViewOptions
from ticktree.outputs.comparison import COMPARISONS, signed
from ticktree.outputs.writing import formatting
from ticktree.outputs.writing.visible import visible
from ticktree.profile import Node, Profile

# How often the colour changes on the way through an icicle's row, from left to right.
CHANGES = """(canvas) => {
    const row = canvas.getContext('2d').getImageData(0, 24 * 1 + 3, canvas.width, 1).data;
    const colors = Array.from({ length: canvas.width }, (_, at) => row.slice(4 * at, 4 * at + 3).join());
    return colors.filter((color, at) => at && color !== colors[at - 1]).length;
}"""


def rendered(base, new, form="html") -> bytes:
    return COMPARISONS[form](compare(base, new), differences(base, new), ViewOptions())


def of(*children: Node) -> Profile:
    return replace(Profile.empty(), root=node("root", [], *children))


def show_all(page) -> None:
    page.get_by_role("group", name="Which sections").get_by_role("button", name="all").click()


@pytest.mark.parametrize("noise", [0.0, 0.15])
def test_every_line_equals_the_json(noise, open_page):
    base, new = sides(noise=noise)
    told = json.loads(rendered(base, new, "json"))
    page = open_page(rendered(base, new)).page
    show_all(page)
    expected = []
    for entry in told["entries"]:
        if entry["kind"] != "node":
            continue
        moved = [entry[f"{which}_percent"] for which in ("shift", "low", "high")]
        shift, low, high = (None if percent is None else signed(percent / 100) for percent in moved)
        between = "too few values" if low is None or high is None else f"{low} to {high}"
        means = [formatting.time(entry[f"{side}_mean_ns"]) for side in ("base", "new")]
        expected.append(
            [
                formatting.verdict(entry["verdict"]),
                shift or formatting.ABSENT,
                between if shift else formatting.ABSENT,
                *means,
            ]
        )
    lines = page.locator(".forest .line").evaluate_all(
        """(lines) => lines.map((line) => [...line.children].filter((cell) => !cell.matches('.name, .plot-cell'))
            .map((cell) => cell.innerText.trim()))"""
    )
    assert lines == expected
    loop = next(entry for entry in told["entries"] if entry["kind"] == "loop")
    figure = page.locator(".verdict .figure").first.inner_text()
    assert figure == f"{formatting.verdict(loop['verdict'])} {signed(loop['shift_percent'] / 100)}"
    assert formatting.time(loop["new"]["max_ns"]) in page.locator(".verdict table").first.inner_text()


def test_the_first_screen_shows_the_verdict_and_the_other_differences(open_page):
    page = open_page(rendered(*sides())).page
    for place in (".verdict .figure", ".counts", "#differences tbody tr"):
        box = page.locator(place).first.bounding_box()
        assert box["y"] + box["height"] <= 800
    assert "drive.py --slicing" in page.locator("#differences").inner_text()
    assert "6 runs of the base, 6 new" in page.locator(".headline").inner_text()


def test_a_difference_that_alone_may_explain_the_change_is_red(open_page):
    base, new = sides()
    new = [replace(run, metadata={**run.metadata, "python": frozenset({"3.13.1"})}) for run in new]
    page = open_page(rendered(base, new)).page
    assert "3.13.1" in page.locator("#differences tr.alarm").inner_text()


def test_inconclusive_does_not_look_like_no_difference(open_page):
    base = [of(node("a", [10 * MS + seed]), node("b", [MS * (5 + seed * seed)])) for seed in range(6)]
    new = [of(node("a", [10 * MS + seed * 2]), node("b", [MS * (6 + 3 * seed)])) for seed in range(6)]
    verdicts = {entry.path: entry.verdict for entry in compare(base, new).entries}
    assert verdicts == {"a": "no difference", "b": "inconclusive"}
    page = open_page(rendered(base, new)).page
    show_all(page)
    looks = [
        page.locator(f".forest .interval.{name} > b").evaluate(
            "(mark) => [getComputedStyle(mark).borderRadius, getComputedStyle(mark).backgroundColor]"
        )
        for name in ("no-difference", "inconclusive")
    ]
    assert looks[0][0] != looks[1][0]
    assert looks[0][1] != looks[1][1]
    # Beside the plain box, one with lines all over it.
    assert page.locator("canvas.icicle").evaluate(CHANGES) > 40


def test_the_lines_can_be_ordered_searched_and_opened_by_keys(open_page):
    page = open_page(rendered(*sides())).page
    show_all(page)
    page.get_by_role("button", name="largest shift").click()
    shifts = [
        abs(float(text.strip("%").replace("+", "")))
        for text in page.locator(".line .shift").all_inner_texts()
    ]
    assert shifts == sorted(shifts, reverse=True)
    page.get_by_label("Search sections").fill("forwarder")
    page.wait_for_selector(".forest .line:only-child")
    page.get_by_label("Search sections").fill("")
    page.wait_for_selector(".forest .line:nth-child(2)")
    page.locator(".forest .line").first.focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    assert page.locator(".details h2").inner_text() == page.locator(".forest .line bdi").nth(1).inner_text()
    page.keyboard.press("Escape")
    assert page.locator(".details").count() == 0


def test_the_icicle_shows_the_interval_and_can_have_the_width_of_either_side(open_page):
    page = open_page(rendered(*sides())).page
    canvas = page.locator("canvas.icicle")
    before = canvas.screenshot()
    page.get_by_role("button", name="as wide as in base").click()
    assert canvas.screenshot() != before
    canvas.focus()
    for key in ("ArrowDown", "ArrowDown"):
        page.keyboard.press(key)
    assert "between" in page.locator(".readout").inner_text()
    assert "controller.step" in page.locator(".readout").inner_text()


def test_hostile_names_are_text(open_page):
    nodes = [node(name, [(at + 1) * MS]) for at, name in enumerate(HOSTILE)]
    named = {"name": frozenset([HOSTILE[0]]), "command": frozenset([HOSTILE[1]])}
    base, new = (
        replace(of(*nodes), metadata=named),
        replace(of(*nodes), metadata={"command": frozenset(HOSTILE)}),
    )
    report = open_page(rendered([base], [new]))
    show_all(report.page)
    assert sorted(report.texts(".forest .line bdi")) == sorted(map(visible, HOSTILE))
    assert report.page.locator("script").count() == 2
    assert report.page.locator("img").count() == 0
    report.page.locator(".forest .line").first.click()
    assert report.page.locator(".details h2").inner_text() in {visible(name) for name in HOSTILE}


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_phone_shows_it_without_scrolling_sideways(scheme, open_page):
    page = open_page(rendered(*sides()), width=390, height=844, scheme=scheme).page
    assert page.evaluate("document.scrollingElement.scrollWidth") <= 390
    assert page.locator(".forest .line .shift").first.is_visible()
    assert page.locator(".forest .line .interval").first.is_visible()


def test_of_ten_thousand_sections_only_those_on_the_screen_are_drawn(open_page):
    runs = [of(*(node(f"section {at}", [MS + at + seed]) for at in range(10_000))) for seed in (1, 2)]
    page = open_page(rendered(runs[:1], runs[1:])).page
    assert page.locator(".forest .line").count() < 300
    page.evaluate("document.querySelector('.lines').scrollIntoView(); scrollBy(0, 28 * 5000)")
    page.wait_for_selector('.line[aria-rowindex="5010"]')
    assert page.locator(".forest .line").count() < 300


def test_the_page_gives_the_json_back(open_page, tmp_path):
    base, new = sides()
    page = open_page(rendered(base, new)).page
    with page.expect_download() as download:
        page.get_by_role("button", name="JSON").click()
    file = tmp_path / "saved.json"
    download.value.save_as(file)
    assert json.loads(file.read_text()) == json.loads(rendered(base, new, "json"))
