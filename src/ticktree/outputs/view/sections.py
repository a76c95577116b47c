"""Where the time of a mean tick goes: self time by section name, one total for all sections of the same name."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile

from ticktree.analysis.bottlenecks import MOST, Bottleneck, category_shares, not_worth_doing
from ticktree.analysis.context import Context
from ticktree.analysis.loops import LoopView, SectionView
from ticktree.outputs.options import ViewOptions
from ticktree.outputs.view import currency
from ticktree.outputs.view.tables import CATEGORIES, Column, needed, table_of
from ticktree.outputs.writing import formatting
from ticktree.outputs.writing.document import Entry, Table, Tone
from ticktree.outputs.writing.grid import cut
from ticktree.outputs.writing.visible import visible
from ticktree.profile import path as paths

SHOWN = 5
# Sections of a smaller share of a tick are shown only with `--all`.
MIN_SHARE = 0.01
# How many parents are listed of the sections of one name.
PARENTS_SHOWN = 3
PARENT_CELLS = 24
# A parent with a smaller share of the time of a name is not listed.
MIN_PARENT_SHARE = 0.02
# Numbers of calls per tick that differ by less from an integer are shown as that integer.
EVERY_TICK = 0.02
NAME_CELLS = 60
_BAR_RANK = 3


@dataclass(frozen=True, slots=True)
class _NamedSections:
    """All sections of one name in a tick."""

    name: str  # safe to show; "NAME [self]" for a section with children
    sections: Sequence[SectionView]  # those with self time on the loop's path, the largest first
    tick_ns: float

    @property
    def self_ns(self) -> float:
        return sum(section.self_ns for section in self.sections)

    @property
    def share(self) -> float:
        return self.self_ns / self.tick_ns if self.tick_ns > 0 else 0.0

    @property
    def calls(self) -> float:
        return sum(section.calls for section in self.sections)


def _calls(row: _NamedSections) -> str:
    calls = row.calls
    if not calls:
        return ""
    if round(calls) and abs(calls - round(calls)) < EVERY_TICK:
        return formatting.count(round(calls))
    return formatting.count(round(calls)) if calls >= 9.5 else formatting.significant(calls)


def _by_name_columns(view: LoopView) -> tuple[Column[_NamedSections], ...]:
    per = f"per {currency.noun(view)}" if view.loop else "time"
    return (
        Column("share", "share", "share", 0, "Self time as a share of the tick."),
        Column("self_ns", per, "ns", 0, "Self time per tick."),
        Column("calls", "calls", "count", 1, "Calls per tick.", text=_calls),
    )


def self_times(view: LoopView, options: ViewOptions, max_rows: int = SHOWN) -> Table | None:
    """Return the self time of a mean tick by section name; None if one section has all of it.

    Args:
        view: the loop, or the run.
        options: with `all`, every name has a row.
        max_rows: otherwise, the number of names that have a row of their own.
    """
    all_rows = sorted(_by_name(view), key=lambda row: (-row.self_ns, row.name))
    if len(all_rows) < 2:
        return None
    rows = all_rows if options.all else [row for row in all_rows[:max_rows] if row.share >= MIN_SHARE]
    if len(rows) == len(all_rows) - 1:
        rows = all_rows
    items = [(_entry(row, view), row) for row in rows]
    if hidden := all_rows[len(rows) :]:
        sections = [section for row in hidden for section in row.sections]
        remainder = _NamedSections(f"{len(hidden)} more", sections, view.tick_ns)
        items.append((Entry(remainder.name, (), tone="faint", share=remainder.share), remainder))
    title = f"Where {currency.tick_phrase(view)} goes (self time)"
    return table_of(title, "section", _by_name_columns(view), items, bar_rank=_BAR_RANK)


def _by_name(view: LoopView) -> Iterator[_NamedSections]:
    by_name: defaultdict[str, list[SectionView]] = defaultdict(list)
    for section in view.sections:
        if section.self_ns > 0 and not section.is_parallel:
            by_name[_name(view, section)].append(section)
    for name, sections in by_name.items():
        yield _NamedSections(name, sorted(sections, key=lambda section: -section.self_ns), view.tick_ns)


def _name(view: LoopView, section: SectionView) -> str:
    if section.path == paths.ROOT:
        return "outside all sections"
    name = visible(view.names.of(section.node.name)) or '""'
    return f"{name} [self]" if section.has_sections and not section.is_loop else name


def _entry(row: _NamedSections, view: LoopView) -> Entry:
    largest = row.sections[0]
    tone: Tone = "wait" if largest.is_wait else "plain"
    mark = mark_of(largest).replace("self", "")  # the name has it
    path = largest.path if len(row.sections) == 1 else ""
    return Entry(cut(row.name, NAME_CELLS), (), tone, mark, _parents(row, view), share=row.share, path=path)


def _parents(row: _NamedSections, view: LoopView) -> list[str]:
    """Return where the sections of a name are: by the parts of their paths that differ, or by the only parent."""
    depth = len(paths.split(view.path))
    sections = [section for section in row.sections if section.self_ns >= MIN_PARENT_SHARE * row.self_ns]
    parents = [paths.split(section.path)[depth:-1] for section in sections]
    if len(parents) == 1:
        parent = cut(visible(view.names.joined(parents[0])), PARENT_CELLS)
        return [f"in {parent}"] if parent else []
    common = len(list(takewhile(lambda names: len(set(names)) == 1, zip(*parents, strict=False))))
    shares: defaultdict[str, float] = defaultdict(float)
    for parent_names, section in zip(parents, sections, strict=True):
        name = view.names.of(parent_names[common]) if len(parent_names) > common else view.name
        shares[cut(visible(name), PARENT_CELLS)] += section.self_ns / row.tick_ns
    if not shares or len(shares) > PARENTS_SHOWN:
        return [f"in {len(row.sections)} places"]
    ranked = sorted(shares.items(), key=lambda entry: -entry[1])
    return [", ".join(f"{name} {formatting.share(share)}" for name, share in ranked)]


def not_worth_optimizing(views: Sequence[LoopView]) -> list[str]:
    """Return the commonly suspected sections of these loops that are not worth optimizing, with their maximum gain."""
    sections = [unworthy.section for view in views for unworthy in not_worth_doing(view)]
    return [f"{_short_name(section)} ({_max_gain(section)})" for section in sections[:MOST]]


def _short_name(section: SectionView) -> str:
    view = section.view
    names = paths.split(section.path)[len(paths.split(view.path)) :]
    name = view.names.joined(names if len(names) < 3 else (names[0], "…", names[-1]))
    return cut(visible(name), NAME_CELLS)


def _max_gain(section: SectionView) -> str:
    view, saving = section.view, section.view.saving(section.total_ns)
    if currency.currency(view) == "headroom" or saving.speedup is None:
        return f"at most {formatting.time(round(section.total_ns))} per {currency.noun(view)}"
    return f"at most {saving.speedup:.3f}×"


def section_table(context: Context, view: LoopView) -> Table | None:
    """Return, for `--all`, what each section costs a loop, and the loop's speed without it."""
    rows = [bottleneck for bottleneck in context.bottlenecks if bottleneck.view is view]
    if len(rows) < 2:
        return None
    title = f"sections of {currency.loop_title(view)}"
    items = ((_section_entry(bottleneck), bottleneck) for bottleneck in rows)
    return table_of(title, title, needed(SECTIONS, rows), items, bar_rank=6)


def _section_entry(bottleneck: Bottleneck) -> Entry:
    section = bottleneck.section
    tone: Tone = "wait" if section.is_wait else "faint" if section.is_parallel else "plain"
    name = visible(bottleneck.view.name_of(section)) if section.path else "outside all sections"
    return Entry(name, (), tone, mark_of(section), share=_share(bottleneck), path=section.path)


def mark_of(section: SectionView) -> str:
    """Return the mark of a section whose kind changes what its numbers mean; "" for others."""
    if section.is_slack:
        return "slack"
    if section.is_parallel:
        return "concurrent"
    if section.is_wait:
        return "wait"
    if section.is_loop:
        return "loop"
    return "self" if section.has_sections and section.path else ""


def _without(bottleneck: Bottleneck) -> str:
    """Return the loop's speed now and without a section, in the loop's currency."""
    gain = currency.gain(bottleneck.saving, bottleneck.view if bottleneck.view.loop else None)
    return gain.partition("  ")[2] or gain


def _share(bottleneck: Bottleneck) -> float | None:
    return None if bottleneck.section.is_parallel else bottleneck.share


SECTIONS: tuple[Column[Bottleneck], ...] = (
    Column("share", "share", "share", 0, "Self time as a share of the tick.", _share),
    Column("self_ns", "self", "ns", 2, "Self time per tick.", lambda row: round(row.section.self_ns) or None),
    Column("call_ns", "self per call", "ns", 1, "Self time of one call."),
    Column(
        "calls",
        "calls",
        "count",
        5,
        "In all steady ticks.",
        lambda row: round(row.section.calls * row.view.ticks) or None,
    ),
    Column(
        "without",
        "without it",
        "",
        0,
        "The loop's speed now, and if the section took no time.",
        "saving.share",
        _without,
    ),
    Column("score", "score", "score", 4, "0 to 100: the weighted mean of share, time per call and memory."),
    Column("memory_bytes", "memory", "bytes", 3, "The most memory that a call needed.", optional=True),
    Column(
        "device_memory_bytes",
        "device",
        "bytes",
        2,
        "The most device memory that a call needed.",
        optional=True,
    ),
)


def categories(view: LoopView) -> Table | None:
    """Return the time of a loop, or of the run, by category; None if there is only one."""
    shares = category_shares(view)
    if len(shares) < 2:
        return None
    title = f"{visible(view.name) if view.loop else 'the run'} by category"
    tones: dict[str, Tone] = {"waiting": "wait"}
    items = (
        (Entry(visible(share.name), (), tones.get(share.name, "plain"), share=share.share), share)
        for share in shares
    )
    return table_of(title, title, CATEGORIES, items, bar_rank=2)
