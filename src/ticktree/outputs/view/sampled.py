"""What samples show: the functions in which self time was spent, and the calls of a program without sections."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ticktree.analysis.sampled import SampledCall, SampledRow, SampledTime, sampled_times
from ticktree.outputs.options import ViewOptions
from ticktree.outputs.view.tables import Column, largest, table_of
from ticktree.outputs.writing import formatting
from ticktree.outputs.writing.document import Entry, Table, Tone
from ticktree.outputs.writing.grid import cut, guides
from ticktree.outputs.writing.visible import visible
from ticktree.profile import Profile
from ticktree.profile import path as paths
from ticktree.profile.samples import (
    LATE_SHARE,
    MIN_SAMPLES,
    SAMPLED_FUNCTION,
    SAMPLED_LOOP,
    SAMPLED_LOOP_CODE,
)

MARK = "[sampled]"
# Functions below a [self] row.
ROWS_SHOWN = 2
FUNCTIONS_SHOWN = 6
CALLS_SHOWN = 12
MIN_SHARE = 0.01
NAME_CELLS = 44
# A state with a smaller share of a function's time is not mentioned.
_MIN_STATE_SHARE = 0.1
_BAR_RANK = 3
# Sections that only wait, and have less of the run, do not show where it goes.
UNMARKED_SHARE = 0.9
_PACKAGES = ("site-packages/", "dist-packages/")
# Notes on a thread's states; running code needs none.
_STATES = {
    "gil": "waits for the GIL",
    "lock": "waits for another thread",
    "sleep": "sleeps",
    "io": "waits for data",
    "blocked": "is blocked",
}


def function_title(function: str) -> str:
    """Return a function's name for a row, safe to show."""
    return visible(function.replace(".<locals>", "")) or '""'


def line_title(file: str, line: int) -> str:
    """Return a line's name for a note: the file's path in its project or its package."""
    for folder in _PACKAGES:
        _, separator, rest = file.partition(folder)
        if separator:
            return visible(f"{rest}:{line}")
    return visible(f"{file.rpartition('/')[2]}:{line}") if file else ""


def notes(row: SampledRow, *, details: bool = False) -> list[str]:
    """Return notes on a function: its hottest line, and its waits."""
    pieces = [line_title(row.file, row.lines[0].line)] if row.file else []
    if details and len(row.lines) > 1:
        pieces = [
            f"{line_title(row.file, line.line)} {formatting.share(line.share)}" for line in row.lines[:3]
        ]
    for state, share in sorted(row.states.items(), key=lambda item: -item[1]):
        if state in _STATES and share >= _MIN_STATE_SHARE:
            pieces.append(f"{_STATES[state]} {formatting.share(share)}" if share < 0.995 else _STATES[state])
    return pieces


def is_worth_rows(time: SampledTime) -> bool:
    """Return whether there are enough samples to show functions."""
    return time.count >= MIN_SAMPLES


_FUNCTIONS: tuple[Column[SampledRow], ...] = (
    Column("share", "share", "share", 0, "Share of the sampled time."),
    Column(
        "interval",
        "95%",
        "",
        2,
        "The 95% confidence interval of the share.",
        lambda row: f"{100 * row.low:.0f}-{100 * row.high:.0f}%",
    ),
    Column("ns", "time", "ns", 1, "The recorded time, in proportion to the share."),
)


def is_shown_by_samples(profile: Profile) -> bool:
    """Return whether only sampled functions show where the run goes: there are no sections, or just a few waits."""
    root = profile.root
    return not root.children or (
        not root.works_below
        and not profile.loops
        and root.self_ns >= UNMARKED_SHARE * root.total_ns
        and paths.ROOT in sampled_times(profile)
    )


def functions(title: str, time: SampledTime, options: ViewOptions) -> Table:
    """Return the innermost functions in the samples, one row per function."""
    rows = time.rows()
    rows_shown = rows if options.all else [row for row in rows[:FUNCTIONS_SHOWN] if row.share >= MIN_SHARE]
    title = f"{title} {MARK}, {formatting.counted(time.count, 'sample')}"
    items = ((_function(row, options), row) for row in rows_shown)
    return table_of(title, f"function {MARK}", _FUNCTIONS, items, bar_rank=_BAR_RANK)


def _function(row: SampledRow, options: ViewOptions) -> Entry:
    tone: Tone = "wait" if row.states.get("running", 0.0) < 0.5 else "plain"
    about = notes(row, details=options.all)
    return Entry(cut(function_title(row.function), NAME_CELLS), (), tone, notes=about, share=row.share)


@dataclass(frozen=True, slots=True)
class _CallRow:
    """A function in the tree of calls, or a chain of functions that each called only the next."""

    names: tuple[str, ...]
    last: SampledCall
    share: float
    depth: int


_CALLS: tuple[Column[_CallRow], ...] = (
    Column("share", "share", "share", 0, "Share of the sampled time."),
    Column("ns", "time", "ns", 0, "Its time, calls included.", "last.ns"),
)


def calls(title: str, time: SampledTime, options: ViewOptions) -> Table:
    """Return the tree of calls in the samples; without `options.all`, rows of less than 1% are left out."""
    root = time.tree()
    rows = list(_call_rows(root, 0.0 if options.all else MIN_SHARE * root.ns))
    if not options.all:
        rows = largest(rows, CALLS_SHOWN, lambda row: (-row.share, row.depth))
    guided = zip(rows, guides([row.depth for row in rows]), strict=True)
    items = ((_call(row, guide, trunk), row) for row, (guide, trunk) in guided)
    return table_of(f"{title} {MARK}", f"call {MARK}", _CALLS, items, bar_rank=_BAR_RANK)


def _call_rows(root: SampledCall, min_ns: float) -> Iterator[_CallRow]:
    stack = [(call, 0) for call in reversed(root.in_order())]
    while stack:
        call, depth = stack.pop()
        if call.ns < min_ns:
            continue
        names, last = [function_title(call.function)], call
        while True:
            children = [child for child in last.in_order() if child.ns >= min_ns]
            if len(children) != 1 or last.self_ns >= min_ns:
                break
            last = children[0]
            names.append(function_title(last.function))
        yield _CallRow(tuple(names), last, call.ns / root.ns, depth)
        stack += [(child, depth + 1) for child in reversed(last.in_order())]


def _call(row: _CallRow, guide: str, trunk: str) -> Entry:
    names = row.names if len(row.names) <= 3 else (row.names[0], "…", row.names[-1])
    name = cut(" \N{SINGLE RIGHT-POINTING ANGLE QUOTATION MARK} ".join(names), NAME_CELLS)
    about = [line_title(row.last.file, row.last.hottest_line)] if row.last.file else []
    return Entry(name, (), notes=about, guide=guide, trunk=trunk, share=row.share)


def marks_to_set(profile: Profile) -> list[str]:
    """Return the code to mark in a program without loops, line by line; nothing if the samples do not show it."""
    if profile.loops or profile.samples is None:
        return []
    marks = []
    loop, code = _fact(profile, SAMPLED_LOOP), _fact(profile, SAMPLED_LOOP_CODE)
    if loop:
        marks.append(f"Mark the loop at {loop}: {code}")
    function = _fact(profile, SAMPLED_FUNCTION)
    if function:
        command = f"ticktree run --focus {function} {_fact(profile, 'command')}"
        marks.append(f"{'Or record' if marks else 'Record'} every call below {function}: {command}")
    return marks


def _fact(profile: Profile, key: str) -> str:
    values = profile.metadata.get(key, frozenset())
    return visible(str(next(iter(values)))) if len(values) == 1 else ""


def doubts(profile: Profile) -> Sequence[str]:
    """Return the reasons to doubt the samples, sentence by sentence."""
    samples = profile.samples
    if samples is None or samples.count < MIN_SAMPLES:
        return ()
    reasons = []
    if samples.is_late:
        share = formatting.share(samples.late / samples.rounds)
        reasons.append(
            f"{share} of the samples came late because all cores were busy: they show too many waits"
        )
    dropped = sum(samples.dropped.values())
    if dropped > LATE_SHARE * samples.rounds:
        lost = formatting.counted(dropped, "sample")
        reasons.append(f"{lost} dropped: the stack changed while it was read")
    return reasons
