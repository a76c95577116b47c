"""Draws docs/images/report*.png: the HTML report of a run, as Chromium shows it.

Run it with a Python that has ticktree and playwright: scripts/pictures_of_report.py RUN
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

from ticktree import load
from ticktree.outputs import OUTPUTS

IMAGES = Path(__file__).parents[1] / "docs" / "images"
WIDTH = 1280
# Name, colours, the part of the page at the top, and how high.
PICTURES = (
    ("report", "light", "header", 720),
    ("report-dark", "dark", "#ledger", 600),
    ("report-ticks", "light", "#ticks", 640),
)


def main(run: Path) -> None:
    """Write the pictures of `run`."""
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        page_file = Path(folder) / "report.html"
        page_file.write_bytes(OUTPUTS["html"].render(load(run)))
        chromium = shutil.which("chromium") or shutil.which("google-chrome")
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        for name, scheme, part, height in PICTURES:
            page = browser.new_page(viewport={"width": WIDTH, "height": height}, color_scheme=scheme)
            page.goto(page_file.as_uri())
            page.locator(part).first.evaluate("(part) => part.scrollIntoView({ behavior: 'instant' })")
            page.wait_for_timeout(300)
            page.screenshot(path=IMAGES / f"{name}.png")
            page.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
