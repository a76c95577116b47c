"""Cost of publishing for the program: an empty section under `ticktree run --prometheus --otlp --every 1s`.

The program is this file once more, started by that command; it records a tree of some size. Its page is read each
second as a Prometheus would, in the format with native histograms, and a collector takes what is sent each second. The
supervisor, which does it all, is stopped and continued by signals: windows with it and without it alternate. So what
else it does each second, a look at the machine, is among what is compared.
"""

from __future__ import annotations

import mmap
import os
import re
import signal
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.request import Request, urlopen

from harness.report import Report
from harness.watching import by_name, lines, pairs_of, parsed_options, round_the_tree

PATIENCE_S = 60.0
EVERY_S = 1.0
ACCEPTED = "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited"
# Names the file in which who watches counts, to the program that is watched.
COUNTED_IN = "TICKTREE_BENCHMARK_COUNTED_IN"


class Count:
    """How often the page was read and something was sent: one number each, which two processes see.

    Args:
        path: the file it is in.
    """

    def __init__(self, path: Path) -> None:
        with path.open("r+b") as file:
            self._memory = mmap.mmap(file.fileno(), 16)

    def up(self, index: int) -> None:
        """Count one more: at place 0 what was read, at place 1 what was sent."""
        struct.pack_into("q", self._memory, 8 * index, self.both()[index] + 1)

    def both(self) -> tuple[int, int]:
        """Return how often it was read, and how often something was sent."""
        reads, sent = struct.unpack("2q", self._memory)
        return reads, sent


class Supervisor:
    """The process that publishes this one."""

    def __init__(self) -> None:
        self._count = Count(Path(os.environ[COUNTED_IN]))

    def wait_until_it_publishes(self) -> None:
        """Wait for the page to be read, and for something to be sent.

        Raises:
            RuntimeError: it is not, or nothing is.
        """
        deadline = time.monotonic() + PATIENCE_S
        while not all(self._count.both()):
            if time.monotonic() > deadline:
                raise RuntimeError(f"read and sent: {self._count.both()}")
            time.sleep(0.1)

    def attach(self) -> None:
        """Let it go on."""
        os.kill(os.getppid(), signal.SIGCONT)

    def detach(self) -> None:
        """Let it stand still."""
        os.kill(os.getppid(), signal.SIGSTOP)

    def readings(self) -> int:
        """How often the page was read and something was sent, together."""
        return sum(self._count.both())


class Collector(BaseHTTPRequestHandler):
    """Takes what is sent."""

    count: Count

    def do_POST(self) -> None:
        """Take it."""
        self.rfile.read(int(self.headers["Content-Length"]))
        self.count.up(1)
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Log nothing."""


def read_page(url: str, count: Count) -> None:
    """Read a page each second, for ever; what does not answer in a second is given up, as Prometheus does."""
    while True:
        with suppress(OSError):
            with urlopen(Request(url, headers={"Accept": ACCEPTED}), timeout=EVERY_S) as page:
                page.read()
            count.up(0)
        time.sleep(EVERY_S)


@contextmanager
def collector(count: Count) -> Iterator[str]:
    """The URL of a collector."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Counted", (Collector,), {"count": count}))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()


def watch(words: list[str]) -> int:
    """Start this file under ticktree, with a reader; return how it ended."""
    with TemporaryDirectory() as folder:
        count_file = Path(folder, "count")
        count_file.write_bytes(bytes(16))
        count = Count(count_file)
        command = ["-m", "ticktree", "run", "--out", folder, "--prometheus", "0", "--every", f"{EVERY_S:g}s"]
        with collector(count) as url:
            program = subprocess.Popen(
                [sys.executable, *command, "--otlp", url, __file__, *words],
                env={**os.environ, COUNTED_IN: str(count_file)},
                stderr=subprocess.PIPE,
                text=True,
            )
            assert program.stderr is not None
            first = program.stderr.readline()
            page = re.search(r"http://\S+", first)
            if page is None:
                raise RuntimeError(first)
            threading.Thread(target=read_page, args=(page[0], count), daemon=True).start()
            output = program.stderr.read()  # its tree, which is of no interest
            if program.wait():
                print(output, file=sys.stderr)
            return program.returncode


def main() -> None:
    arguments = parsed_options(__doc__)
    pairs = arguments.pairs
    if COUNTED_IN not in os.environ:
        raise SystemExit(watch(sys.argv[1:]))
    round_the_tree()
    by_name(1000)
    supervisor = Supervisor()
    supervisor.wait_until_it_publishes()
    try:
        result_lines = lines(pairs_of(supervisor, pairs, arguments.seconds), "times read or sent")
    finally:
        supervisor.attach()
    title = (
        f"A section's cost while it is published each second, by its cost while not, {pairs} pairs of windows"
    )
    Report("publish_cost", title, result_lines).print(as_json=arguments.json)


if __name__ == "__main__":
    main()
