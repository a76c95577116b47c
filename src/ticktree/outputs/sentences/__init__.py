"""The messages of findings: one template per rule."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from ticktree.analysis.context import Context
from ticktree.analysis.finding import Finding
from ticktree.analysis.registry import found_in
from ticktree.outputs.sentences import runs, work
from ticktree.outputs.sentences.facts import FactText
from ticktree.outputs.writing.visible import visible
from ticktree.profile.short_names import ShortNames


def findings_in(context: Context) -> list[Finding]:
    """Return the findings of a context, each with its sentence as its message."""
    return with_sentences(found_in(context), context.short_names)


def with_sentences(found: Iterable[Finding], names: ShortNames) -> list[Finding]:
    """Return findings, each with its sentence as its message."""
    return [replace(finding, message=sentence(finding, names)) for finding in found]


def sentence(finding: Finding, names: ShortNames) -> str:
    """Return the message of a finding, safe to show.

    Args:
        finding: of one of ticktree's rules, which have a template here; findings of other rules have a message.
        names: the nodes' short names.
    """
    template = _TEMPLATES.get(finding.rule)
    text = finding.message if template is None or finding.message else template(FactText(finding, names))
    return visible(names.within(text))


_TEMPLATES: Mapping[str, Callable[[FactText], str]] = {
    "allocation": work.allocation,
    "anomaly-detection": work.anomaly_detection,
    "blocked-event-loop": runs.blocked_event_loop,
    "blocking-writes": work.blocking_writes,
    "buffer-copies": work.buffer_copies,
    "contended": runs.contended,
    "copied-twice": work.copied_twice,
    "critical": work.critical,
    "drift": runs.drift,
    "fixed-sleep": runs.fixed_sleep,
    "full-queue": runs.full_queue,
    "garbage-collection": runs.garbage_collection,
    "gil": runs.gil,
    "gpu-memory": work.memory,
    "guidance": work.guidance,
    "horizon": work.horizon,
    "hot-line": work.hot_line,
    "idle-worker": runs.idle_worker,
    "imbalance": runs.imbalance,
    "impossible-rate": work.impossible_rate,
    "late-compilation": work.late_compilation,
    "late-wake": runs.late_wake,
    "list-of-arrays": work.list_of_arrays,
    "lock-convoy": runs.lock_convoy,
    "memory": work.memory,
    "memory-growth": runs.memory_growth,
    "missed-deadline": runs.missed_deadline,
    "no-compilation": work.no_compilation,
    "oversubscribed": runs.oversubscribed,
    "pageable-copies": work.pageable_copies,
    "phase-change": runs.phase_change,
    "preprocessing": work.preprocessing,
    "queue-merge": work.queue_merge,
    "recompilation": work.recompilation,
    "round-trip": work.round_trip,
    "slow": work.slow,
    "slow-loader": work.slow_loader,
    "small-minibatches": work.small_minibatches,
    "slow-rate": work.slow_rate,
    "spikes": runs.spikes,
    "starved": runs.starved,
    "straggler": runs.straggler,
    "throttled": runs.throttled,
    "too-few-ticks": runs.too_few_ticks,
    "transport": runs.transport,
    "uneven-tasks": runs.uneven_tasks,
    "unused-gradients": work.unused_gradients,
}
