"""Results of trying remedies: a table for a terminal, JSON for programs."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from ticktree.analysis.experiments.trials import LEAST_PAIRS, Trial, Trials
from ticktree.outputs import terminal
from ticktree.outputs.options import ViewOptions
from ticktree.outputs.whatif import interval, percent
from ticktree.outputs.writing import formatting
from ticktree.outputs.writing.document import VERDICT_TONES, Entry, Head, Heading, Lines, Part, Table
from ticktree.outputs.writing.visible import visible

SCHEMA = "ticktree-try/1"

_NUMBERS = (Head("per tick", 1), Head("change", 0), Head("95% interval", 0), Head("pairs", 3))
_HEADS = (*_NUMBERS, Head("results", 2, words=True), Head("verdict", 0, words=True))


def _json(result: Trials, _options: ViewOptions) -> bytes:
    trial = result.kept
    document = {
        "schema": SCHEMA,
        "program": result.program,
        "loop": result.loop,
        "trials": [*map(_trial_fields, result.trials)],
        "winner": _trial_fields(result.winner) if result.winner else None,
        "both": _trial_fields(result.both) if result.both else None,
        "kept": {"remedies": _names(trial), **_how_to_keep(trial, result.program)} if trial else None,
        "untried_rules": list(result.untried),
    }
    return json.dumps(document, indent=1).encode() + b"\n"


TRIALS: dict[str, Callable[[Trials, ViewOptions], bytes]] = {
    "terminal": lambda result, options: terminal.draw(_parts(result), options),
    "json": _json,
}


def _parts(result: Trials) -> Iterator[Part]:
    yield Heading("ticktree try", [visible(result.program), f"ticks of {visible(result.loop)}"])
    if not result.trials:
        nothing = "Nothing to try: no finding of this run has a remedy that can be applied from outside."
        yield Lines([[nothing]])
    else:
        yield Table("compared with none", "remedy", _HEADS, [_trial_row(trial) for trial in result.trials])
        if result.winner is not None:
            rows = [_trial_row(result.winner)]
            if result.both is not None:  # the second one below the first: both names do not fit a line
                names = [trial.word for trial in result.both.remedies if trial not in result.winner.remedies]
                rows.append(replace(_trial_row(result.both), name=f"+ {' + '.join(names)}"))
            yield Table("in fresh pairs", "remedies", _HEADS, rows)
        yield Lines([[line] for line in _remarks(result)], is_apart=False)
    if result.untried:
        yield Lines([[f"Findings without a remedy to try: {', '.join(result.untried)}."]], is_apart=False)


def _trial_row(trial: Trial) -> Entry:
    shift, name = trial.shift, trial.name
    if trial.failure or shift is None:
        return Entry(name, (formatting.ABSENT,) * 5 + ("failed",), "alarm", about=[[visible(trial.failure)]])
    has_interval = shift.low > -1.0
    label = {"unchanged": "equal", "within tolerance": "close"}.get(trial.results.state)
    cells = (
        f"{formatting.time(trial.base_ns)} \N{RIGHTWARDS ARROW} {formatting.time(trial.new_ns)}",
        percent(100 * shift.estimate),
        interval(100 * shift.low, 100 * shift.high) if has_interval else formatting.ABSENT,
        str(trial.pairs),
        f"{formatting.count(trial.results.numbers)} {label}" if label else trial.results.state,
        formatting.verdict(trial.verdict),
    )
    tone = VERDICT_TONES.get(trial.verdict, "plain") if trial.results.state != "changed" else "alarm"
    return Entry(name, cells, tone, about=[[visible(trial.results.reason)]] if trial.results.reason else ())


def _remarks(result: Trials) -> Iterator[str]:
    verified = result.kept
    if verified is None:
        yield _why_none(result)
        return
    lines = _how_to_keep(verified, result.program)
    yield f"Verified: {verified.name}. Keep it with:"
    yield from (f"  {line}" for line in (lines["command"], *lines["lines"]) if line is not None)


def _why_none(result: Trials) -> str:
    if result.winner is not None:
        return f"Nothing is verified: {result.winner.name} had no certain gain in fresh pairs."
    if any(trial.verdict == "faster" for trial in result.trials):
        return (
            "Nothing is verified: what made ticks shorter changed the results, or results cannot be compared."
        )
    # One that was given up after fewer pairs saved nothing.
    if any(trial.pairs >= LEAST_PAIRS and trial.verdict == "inconclusive" for trial in result.trials):
        return "Nothing is verified: try more pairs (--pairs 12), or an idle machine."
    return "No remedy made the ticks shorter."


def _how_to_keep(trial: Trial, program: str) -> dict[str, Any]:
    """Return how to keep the remedies of a trial: a command for variables, and lines of the program."""
    variables = {key: value for remedy in trial.remedies for key, value in remedy.environment.items()}
    assignments = [f"{key}={shlex.quote(value)}" for key, value in variables.items()]
    command = " ".join([*assignments, "python", program]) if assignments else None
    lines = [line.format(remedy.number) for remedy in trial.remedies for line in remedy.lines]
    return {"command": command, "lines": lines}


def _names(trial: Trial) -> list[str]:
    return [remedy.name for remedy in trial.remedies]


def _trial_fields(trial: Trial) -> dict[str, Any]:
    shift, results = trial.shift, trial.results
    has_interval = shift is not None and shift.low > -1.0
    parts = {"shift": shift.estimate, "low": shift.low, "high": shift.high} if shift else {}
    percents = {name: round(100 * part, 3) for name, part in parts.items() if has_interval or name == "shift"}
    return {
        "remedies": _names(trial),
        "rules": list(trial.rules),
        **{name: getattr(trial, name) for name in ("pairs", "base_ns", "new_ns")},
        **{f"{name}_percent": percents.get(name) for name in ("shift", "low", "high")},
        "verdict": trial.verdict,
        "results": {"state": results.state, "numbers": results.numbers, "reason": results.reason},
        "failure": trial.failure,
    }
