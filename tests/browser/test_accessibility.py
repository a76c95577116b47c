"""What axe-core finds on the pages: nothing, in light and dark, on a desk and on a phone."""

from __future__ import annotations

import os

import pytest

from support.example_profiles import control, robot, training
from support.example_timelines import crowd
from support.example_variants import sides
from support.history_series import days
from ticktree.analysis.comparison.compare import compare
from ticktree.analysis.comparison.differences import differences
from ticktree.analysis.experiments.estimates import Experiments, Prediction
from ticktree.analysis.history.history import history
from ticktree.outputs import OUTPUTS, ViewOptions
from ticktree.outputs.comparison import COMPARISONS
from ticktree.outputs.history import HISTORIES
from ticktree.outputs.variants import VARIANTS, variants
from ticktree.outputs.whatif import WHATIFS

SLOW = [1e6 + 1e4 * (at % 5) for at in range(12)] + [1.5e6 + 1e4 * (at % 4) for at in range(10)]
OPTIONS = ViewOptions()


def report(profile, timeline=None) -> bytes:
    return OUTPUTS["html"].render(profile, timeline=timeline)


def comparison() -> bytes:
    base, new = sides(noise=0.05)
    return COMPARISONS["html"](compare(base, new), differences(base, new), OPTIONS)


def curves() -> bytes:
    found = [
        Prediction(
            path="produce",
            speedup_percent=percent,
            gain_percent=percent / 2,
            low_percent=percent / 2 - 2,
            high_percent=percent / 2 + 2,
            amdahl_percent=percent,
            verdict="gain",
        )
        for percent in (50, 90)
    ]
    experiments = Experiments(loop="consume", tick_ns=10e6, blocks=40, predictions=found, slopes={})
    return WHATIFS["html"](experiments, OPTIONS)


PAGES = {
    "training": lambda: report(training()),
    "robot": lambda: report(robot()),
    "timeline": lambda: report(*crowd(60)),
    "comparison": comparison,
    "variants": lambda: VARIANTS["html"](variants([("a", control()), ("b", robot())], OPTIONS), OPTIONS),
    "history": lambda: HISTORIES["html"](history(days(SLOW)), OPTIONS),
    "what if": curves,
}


@pytest.mark.parametrize("width", [1440, 390])
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", PAGES)
def test_axe_finds_no_violation(name, scheme, width, open_page):
    if not os.environ.get("CI"):
        pytest.importorskip("axe_playwright_python")
    from axe_playwright_python.sync_playwright import Axe

    page = open_page(PAGES[name](), width=width, height=900, scheme=scheme).page
    for part in page.locator("details").all():  # closed parts are not looked at
        part.evaluate("(part) => { part.open = true; }")
    page.evaluate("document.querySelector('#timeline')?.scrollIntoView()")
    found = Axe().run(page).response["violations"]
    assert [(each["id"], [node["html"] for node in each["nodes"]]) for each in found] == []
