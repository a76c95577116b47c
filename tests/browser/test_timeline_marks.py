"""Ticks, the minimap and sums of a selected time on the timeline, in Chromium."""

from __future__ import annotations

import re

import pytest

import ticktree
from support.frame_times import frames
from ticktree.outputs.writing import formatting

MS = 1_000_000
TICKS = 600
SLOW = (120, 412)
# Beyond this, something is done for every call in every frame.
ABSURD_MS = 1500
RED = """(canvas, [top, height]) => {
    const ratio = devicePixelRatio;
    // A copy, since Chromium warns of a canvas that is read often.
    const copy = new OffscreenCanvas(canvas.width, height * ratio).getContext('2d', { willReadFrequently: true });
    copy.drawImage(canvas, 0, -top * ratio);
    const part = copy.getImageData(0, 0, canvas.width, height * ratio).data;
    const found = new Set();
    for (let at = 0; at < part.length; at += 4) {
        if (part[at] > 1.5 * part[at + 1] && part[at] > 1.5 * part[at + 2]) found.add((at / 4) % canvas.width / ratio);
    }
    return [...found].sort((one, other) => one - other);
}"""


@pytest.fixture(scope="module")
def run():
    """A loop of 100 Hz that sleeps, and misses two ticks by 5 ms; one more is long because it slept too long."""
    recorder = ticktree.Recorder(virtual_clock=True, timeline=10_000)
    for tick in recorder.loop("control", range(TICKS), hz=100, warmup=0):
        with recorder.section("observe"):
            recorder.advance(2 * MS)
            with recorder.section("decode"):
                recorder.advance(MS)
        with recorder.section("plan"):
            recorder.advance(12 * MS if tick in SLOW else 4 * MS)
        with recorder.section("sleep", wait=True):
            recorder.advance(0 if tick in SLOW else 14 * MS if tick == 300 else 3 * MS)
    return recorder.snapshot(), recorder.timeline()


def opened(open_report, run, **screen):
    page = open_report(*run, **screen).page
    page.locator("#timeline").evaluate("(part) => part.scrollIntoView()")
    page.wait_for_selector("canvas.timeline")
    page.wait_for_timeout(100)
    return page


def bounds(page, name):
    return page.locator(f"canvas.{name}").bounding_box()


def starts_of_ticks(timeline):
    loop = next(at for at, node in enumerate(timeline.nodes) if node.tick)
    return timeline.start_ns[timeline.node == loop]


def zoom_to(page, timeline, tick):
    """Zooms in by keys, and moves there by a click on the minimap."""
    page.locator("canvas.timeline").focus()
    for _ in range(8):
        page.keyboard.press("+")
    box = bounds(page, "minimap")
    middle = (starts_of_ticks(timeline)[tick] + 5 * MS) / timeline.end_ns.max()
    page.mouse.click(box["x"] + middle * box["width"], box["y"] + 14)
    page.wait_for_timeout(100)


def select(page, left, right, y=70, release=True):
    """Drags with Shift between two shares of the width."""
    box = bounds(page, "timeline")
    page.keyboard.down("Shift")
    page.mouse.move(box["x"] + left * box["width"], box["y"] + y)
    page.mouse.down()
    page.mouse.move(box["x"] + (left + right) / 2 * box["width"], box["y"] + y)
    page.mouse.move(box["x"] + right * box["width"], box["y"] + y)
    if release:
        page.mouse.up()
    page.keyboard.up("Shift")


def ns(text):
    number, unit = re.match(r"([\d.,]+) (ns|µs|ms|s)\b", text).groups()
    return float(number.replace(",", "")) * {"ns": 1, "µs": 1e3, "ms": 1e6, "s": 1e9}[unit]


def sums(page):
    """The sections of the line below the canvas, and what they took."""
    texts = page.locator(".area span").all_inner_texts()[1:]
    return {re.split(r" (?=[\d.]+ \w+ \()", text)[0]: text for text in texts}


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_missed_ticks_are_red_on_the_axis_and_on_the_minimap_at_every_zoom(scheme, open_report, run):
    _, timeline = run
    page = opened(open_report, run, scheme=scheme)
    for name, at in (("timeline", (18, 5)), ("minimap", (3, 2))):
        width = bounds(page, name)["width"]
        red = page.locator(f"canvas.{name}").evaluate(RED, at)
        margin = 0.02 if name == "timeline" else 0
        whole = timeline.end_ns.max()
        for tick in SLOW:
            where = width * (starts_of_ticks(timeline)[tick] / whole + margin) / (1 + 2 * margin)
            assert any(abs(x - where) < 3 for x in red), (name, tick)
        assert all(
            any(
                abs(x - width * (starts_of_ticks(timeline)[tick] / whole + margin) / (1 + 2 * margin)) < 6
                for tick in SLOW
            )
            for x in red
        )
    zoom_to(page, timeline, SLOW[1])
    assert len(page.locator("canvas.timeline").evaluate(RED, (18, 5))) > 20


def test_the_axis_shows_the_number_and_the_lateness_of_a_missed_tick(open_report, run):
    _, timeline = run
    page = opened(open_report, run)
    zoom_to(page, timeline, SLOW[1])
    red = page.locator("canvas.timeline").evaluate(RED, (18, 5))
    box = bounds(page, "timeline")
    page.mouse.move(box["x"] + sum(red) / len(red), box["y"] + 20)
    page.locator(".readout.call .alarm", has_text="tick 412, missed by 5.00 ms").wait_for()
    page.mouse.click(box["x"] + red[0] - 8, box["y"] + 20)
    said = page.locator(".readout.call").inner_text()
    assert "tick 411" in said
    assert "missed" not in said


def test_a_tick_that_slept_too_long_was_not_missed(open_report, run):
    page = opened(open_report, run)
    page.locator("canvas.timeline").focus()
    for _ in range(301):
        page.keyboard.press(".")
    said = page.locator(".readout.call").inner_text()
    assert "tick 300" in said
    assert "21.0 ms" in said
    assert "missed" not in said


def test_the_starts_of_ticks_are_lines_if_there_is_room(open_report, run):
    page = opened(open_report, run)
    page.locator("canvas.timeline").focus()
    # Between the title of the first track and its rows: nothing else is drawn there, far from the title.
    lines = """(canvas) => {
        const wide = canvas.width - 400;
        const copy = new OffscreenCanvas(wide, 1).getContext('2d', { willReadFrequently: true });
        copy.drawImage(canvas, -400, -39);
        const row = copy.getImageData(0, 0, wide, 1).data;
        const paper = row.slice(4 * wide - 8, 4 * wide - 4).join();
        let count = 0;
        for (let at = 0; at < row.length; at += 4) count += row.slice(at, at + 4).join() !== paper;
        return count;
    }"""
    assert page.locator("canvas.timeline").evaluate(lines) == 0
    for _ in range(8):
        page.keyboard.press("+")
    page.wait_for_timeout(100)
    assert 5 < page.locator("canvas.timeline").evaluate(lines) < 100


def test_the_frame_of_the_minimap_is_moved_resized_and_clicked(open_report, run):
    _, timeline = run
    page = opened(open_report, run)
    whole = timeline.end_ns.max()
    box = bounds(page, "minimap")
    y = box["y"] + 14

    def first_call():
        """When the first call on the screen begins, by a click on the axis at the left edge."""
        timeline_box = bounds(page, "timeline")
        page.wait_for_timeout(100)
        page.mouse.click(timeline_box["x"] + 2, timeline_box["y"] + 12)
        return float(re.search(r"from ([\d.]+) s", page.locator(".readout.call").inner_text())[1]) * 1e9

    def drag(left, right):
        page.mouse.move(box["x"] + left * box["width"], y)
        page.mouse.down()
        page.mouse.move(box["x"] + (left + right) / 2 * box["width"], y)
        page.mouse.move(box["x"] + right * box["width"], y)
        page.mouse.up()

    drag(0.001, 0.4)  # the left edge
    assert first_call() == pytest.approx(0.4 * whole, abs=0.02 * whole)
    drag(0.999, 0.6)  # the right edge
    assert first_call() == pytest.approx(0.4 * whole, abs=0.02 * whole)
    drag(0.5, 0.7)  # what is between them
    assert first_call() == pytest.approx(0.6 * whole, abs=0.02 * whole)
    page.mouse.click(box["x"] + 0.2 * box["width"], y)
    assert first_call() == pytest.approx(0.1 * whole, abs=0.02 * whole)
    assert page.locator("canvas.minimap").get_attribute("aria-label")


def test_a_selected_time_shows_its_self_times(open_report, run):
    _, timeline = run
    page = opened(open_report, run)
    zoom_to(page, timeline, 200)
    select(page, 0.2, 0.7)
    head = page.locator(".readout", has_text="selected").inner_text()
    length = ns(head)
    found = sums(page)
    assert list(found) == [
        "control/plan",
        "control/sleep",
        "control/observe",
        "control/observe/decode",
        "control",
    ] or list(found) == ["control/plan", "control/sleep", "control/observe", "control/observe/decode"]
    took = {name: ns(text[len(name) + 1 :]) for name, text in found.items()}
    assert sum(took.values()) == pytest.approx(length, rel=0.01)
    assert took["control/plan"] == pytest.approx(0.4 * length, rel=0.3)
    assert re.search(r"\(\d+%\) in \d+ calls", found["control/plan"])
    page.locator("canvas.timeline").focus()
    page.keyboard.press("Escape")
    page.get_by_text("selected").wait_for(state="detached")


def test_two_calls_are_the_ends_of_a_selected_time_by_keys_and_by_touch(open_report, run):
    page = opened(open_report, run)
    page.locator("canvas.timeline").focus()
    page.keyboard.press(".")
    page.keyboard.press("m")
    page.get_by_text("10.0 ms selected").wait_for()
    page.keyboard.press(".")
    page.keyboard.press(".")
    page.keyboard.press("m")
    page.get_by_text("30.0 ms selected").wait_for()
    assert sums(page)["control/plan"] == "control/plan 12.0 ms (40%) in 3 calls"
    page.get_by_role("button", name="Clear").click()
    page.get_by_text("selected").wait_for(state="detached")
    page.get_by_role("button", name="Sum from here").click()
    page.get_by_text("10.0 ms selected").wait_for()
    page.get_by_role("button", name="Sum to here").click()
    page.get_by_role("button", name="Sum from here").wait_for()
    page.locator("canvas.timeline").focus()
    page.keyboard.press(" ")
    page.locator(".details h2").wait_for()
    page.locator("canvas.timeline").focus()
    page.keyboard.press("Escape")  # first the area
    assert page.locator(".details").count() == 1
    page.keyboard.press("Escape")
    page.locator(".details").wait_for(state="detached")


def test_a_million_calls_are_selected_and_moved_by_the_minimap(open_report, capsys):
    recorder = ticktree.Recorder(virtual_clock=True, timeline=1_000_000)
    for tick in recorder.loop("control", range(1_000_000 // 5), hz=100, warmup=0):
        for name in ("observe", "plan", "act", "sleep"):
            with recorder.section(name, wait=name == "sleep"):
                recorder.advance(MS * (9 if tick % 50 == 0 and name == "plan" else 2))
    profile, timeline = recorder.snapshot(), recorder.timeline()
    page = opened(open_report, (profile, timeline))
    assert (
        page.locator("#timeline .pieces")
        .first.inner_text()
        .startswith(f"{formatting.count(len(timeline))} calls")
    )
    pointer = """(at) => {
        const canvas = document.querySelector('canvas.%s'), box = canvas.getBoundingClientRect();
        const to = (kind, x) => canvas.dispatchEvent(new PointerEvent(kind, {
            pointerId: 1, pointerType: 'mouse', shiftKey: %s, bubbles: true,
            clientX: box.left + x, clientY: box.top + 14 + 40 * %s }));
        if (!at) { canvas.setPointerCapture = () => {}; to('pointerdown', 200); }
        to('pointermove', 200 + 10 * at);
        if (at === 59) to('pointerup', 200 + 10 * at);
    }"""
    lines = []
    for what, act in (
        ("dragging the frame", pointer % ("minimap", "false", 0)),
        ("selecting", pointer % ("timeline", "true", 1)),
    ):
        if what == "dragging the frame":
            page.locator("canvas.timeline").focus()
            for _ in range(4):
                page.keyboard.press("+")
        words, middle_ms = frames(page, act)
        lines.append(f"{what}: {words}")
        assert middle_ms < ABSURD_MS
    page.locator(".area", has_text="control/plan").wait_for()
    with capsys.disabled():
        print("", *lines, sep="\n  ")
