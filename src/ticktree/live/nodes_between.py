"""What happened between two readings of a node."""

from __future__ import annotations

from collections.abc import Mapping

from ticktree.live.subtraction import (
    NotLaterError,
    added,
    added_less,
    between,
    each_less,
    less,
    stats_less,
    windows_less,
)
from ticktree.profile import CallSite, Node, Share, Stats, Wakes


def node_between(earlier: Node, later: Node, subtracted: Mapping[str, Node]) -> Node:
    """Return the difference of two nodes, given that of those children which both have.

    Raises:
        NotLaterError: `earlier` has calls that `later` has not.
    """
    steady, warmup = _phases(earlier, later)
    numbers = added(earlier, later)
    numbers["self_ns"] = later.self_ns - earlier.self_ns  # as it is: totals derive from it
    # An estimate that was held back by too little own time may catch up all at once.
    numbers["recorder_ns"] = min(max(0, numbers["recorder_ns"]), max(0, numbers["self_ns"]))
    return Node(
        **numbers,
        name=later.name,
        clock=later.clock,
        steady=steady,
        warmup=warmup,
        windows=windows_less(earlier, later),
        wait=later.wait,
        call_sites=_call_sites(earlier.call_sites, later.call_sites),
        work=between(earlier.work, later.work, added_less),
        cpu=between(earlier.cpu, later.cpu, added_less),
        memory=between(earlier.memory, later.memory, added_less),
        device_memory=between(earlier.device_memory, later.device_memory, added_less),
        device=later.device,
        open=later.open,
        per_run=each_less(earlier.per_run, later.per_run, _run),
        by_writer=_shares(earlier, later),
        wakers=each_less(earlier.wakers, later.wakers, _wakes),
        children={**later.children, **subtracted},
    )


def _phases(earlier: Node, later: Node) -> tuple[Stats, Stats | None]:
    """Return the calls in between of the steady phase and of warm-up."""
    try:
        steady = stats_less(earlier.steady, later.steady)
        if later.warmup is None:
            if earlier.warmup is not None:
                raise NotLaterError("a warm-up is gone")
            return steady, None
        return steady, later.warmup if earlier.warmup is None else stats_less(earlier.warmup, later.warmup)
    except NotLaterError:
        if later.warmup is None:
            raise
        return stats_less(earlier.stats, later.stats), None  # a warm-up has ended in between


def _call_sites(earlier: Mapping[CallSite, int], later: Mapping[CallSite, int]) -> dict[CallSite, int]:
    return {site: count for site, count in less(earlier, later).items() if count > 0}


def _run(earlier: tuple[int, int], later: tuple[int, int]) -> tuple[int, int]:
    """Return count and sum of a run's calls in between."""
    return later[0] - earlier[0], later[1] - earlier[1]


def _shares(earlier: Node, later: Node) -> dict[str, Share]:
    """Return what each writer did in between; empty, as always, where that is not known."""
    before, now = earlier.by_writer, later.by_writer
    # Short-lived writers are at times added up as one, under another id.
    if not (earlier.attributed and later.attributed and before.keys() <= now.keys()):
        return {}
    return each_less(before, now, added_less)


def _wakes(earlier: Wakes, later: Wakes) -> Wakes | None:
    """Return how often and for how long one was waited for in between; None where one was not."""
    if later.count <= earlier.count:
        return None
    waited_ns = max(0, later.waited_ns - earlier.waited_ns)
    handover_ns = max(0, later.handover_ns - earlier.handover_ns)
    return Wakes(later.count - earlier.count, waited_ns, min(handover_ns, waited_ns))
