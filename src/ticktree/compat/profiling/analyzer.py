"""`python -m ticktree.compat.profiling.analyzer`: a saved report's bottlenecks as text, charts and JSON."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from ticktree.compat.profiling.profiler import as_details, as_text
from ticktree.errors import TicktreeError
from ticktree.files.atomic import write_atomically
from ticktree.loading import load
from ticktree.outputs import OUTPUTS
from ticktree.profile import Profile


def main(arguments: Sequence[str] | None = None) -> int:
    """Analyze a report; return the exit status: 0, or 2 where something cannot be read or written.

    Args:
        arguments: Of the command line, without the program's name; by default the process's own.
    """
    options = _parser().parse_args(arguments)
    try:
        _analyze(
            options.input,
            ((options.output, as_text), (options.charts, _as_charts), (options.detailed, as_details)),
        )
    except TicktreeError as error:
        print(f"analyzer: {error}", file=sys.stderr)
        return 2
    except OSError as error:
        print(f"analyzer: cannot write {error.filename}: {error.strerror}", file=sys.stderr)
        return 2
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m ticktree.compat.profiling.analyzer",
        description="Analyze a profiling report: the top bottlenecks by score, categories, recommendations. Without "
        "--output, --charts or --detailed the analysis is printed.",
    )
    parser.add_argument("--input", type=Path, required=True, help="the report, or a run of ticktree")
    parser.add_argument("--output", type=Path, help="write the analysis here, as text")
    parser.add_argument("--charts", type=Path, help="draw it here: a PNG file (needs ticktree[charts])")
    parser.add_argument(
        "--detailed", type=Path, help="write all numbers, scores and categories here, as JSON"
    )
    return parser


def _analyze(report: Path, outputs: Sequence[tuple[Path | None, Callable[[Profile], bytes]]]) -> None:
    profile = load(report)
    for path, render in outputs:
        if path is not None:
            write_atomically(path, render(profile))
    if all(path is None for path, _ in outputs):
        sys.stdout.write(as_text(profile).decode())


def _as_charts(profile: Profile) -> bytes:
    return OUTPUTS["png"].render(profile)


if __name__ == "__main__":
    sys.exit(main())
