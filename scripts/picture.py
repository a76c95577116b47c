"""Draws a run's terminal report as an SVG: it makes the pictures in the docs from real output.

Usage: python scripts/picture.py RUN docs/images/demo.svg
"""

from __future__ import annotations

import io
import sys
from pathlib import Path

from rich.console import Console
from rich.text import Text

import ticktree
from ticktree.outputs import OUTPUTS, ViewOptions

WIDTH = 100

# Plain boxes and the reader's own monospaced font: a picture that asks the network for nothing.
TEMPLATE = """<svg viewBox="0 0 {terminal_width} {terminal_height}" xmlns="http://www.w3.org/2000/svg">
<style>
.{unique_id}-matrix {{ font-family: ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace;
 font-size: {char_height}px; line-height: {line_height}px; font-variant-east-asian: full-width; }}
{styles}
</style>
<defs><clipPath id="{unique_id}-clip-terminal">
<rect x="0" y="0" width="{terminal_width}" height="{terminal_height}"/></clipPath>{lines}</defs>
<rect width="{terminal_width}" height="{terminal_height}" rx="8" fill="#1b1d23"/>
<g transform="translate(9, 9)">{backgrounds}<g class="{unique_id}-matrix">{matrix}</g></g>
</svg>
"""


def main() -> None:
    """Draws the run named first into the file named second."""
    run, target = sys.argv[1:]
    report = OUTPUTS["terminal"].render(ticktree.load(run), ViewOptions(width=WIDTH, color=True)).decode()
    console = Console(
        record=True, width=WIDTH + 2, file=io.StringIO(), force_terminal=True, color_system="truecolor"
    )
    console.print(Text.from_ansi(report))
    Path(target).write_text(console.export_svg(title="ticktree", code_format=TEMPLATE), encoding="utf-8")


if __name__ == "__main__":
    main()
