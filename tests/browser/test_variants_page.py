"""Several runs side by side in Chromium: each has the numbers of its own JSON."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from test_report_page import HOSTILE

from support.example_profiles import MS, control, node, robot, training
from support.example_variants import variants_of_it
from ticktree.analysis.context import Context
from ticktree.outputs import OUTPUTS, ViewOptions
from ticktree.outputs.variants import VARIANTS, variants
from ticktree.outputs.view import currency
from ticktree.outputs.writing import formatting
from ticktree.outputs.writing.visible import visible
from ticktree.profile import Profile


def rendered(profiles, form="html") -> bytes:
    page = variants([(f"run-{number}", profile) for number, profile in enumerate(profiles)], ViewOptions())
    return VARIANTS[form](page, ViewOptions())


def nodes_of(tree: dict, found: dict) -> dict:
    found[tree["path"]] = tree
    for child in tree["children"]:
        nodes_of(child, found)
    return found


def lines(page) -> list[list[str]]:
    return page.locator(".side-by-side .line.section").evaluate_all(
        """(lines) => lines.map((line) => [...line.children].map(
            (cell, at) => (at ? cell.innerText : cell.querySelector("bdi").innerText).trim()))"""
    )


@pytest.mark.parametrize("make", [variants_of_it, lambda: [training(), control(), robot()]])
@pytest.mark.parametrize(("measure", "field"), [("mean", "mean_ns"), ("p99", "p99_ns"), ("calls", "count")])
def test_every_cell_is_the_number_of_its_runs_json(make, measure, field, open_page):
    profiles = make()
    documents = [json.loads(OUTPUTS["json"].render(profile)) for profile in profiles]
    by_path = [nodes_of(one["tree"], {}) for one in documents]
    page = open_page(rendered(profiles)).page
    page.get_by_role("group", name="Values shown").get_by_role("button", name=measure, exact=True).click()
    write = formatting.count if field == "count" else formatting.time
    expected = set()
    for path in {path for nodes in by_path for path in nodes if path}:
        cells = []
        for nodes in by_path:
            one = nodes.get(path)
            steady = None if one is None else one.get("steady", one)
            value = None if steady is None or not (steady["count"] or field == "count") else steady[field]
            cells.append(write(value))
        name = next(nodes[path]["name"] for nodes in by_path if path in nodes)
        expected.add((visible(name), *cells))
    assert {tuple(line) for line in lines(page)} == expected


def test_each_run_has_its_rate_and_its_bottleneck_on_the_first_screen(open_page):
    profiles = variants_of_it()
    page = open_page(rendered(profiles)).page
    cards = page.locator(".variants article")
    assert cards.count() == 3
    for at, profile in enumerate(profiles):
        documents = json.loads(OUTPUTS["json"].render(profile))
        text = cards.nth(at).inner_text()
        assert next(iter(profile.metadata["name"])) in text
        pace = currency.pace(Context(profile).main_loops[0])
        assert cards.nth(at).locator(".figure").inner_text() == pace
        assert pace in page.locator(".loops tbody tr").nth(at).inner_text()
        section = next(
            one for one in documents["bottlenecks"][0]["sections"] if one["kind"] in ("work", "wait")
        )
        assert (
            formatting.change(formatting.hertz(section["hz"]), formatting.hertz(section["free_hz"])) in text
        )
        box = cards.nth(at).bounding_box()
        assert box["y"] + box["height"] <= 800
    assert "drive.py --model biai" in page.locator("#facts").inner_text()
    loops = page.locator(".loops tbody tr").all_inner_texts()
    assert len(loops) == 3


def test_the_distribution_of_ticks_is_drawn_in_their_row(open_page):
    page = open_page(rendered(variants_of_it())).page
    inside = page.locator(".loops .track").evaluate_all(
        """(tracks) => tracks.map((track) => {
            const cell = track.parentElement.getBoundingClientRect();
            return [...track.children].every((mark) => {
                const box = mark.getBoundingClientRect();
                return box.top >= cell.top - 5 && box.bottom <= cell.bottom + 5 && box.height > 0
                    && box.left >= cell.left - 5 && box.right <= cell.right + 5;
            });
        })"""
    )
    assert inside
    assert all(inside)


def test_losses_of_a_run_are_shown_with_its_name(open_page):
    profiles = variants_of_it()
    page = open_page(rendered([profiles[0], replace(profiles[1], losses={"nodes_refused": 3})])).page
    assert page.locator(".losses").inner_text() == "hacked slicing: Not recorded: 3 nodes refused"


def test_an_empty_run_among_them_is_shown_as_such(open_page):
    page = open_page(rendered([training(), Profile.empty()])).page
    assert "nothing was recorded" in page.locator(".variants").inner_text()


def test_hostile_names_are_text(open_page):
    nodes = [node(name, [(at + 1) * MS]) for at, name in enumerate(HOSTILE)]
    runs = [
        replace(Profile.empty(), root=node("root", [], *nodes), metadata={"name": frozenset([name])})
        for name in HOSTILE[:3]
    ]
    report = open_page(rendered(runs))
    assert sorted(report.texts(".line.section bdi")) == sorted(map(visible, HOSTILE))
    assert report.texts(".variants h2") == [visible(name) for name in HOSTILE[:3]]
    assert report.page.locator("script").count() == 2
    assert report.page.locator("img").count() == 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_phone_shows_three_side_by_side(scheme, open_page):
    page = open_page(rendered(variants_of_it()), width=390, height=844, scheme=scheme).page
    assert page.evaluate("document.scrollingElement.scrollWidth") <= 390
    assert page.locator(".side-by-side .line .column").nth(2).is_visible()


def test_a_search_names_whole_paths(open_page):
    page = open_page(rendered(variants_of_it())).page
    page.get_by_label("Search sections").fill("merger")
    page.wait_for_selector(".side-by-side .line:only-child")
    assert [line[0] for line in lines(page)] == ["driver.step/controller.step/action_merger.step"]
