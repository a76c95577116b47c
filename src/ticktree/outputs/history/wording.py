"""What is said of a history, in words that are safe to show."""

from __future__ import annotations

import time
from collections.abc import Iterator

from ticktree.analysis.history import FEWEST, LONGEST, SHORTEST, History, Series, Told, Trend, Turn
from ticktree.outputs.comparison.parts import signed
from ticktree.outputs.writing import formatting
from ticktree.outputs.writing.visible import visible
from ticktree.profile.remembered import Remembered

_COMMIT_CELLS = 9
_STATISTICS = {
    "mean": "mean call",
    "p50": "median call",
    "p90": "90th percentile of calls",
    "p99": "99th percentile of calls",
    "max": "longest call",
}


def when(run: Remembered) -> str:
    """Return when a run began, where it is read."""
    try:
        return time.strftime("%Y-%m-%d %H:%M", time.localtime(run.started_ns / 1e9))
    except (OverflowError, ValueError, OSError):  # nobody's clock says so, but a file may
        return formatting.ABSENT


def commit(run: Remembered) -> str:
    """Return the beginning of a run's commit, with a + where the program had been changed since."""
    return short(run.commit) + ("+" if run.is_dirty else "") if run.commit else "no commit"


def short(name: str) -> str:
    """Return the beginning of a commit's name."""
    return visible(name[:_COMMIT_CELLS])


def machine(series: Series) -> str:
    """Return what the runs' machine is known by."""
    facts = series.machine
    if not facts:
        return "a machine that is not known"
    cores, usable = facts.get("cores"), facts.get("cores_usable")
    pieces = [visible(str(facts.get("cpu", "")))]
    if cores is not None:
        pieces.append(f"{cores} cores" if usable in (None, cores) else f"{usable} of {cores} cores")
    if "gpus" in facts:
        pieces.append(visible(str(facts["gpus"])))
    return ", ".join(filter(None, pieces))


def headline(told: Told) -> Iterator[str]:
    """Yield what must be known of a series before its first number."""
    series = told.series
    yield machine(series)
    yield formatting.counted(len(series.runs), "run")
    first, last = when(series.runs[0]), when(series.runs[-1])
    yield first if first == last else f"{first} to {last}"
    if not series.is_current:
        yield "past: the program has run on another machine since"


def hidden(count: int) -> str:
    """Return that there are series that are not shown."""
    return f"{formatting.count(count)} series of machines that were replaced not shown (--all)."


def title(told: Told) -> str:
    """Return what a series is of."""
    return visible(told.series.program) or "a program that is not known"


def interval(turn: Turn) -> str:
    """Return within which a shift lies."""
    return f"{signed(turn.change.shift.low)} to {signed(turn.change.shift.high)}"


def notes(turn: Turn, history: History) -> Iterator[str]:
    """Yield what else is known of a change."""
    here, before = turn.run.commit, turn.last.commit
    known = history.commits.get(here)
    if known is not None and here != before:
        yield visible(known.subject)
        if known.after is not None and known.after > 1:
            yield f"one of {known.after} commits since {short(before)}"
    if here and here == before:
        yield (
            "changed since the commit, which is that of the run before"
            if turn.run.is_dirty
            else "no commit lies between: look at what else was different"
        )
    others = [short(suspect) for suspect in turn.suspects if suspect != here]
    if others:
        yield f"or at {', '.join(others[:3])}{' ...' if len(others) > 3 else ''}"
    for fact in turn.differences:
        old, new = (visible(value) or formatting.ABSENT for value in (fact.base, fact.new))
        yield f"{visible(fact.key)} {old} → {new}"
    if turn.is_accepted:
        yield "accepted"
    elif not turn.stands:
        yield "undone since" if turn.change.is_slower else "not the last"


def remarks(history: History) -> Iterator[str]:
    """Yield what must be known to read the verdicts, in sentences."""
    yield f"A run's value is its {_STATISTICS[history.statistic]}."
    yield f"A shift of less than {formatting.share(history.threshold)} is no change."
    yield f"A change shows after {SHORTEST} runs, where slow ones have come and gone after up to {LONGEST}."
    yield f"Nothing is said before there are {FEWEST}."


def regression(series: Series, trend: Trend, turn: Turn) -> str:
    """Return a regression in one line."""
    change = turn.change
    before, after = (formatting.time(round(ns)) for ns in (change.before, change.after))
    where = f"at {commit(turn.run)}" if turn.run.commit else f"on {when(turn.run)}"
    what = f"{visible(trend.path)} {signed(change.shift.estimate)} ({interval(turn)}) {where}"
    return f"{what}: {before} → {after}, {visible(series.program)}"
