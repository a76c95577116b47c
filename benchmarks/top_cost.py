"""What it costs a program to be watched: an empty section while a real `ticktree top` reads it, and while none does.

The program is this process, which records a tree of some size. `ticktree top` runs on a terminal of its own, as
anyone would start it, and is stopped and continued by signals: stretches with it and without it alternate, and
each pair of neighbours gives one ratio. What reading does to the program is over in a small part of a stretch, so
a stretch counts as a whole; a median of its blocks would leave out just that part. The same loop with two
`time.perf_counter_ns()` calls, block by block beside it, tells what the machine did to any code meanwhile.
"""

from __future__ import annotations

import fcntl
import importlib.util
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import repeat
from pathlib import Path

from harness.race import Block, empty_loop, settled_heap, two_clock_reads
from harness.report import Absent, Figure, Report, options, progress
from harness.scratch import recording
from harness.spread import Spread
from ticktree import section
from ticktree.run.directory import RunDirectory

TARGET = 1.03
BLOCK_NS = 4_000_000
GROUPS, SECTIONS = 12, 8  # nodes that are there to be read, entered now and then as a program's are
PATIENCE_S = 60.0
CLOCKS: dict[str, Callable[[], int]] = {
    "processor time": time.process_time_ns,
    "on the clock": time.perf_counter_ns,
}


def by_name(turns: int) -> None:
    for _ in repeat(None, turns):
        with section("x"):
            pass


def round_the_tree() -> None:
    """Enter every node once."""
    for group in range(GROUPS):
        with section(f"group {group}"):
            for place in range(SECTIONS):
                with section(f"section {place}"):
                    pass


BLOCKS: dict[str, Block] = {"section": by_name, "clock": two_clock_reads, "bare": empty_loop}


class Watcher:
    """`ticktree top` on a terminal, reading a run as often as it does by default."""

    def __init__(self, run: Path) -> None:
        self._fd, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
        environment = {key: value for key, value in os.environ.items() if key != "TICKTREE_RUN"}
        self._process = subprocess.Popen(
            [sys.executable, "-m", "ticktree", "top", str(run)],
            stdin=slave,
            stdout=slave,
            stderr=slave,
            env={**environment, "TERM": "xterm-256color"},
            start_new_session=True,
        )
        os.close(slave)
        os.set_blocking(self._fd, False)

    def wait_until_it_shows(self, words: bytes) -> None:
        """Wait for the first picture.

        Raises:
            RuntimeError: there is none.
        """
        seen, deadline = b"", time.monotonic() + PATIENCE_S
        while words not in seen:
            if time.monotonic() > deadline or self._process.poll() is not None:
                raise RuntimeError(f"ticktree top shows nothing: {seen[-500:]!r}")
            select.select([self._fd], [], [], 0.1)
            seen += self._read()
            round_the_tree()

    def draw(self) -> bool:
        """Take what it has drawn off the terminal, so that it can draw on; whether there was anything."""
        return bool(self._read())

    def attach(self) -> None:
        """Let it go on."""
        self._process.send_signal(signal.SIGCONT)

    def detach(self) -> None:
        """Let it stand still, so that it reads nothing."""
        self._process.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, self._process.pid, os.WSTOPPED | os.WNOWAIT)

    def close(self) -> None:
        """End it."""
        self.attach()
        self._process.terminate()
        deadline = time.monotonic() + PATIENCE_S
        while self._process.poll() is None and time.monotonic() < deadline:
            self._read()
            time.sleep(0.02)
        self._process.kill()
        self._process.wait()
        os.close(self._fd)

    def _read(self) -> bytes:
        try:
            return os.read(self._fd, 1 << 16)
        except (BlockingIOError, OSError):
            return b""


@dataclass
class Stretch:
    """What all blocks of a stretch took together, by clock and block, and how often the screen was drawn."""

    took_ns: dict[tuple[str, str], int] = field(default_factory=dict)
    turns: int = 0
    drawn: int = 0

    def cost_ns(self, clock: str, block: str) -> float:
        """Nanoseconds a turn of a block, less the empty loop's."""
        return (self.took_ns[clock, block] - self.took_ns[clock, "bare"]) / self.turns


def stretch(seconds: float, turns: int, watcher: Watcher) -> Stretch:
    """Run the blocks in turn for some seconds."""
    result = Stretch(dict.fromkeys(((clock, block) for clock in CLOCKS for block in BLOCKS), 0))
    until = time.monotonic() + seconds
    was_drawn = False
    while time.monotonic() < until:
        for name, block in BLOCKS.items():
            before = {clock: read() for clock, read in CLOCKS.items()}
            block(turns)
            for clock, read in CLOCKS.items():
                result.took_ns[clock, name] += read() - before[clock]
        result.turns += turns
        is_drawn = watcher.draw()
        result.drawn += is_drawn and not was_drawn
        was_drawn = is_drawn
        round_the_tree()
    return result


@contextmanager
def watched() -> Iterator[Watcher]:
    """This process, recording and watched."""
    with recording():
        round_the_tree()
        by_name(1000)
        watcher = Watcher(RunDirectory.newest().path)
        try:
            watcher.wait_until_it_shows(b"running for")
            yield watcher
        finally:
            watcher.close()


def pairs_of(count: int, seconds: float) -> list[tuple[Stretch, Stretch]]:
    """Neighbouring stretches, one with the watcher and one without; which comes first alternates."""
    pairs = []
    with watched() as watcher, settled_heap():
        turns = turns_in(BLOCK_NS)
        for number in range(count):
            progress(f"pair {number + 1} of {count}")
            found: dict[bool, Stretch] = {}
            for attached in (True, False) if number % 2 else (False, True):
                (watcher.attach if attached else watcher.detach)()
                watcher.draw()
                found[attached] = stretch(seconds, turns, watcher)
            pairs.append((found[True], found[False]))
    return pairs


def turns_in(block_ns: int) -> int:
    """How many turns of the section fill a block."""
    start = time.process_time_ns()
    by_name(10_000)
    return max(1000, 10_000 * block_ns // max(1, time.process_time_ns() - start))


def lines(pairs: Sequence[tuple[Stretch, Stretch]]) -> list[Figure | Absent]:
    drawn = sum(attached.drawn for attached, _ in pairs)
    seen = sum(detached.drawn for _, detached in pairs)
    note = f"drawn {drawn} times with it, {seen} times while it stood still"
    # On the clock alone, a busy machine's other programs count too, and more of them at times than at others.
    targets = {"processor time": TARGET, "on the clock": None}
    result: list[Figure | Absent] = []
    for clock in CLOCKS:
        ratios = {
            block: [a.cost_ns(clock, block) / d.cost_ns(clock, block) for a, d in pairs]
            for block in ("section", "clock")
        }
        beside = [one / other for one, other in zip(ratios["section"], ratios["clock"], strict=True)]
        cost_ns = Spread.of([detached.cost_ns(clock, "section") for _, detached in pairs]).median
        result += [
            line(f"section, {clock}", ratios["section"], targets[clock], note, cost_ns),
            line(
                f"two perf_counter_ns() calls, {clock}",
                ratios["clock"],
                None,
                "what the machine did to any code",
            ),
            line(f"section by the two calls, {clock}", beside, TARGET, "free of what happened to both"),
        ]
    return result


def line(name: str, ratios: list[float], target: float | None, note: str, cost_ns: float = 0.0) -> Figure:
    spread = Spread.of(ratios)
    also = {"95% from": spread.sure_low, "to": spread.sure_high}
    if cost_ns:
        also["ns a section, alone"] = cost_ns
    return Figure.of_spread(name, spread, "x", target=target, also=also, note=note)


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--pairs", type=int, help="pairs of stretches (default: 40, quick: 6)")
    parser.add_argument(
        "--seconds", type=float, default=3.0, help="a stretch's length (default: %(default)s)"
    )
    arguments = parser.parse_args()
    pairs = arguments.pairs or (6 if arguments.quick else 40)
    title = f"A section's cost with `ticktree top` watching, by its cost without, {pairs} pairs of stretches"
    if importlib.util.find_spec("textual") is None:
        found: list[Figure | Absent] = [Absent("section", "not installed: textual (the extra ticktree[top])")]
    else:
        found = lines(pairs_of(pairs, arguments.seconds))
    Report("top_cost", title, found).print(as_json=arguments.json)


if __name__ == "__main__":
    main()
