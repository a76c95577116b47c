"""The headline: what was run, how much of it the numbers are of, and what is missing from them."""

from __future__ import annotations

from collections.abc import Iterator

from ticktree.analysis.survey import Survey
from ticktree.analysis.workers.roles import has_processes
from ticktree.outputs.options import ViewOptions
from ticktree.outputs.report.machine import machine_pieces
from ticktree.outputs.report.processes import census
from ticktree.outputs.writing import formatting
from ticktree.outputs.writing.visible import visible
from ticktree.profile import Loop, Profile
from ticktree.profile.metadata import ordered
from ticktree.profile.timeline import BEFORE_THE_TIMELINE

NOTHING = "Nothing was recorded; `ticktree doctor` tells why."


def title(profile: Profile) -> str:
    """Return what the run is called."""
    return _fact(profile, "name") or "ticktree"


def headline(seen: Survey, options: ViewOptions) -> list[str]:
    """Return what a reader must know before the first number, piece by piece."""
    return list(_pieces(seen, options))


def losses(profile: Profile) -> list[str]:
    """Return what could not be recorded, piece by piece; nothing when nothing was lost."""
    lost = [
        f"{formatting.count(number)} {visible(what).replace('_', ' ')}"
        for what, number in sorted(profile.losses.items())
        if number and what != BEFORE_THE_TIMELINE
    ]
    return [*([f"Not recorded: {lost[0]}", *lost[1:]] if lost else []), *_overwritten(profile)]


def _overwritten(profile: Profile) -> Iterator[str]:
    """Yield how many calls a timeline was too short for: they are in every total, and not there one by one."""
    overwritten = profile.losses.get(BEFORE_THE_TIMELINE, 0)
    if overwritten:
        kept, every = profile.timeline_calls - overwritten, profile.timeline_calls
        yield f"timeline: kept the last {formatting.count(kept)} of {formatting.counted(every, 'call')}"


def _pieces(seen: Survey, options: ViewOptions) -> Iterator[str]:
    profile = seen.profile
    command = _fact(profile, "command")
    if command:
        yield command
    if True in profile.metadata.get("unfinished", ()):
        yield "unfinished"
    if has_processes(profile) or (options.by is not None and profile.writers):
        yield census(profile, options.by)
    loop = next(iter(seen.all_loops), None)
    if loop is not None:
        yield from _ticks(loop, options)
    if profile.root.total_ns > 0:
        yield f"{formatting.time(profile.root.total_ns)} recorded"
    clock = _fact(profile, "clock")
    if clock:
        yield f"host clock, {clock}"
    if True in profile.metadata.get("waited_for_devices", ()):
        yield "sections waited for their device: not the program's own schedule"
    machine = ", ".join(machine_pieces(profile))
    if machine:
        yield machine


def _ticks(loop: Loop, options: ViewOptions) -> Iterator[str]:
    """Yield which ticks of the main loop the numbers are of, and its rate."""
    if loop.warmup_ticks:
        steady, warmup = formatting.count(loop.stats.count), formatting.count(loop.warmup_ticks)
        yield {
            "steady": f"steady: {steady} ticks after {warmup} of warm-up",
            "warmup": f"warm-up: {warmup} ticks before {steady} steady ones",
            "all": f"all {formatting.count(loop.ticks)} ticks, {warmup} of warm-up among them",
        }[options.phase]
        if options.phase != "all":
            yield "shares of both phases"
    if loop.achieved_hz is not None:
        yield f"{formatting.scaled(loop.achieved_hz, '').rstrip()} ticks/s"


def _fact(profile: Profile, key: str) -> str:
    return ", ".join(visible(str(value)) for value in ordered(profile.metadata.get(key, ())))
