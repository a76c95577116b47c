"""The headline: what ran, when, where and with what, how fast it was, and which numbers are doubtful."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from itertools import islice

from ticktree.analysis import Finding
from ticktree.analysis.context import Context
from ticktree.analysis.machine import Machine
from ticktree.analysis.workers.roles import has_processes
from ticktree.outputs.options import ViewOptions
from ticktree.outputs.sentences.facts import formatted, unit_of
from ticktree.outputs.view.loops import headlines
from ticktree.outputs.view.model import Fact, MeasurementWarning
from ticktree.outputs.view.sampled import doubts as sampling_doubts
from ticktree.outputs.view.tables import census
from ticktree.outputs.writing import formatting
from ticktree.outputs.writing.visible import visible
from ticktree.profile import Profile
from ticktree.profile.machine import library_threads
from ticktree.profile.metadata import ordered
from ticktree.profile.timeline import BEFORE_THE_TIMELINE, Timeline


def evidence(finding: Finding) -> list[str]:
    """Return the measured facts of a finding, piece by piece."""
    return [
        f"{formatted(key, value)} {visible(key.removesuffix(f'_{unit_of(key)}')).replace('_', ' ')}"
        for key, value in finding.facts.items()
        if not isinstance(value, (str, bool))
    ]


# Smaller shares of cores used by other processes, taken by the hypervisor, or waited for, are negligible.
MIN_CORE_SHARE = 0.05


def machine_pieces(profile: Profile) -> Iterator[str]:
    """Yield who used the cores and how long the run waited for them; nothing if the machine was not observed."""
    machine = Machine(profile)
    used, others = machine.typical("used"), machine.typical("others")
    if used is not None:
        total = f" of {machine.cores:g} cores" if machine.cores is not None else " cores"
        yield f"{used:.1f}{total} used"
    if others is not None and others >= MIN_CORE_SHARE:
        yield f"{others:.1f} by others"
    steal, waiting = machine.typical("steal"), machine.typical("waiting")
    if steal is not None and steal >= MIN_CORE_SHARE:
        yield f"{formatting.share(steal)} taken by the hypervisor"
    if waiting is not None and waiting >= MIN_CORE_SHARE:
        yield f"waiting for one {formatting.share(waiting)} of the time it could run"


def _gpu_pieces(context: Context) -> Iterator[str]:
    """Yield the share of the first main loop's time in which the busiest GPU was in use, if known."""
    loop = context.first_loop
    if loop is not None and (used := context.gpu_used(loop)) is not None:
        yield f"GPU in use {formatting.share(used)} of {visible(loop.name)}"


def loss_counts(profile: Profile, timeline: Timeline) -> dict[str, int]:
    """Return the losses that are not 0, by kind, including the calls that the timeline did not keep."""
    # The timeline of a running program is read after its profile, and has overwritten more.
    counts = {**profile.losses, BEFORE_THE_TIMELINE: timeline.overwritten}
    return {kind.replace("_", " "): count for kind, count in sorted(counts.items()) if count}


NOTHING = "Nothing was recorded; `ticktree doctor` shows why."
# `--all` names those of these libraries that are installed; the headline names those that the program imported, as
# their gauges show.
_LIBRARIES = ("torch", "jax", "tensorflow", "stable-baselines3", "mujoco", "numpy")
# Uninformative parts of processor names.
_NOISE = re.compile(r"\((?:R|TM)\)|\b(?:CPU|Processor|\d+-Core)\b|@.*")


def title(profile: Profile) -> str:
    """Return the name of the run."""
    return fact(profile, "name") or "ticktree"


def headline(context: Context, options: ViewOptions) -> list[str]:
    """Return what a reader must know before the first number, piece by piece."""
    pieces = [fact.text for fact in provenance(context, options)]
    return [*pieces, *(f"{line.name}: {', '.join(line.pieces)}" for line in headlines(context, options)[:1])]


def losses(profile: Profile) -> list[str]:
    """Return the losses, piece by piece; empty if there are none."""
    pieces = [
        formatting.counted_phrase(number, visible(kind).replace("_", " "))
        for kind, number in sorted(profile.losses.items())
        if number and kind != BEFORE_THE_TIMELINE
    ]
    pieces = [f"Not recorded: {pieces[0]}", *pieces[1:]] if pieces else []
    overwritten = profile.losses.get(BEFORE_THE_TIMELINE, 0)
    if overwritten:  # all totals contain them, the timeline does not
        recorded, calls = profile.timeline_calls - overwritten, profile.timeline_calls
        pieces.append(
            f"timeline: kept the last {formatting.count(recorded)} of {formatting.counted(calls, 'call')}"
        )
    return pieces


def provenance(context: Context, options: ViewOptions) -> list[Fact]:
    """Return what ran, when, where and with what."""
    return [Fact(key, text) for key, text in _facts(context, options) if text]


def _facts(context: Context, options: ViewOptions) -> Iterator[tuple[str, str]]:
    profile = context.profile
    yield "command", fact(profile, "command")
    yield "started", _started(profile)
    if profile.root.total_ns > 0:
        yield "took", f"{formatting.time(profile.root.total_ns)} recorded"
    yield "ended", _exit_status(profile)
    if has_processes(profile) or (options.by is not None and profile.threads):
        yield "processes", census(profile, options.by)
    yield "commit", _commit(profile)
    if options.all:
        yield "host", fact(profile, "host")
    yield "machine", _machine(profile)
    yield "gpus", formatting.gpu_names(fact(profile, "gpus"), fact(profile, "gpu"))
    versions = {".".join(str(value).split(".")[:2]) for value in profile.metadata.get("python", ())}
    yield "python", f"Python {visible(', '.join(sorted(versions)))}" if versions else ""
    imported = {gauge.partition("/")[0] for gauge in profile.gauges} | library_threads(profile.gauges).keys()
    libraries = ", ".join(
        f"{name} {fact(profile, f'version.{name}').partition('+')[0]}"
        for name in _LIBRARIES
        if f"version.{name}" in profile.metadata and (options.all or name in imported)
    )
    yield "libraries", f"installed: {libraries}" if options.all and libraries else libraries
    if True in profile.metadata.get("waited_for_devices", ()):
        yield "device_sync", "sections waited for their device: not the program's own schedule"
    yield from (("cores", piece) for piece in machine_pieces(profile))
    yield from (("gpu_used", piece) for piece in _gpu_pieces(context))
    if options.all:
        clock = fact(profile, "clock")
        yield "clock", f"host clock, {clock}" if clock else ""
        yield "recorder", _recorder(profile)


def _recorder(profile: Profile) -> str:
    """Return the cost of ticktree itself, which is in no node's self time; "" if unknown."""
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
    started = datetime.fromtimestamp(min(times) / 1e9, UTC)
    return f"{started.day} {started:%b %Y %H:%M} UTC"


def _exit_status(profile: Profile) -> str:
    if True in profile.metadata.get("unfinished", ()):
        return "unfinished"
    if True in profile.metadata.get("experiments", ()):
        return "delayed by `ticktree whatif`"
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


def fact(profile: Profile, key: str) -> str:
    """Return the metadata of a run under `key`, safe to show; "" if there is none."""
    return ", ".join(visible(str(value)) for value in ordered(profile.metadata.get(key, ())))


WARNINGS_SHOWN = 3


def warnings(profile: Profile, findings: Sequence[Finding], options: ViewOptions) -> list[MeasurementWarning]:
    """Return the reasons to doubt the numbers, the worst first, and the losses."""
    doubts = [finding for finding in findings if is_doubt(finding)]
    if not options.all:
        relevant = (doubt for doubt in doubts if doubt.severity != "info" or doubt.is_wrong_number)
        doubts = list(islice(relevant, WARNINGS_SHOWN))
    loss_pieces = losses(profile)
    return [
        *(MeasurementWarning(doubt.message, doubt.rule, evidence(doubt)) for doubt in doubts),
        *map(MeasurementWarning, sampling_doubts(profile)),
        *([MeasurementWarning(", ".join(loss_pieces))] if loss_pieces else []),
    ]


def is_doubt(finding: Finding) -> bool:
    """Return whether a finding is about the measurement, not about the program."""
    return finding.kind == "measurement" or finding.is_wrong_number
