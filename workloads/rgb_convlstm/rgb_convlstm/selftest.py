"""The self-test: whether profiling works here, shown on a simulated training of the real parts."""

from __future__ import annotations

import argparse
import importlib.util
import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from ticktree.compat.profiling import get_profiler

from .operations import ENVIRONMENT, MODEL, POLICY, SIMULATED, TRAINING
from .simulation import simulate

FOLDER = Path("profiling_test_files")
COLUMNS = ("Operation", "Calls", "Total(s)", "Avg(s)", "Min(s)", "Max(s)", "Mem Peak(MB)", "GPU Peak(MB)")
ANALYZER = "ticktree.compat.profiling.analyzer"
STEPS = 3
# How what could not be looked at begins.
SKIPPED = "not looked at: "


def main(arguments: list[str] | None = None) -> int:
    """Run every check, tell each, and return the exit status: 1 where one failed."""
    asked = _parser().parse_args(arguments)
    try:
        asked.folder.mkdir(exist_ok=True)
    except OSError as error:
        print(f"test_profiling.py: {asked.folder}: {error.strerror}", file=sys.stderr)
        return 2
    failed = 0
    for what, trouble in _checks(asked.folder):
        skipped = trouble is not None and trouble.startswith(SKIPPED)
        print(f"{'ok' if trouble is None else 'skipped' if skipped else 'FAILED':8}{what}{_why(trouble)}")
        failed += trouble is not None and not skipped
    if asked.cleanup:
        shutil.rmtree(asked.folder)
        print(f"removed {asked.folder}")
    else:
        print(f"files are in {asked.folder}; --cleanup removes them")
    print(f"{failed} failed" if failed else "profiling works")
    return 1 if failed else 0


def _why(trouble: str | None) -> str:
    return "" if trouble is None else f": {trouble}"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="test_profiling.py",
        description="See that profiling works here: a simulated training, its summary, report and analysis.",
    )
    parser.add_argument("--cleanup", action="store_true", help="remove the files when all is done")
    parser.add_argument(
        "--folder", type=Path, default=FOLDER, help="where the files are put (default: %(default)s)"
    )
    return parser


def _checks(folder: Path) -> Iterator[tuple[str, str | None]]:
    """Do each check; yield what it is of, and what is wrong, None where nothing is."""
    yield "nothing is recorded while profiling is off", _silence()
    profiler = get_profiler()
    profiler.enable()
    profiler.reset()
    simulate(STEPS)
    profiler.disable()
    yield "every operation is recorded", _operations(profiler.summary())
    yield "the summary has all columns", _columns(profiler.summary())
    report = folder / "profiling_report.json"
    profiler.save_report(report)
    yield "the analyzer prints", _printed(report)
    yield "the analyzer writes a report", _written(report, "--output", folder / "analysis.txt", b"")
    yield "the analyzer draws charts", _charts(report, folder / "performance.png")
    yield "the analyzer writes details", _details(report, folder / "detailed_analysis.json")
    profiler.enable()
    profiler.reset()
    profiler.disable()
    left = profiler.summary().splitlines()
    yield "reset forgets", None if len(left) == 1 else f"there still is {left[-2]!r}"


def _silence() -> str | None:
    profiler = get_profiler()
    profiler.disable()
    before = profiler.summary()
    simulate(1)
    return None if profiler.summary() == before else "something was"


def _operations(summary: str) -> str | None:
    calls = {line.split()[0]: int(line.split()[1]) for line in summary.splitlines()[4:-1]}
    wanted = (*ENVIRONMENT, *MODEL, *POLICY, *TRAINING, *SIMULATED)
    missing = [name for name in wanted if not calls.get(name)]
    if missing:
        return f"not {', '.join(missing)}"
    steps = calls["simulated_training_step"]
    return None if steps == STEPS else f"{steps} simulated steps instead of {STEPS}"


def _columns(summary: str) -> str | None:
    heads = summary.splitlines()[2]
    missing = [column for column in COLUMNS if column not in heads]
    return f"not {', '.join(missing)}" if missing else None


def _printed(report: Path) -> str | None:
    ended = _analyze(report)
    if ended.returncode:
        return ended.stderr.strip()
    missing = [head for head in ("SUMMARY", "BOTTLENECKS", "CATEGORIES") if head not in ended.stdout]
    return f"no {', '.join(missing)}" if missing else None


def _charts(report: Path, path: Path) -> str | None:
    if importlib.util.find_spec("matplotlib") is None:
        return f"{SKIPPED}matplotlib is not installed"
    return _written(report, "--charts", path, b"\x89PNG")


def _details(report: Path, path: Path) -> str | None:
    trouble = _written(report, "--detailed", path, b"{")
    if trouble:
        return trouble
    details = json.loads(path.read_text(encoding="utf-8"))
    missing = [key for key in ("operations", "bottlenecks", "categories") if not details.get(key)]
    return f"no {', '.join(missing)}" if missing else None


def _written(report: Path, option: str, path: Path, start: bytes) -> str | None:
    ended = _analyze(report, option, str(path))
    if ended.returncode:
        return ended.stderr.strip()
    written = path.read_bytes()
    return None if written and written.startswith(start) else f"{path} is not what it should be"


def _analyze(report: Path, *options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", ANALYZER, "--input", str(report), *options]
    return subprocess.run(command, capture_output=True, text=True, check=False)
