"""Draws `ticktree top` as an SVG while a program runs: it makes the picture in the docs from a real screen.

Usage: python scripts/picture_of_top.py RUN docs/images/top.svg [--seconds S] [--size COLUMNS LINES] [--keys KEY...]
"""

from __future__ import annotations

import argparse
import asyncio
import io
from pathlib import Path

from picture import TEMPLATE
from rich.console import Console
from rich.text import Text

from ticktree.live.app import Board, Top
from ticktree.live.source import RunSource


async def main() -> None:
    """Watches the run named first for some seconds and draws the screen into the file named second."""
    parser = argparse.ArgumentParser(description="Draws `ticktree top` as an SVG.")
    parser.add_argument("run", type=Path)
    parser.add_argument("target", type=Path)
    parser.add_argument("--seconds", type=float, default=12.0, help="how long to watch before (default: 12)")
    parser.add_argument("--size", type=int, nargs=2, default=(110, 30), metavar=("COLUMNS", "LINES"))
    parser.add_argument("--keys", nargs="*", default=(), help="what to press before, as textual calls it")
    options = parser.parse_args()
    app = Top(RunSource(options.run.absolute()))
    async with app.run_test(size=tuple(options.size)) as pilot:
        await pilot.pause(options.seconds)
        await pilot.press(*options.keys)
        await pilot.pause()
        options.target.write_text(drawn(app.query_one(Board)), encoding="utf-8")


def drawn(board: Board) -> str:
    """Return the screen as an SVG that loads nothing from the network."""
    width, height = board.size
    console = Console(
        record=True, width=width + 2, file=io.StringIO(), force_terminal=True, color_system="truecolor"
    )
    for y in range(height):
        line = Text()
        for segment in board.render_line(y):
            line.append(segment.text, segment.style)
        console.print(line, no_wrap=True, overflow="crop")
    console.print()  # the template leaves the last line no room
    return console.export_svg(title="ticktree top", code_format=TEMPLATE)


if __name__ == "__main__":
    asyncio.run(main())
