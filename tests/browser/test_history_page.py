"""The history of a program in Chromium: what is drawn is what the analysis says, and names keep to their places."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest

from support.history_series import SERVER, days, run
from ticktree.analysis.history.history import Commit, history
from ticktree.outputs import ViewOptions
from ticktree.outputs.history import HISTORIES
from ticktree.outputs.writing.visible import visible

BEFORE, AFTER = "a" * 40, "b" * 40
SLOW = [1e6 + 1e4 * (at % 5) for at in range(12)] + [1.5e6 + 1e4 * (at % 4) for at in range(10)]
COMMITS = [BEFORE] * 12 + [AFTER] * 10
HOSTILE = "</title></text></svg><script>alert(1)</script>\x1b[2J\u202e|<img src=x onerror=alert(2)>\"'"
LONG = "collector/" + "preprocess_the_observation_of_the_camera_on_the_wrist_" * 4


def rendered(found, **options):
    return HISTORIES["html"](found, ViewOptions(**options))


def slowed(path="train", subject="Keep frames on the device"):
    return replace(history(days(SLOW, COMMITS, path), nodes=[path]), commits={AFTER: Commit(subject, 3)})


def on_two_machines():
    """Slower on the laptop, then a new server on which it never changed."""
    server = [run(at, {"train": 2e5 + 1e3 * (at % 3)}, AFTER, **SERVER) for at in range(40, 52)]
    return history([*days(SLOW, COMMITS), *server])


def boxes(page, selector):
    return [each.bounding_box() for each in page.locator(selector).all()]


def test_every_run_is_a_mark_at_its_height_and_every_level_a_line(open_page):
    page = open_page(rendered(slowed())).page
    marks = boxes(page, "svg .run")
    assert len(marks) == len(SLOW)
    middles = [box["y"] + box["height"] / 2 for box in marks]
    # The slower, the higher: in the order of their values, though these are only a few pixels apart.
    assert [middles[at] for at in sorted(range(len(SLOW)), key=SLOW.__getitem__)] == sorted(
        middles, reverse=True
    )
    assert [box["x"] for box in marks] == sorted(box["x"] for box in marks)
    first, second = boxes(page, "svg .level")
    assert first["x"] < marks[0]["x"] < marks[11]["x"] < second["x"] < marks[12]["x"]
    assert first["y"] > second["y"] + 50
    (drawn,) = boxes(page, "section .scroll > svg")
    for box in marks:
        assert drawn["x"] <= box["x"] <= drawn["x"] + drawn["width"]
        assert drawn["y"] <= box["y"] <= drawn["y"] + drawn["height"]


def test_the_change_is_named_with_its_commit_in_the_figure_and_in_the_table(open_page):
    opened = open_page(rendered(slowed()))
    assert opened.page.locator("svg text.at").all_text_contents() == [AFTER[:9]]
    ((x, line),) = [(box["x"], box) for box in boxes(opened.page, "svg .change")]
    marks = boxes(opened.page, "svg .run")
    assert marks[11]["x"] < x < marks[12]["x"] + marks[12]["width"]
    assert line["height"] > 100
    row = opened.page.locator("table").nth(1).locator("tbody tr").inner_text()
    for word in ("train", AFTER[:9], "+4", "1.01 ms", "1.51 ms", "Keep frames on the device", BEFORE[:9]):
        assert word in row
    assert "slower" in opened.texts("table >> nth=0 >> tbody tr")[0]


def test_machines_are_distinguished_and_a_replaced_machine_is_noted_as_hidden(open_page):
    found = on_two_machines()
    everything = open_page(rendered(found, all=True))
    heads = everything.texts("h2")
    assert len(heads) == 2
    assert ["Large CPU, 64 cores" in heads[0], "Small CPU, 4 cores" in heads[1]] == [True, True]
    sections = everything.page.locator("section")
    assert [sections.nth(at).locator("svg .run").count() for at in range(2)] == [12, 22]
    assert [sections.nth(at).locator("svg .change").count() for at in range(2)] == [0, 1]
    assert "another machine since" in sections.nth(1).inner_text()
    current = open_page(rendered(found))
    assert len(current.texts("h2")) == 1
    assert "1 series of machines that were replaced not shown" in current.page.locator("body").inner_text()


@pytest.mark.parametrize("width", [420, 1280])
def test_long_names_stay_within_the_page_and_words_do_not_cover_one_another(width, open_page):
    page = open_page(rendered(slowed(LONG, "a very long subject " * 20)), width=width).page
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    texts = boxes(page, "section .scroll > svg text")
    for at, one in enumerate(texts):
        for other in texts[at + 1 :]:
            apart = (
                one["x"] + one["width"] <= other["x"]
                or other["x"] + other["width"] <= one["x"]
                or one["y"] + one["height"] <= other["y"] + 1
                or other["y"] + other["height"] <= one["y"] + 1
            )
            assert apart
    assert min(box["height"] for box in texts) > 8, "large enough to be read"


def test_labels_of_changes_that_are_close_to_each_other_do_not_overlap(open_page):
    levels = [1e6, 1.5e6, 1e6, 2e6, 1.2e6, 3e6]
    values = [level + 1e3 * (at % 3) for level in levels for at in range(8)]
    commits = [f"{at // 8:x}" * 40 for at in range(len(values))]
    page = open_page(rendered(history(days(values * 4, commits * 4)))).page
    labels = sorted(boxes(page, "svg text.at"), key=lambda box: box["x"])
    assert len(labels) > 3
    for left, right in pairwise(labels):
        assert left["x"] + left["width"] <= right["x"]


def test_names_and_subjects_are_words_and_nothing_else(open_page):
    opened = open_page(rendered(slowed(HOSTILE, HOSTILE)))
    assert visible(HOSTILE) in " ".join(opened.texts("h3"))
    assert opened.page.locator("script, img, iframe").count() == 0


def test_in_the_dark_it_is_dark_and_can_be_read(open_page):
    """The contrast of each text with the page, as WCAG reckons it."""
    reckon = """() => {
        const light = (color) => {
            const [r, g, b] = color.match(/[0-9.]+/g).map((part) => part / 255)
                .map((part) => part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
            return 0.2126 * r + 0.7152 * g + 0.0722 * b;
        };
        const page = light(getComputedStyle(document.body).backgroundColor);
        const found = [...document.querySelectorAll("h2, h3, p, td, th, small, a, svg text")].map((each) => {
            const style = getComputedStyle(each);
            const own = light(each instanceof SVGElement ? style.fill : style.color);
            return (Math.max(own, page) + 0.05) / (Math.min(own, page) + 0.05);
        });
        return [page, Math.min(...found)];
    }"""
    for scheme in ("light", "dark"):
        page = open_page(rendered(slowed()), scheme=scheme).page
        brightness, least = page.evaluate(reckon)
        assert (brightness < 0.1) == (scheme == "dark")
        assert least > 4.5
