"""Expected rows of the page's ledger, computed from the profile: totals, shares of a loop's ticks, and calls."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

from ticktree.analysis.workers.roles import By, Worker, amounts, roles, spread
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

    def had(self, workers: Sequence[Worker]) -> dict[Worker, int]:
        """What each of `workers` had of it."""
        together: dict[str, int] = {}
        for node in self.nodes:
            for thread, share in node.by_thread.items():
                together[thread] = together.get(thread, 0) + (
                    share.self_ns if self.is_self else share.total_ns
                )
        return amounts(together, workers)


def ledger_rows(profile: Profile, phase: Phase = "steady") -> list[LedgerRow]:
    """Every row, top to bottom."""
    loops = {id(profile.root.find(path)) for path in profile.loops}
    rows = list(_below(profile.root, phase, profile.root, loops))
    nodes = [node for _, _, node in profile.root.walk()]
    cost_ns, calls = sum(node.recorder_ns for node in nodes), sum(node.count for node in nodes)
    if not profile.root.self_ns:  # no process measured what is outside of all sections
        rows = [row for row in rows if not (row.is_self and row.nodes == (profile.root,))]
    if cost_ns and calls and phase == "all":
        share = cost_ns / profile.root.total_ns if profile.root.total_ns > 0 else None
        rows.append(LedgerRow("ticktree itself", cost_ns, share, rounded_ratio(cost_ns, calls), calls))
    return rows


def _below(node: Node, phase: Phase, base: Node, loops: set[int]) -> Iterator[LedgerRow]:
    base = node if id(node) in loops else base
    of: Phase = phase if id(base) in loops else "all"
    base_ns = _total_ns(base, of)
    for child in sorted(
        node.children.values(),
        key=lambda child: (id(child) not in loops, -_total_ns(child, phase), child.key),
    ):
        stats, total_ns = _stats(child, phase), _total_ns(child, phase)
        went_on = share_of(child, node) is None or (outlived(node) and child.concurrent_ns)
        share = _total_ns(child, of) / base_ns if base_ns and not went_on else None
        name = visible(child.name) or '""'
        yield LedgerRow(name, total_ns, share, stats.mean_ns, stats.count, stats, (child,))
        yield from _below(child, phase, base, loops)
    if node.children:
        self_ns, calls = _self_ns(node, phase), _stats(node, phase).count
        share = _self_ns(node, of) / base_ns if base_ns else None
        mean_ns = rounded_ratio(self_ns, calls) if calls else None
        yield LedgerRow("[self]", self_ns, share, mean_ns, nodes=(node,), is_self=True)


def _stats(node: Node, phase: Phase) -> Stats:
    return {"all": node.stats, "steady": node.steady, "warmup": node.warmup or Stats()}[phase]


def _total_ns(node: Node, phase: Phase) -> int:
    if phase == "all" or node.warmup is None:
        return 0 if phase == "warmup" else node.total_ns
    return _stats(node, phase).sum_ns


def _self_ns(node: Node, phase: Phase) -> int:
    if phase == "all" or node.warmup is None:
        return 0 if phase == "warmup" else node.self_ns - node.recorder_ns
    covered = sum(
        (child.total_ns - child.concurrent_ns) / child.total_ns * _total_ns(child, phase)
        for child in node.children.values()
        if child.total_ns > 0
    )
    recorder = node.recorder_ns * _stats(node, phase).count / node.count if node.count else 0
    return max(0, round(_total_ns(node, phase) - covered - recorder))


def ledger_by(profile: Profile, by: By, max_workers: int = 24) -> list[list[str]]:
    """The cells of every row with a column for each worker; or the least, the middle, the most, and whose that is."""
    workers = [worker for role in roles(profile, by) for worker in role.workers]
    return [
        [row.cell("share"), row.cell("total"), *_of_workers(row, workers, max_workers), row.cell("calls")]
        for row in ledger_rows(profile, "all")
    ]


def _of_workers(row: LedgerRow, workers: Sequence[Worker], at_most: int) -> list[str]:
    had = row.had(workers)
    if len(workers) <= at_most:
        return [formatting.time(had[worker]) if worker in had else "" for worker in workers]
    spread_ns = spread(had)
    if spread_ns is None:
        return ["", "", "", ""]
    several = spread_ns.workers > 1
    return [
        formatting.time(spread_ns.min_ns) if several else "",
        formatting.time(spread_ns.median_ns) if several else "",
        formatting.time(spread_ns.max_ns),
        visible(spread_ns.slowest.name),
    ]
