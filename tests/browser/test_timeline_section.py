"""The timeline in Chromium: what it shows of a call, how it is moved through, and a million calls at that."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest
from test_report_page import HOSTILE

from support.example_timelines import crowd
from support.frame_times import frames
from ticktree.outputs import OUTPUTS
from ticktree.outputs.writing import formatting
from ticktree.outputs.writing.visible import visible
from ticktree.profile import path as paths
from ticktree.profile.timeline import CalledNode

# Far above what any machine takes for a frame: beyond it, something is done for every call in every frame.
ABSURD_MS = 1500
INK = """(canvas) => {
    const all = canvas.getContext('2d').getImageData(0, 40, canvas.width, canvas.height - 40).data;
    const paper = all.slice(all.length - 4).join();
    let inked = 0;
    for (let at = 0; at < all.length; at += 4) inked += all.slice(at, at + 4).join() !== paper;
    return 4 * inked / all.length;
}"""


def opened(open_report, profile, timeline, **screen):
    page = open_report(profile, timeline, **screen).page
    page.locator("#timeline").evaluate("(part) => part.scrollIntoView()")
    page.wait_for_selector("canvas.timeline")
    return page


def said(page) -> str:
    return page.locator(".readout.call").inner_text()


def told(timeline, call: int) -> tuple[str, str, str]:
    """How the page words a call: its path, its duration and when it began."""
    path = visible(timeline.nodes[timeline.node[call]].path)
    took = formatting.time(int(timeline.duration_ns[call]))
    return path, took, f"{timeline.start_ns[call] / 1e9:.6f} s"


def test_a_click_on_a_call_shows_its_path_duration_start_and_thread(open_report):
    profile, timeline = crowd(60)
    page = opened(open_report, profile, timeline)
    box = page.locator("canvas.timeline").bounding_box()
    first = int(timeline.of_lane(0)[0])
    # Two hundredths of the width are left free on either side.
    middle = (timeline.duration_ns[first] / 2 - timeline.start_ns.min()) / (
        timeline.end_ns.max() - timeline.start_ns.min()
    )
    page.mouse.click(box["x"] + box["width"] * (0.02 + middle) / 1.04, box["y"] + 24 + 17 + 9)
    for piece in told(timeline, first):
        assert piece in said(page)
    assert "learner 4200" in said(page)
    page.get_by_role("button", name="Its section").click()
    assert page.locator(".details h2").inner_text() == "train"


def test_it_is_used_by_keys(open_report):
    profile, timeline = crowd(300)
    page = opened(open_report, profile, timeline)
    canvas = page.locator("canvas.timeline")
    canvas.focus()
    calls = [call for call in timeline.of_lane(0) if timeline.nodes[timeline.node[call]].path == "train"]
    for number in (0, 1, 2):
        page.keyboard.press(".")
        for piece in told(timeline, int(calls[number])):
            assert piece in said(page)
    page.keyboard.press(",")
    assert told(timeline, int(calls[1]))[2] in said(page)
    whole = canvas.screenshot()
    page.keyboard.press("Enter")
    assert canvas.screenshot() != whole
    for key in ("+", "ArrowRight", "ArrowDown", "-", "ArrowLeft"):
        page.keyboard.press(key)
    page.keyboard.press(" ")
    assert page.locator(".details h2").inner_text() == "train"
    page.keyboard.press("Escape")
    page.keyboard.press("Home")
    page.wait_for_timeout(100)
    assert page.locator(".details").count() == 0


def test_a_search_leaves_their_colour_to_the_calls_found_and_goes_from_one_to_the_next(open_report):
    profile, timeline = crowd(600)
    page = opened(open_report, profile, timeline)
    canvas = page.locator("canvas.timeline")
    before = canvas.screenshot()
    page.get_by_label("Search calls").fill("physics")
    page.locator("#timeline .hint", has_text="calls found").wait_for()
    wanted = [at for at, node in enumerate(timeline.nodes) if "physics" in node.path]
    found = [call for call in range(len(timeline)) if timeline.node[call] in wanted]
    assert (
        page.locator("#timeline .hint")
        .first.inner_text()
        .startswith(f"{formatting.count(len(found))} calls found")
    )
    page.wait_for_timeout(100)
    assert canvas.screenshot() != before
    page.get_by_label("Search calls").press("Enter")
    assert "env step/physics" in said(page)
    first = said(page)
    page.get_by_label("Search calls").press("Enter")
    assert said(page) != first


def test_overwritten_calls_are_counted(open_report):
    profile, timeline = crowd(60)
    page = opened(open_report, profile, replace(timeline, overwritten=12_345))
    assert "12,345 earlier calls were overwritten" in page.locator("#timeline .pieces").inner_text()
    page = opened(open_report, profile, timeline)
    assert "overwritten" not in page.locator("#timeline .pieces").inner_text()


def test_a_run_without_a_timeline_has_no_timeline_section(open_report):
    profile, _ = crowd(60)
    report = open_report(profile)
    assert report.page.locator("#timeline").count() == 0
    assert report.page.locator("script").count() == 2


def test_hostile_names_are_text_here_too(open_report):
    profile, timeline = crowd(60)
    nodes = tuple(
        CalledNode(paths.join([name])) if name else node
        for node, name in zip(timeline.nodes, [*HOSTILE, *[""] * len(timeline.nodes)])
    )
    lanes = tuple(replace_lane(lane, HOSTILE[at]) for at, lane in enumerate(timeline.lanes))
    page = opened(open_report, profile, replace(timeline, nodes=nodes, lanes=lanes))
    page.locator("canvas.timeline").focus()
    page.keyboard.press(".")
    assert visible(paths.join([HOSTILE[0]])) in said(page)
    assert page.locator("img").count() == 0
    assert page.locator("script").count() == 3


def replace_lane(lane, name):
    return lane._replace(process_name=name, thread_name=name, role=name)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_phone_shows_it_without_scrolling_sideways(scheme, open_report):
    profile, timeline = crowd(3_000)
    page = opened(open_report, profile, timeline, width=390, height=844, scheme=scheme)
    assert page.evaluate("document.scrollingElement.scrollWidth") <= 390
    assert page.locator("canvas.timeline").evaluate(INK) > 0.1


def test_a_million_calls_are_shown_quickly(open_report, capsys):
    profile, timeline = crowd(1_000_000)
    began = time.perf_counter()
    document = OUTPUTS["html"].render(profile, timeline=timeline)
    rendered_s = time.perf_counter() - began
    began = time.perf_counter()
    page = opened(open_report, profile, timeline)
    opened_s = time.perf_counter() - began - rendered_s
    assert (
        page.locator("#timeline .pieces").inner_text().startswith(f"{formatting.count(len(timeline))} calls")
    )
    lines = [
        f"{len(timeline):,} calls: rendered in {rendered_s:.1f} s, {len(document) / len(timeline):.1f} bytes each;"
        f" on the screen {opened_s:.1f} s later"
    ]
    press = """(at) => document.querySelector('.timeline').dispatchEvent(
        new KeyboardEvent('keydown', {key: %s, bubbles: true}))"""
    for what, key in (
        ("panning all of them", "at % 2 ? 'ArrowLeft' : 'ArrowRight'"),
        ("zooming in", "'+'"),
        ("panning near", "'ArrowRight'"),
        ("zooming out", "'-'"),
    ):
        words, middle_ms = frames(page, press % key)
        lines.append(f"{what}: {words}")
        assert middle_ms < ABSURD_MS
    with capsys.disabled():
        print("", *lines, sep="\n  ")
