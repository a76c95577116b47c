"""The agent format: the first screen of the report as JSON, small enough for a coding agent's context window.

At most 2,000 tokens, or 6,000 characters: three characters per token, where English has about four. For a larger run,
it omits and counts rows at the end of each list, and then cuts texts.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, TypeVar

from ticktree.analysis.context import Context
from ticktree.analysis.sampled import SampledTime, sampled_times
from ticktree.outputs.options import ViewOptions
from ticktree.outputs.view.build import report_view
from ticktree.outputs.view.model import Headline, LoopPart, Recommendation, ReportView
from ticktree.outputs.view.sampled import MARK, function_title, is_worth_rows, notes
from ticktree.outputs.view.tree import CHAIN
from ticktree.outputs.writing.document import Entry, Table, Value
from ticktree.outputs.writing.visible import visible
from ticktree.profile import Profile
from ticktree.profile import path as paths

SCHEMA = "ticktree-agent/1"
MAX_TOKENS = 2_000
CHARACTERS_PER_TOKEN = 3
MAX_CHARACTERS = MAX_TOKENS * CHARACTERS_PER_TOKEN

# Commands that show more of the same run, by purpose.
_COMMANDS = (
    ("every row, loop and finding", "ticktree report --all{run}"),
    ("every number, in whole nanoseconds", "ticktree report --format json{run}"),
    ("a column per role of the processes", "ticktree report --by role{run}"),
    ("where each section is in the code", "ticktree report --all --call-sites{run}"),
    ("whether a change made it faster", "ticktree compare BASE NEW"),
)
_MAX_FUNCTIONS = 3  # of the largest self time, from samples
_RUN_CHARACTERS = 200  # the reader replaces RUN with a longer path

Item = TypeVar("Item")


class Size(NamedTuple):
    """The maximum number of rows per list, and of characters per text."""

    rows: int
    characters: int


# The last size is below the limit for every program.
_SIZES = (Size(40, 600), Size(24, 500), Size(16, 400), Size(10, 300), Size(6, 200), Size(3, 100), Size(1, 40))


def render(profile: Profile, options: ViewOptions) -> bytes:
    """Return the first screen as JSON in UTF-8, one line per part."""
    screen = replace(options, all=False, by=None)
    view = report_view(Context(profile, options.settings), screen)
    largest = _largest_self_time(profile)
    text = ""
    for size in _SIZES:
        fields = _Agent(view, options.run, size, largest).fields()
        text = "{\n" + ",\n".join(f"{_json(key)}: {_json(value)}" for key, value in fields.items()) + "\n}\n"
        if len(text) <= MAX_CHARACTERS:
            break
    return text.encode()


def _largest_self_time(profile: Profile) -> tuple[str, SampledTime] | None:
    """Return the path and samples of the largest self time with enough samples; waits need no explanation."""
    candidates = ((path, time) for path, time in sampled_times(profile).items() if is_worth_rows(time))
    times = (pair for pair in candidates if not profile.root.at(pair[0]).wait)
    return max(times, key=lambda pair: (pair[1].ns, pair[0]), default=None)


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


class _Agent:
    def __init__(
        self, view: ReportView, run: str | None, size: Size, largest: tuple[str, SampledTime] | None
    ) -> None:
        self._view, self._run, self._size, self._largest = view, run, size, largest
        self._omissions: dict[str, int] = {"recommendations": view.more} if view.more else {}

    def fields(self) -> dict[str, Any]:
        """Return the report, the numbers of omitted rows, and the commands that show them."""
        view = self._view
        part = view.parts[0] if view.parts else LoopPart("", None, (), None)
        run = self._run or ""
        argument = f" {run if len(run) <= _RUN_CHARACTERS else 'RUN'}" if run else ""
        facts = {fact.key: self._cut(fact.text) for fact in view.provenance}
        return {
            "schema": SCHEMA,
            "run": {"title": self._cut(view.title), **facts},
            "nothing": view.nothing,
            "headlines": self._list("headlines", view.headlines, self._headline),
            "warnings": self._list(
                "warnings",
                view.warnings,
                lambda warning: {"rule": warning.rule, "text": self._cut(warning.text)},
            ),
            "recommendations": self._list("recommendations", view.recommendations, self._recommendation),
            "loops": self._table("loops", view.loops),
            "self_time": self._table("self_time", part.self_times),
            "not_worth_optimizing": self._list("not_worth_optimizing", part.dismissed, self._cut),
            "tree": self._table("tree", part.tree),
            "sampled": self._sampled(),
            "left_out": self._omissions,
            "more": {purpose: command.format(run=argument) for purpose, command in _COMMANDS},
        }

    def _headline(self, headline: Headline) -> dict[str, object]:
        pieces = self._cut(", ".join(headline.pieces))
        return {"loop": self._path(headline.path), "misses": headline.is_missed, "text": pieces}

    def _recommendation(self, recommendation: Recommendation) -> dict[str, object]:
        return {
            "rule": recommendation.rule,
            "severity": recommendation.severity,
            "path": self._path(recommendation.path),
            "loop": self._path(recommendation.loop),
            "gain": " ".join(recommendation.gain.split()),
            "share": _number(recommendation.share),
            "text": self._cut(recommendation.text),
            "evidence": self._cut(", ".join(recommendation.evidence)),
        }

    def _table(self, name: str, table: Table | None) -> dict[str, object] | None:
        """Return a table as the keys of its columns and a list per row."""
        if table is None:
            return None
        has_notes = any(entry.notes for entry in table.entries)
        columns = [table.noun, *(head.key or head.title for head in table.heads), *(["notes"] * has_notes)]

        def row(entry: Entry) -> list[Value]:
            notes = [self._cut(", ".join(entry.notes))] if has_notes else []
            return [self._cut(_name(entry)), *map(_number, entry.values), *notes]

        title, rows = self._cut(table.title), self._list(name, table.entries, row)
        return {"title": title, "columns": columns, "rows": rows, "remark": self._cut(table.remark)}

    def _sampled(self) -> dict[str, object] | None:
        """Return the functions that took the largest self time."""
        if self._largest is None:
            return None
        path, time = self._largest
        rows = [
            {
                "function": self._cut(function_title(row.function)),
                **{name: _number(getattr(row, name)) for name in ("share", "low", "high")},
                "notes": self._cut(", ".join(notes(row))),
            }
            for row in time.rows()[: min(_MAX_FUNCTIONS, self._size.rows)]
        ]
        return {"path": self._path(path), "self_ns": time.ns, "samples": time.count, "rows": rows}

    def _list(self, name: str, items: Sequence[Item], convert: Callable[[Item], object]) -> list[object]:
        excess = len(items) - self._size.rows
        if excess > 0:
            self._omissions[name] = self._omissions.get(name, 0) + excess
        return [convert(item) for item in items[: self._size.rows]]

    def _path(self, path: str) -> str:
        return self._cut(visible(paths.display_text(path)))

    def _cut(self, text: str) -> str:
        limit = self._size.characters
        return text if len(text) <= limit else text[: limit - 1] + "…"


def _name(entry: Entry) -> str:
    """Return the name of a row; in a tree, its path from the loop on, with the sections folded into it."""
    mark = f" ({entry.mark})" if entry.mark else ""
    if not entry.guide or not entry.path:
        return f"{entry.name}{mark}"
    path = visible(paths.display_text(entry.path))
    is_below = entry.name == "[self]" or entry.name.endswith(MARK)
    names = [path, entry.name] if is_below else [path, *entry.name.split(CHAIN)[1:]]
    return f"{'/'.join(names)}{mark}"


def _number(value: Value) -> Value:
    """Return a number with four significant digits; integers, such as nanoseconds and counts, unchanged."""
    return float(f"{value:.4g}") if isinstance(value, float) else value
