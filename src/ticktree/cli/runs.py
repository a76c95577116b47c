"""The names of runs: a path, the name that `ticktree list` prints (or its beginning), `--name`, `last`, `-2`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from ticktree.errors import TicktreeError, did_you_mean
from ticktree.run.directory import DEFAULT_OUT, no_run_in
from ticktree.run.finishing import RunDirectory

_LAST = "last"
# Precedes a run's name in the name of its directory.
_WHEN = re.compile(r"\d{8}-\d{6}-")
# `-2` as `CommandOfRuns` rewrites it, because click would take it for an option.
_FROM_THE_END = re.compile(r"@-([1-9]\d*)")
_NAMED_AT_MOST = 3


def run_named(word: str) -> Path:
    """Return the path of the one run or file that a user names; a path that exists comes first."""
    path = Path(word)
    if word.endswith(".py"):
        raise TicktreeError(f"{word} is a program, not a run: record it with `ticktree run {word}`")
    if path.exists() or path.is_symlink():
        return path
    from_the_end = _FROM_THE_END.fullmatch(word)
    names = [run.path.name for run in RunDirectory.list(DEFAULT_OUT)]
    if word == _LAST or from_the_end:
        number = int(from_the_end[1]) if from_the_end else 1
        if not names:
            raise TicktreeError(no_run_in(DEFAULT_OUT))
        if number > len(names):
            raise TicktreeError(
                f"{word[1:]}: {DEFAULT_OUT} has {len(names)} run{'s' if len(names) > 1 else ''}"
            )
        return DEFAULT_OUT / names[-number]
    return DEFAULT_OUT / _match_name(word, {name: _WHEN.sub("", name, count=1) for name in names})


def _match_name(word: str, own_names: Mapping[str, str]) -> str:
    """Return the run with a name or its beginning; of runs with the same name the newest, which is the last."""
    same = [name for name, own_name in own_names.items() if word in (name, own_name)]
    if same:
        return same[-1]
    by_own = [name for name, own_name in own_names.items() if word and own_name.startswith(word)]
    if len({own_names[name] for name in by_own}) == 1:
        return by_own[-1]
    candidates = by_own or [name for name in own_names if word and name.startswith(word)]
    if len(candidates) > 1:
        more = ", ..." if len(candidates) > _NAMED_AT_MOST else ""
        raise TicktreeError(
            f"{word} begins the names of {len(candidates)} runs: {', '.join(candidates[:_NAMED_AT_MOST])}{more}"
        )
    if not candidates:
        likely = did_you_mean(word, [*own_names, *own_names.values(), _LAST])
        raise TicktreeError(f"{word}: there is no such file or run{likely}")
    return candidates[0]


class _RunType(click.ParamType):  # type: ignore[type-arg]
    name = "run"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:  # noqa: ARG002
        return value if isinstance(value, Path) else run_named(value)


# Of an argument or option that names a run.
RUN = _RunType()


class CommandOfRuns(click.Command):
    """A command whose arguments may be `-1`, `-2`, ...: the newest run, the one before; not options."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Rewrite these so that click does not take them for options, unless they are the value of an option."""
        valued = {
            word: option
            for option in self.params
            if isinstance(option, click.Option) and not option.is_flag
            for word in option.opts
        }
        end = args.index("--") if "--" in args else len(args)
        for at in range(end):
            before = valued.get(args[at - 1]) if at else None
            if re.fullmatch(r"-\d+", args[at]) and (before is None or before.type is RUN):
                args[at] = f"@{args[at]}"
        return super().parse_args(ctx, args)


def ago(seconds: float) -> str:
    """Return an age in the largest unit that fits: "3 days ago", "just now"."""
    for unit, length in (("day", 86400), ("hour", 3600), ("minute", 60)):
        count = int(seconds // length)
        if count:
            return f"{count} {unit}{'s' if count > 1 else ''} ago"
    return "just now"
