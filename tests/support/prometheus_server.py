"""A real Prometheus that reads pages every second."""

from __future__ import annotations

import json
import socket
import subprocess
import time
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlencode
from urllib.request import urlopen

from support.external_readers import program

CONFIGURATION = """
global: {{scrape_interval: 1s, scrape_timeout: 1s}}
scrape_configs:
  - job_name: ticktree
    static_configs: [{{targets: ["{target}"]}}]
"""
PATIENCE_S = 500.0


class Prometheus:
    """One of Debian's package, on a port that was free.

    Args:
        directory: where it keeps what it has read; it is to be empty.
        target: the host and port that it reads.
        words: more options.
    """

    def __init__(self, directory: Path, target: str, *words: str) -> None:
        binary = program("prometheus", "no run was read by a real Prometheus")
        directory.mkdir()
        (directory / "prometheus.yml").write_text(CONFIGURATION.format(target=target))
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self._address = f"127.0.0.1:{probe.getsockname()[1]}"
        self._log = (directory / "log").open("w+")
        self._process = subprocess.Popen(
            [
                binary,
                f"--config.file={directory / 'prometheus.yml'}",
                f"--storage.tsdb.path={directory / 'data'}",
                f"--web.listen-address={self._address}",
                *words,
            ],
            stdout=self._log,
            stderr=self._log,
        )
        self.began_s = time.time()

    def __enter__(self):
        return self

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.wait(60)
        self._log.close()

    def query(self, expression: str) -> list[dict[str, Any]]:
        """The series of an expression as they are now, each with its labels and its value."""
        return self._ask("query", query=expression)

    def query_range(self, expression: str) -> list[dict[str, Any]]:
        """The series of an expression since it was started, as a panel would show them."""
        return self._ask("query_range", query=expression, start=self.began_s, end=time.time(), step=1)

    def wait_for(self, expression: str, why: str) -> list[dict[str, Any]]:
        """The series of an expression, once there are any."""
        until = time.monotonic() + PATIENCE_S
        while time.monotonic() < until:
            with suppress(OSError):
                if result := self.query(expression):
                    return result
            assert self._process.poll() is None, self._said()
            time.sleep(0.2)
        raise AssertionError(f"{why}: {expression} has no data; {self._said()}")

    def _said(self) -> str:
        self._log.seek(0)
        return self._log.read()[-3000:]

    def _ask(self, how: str, **words: object) -> list[dict[str, Any]]:
        # It refuses a query that is none with 400, which is an error here.
        with urlopen(f"http://{self._address}/api/v1/{how}?{urlencode(words)}", timeout=30) as answer:
            reply = json.load(answer)
        assert reply["status"] == "success"
        result: list[dict[str, Any]] = reply["data"]["result"]
        return result
