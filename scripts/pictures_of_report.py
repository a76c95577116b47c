"""Draws docs/images/report*.png, comparison.png and variants.png: the HTML pages, as Chromium shows them.

The report is of a run recorded with --timeline; what compares runs is of invented ones, as the tests have them.
Run it with a Python that has ticktree and playwright: scripts/pictures_of_report.py RUN
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright

from ticktree.analysis.comparison import compare, differences
from ticktree.outputs import OUTPUTS, ViewOptions
from ticktree.outputs.comparison import COMPARISONS
from ticktree.outputs.variants import VARIANTS, variants
from ticktree.run.finishing import RunDirectory

ROOT = Path(__file__).parents[1]
IMAGES = ROOT / "docs" / "images"
WIDTH = 1280
# Name, page, colours, the part of it at the top, and how high.
PICTURES = (
    ("report", "report", "light", "header", 720),
    ("report-dark", "report", "dark", "#ledger", 600),
    ("report-ticks", "report", "light", "#ticks", 640),
    ("report-timeline", "report", "light", "#timeline", 320),
    ("comparison", "comparison", "light", "header", 1180),
    ("variants", "variants", "light", "header", 860),
)


def pages(run: Path) -> dict[str, bytes]:
    """Return each page by its name."""
    sys.path.insert(0, str(ROOT / "tests"))
    from support.example_variants import sides, variants_of_it

    recorded = RunDirectory.open(run)
    base, new = sides(noise=0.03)
    plain = ViewOptions()
    variant_page = variants([(str(index), profile) for index, profile in enumerate(variants_of_it())], plain)
    return {
        "report": OUTPUTS["html"].render(recorded.profile(), timeline=recorded.timeline()),
        "comparison": COMPARISONS["html"](compare(base, new), differences(base, new), plain),
        "variants": VARIANTS["html"](variant_page, plain),
    }


def prepare(page: Any, name: str) -> None:
    """Scroll a page to its most informative part."""
    if name == "report-timeline":
        page.wait_for_selector("canvas.timeline")
        page.locator("canvas.timeline").focus()
        for key in (".",) * 60 + ("Enter",) + ("-",) * 4:
            page.keyboard.press(key)
        page.locator("canvas.timeline").blur()
    if name == "comparison":
        page.get_by_role("button", name="all", exact=True).click()


def main(run: Path) -> None:
    """Write the pictures, those of a report of `run`."""
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        for name, document in pages(run).items():
            (Path(folder) / f"{name}.html").write_bytes(document)
        chromium = shutil.which("chromium") or shutil.which("google-chrome")
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        for name, source, scheme, part, height in PICTURES:
            page = browser.new_page(viewport={"width": WIDTH, "height": height}, color_scheme=scheme)
            page.goto((Path(folder) / f"{source}.html").as_uri())
            page.wait_for_selector("header")
            page.locator(part).first.evaluate("(part) => part.scrollIntoView({ behavior: 'instant' })")
            prepare(page, name)
            page.wait_for_timeout(300)
            page.screenshot(path=IMAGES / f"{name}.png")
            page.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
