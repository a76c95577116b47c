"""What happened between two readings of a loop."""

from __future__ import annotations

from ticktree.live.subtraction import NotLaterError, between, less, reading_less, stats_less
from ticktree.profile import Causes, Histogram, Jitter, Lateness, Loop, WorstTick


def loop_between(earlier: Loop | None, later: Loop) -> Loop:
    """Return the ticks in between; all, where there is no earlier reading.

    Raises:
        NotLaterError: `earlier` has ticks that `later` has not.
    """
    if earlier is None:
        return later
    ticks = later.ticks - earlier.ticks
    if ticks < 0:
        raise NotLaterError("a loop has fewer ticks than before")
    # When a warm-up ends, all that is of the steady phase begins anew.
    began_anew = earlier if _goes_on(earlier, later) else Loop(path=later.path)
    stats = stats_less(began_anew.stats, later.stats)
    missed = later.missed - began_anew.missed
    longest = later.longest_miss_run if later.longest_miss_run > began_anew.longest_miss_run else 0
    return Loop(
        path=later.path,
        ticks=ticks,
        incomplete=later.incomplete - earlier.incomplete,
        hz=later.hz,
        missed=missed,
        longest_miss_run=min(longest, missed),  # a longer one began before
        warmup_ticks=ticks - stats.count,
        stats=stats,
        lateness=between(began_anew.lateness, later.lateness, _lateness),
        jitter=between(began_anew.jitter, later.jitter, _jitter),
        busy_ns=later.busy_ns - earlier.busy_ns,
        first_ticks=None if later.first_ticks == earlier.first_ticks else later.first_ticks,
        worst=_new_among(earlier.worst, later.worst),
        waited_ns=_time_less(began_anew.waited_ns, later.waited_ns),
        causes=_causes_less(began_anew.causes, later.causes, stats.count),
        missed_causes=_causes_less(began_anew.missed_causes, later.missed_causes, missed),
        missed_ns=_time_less(began_anew.missed_ns, later.missed_ns),
        missed_breakdown={} if later.missed_ns is None else _rows_less(began_anew, later),
    )


def _lateness(earlier: Lateness, later: Lateness) -> Lateness:
    count, histogram = later.count - earlier.count, _each_less(earlier, later)
    return Lateness(count, later.sum_ns - earlier.sum_ns, later.max_ns, histogram)


def _jitter(earlier: Jitter, later: Jitter) -> Jitter:
    count, histogram = later.count - earlier.count, _each_less(earlier, later)
    return Jitter(count, later.sum_ns - earlier.sum_ns, histogram)


def _each_less(earlier: Lateness | Jitter, later: Lateness | Jitter) -> Histogram:
    """Return the values in between; none where they are not known of each."""
    try:
        left = reading_less(earlier.histogram, later.histogram)
    except NotLaterError:
        return Histogram()
    return left if left.count == later.count - earlier.count else Histogram()


def _time_less(earlier: int | None, later: int | None) -> int | None:
    return None if later is None else max(0, later - (earlier or 0))


def _rows_less(earlier: Loop, later: Loop) -> dict[str, int]:
    rows = less(earlier.missed_breakdown, later.missed_breakdown)
    return {path: ns for path, ns in rows.items() if ns > 0}


def _causes_less(earlier: Causes | None, later: Causes | None, ticks: int) -> Causes | None:
    """Return what happened in between; None where nothing of it is known."""
    if later is None or earlier is None:
        return later
    left = later - earlier
    amounts = left.amounts()
    return left if any(amounts) and min(amounts) >= 0 and left.ticks <= ticks else None


def _goes_on(earlier: Loop, later: Loop) -> bool:
    """Tell whether the steady phase of `later` is that of `earlier`, some ticks later."""
    pairs = ((earlier.lateness, later.lateness), (earlier.jitter, later.jitter))
    # Where nothing more was set aside, a jitter that is gone was that of ticks about to be.
    is_less = later.missed < earlier.missed or any(
        before is not None and (now is None or now.count < before.count or now.sum_ns < before.sum_ns)
        for before, now in pairs
    )
    if is_less and later.warmup_ticks != earlier.warmup_ticks:
        return False
    try:
        stats = stats_less(earlier.stats, later.stats)
    except NotLaterError:
        return False
    return stats.count <= later.ticks - earlier.ticks


def _new_among(earlier: tuple[WorstTick, ...], later: tuple[WorstTick, ...]) -> tuple[WorstTick, ...]:
    known, new = list(earlier), []
    for tick in later:
        if tick in known:
            known.remove(tick)
        else:
            new.append(tick)
    return tuple(new)
