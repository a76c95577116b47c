"""`ticktree mcp`: serve runs to coding agents, over the Model Context Protocol on standard input and output."""

from __future__ import annotations

import json
import re
import shlex
import tempfile
from collections.abc import Callable
from dataclasses import replace
from functools import wraps
from itertools import islice
from pathlib import Path
from typing import Any

import click

from ticktree import __version__
from ticktree.analysis.context import Context
from ticktree.analysis.registry import RULES
from ticktree.cli.comparing import compared
from ticktree.cli.files import read, run_words
from ticktree.cli.query import Database, write_dataset
from ticktree.cli.runs import run_named
from ticktree.cli.summary import settings_here
from ticktree.errors import TicktreeError
from ticktree.loading import load_repeats
from ticktree.outputs import OUTPUTS, ViewOptions
from ticktree.outputs.comparison import COMPARISONS
from ticktree.outputs.registry import import_library
from ticktree.outputs.sentences import findings_in
from ticktree.profile import Profile
from ticktree.run.directory import DEFAULT_OUT, no_run_in
from ticktree.run.finishing import RunDirectory
from ticktree.run.sweep import finish_abandoned

# Per answer: about 2,000 tokens, as for the agent format.
MAX_CHARACTERS = 6_000
MAX_ROWS = 50
_WIDTH = 100

_INSTRUCTIONS = (
    "Profiles that `ticktree run PROGRAM` recorded in the directory in which this server was started. Call list_runs "
    "first, then report; `run` is a name from list_runs, a path, last, or -2 for the one before. Keys of times end in "
    "_ns (nanoseconds). No tool changes a run or starts a program."
)


@click.command("mcp", short_help="Serve runs to coding agents, over MCP on stdin and stdout.")
def command() -> None:
    """Serve the runs kept here to a coding agent, over the Model Context Protocol on standard input and output.

    It lists, reports and compares runs, and answers queries. It only reads runs and changes nothing. It needs the
    extra `mcp`; its queries need the extra `query`.
    """
    server = import_library("mcp.server", "mcp", "mcp").MCPServer(
        "ticktree", version=__version__, instructions=_INSTRUCTIONS, log_level="ERROR"
    )
    failure = import_library("mcp.server.mcpserver.exceptions", "mcp", "mcp").ToolError
    for tool in TOOLS:
        server.add_tool(_answering(tool, failure), structured_output=False)
    server.run()


def list_runs(count: int = 20) -> str:
    """The runs kept here, the newest first: name, program, start (UTC seconds), whether it has ended."""
    finish_abandoned()
    runs, damaged = RunDirectory.list_all(DEFAULT_OUT)
    if not runs and not damaged:
        raise TicktreeError(no_run_in(DEFAULT_OUT))
    rows = [
        {
            "run": run.path.name,
            "program": shlex.join(run.manifest.argv)[:200],
            "started": run.manifest.started_ns // 1_000_000_000,
            "finished": run.is_finished(),
        }
        for run in reversed(runs)
    ]
    return _json(rows[: _clamp(count)], len(rows), damaged=[path.name for path in damaged][:MAX_ROWS])


def report(run: str = "last") -> str:
    """A run in at most 2,000 tokens: headlines, warnings, recommendations with savings, loops, self times, tree."""
    path, profile = _read(run)
    return OUTPUTS["agent"].render(profile, _view(run=run_words(path)), None).decode()


def compare(base: str, new: str) -> str:
    """Whether a run is faster than another one: a verdict per loop and section, with the intervals of the changes."""
    base_runs, new_runs = (load_repeats([_path(word)]) for word in (base, new))
    return COMPARISONS["markdown"](*compared(base_runs, new_runs), _view()).decode()


def top_sections(run: str = "last", count: int = 15) -> str:
    """The sections with the most self time in the whole run, with their calls and percentiles per call."""
    _, profile = _read(run)
    nodes = sorted(profile.root.walk(), key=lambda entry: -entry[2].self_ns)
    rows = [
        {
            "path": path,
            "self_ns": node.self_ns,
            "total_ns": node.total_ns,
            "calls": node.count,
            "p50_ns": node.stats.p50_ns,
            "p99_ns": node.stats.p99_ns,
            "waits": node.wait,
        }
        for path, _, node in nodes
        if node.self_ns
    ]
    return _json(rows[: _clamp(count)], len(rows))


def worst_ticks(run: str = "last", loop: str = "", count: int = 8) -> str:
    """The longest ticks of all loops or of one, each with the rows that took most of it, and its causes."""
    _, profile = _read(run)
    if loop and loop not in profile.loops:
        raise TicktreeError(
            f"there is no loop {loop!r}; loops of the run: {', '.join(profile.loops) or 'none'}"
        )
    rows = [
        {
            "loop": path,
            "tick": tick.tick,
            "duration_ns": tick.duration_ns,
            "usual_ns": recorded_loop.stats.p50_ns,
            "started_ns": tick.started_ns,
            "most": dict(sorted(tick.breakdown.items(), key=lambda item: -item[1])[:3]),
            "causes": dict(tick.causes),
        }
        for path, recorded_loop in profile.loops.items()
        if loop in ("", path)
        for tick in recorded_loop.worst
    ]
    rows.sort(key=lambda row: -row["duration_ns"])  # type: ignore[operator]
    return _json(rows[: _clamp(count)], len(rows))


def query(sql: str, run: str = "last", count: int = MAX_ROWS) -> str:
    """One SELECT (DuckDB) over a run's tables: nodes, loops, gauges, processes, threads, shares, losses, metadata.

    Runs with a timeline also have calls and ticks. `DESCRIBE nodes` is not a SELECT: use `SELECT * FROM nodes LIMIT 1`
    to see the columns.
    """
    path, profile = _read(run)
    with tempfile.TemporaryDirectory(prefix="ticktree-mcp-") as scratch:
        folder = Path(scratch) / "dataset"
        write_dataset(folder, profile, path)
        columns, rows = Database(folder, Path(scratch) / "spilled").select(sql)
        objects = [dict(zip(columns, row, strict=True)) for row in islice(rows, _clamp(count))]
        return _json(objects, len(objects) + sum(1 for _ in rows))


def explain(rule: str, run: str = "last") -> str:
    """The findings of a rule in a run: message, path, saving and measured facts; and what the rule looks for."""
    path, profile = _read(run)
    matches = [finding for finding in findings_in(Context(profile, settings_here())) if finding.rule == rule]
    if not matches:
        names = sorted({finding.rule for finding in findings_in(Context(profile, settings_here()))})
        raise TicktreeError(
            f"{rule} has no finding in {run_words(path)}; rules that have: {', '.join(names) or 'none'}"
        )
    looks_for = next((finding.__doc__ for finding in RULES if finding.name == rule), None)
    rows = [
        {
            "message": finding.message,
            "severity": finding.severity,
            "path": finding.path,
            "loop": finding.loop,
            "saved_share": finding.saved_share,
            "facts": dict(finding.facts),
        }
        for finding in matches
    ]
    return _json(rows[:MAX_ROWS], len(rows), rule=rule, looks_for=" ".join((looks_for or "").split()))


TOOLS: tuple[Callable[..., str], ...] = (
    list_runs,
    report,
    compare,
    top_sections,
    worst_ticks,
    query,
    explain,
)


def _answering(tool: Callable[..., str], failure: type[Exception]) -> Callable[..., str]:
    """Return a tool that answers a wrong call with an error instead of a crash, and whose answers are bounded."""

    @wraps(tool)
    def answering(*args: Any, **kwargs: Any) -> str:
        try:
            text = tool(*args, **kwargs)
        except TicktreeError as error:
            raise failure(str(error)[:MAX_CHARACTERS]) from None
        if len(text) <= MAX_CHARACTERS:
            return text
        return f"{text[:MAX_CHARACTERS]}\n... {len(text) - MAX_CHARACTERS:,} more characters: ask for less"

    return answering


def _path(word: str) -> Path:
    return run_named(f"@{word}" if re.fullmatch(r"-\d+", word) else word)


def _read(run: str) -> tuple[Path, Profile]:
    path = _path(run)
    return path, read(path)


def _view(run: str | None = None) -> ViewOptions:
    return replace(ViewOptions(), width=_WIDTH, color=False, run=run, settings=settings_here())


def _clamp(count: int) -> int:
    return max(1, min(count, MAX_ROWS))


def _json(rows: list[dict[str, Any]], there_are: int, **fields: Any) -> str:
    """Return as many rows as fit, as JSON, and the number of those left out."""
    while True:
        answer = {**fields, "rows": rows, "left_out": there_are - len(rows)}
        text = json.dumps(answer, ensure_ascii=False, default=str)
        if len(text) <= MAX_CHARACTERS or len(rows) <= 1:
            return text
        rows = rows[: len(rows) * 3 // 4]
