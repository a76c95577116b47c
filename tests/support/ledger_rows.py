"""What the page's ledger has in its rows, from the profile itself: total, share of the parent, calls of a phase."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

from ticktree.analysis.workers.by_writer import amounts, spread
from ticktree.analysis.workers.roles import By, Unit, roles
from ticktree.outputs.view.notes import outlived, share_of
from ticktree.outputs.writing import formatting
from ticktree.outputs.writing.visible import visible
from ticktree.profile import Node, Profile, Stats
from ticktree.profile.stats import rounded_ratio

Phase = Literal["steady", "warmup", "all"]


@dataclass(frozen=True)
class LedgerRow:
    """A line of the ledger: a node, the self time of one, or what ticktree itself cost."""

    name: str
    total_ns: int
    share: float | None
    mean_ns: int | None = None
    calls: int | None = None
    stats: Stats = field(default_factory=Stats)
    nodes: tuple[Node, ...] = ()
    is_self: bool = False

    def cell(self, title: str) -> str:
        """What stands in the column called `title`."""
        if title in ("p50", "p90", "p99", "max"):
            return formatting.time(getattr(self.stats, f"{title}_ns")) if self.stats.count else ""
        return {
            "share": formatting.share(self.share),
            "total": formatting.time(self.total_ns),
            "mean": "" if self.mean_ns is None else formatting.time(self.mean_ns),
            "calls": "" if self.calls is None else formatting.count(self.calls),
        }[title]

    def had(self, units: Sequence[Unit]) -> dict[Unit, int]:
        """What each of `units` had of it."""
        together: dict[str, int] = {}
        for node in self.nodes:
            for writer, share in node.by_writer.items():
                together[writer] = together.get(writer, 0) + (
                    share.self_ns if self.is_self else share.total_ns
                )
        return amounts(together, units)


def ledger_rows(profile: Profile, phase: Phase = "steady") -> list[LedgerRow]:
    """Every row, top to bottom."""
    rows = list(_below(profile.root, phase))
    nodes = [node for _, _, node in profile.root.walk()]
    cost_ns, calls = sum(node.recorder_ns for node in nodes), sum(node.count for node in nodes)
    if not profile.root.self_ns:  # no process measured what is outside of all sections
        rows = [row for row in rows if not (row.is_self and row.nodes == (profile.root,))]
    if cost_ns and calls:
        share = cost_ns / profile.root.total_ns if profile.root.total_ns > 0 else None
        rows.append(LedgerRow("ticktree itself", cost_ns, share, rounded_ratio(cost_ns, calls), calls))
    return rows


def _below(node: Node, phase: Phase) -> Iterator[LedgerRow]:
    for child in sorted(node.children.values(), key=lambda child: (-child.total_ns, child.key)):
        stats = {"all": child.stats, "steady": child.steady, "warmup": child.warmup or Stats()}[phase]
        share = None if outlived(node) and child.concurrent_ns else share_of(child, node)
        name = visible(child.name) or '""'
        yield LedgerRow(name, child.total_ns, share, stats.mean_ns, stats.count, stats, (child,))
        yield from _below(child, phase)
    if node.children:
        own_ns = node.self_ns - node.recorder_ns
        share = own_ns / node.total_ns if node.total_ns > 0 else None
        mean_ns = rounded_ratio(own_ns, node.count) if node.count else None
        yield LedgerRow("unaccounted", own_ns, share, mean_ns, nodes=(node,), is_self=True)


def ledger_by(profile: Profile, by: By, units_at_most: int = 24) -> list[list[str]]:
    """The cells of every row with a column for each unit; or the least, the middle, the most, and whose that is."""
    units = [unit for role in roles(profile, by) for unit in role.units]
    return [
        [row.cell("share"), row.cell("total"), *_of_units(row, units, units_at_most), row.cell("calls")]
        for row in ledger_rows(profile)
    ]


def _of_units(row: LedgerRow, units: Sequence[Unit], at_most: int) -> list[str]:
    had = row.had(units)
    if len(units) <= at_most:
        return [formatting.time(had[unit]) if unit in had else "" for unit in units]
    found = spread(had)
    if found is None:
        return ["", "", "", ""]
    several = found.units > 1
    return [
        formatting.time(found.min_ns) if several else "",
        formatting.time(found.median_ns) if several else "",
        formatting.time(found.max_ns),
        visible(found.slowest.name),
    ]
