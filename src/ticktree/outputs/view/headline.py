"""The headline: what was run, when, where and with what; how fast it was; and what is missing from its numbers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime

from ticktree.analysis.survey import Survey
from ticktree.analysis.workers.roles import has_processes
from ticktree.outputs.options import ViewOptions
from ticktree.outputs.view.loops import headlines
from ticktree.outputs.view.machine import machine_pieces
from ticktree.outputs.view.model import Fact
from ticktree.outputs.view.processes import census
from ticktree.outputs.writing import formatting
from ticktree.outputs.writing.visible import visible
from ticktree.profile import Profile
from ticktree.profile.metadata import ordered
from ticktree.profile.timeline import BEFORE_THE_TIMELINE

NOTHING = "Nothing was recorded; `ticktree doctor` tells why."
# The libraries that a run is known by: the first that it has.
_LIBRARIES = ("torch", "jax", "tensorflow", "stable-baselines3", "mujoco", "numpy")
_LIBRARIES_SHOWN = 1
# What a processor's name has that tells nothing.
_NOISE = re.compile(r"\((?:R|TM)\)|\b(?:CPU|Processor|\d+-Core)\b|@.*")


def title(profile: Profile) -> str:
    """Return what the run is called."""
    return fact(profile, "name") or "ticktree"


def headline(seen: Survey, options: ViewOptions) -> list[str]:
    """Return what a reader must know before the first number, piece by piece."""
    pieces = [fact.text for fact in provenance(seen, options)]
    return [*pieces, *(f"{each.name}: {', '.join(each.pieces)}" for each in headlines(seen, options)[:1])]


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


def provenance(seen: Survey, options: ViewOptions) -> list[Fact]:
    """Return what was run, when, where and with what."""
    return [Fact(key, text) for key, text in _facts(seen, options) if text]


def _facts(seen: Survey, options: ViewOptions) -> Iterator[tuple[str, str]]:
    profile = seen.profile
    yield "command", fact(profile, "command")
    yield "started", _started(profile)
    if profile.root.total_ns > 0:
        yield "took", f"{formatting.time(profile.root.total_ns)} recorded"
    yield "ended", _ended(profile)
    if has_processes(profile) or (options.by is not None and profile.writers):
        yield "processes", census(profile, options.by)
    yield "commit", _commit(profile)
    if options.all:
        yield "host", fact(profile, "host")
    yield "machine", _machine(profile)
    yield "gpus", fact(profile, "gpus")
    yield "python", _python(profile)
    yield "libraries", ", ".join(_libraries(profile, options))
    if True in profile.metadata.get("waited_for_devices", ()):
        yield "device_sync", "sections waited for their device: not the program's own schedule"
    for piece in machine_pieces(profile):
        yield "cores", piece
    if options.all:
        clock = fact(profile, "clock")
        yield "clock", f"host clock, {clock}" if clock else ""
        yield "recorder", _recorder(profile)


def _recorder(profile: Profile) -> str:
    """Return what ticktree itself cost, taken out of every node's self time; "" where it is not known."""
    nodes = [node for _, _, node in profile.root.walk()]
    cost_ns, calls = sum(node.recorder_ns for node in nodes), sum(node.count for node in nodes)
    if not cost_ns or not calls or profile.root.total_ns <= 0:
        return ""
    share = formatting.share(cost_ns / profile.root.total_ns)
    return f"ticktree itself {share}, {formatting.time(round(cost_ns / calls))} per call"


def _started(profile: Profile) -> str:
    times = [value for value in profile.metadata.get("started_ns", ()) if isinstance(value, int)]
    if not times:
        return ""
    began = datetime.fromtimestamp(min(times) / 1e9, UTC)
    return f"{began.day} {began:%b %Y %H:%M} UTC"


def _ended(profile: Profile) -> str:
    if True in profile.metadata.get("unfinished", ()):
        return "unfinished"
    failed = [value for value in ordered(profile.metadata.get("exit_status", ())) if value]
    return ", ".join(
        formatting.ending(value) if isinstance(value, int) else visible(str(value)) for value in failed
    )


def _commit(profile: Profile) -> str:
    commits = [str(value)[:7] for value in ordered(profile.metadata.get("git.commit", ()))]
    edited = " (edited)" if True in profile.metadata.get("git.dirty", ()) else ""
    return f"{', '.join(map(visible, commits))}{edited}" if len(commits) in (1, 2) else ""


def _machine(profile: Profile) -> str:
    cpu = " ".join(_NOISE.sub(" ", fact(profile, "cpu")).split())
    cores = fact(profile, "cores")
    return ", ".join(filter(None, (cpu, f"{cores} cores" if cores and cores != "1" else "")))


def _python(profile: Profile) -> str:
    versions = {".".join(str(value).split(".")[:2]) for value in profile.metadata.get("python", ())}
    return f"Python {visible(', '.join(sorted(versions)))}" if versions else ""


def _libraries(profile: Profile, options: ViewOptions) -> list[str]:
    found = [
        f"{name} {fact(profile, f'version.{name}').partition('+')[0]}"
        for name in _LIBRARIES
        if f"version.{name}" in profile.metadata
    ]
    return found if options.all else found[:_LIBRARIES_SHOWN]


def fact(profile: Profile, key: str) -> str:
    """Return what is known of a run under `key`, safe to show; "" where nothing is."""
    return ", ".join(visible(str(value)) for value in ordered(profile.metadata.get(key, ())))
