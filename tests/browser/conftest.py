"""A real Chromium to open reports in, and what it says of them."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from ticktree.outputs import OUTPUTS

NAMES = ("chromium", "chromium-browser", "google-chrome")


def pytest_collection_modifyitems(items):
    """Tests in a browser are slow ones."""
    for item in items:
        if item.path.parent == Path(__file__).parent:
            item.add_marker(pytest.mark.slow)


# Not for the session: while playwright runs, its event loop is this thread's, and other tests have their own.
@pytest.fixture(scope="module")
def browser():
    """Chromium; where it is missing tests are skipped at a desk, and fail in CI, which installs it."""
    path = next((found for found in map(shutil.which, NAMES) if found), None)
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        path = None
    if path is None:
        if os.environ.get("CI"):
            pytest.fail("the browser's tests need playwright and scripts/install-browser.sh")
        pytest.skip("no playwright, or no Chromium: scripts/install-browser.sh")
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-gpu"])
        yield chromium
        chromium.close()


@dataclass
class Opened:
    """A report in the browser, and all that happened there that should not."""

    page: object
    requests: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)

    def texts(self, selector: str) -> list[str]:
        return self.page.locator(selector).all_inner_texts()


@pytest.fixture
def open_report(open_page):
    """Opens a profile's report as `open_page` does."""

    def open_it(profile, timeline=None, **screen):
        return open_page(OUTPUTS["html"].render(profile, timeline=timeline), **screen)

    return open_it


@pytest.fixture
def open_page(browser, tmp_path):
    """Opens a page from a file; at the end, sees that it asked for nothing and complained of nothing."""
    opened = []

    def open_it(document, *, width=1280, height=800, scheme="light"):
        file = tmp_path / f"{len(opened)}.html"
        file.write_bytes(document)
        context = browser.new_context(
            viewport={"width": width, "height": height}, color_scheme=scheme, reduced_motion="reduce"
        )
        report = Opened(context.new_page())
        page = report.page
        page.on("request", lambda request: report.requests.append(request.url))
        page.on("console", lambda message: report.complaints.append(message.text))
        page.on("pageerror", lambda error: report.complaints.append(str(error)))
        page.on("dialog", lambda dialog: (report.complaints.append(dialog.message), dialog.dismiss()))
        page.goto(file.as_uri())
        page.wait_for_selector("header")
        opened.append((report, file.as_uri(), context))
        return report

    yield open_it
    for report, uri, context in opened:
        context.close()
        # The page itself, as often as it was loaded, wherever in it.
        assert {url.partition("#")[0] for url in report.requests} == {uri}
        assert report.complaints == []
