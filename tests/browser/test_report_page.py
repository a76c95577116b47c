"""The HTML report in Chromium: what it shows, and how it is used."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

import ticktree
from support.example_profiles import MS, control, node, robot, training
from support.ledger_rows import ledger_rows
from ticktree.analysis.context import Context
from ticktree.outputs import OUTPUTS
from ticktree.outputs.view.build import report_view
from ticktree.outputs.writing import formatting
from ticktree.outputs.writing.visible import visible
from ticktree.profile import Node, Profile

HOSTILE = [
    "</script><script>alert('a')</script>",
    "<img src=x onerror=alert('b')>",
    "\"'`;alert('c')//",
    "\u202egnorw yaw eht",
    "שלום עולם",
    "👩‍🚀🚗",
    "a\x1b[31m\x00\nb",
    "{{7*7}} ${7*7}",
]
# As the columns stand on the page.
SHOWN = ("share", "total", "mean", "p50", "p90", "p99", "max", "calls")


def of(*children) -> Profile:
    return replace(Profile.empty(), root=node("root", [], *children))


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("make", [training, control, robot, Profile.empty])
def test_a_report_opens_without_a_request_or_a_complaint(make, scheme, open_report):
    report = open_report(make(), scheme=scheme)
    assert report.page.locator("h1").inner_text() in (visible(report.page.title()), report.page.title())
    assert report.page.evaluate("document.documentElement.dataset.theme") == scheme


@pytest.mark.parametrize("make", [training, control, robot])
@pytest.mark.parametrize("phase", ["steady", "warmup", "all"])
def test_every_line_of_the_ledger_equals_the_other_views(make, phase, open_report):
    profile = make()
    page = open_report(profile).page
    switch = page.get_by_role("group", name="Phase of the calls")
    assert switch.count() == any(below.warmup is not None for _, _, below in profile.root.walk())
    if not switch.count():
        phase = "steady"  # there is nothing to switch between
    else:
        switch.get_by_role("button").nth(["steady", "warmup", "all"].index(phase)).click()
    page.get_by_role("button", name="Unfold all").click()
    expected = [[row.name, *map(row.cell, SHOWN)] for row in ledger_rows(profile, phase)]
    lines = page.locator(".line").evaluate_all(
        """(lines) => lines.map((line) => [...line.children].map(
            (cell, at) => (at ? cell.innerText : cell.querySelector("bdi, .own").innerText).trim()))"""
    )
    assert lines == expected


@pytest.mark.parametrize("make", [training, control, robot])
def test_the_first_screen_is_the_answer_of_the_terminal(make, open_report):
    view = report_view(Context(make()))
    page = open_report(make(), width=1440, height=900).page
    leads = page.locator(".leads")
    assert leads.locator("h2").all_inner_texts() == [
        f"{each.name} {each.pieces[0]}" for each in view.headlines
    ]
    assert [("missed" in one) for one in leads.evaluate_all("(all) => all.map((one) => one.className)")] == [
        each.is_missed for each in view.headlines
    ]
    assert page.locator("#loops tbody tr td:first-child").all_inner_texts() == [
        entry.name for entry in view.loops.entries
    ]
    heads = page.locator("#loops th").all_inner_texts()
    for row, entry in zip(page.locator("#loops tbody tr").all(), view.loops.entries, strict=True):
        cells = dict(zip(heads, row.locator("td").all_inner_texts(), strict=True))
        assert (
            cells.items()
            >= dict(zip([head.title for head in view.loops.heads], entry.cells, strict=True)).items()
        )
    sentences = page.locator(".findings .sentence")
    assert sentences.all_inner_texts()[: len(view.recommendations)] == [
        each.text.replace("`", "") for each in view.recommendations
    ]
    for place in (page.locator("canvas.icicle"), page.locator(".findings li").first):
        box = place.bounding_box()
        assert box["y"] + box["height"] <= 900


def two_loops() -> Profile:
    recorder = ticktree.Recorder(virtual_clock=True)
    for name in ("fill", "train"):
        for _ in recorder.loop(name, range(20)):
            for section in (f"step of {name}", "log"):
                with recorder.section(section):
                    recorder.advance(MS)
    recorder.disable()
    return recorder.snapshot()


def test_choosing_a_loop_shows_its_mean_tick_and_its_charts(open_report):
    page = open_report(two_loops()).page
    second = page.locator("#loops tbody tr").nth(1)
    name = second.get_by_role("button").inner_text()
    second.get_by_role("button").click()
    assert "chosen" in second.get_attribute("class")
    assert page.get_by_label("Loop or run drawn as boxes").input_value() == name
    assert page.get_by_label("Loop", exact=True).input_value() == name


def test_losses_are_shown_first_and_at_all_times(open_report):
    page = open_report(replace(training(), losses={"nodes_refused": 3})).page
    assert page.locator(".losses").inner_text() == "Not recorded: 3 nodes refused"
    assert page.locator(".losses").bounding_box()["y"] < 200


def test_an_empty_run_shows_what_to_do(open_report):
    page = open_report(Profile.empty()).page
    assert "ticktree doctor" in page.locator(".nothing").inner_text()


def test_hostile_names_are_text(open_report):
    nodes = [node(name, [(at + 1) * MS], node(name, [MS // 2])) for at, name in enumerate(HOSTILE)]
    profile = replace(of(*nodes), metadata={"name": frozenset([HOSTILE[0]]), "command": frozenset(HOSTILE)})
    report = open_report(profile)
    report.page.get_by_role("button", name="Unfold all").click()
    assert report.texts(".line.section .name bdi") == [
        visible(name) for name in reversed(HOSTILE) for _ in range(2)
    ]
    assert report.page.locator("h1").inner_text() == HOSTILE[0]
    assert report.page.locator("script").count() == 2
    assert report.page.locator("img").count() == 0
    report.page.locator(".line.section").nth(1).click()
    assert report.page.locator(".details h2").inner_text() == visible(HOSTILE[-1])


def test_a_tree_as_deep_as_a_program_recursed_is_shown_to_its_end(open_report):
    deep = node("f", [MS])
    for _ in range(900):
        deep = node("f", [deep.total_ns], deep)
    page = open_report(of(deep)).page
    page.get_by_role("button", name="Unfold all").click()
    rows = int(page.get_by_role("treegrid").get_attribute("aria-rowcount"))
    assert rows > 1800
    page.locator(".line").first.focus()
    page.keyboard.press("End")
    page.wait_for_selector(f'.line[aria-rowindex="{rows}"]:focus')
    assert page.evaluate("document.scrollingElement.scrollWidth") <= 1280


@pytest.mark.parametrize("width", [1280, 390])
def test_a_name_of_ten_thousand_characters_breaks_nothing(width, open_report):
    profile = replace(
        of(node("x" * 10_000, [MS], node("y", [1000]))), metadata={"name": frozenset(["z" * 10_000])}
    )
    page = open_report(profile, width=width).page
    assert page.evaluate("document.scrollingElement.scrollWidth") <= width
    page.locator(".line.section").first.click()
    assert page.locator(".details h2").inner_text() == "x" * 10_000


@pytest.mark.parametrize("make", [training, control, robot])
def test_a_phone_shows_it_without_scrolling_sideways(make, open_report):
    page = open_report(make(), width=390, height=844).page
    assert page.evaluate("document.scrollingElement.scrollWidth") <= 390
    assert page.locator(".line .mean").first.is_visible()


def test_the_ledger_is_used_by_keys(open_report):
    page = open_report(training()).page
    lines = page.locator(".line")
    before = lines.count()
    lines.first.focus()
    page.keyboard.press("ArrowLeft")
    assert lines.count() < before
    page.keyboard.press("ArrowRight")
    assert lines.count() == before
    page.keyboard.press("ArrowDown")
    assert page.evaluate("document.activeElement.dataset.place") == "1"
    page.keyboard.press("Enter")
    assert page.locator(".details h2").inner_text() == lines.nth(1).locator("bdi").inner_text()
    page.wait_for_selector(".details:focus")
    page.keyboard.press("Escape")
    page.wait_for_selector(".line:focus")
    assert page.locator(".details").count() == 0
    page.keyboard.press("End")
    assert page.evaluate("document.activeElement.dataset.place") == str(before - 1)
    page.keyboard.press("/")
    page.keyboard.type("sample")
    names = page.locator(".line bdi").all_inner_texts()
    assert names
    assert any("sample" in name for name in names)
    assert lines.count() < before


def test_sorting_by_a_column_puts_its_largest_first(open_report):
    page = open_report(training()).page
    page.get_by_role("columnheader", name="calls").get_by_role("button").click()
    assert page.get_by_role("columnheader", name="calls").get_attribute("aria-sort") == "descending"
    top = page.locator('.line.section[aria-level="1"] .calls').all_inner_texts()
    counts = [int(text.replace(",", "")) for text in top]
    assert counts == sorted(counts, reverse=True)


def test_a_worst_tick_is_shown_next_to_the_usual_one(open_report):
    profile = control()
    (loop,) = profile.loops.values()
    page = open_report(profile).page
    ticks = page.get_by_role("list", name="Worst ticks").get_by_role("button")
    assert ticks.count() == len(loop.worst)
    ticks.nth(1).click()
    tick = loop.worst[1]
    heading = page.locator(".breakdown h3").inner_text()
    assert formatting.time(tick.duration_ns) in heading
    assert f"usually {formatting.time(loop.stats.p50_ns)}" in heading
    smaller = page.get_by_role("button", name="smaller")
    if smaller.count():
        smaller.click()
    rows = page.locator(".breakdown tbody tr").evaluate_all(
        "(rows) => rows.map((row) => [row.children[0].innerText.trim(), row.children[2].innerText])"
    )
    took = [ns for name, ns in rows if name != "[self]"]
    assert sorted(took) == sorted(formatting.time(ns) for ns in tick.breakdown.values())
    assert any(name == "[self]" for name, _ in rows)
    for cause, amount in tick.causes.items():
        said = formatting.time(amount) if cause.endswith("_ns") else formatting.count(amount)
        assert said in page.locator(".breakdown .pieces").inner_text()


def drifting() -> Profile:
    """A loop that never works for too long, and of which some ticks sleep for too long."""
    recorder = ticktree.Recorder(virtual_clock=True)
    for at, _ in enumerate(recorder.loop("camera", range(300), hz=100)):
        with recorder.section("grab"):
            recorder.advance(2 * MS)
        with recorder.section("pause", wait=True):
            recorder.advance(20 * MS if at % 50 == 49 else 8 * MS)
    recorder.disable()
    return recorder.snapshot()


def test_ticks_that_only_slept_too_long_are_distinguished_from_missed_ones(open_report):
    page = open_report(drifting()).page
    assert "0 of" in page.locator(".leads").inner_text()
    said = page.locator("#ticks .hint").first.inner_text()
    assert said.startswith("No tick was busy for longer than the budget of 10.0 ms")
    busy, waited = page.locator(".worst li .bar").first.locator("i").all()
    assert waited.bounding_box()["width"] > 5 * busy.bounding_box()["width"]


def test_a_gauge_has_a_line_over_the_run_between_its_smallest_and_largest_readings(open_report):
    recorder = ticktree.Recorder(virtual_clock=True)
    recorder.gauge("once", 1)
    for at, _ in enumerate(recorder.loop("control", range(100))):
        recorder.advance(10 * MS)
        recorder.gauge("depth", 0 if at == 50 else 10)
    page = open_report(recorder.snapshot()).page
    lines = page.locator("#gauges .spark")
    assert [line.get_attribute("aria-label") for line in lines.all()] == ["depth over the run"]
    points = [
        tuple(map(float, at.split(","))) for at in lines.locator("polygon").get_attribute("points").split()
    ]
    there, back = points[: len(points) // 2], points[len(points) // 2 :][::-1]
    assert [x for x, _ in there] == [x for x, _ in back] == sorted(x for x, _ in there)
    low = [y for _, y in back]
    assert [at for at, y in enumerate(low) if y == max(low)] == [len(low) // 2]  # downwards, in the middle
    assert len({y for _, y in there}) == 1


@pytest.mark.parametrize("make", [training, control, robot])
def test_every_chart_has_labels_and_shows_the_value_under_the_cursor(make, open_report):
    page = open_report(make()).page
    charts = page.locator("#ticks figure .plot")
    assert charts.count() >= 2
    for chart in charts.all():
        chart.scroll_into_view_if_needed()
        box = chart.locator(".u-over").bounding_box()
        page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        page.wait_for_function("(one) => one.innerText", arg=chart.locator(".tooltip").element_handle())


def test_details_opened_by_a_key_take_the_focus_and_give_it_back(open_report):
    page = open_report(training()).page
    page.locator(".line").first.focus()
    page.keyboard.press("Enter")
    page.wait_for_selector(".details:focus")
    page.keyboard.press("Escape")
    page.wait_for_selector('.line[data-place="0"]:focus')


def many_convolutions() -> Profile:
    """A section of one name in several places, none of which is large."""
    recorder = ticktree.Recorder(virtual_clock=True)
    for _ in recorder.loop("train", range(20)):
        for place in ("actor", "critic 1", "critic 2"):
            with recorder.section(place):
                for name, took in (("conv1", 3), ("conv2", 2), ("fc", 1)):
                    with recorder.section(name):
                        recorder.advance(took * MS)
    recorder.disable()
    return recorder.snapshot()


def test_by_name_there_is_one_row_per_name_and_a_search_sums(open_report):
    page = open_report(many_convolutions()).page
    page.get_by_role("group", name="Rows").get_by_role("button", name="by name").click()
    rows = page.locator(".by-name tbody tr")
    cells = [[cell.strip() for cell in row.split("\t") if cell.strip()] for row in rows.all_inner_texts()]
    assert cells[0][1:] == ["50%", "9.00 ms", "3"]
    assert cells[0][0].startswith("conv1")
    page.get_by_role("searchbox", name="Search sections").fill("conv")
    together = rows.first.inner_text()
    assert together.startswith("2 names together")
    assert "15.0 ms" in together
    assert "83%" in together


def test_an_address_restores_the_readers_choices(open_report):
    page = open_report(two_loops()).page
    page.locator("#loops tbody tr").nth(1).get_by_role("button").click()
    page.get_by_role("group", name="Rows").get_by_role("button", name="by name").click()
    page.get_by_role("searchbox", name="Search sections").fill("step")
    page.locator(".worst li button").nth(2).click()
    page.get_by_role("button", name="theme").click()
    shown = (
        "() => [...document.querySelectorAll('#ticks, .by-name, .leads, #loops')].map((one) => one.innerText)"
    )
    before = page.evaluate(shown)
    assert "tick=2" in page.url
    page.reload()
    page.wait_for_selector(".by-name")
    assert page.evaluate(shown) == before
    assert page.locator('.worst [aria-pressed="true"]').inner_text() == (
        page.locator(".worst li button").nth(2).inner_text()
    )
    assert page.get_by_role("button", name="theme").inner_text() == "theme: light"


@pytest.mark.parametrize("wrong", ["#ticks", "#loop=none&tick=99&section=x&zoom=y&span=a-b&by=z&phase=q"])
def test_unknown_choices_in_an_address_are_ignored(wrong, open_report):
    page = open_report(two_loops()).page
    plain = page.locator("main").inner_text()
    page.goto(f"{page.url.partition('#')[0]}{wrong}")
    page.reload()
    page.wait_for_selector(".leads")
    assert page.locator("main").inner_text() == plain


def test_matches_of_a_search_are_on_the_screen(open_report):
    page = open_report(training(), height=700).page
    page.keyboard.press("/")
    page.keyboard.type("sample")
    box = page.locator(".line").first.bounding_box()
    assert 0 <= box["y"] < 350


def test_the_icicle_is_walked_and_zoomed_by_keys(open_report):
    page = open_report(training()).page
    way = page.locator("#icicle .way button")
    page.locator("canvas.icicle").focus()
    page.keyboard.press("ArrowDown")
    said = page.locator(".readout").inner_text()
    page.keyboard.press("Enter")
    assert way.count() == 2
    assert said.startswith(way.nth(1).inner_text())
    page.keyboard.press("Escape")
    assert way.count() == 0


@pytest.mark.parametrize("at", [0.1, 0.5, 0.9])
def test_a_click_selects_the_box_under_it_and_a_double_click_zooms_to_it(at, open_report):
    page = open_report(training()).page
    box = page.locator("canvas.icicle").bounding_box()
    x, y = box["x"] + box["width"] * at, box["y"] + 36
    page.mouse.move(x, y)
    name = page.locator(".card").inner_text().partition(":")[0]
    page.mouse.click(x, y)
    assert page.locator(".details h2").inner_text() == name
    page.wait_for_selector(".details:focus")
    page.keyboard.press("Escape")
    page.wait_for_selector(".details", state="detached")
    page.mouse.dblclick(x, y)
    page.wait_for_selector("#icicle .way button:nth-child(2)")
    assert page.locator("#icicle .way button").nth(1).inner_text() == name
    assert page.locator(".details").count() == 0


def test_the_theme_can_be_chosen(open_report):
    page = open_report(control()).page
    paper = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(paper)
    button = page.get_by_role("button", name="theme")
    button.click()
    button.click()
    assert button.inner_text() == "theme: dark"
    assert page.evaluate(paper) != light


def test_on_paper_there_are_all_lines_and_no_buttons(open_report):
    page = open_report(of(*(node(f"section {at}", [MS + at]) for at in range(900))), scheme="dark").page
    assert page.locator(".line").count() < 300
    page.emulate_media(media="print")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    page.wait_for_selector('.line[data-place="899"]')
    assert page.locator(".line").count() >= 900
    assert not page.locator("nav").is_visible()
    assert page.evaluate("document.documentElement.dataset.theme") == "light"
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    assert page.pdf(format="A4").startswith(b"%PDF")


def test_the_page_gives_the_json_back(open_report, tmp_path):
    profile = robot()
    page = open_report(profile).page
    with page.expect_download() as download:
        page.get_by_role("button", name="JSON").click()
    file = tmp_path / "saved.json"
    download.value.save_as(file)
    assert json.loads(file.read_text()) == json.loads(OUTPUTS["json"].render(profile))
    assert Profile.from_json(file.read_text()) == profile


def test_sections_measured_by_another_clock_are_labelled_with_it(open_report):
    kernel = replace(node("kernel", [MS], clock="device"), concurrent_ns=MS)
    profile = replace(Profile.empty(), root=Node(name="root", children={kernel.key: kernel}))
    page = open_report(profile).page
    assert page.locator(".line bdi").first.inner_text() == "kernel"
    assert page.locator(".line em").all_inner_texts() == ["device clock"]  # once, as in every output
    assert page.locator(".line .notes").count() == 0
