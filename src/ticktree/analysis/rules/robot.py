"""Rules about robot policies and chunks of actions: their inputs, horizon, guidance, merging, copies, round trips."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar, NamedTuple

from ticktree.analysis.categories import Categories, words
from ticktree.analysis.context import Context
from ticktree.analysis.finding import MIN_SAVING_SHARE, WARNING_SHARE, Claim, Fact, Finding
from ticktree.analysis.loops import DOMINATES_SHARE, MIN_TICKS, LoopView, SectionView
from ticktree.analysis.rules import Facts, finding, longest
from ticktree.analysis.rules.queues import is_depth
from ticktree.analysis.section_kinds import (
    GUIDANCE,
    PREPROCESSING,
    PREVIOUS_ACTIONS,
    QUEUE_MERGE,
    ROUND_TRIP,
    inference,
    kind_of,
    moves_data,
    per_tick_ns,
    sections_of_kind,
)
from ticktree.analysis.server_side import server_side
from ticktree.analysis.tick_causes import growth, usual_per_tick
from ticktree.profile import Gauge, Loop

# A guide to the real-time chunking of robot policies expects 5 to 20 ms of preprocessing for 100 to 200 ms of
# inference: at most a fifth of it, comparing the longest preprocessing with the shortest inference.
OF_INFERENCE_SHARE = 0.2

# The share of a round trip that is waited, if waits or CPU time were measured: a section on the CPU computes, whatever
# its name.
WAITS_SHARE = 0.5


class PreprocessingRule:
    """Preparing a model's input takes too long compared with the model itself.

    Finds each loop's preprocessing where it is out of proportion; see docs/rules/preprocessing.md.
    """

    name: ClassVar[str] = "preprocessing"

    def find(self, context: Context) -> Iterator[Finding]:
        """Yield a finding for each loop in which preprocessing takes a tenth, and too long for its inference."""
        for view in context.repeated:
            sections = sections_of_kind(
                view, PREPROCESSING, context, lambda section: section.count >= MIN_TICKS
            )
            prepared_ns = per_tick_ns(sections)
            if not sections or view.share(prepared_ns) < WARNING_SHARE:
                continue
            model = inference(view, context)
            inside = [section for section in sections if _is_in(section, model)]
            model_ns = per_tick_ns(model) - per_tick_ns(inside)
            if model_ns > 0:
                is_too_long = prepared_ns > OF_INFERENCE_SHARE * model_ns
            else:  # a section that is not a loop may be a helper that only prepares input for another section
                is_too_long = view.loop is not None and view.needed_share(prepared_ns) >= DOMINATES_SHARE
            if is_too_long:
                yield self._finding(view, sections, model_ns)

    def _finding(self, view: LoopView, sections: Sequence[SectionView], model_ns: float) -> Finding:
        section, prepared_ns = longest(sections), per_tick_ns(sections)
        facts: Facts = {
            "section": section.path,
            "preprocessing_per_tick_ns": prepared_ns,
            "tick_ns": view.tick_ns,
            "busy_share": view.needed_share(prepared_ns),
            "section_per_tick_ns": section.total_ns,
            "per_call_ns": section.call_ns,
            "calls": section.count,
        }
        if model_ns > 0:
            facts |= {"inference_per_tick_ns": model_ns, "of_inference_share": prepared_ns / model_ns}
        if (size := section.bytes_per_call) is not None:
            facts |= {"per_call_bytes": size, "section_bytes_per_s": section.bytes_per_s or 0.0}
        claim = Claim(view.share(prepared_ns), view.path)
        return finding(self.name, section.path, facts, claim)


class RoundTripRule:
    """The round trip to the robot, or over the network, is most of a loop.

    Finds each loop that spends half of its busy time, or more, on round trips; see docs/rules/round-trip.md.
    """

    name: ClassVar[str] = "round-trip"

    def find(self, context: Context) -> Iterator[Finding]:
        """Yield a finding for each loop that spends most of its time on round trips."""
        for view in context.repeated:
            sections = sections_of_kind(view, ROUND_TRIP, context, _is_trip)
            if sections and view.needed_share(per_tick_ns(sections)) >= DOMINATES_SHARE:
                yield self._finding(view, sorted(sections, key=lambda section: -section.total_ns))

    def _finding(self, view: LoopView, sections: Sequence[SectionView]) -> Finding:
        section, trips_ns, server = sections[0], per_tick_ns(sections), server_side(sections)
        facts: Facts = {
            "section": section.path,
            "round_trips_per_tick_ns": trips_ns,
            "needed_per_tick_ns": view.needed_ns,
            "busy_share": view.needed_share(trips_ns),
            "calls_per_tick": section.calls,
            "calls": section.count,
            "second_section": sections[1].path if len(sections) > 1 else None,
            "waited_share": _idle_share(section),
        }
        if server is not None:
            facts |= {
                "server_share": server.server_share,
                "server_part": server.longest.name,
                "server_part_share": server.longest_share,
            }
        claim = Claim(view.share(trips_ns), view.path)
        return finding(self.name, section.path, facts, claim)


def _is_trip(section: SectionView) -> bool:
    """Return whether `section` waited for something outside the run."""
    if section.count < MIN_TICKS or section.wakers():  # other rules name waits for processes of the run
        return False
    idle = _idle_share(section)
    if idle is not None:
        return idle >= WAITS_SHARE
    # A user's category describes what a section is, not that it waits.
    return kind_of(section.name) == ROUND_TRIP and _blocks(section)


def _idle_share(section: SectionView) -> float | None:
    """Return the share of `section` that was waiting, or not on the CPU; None if neither was measured."""
    cpu = section.node.cpu
    off_cpu = max(0.0, 1 - cpu.cpu_ns / cpu.wall_ns) if cpu is not None and cpu.wall_ns > 0 else None
    return max(section.waited_share, off_cpu or 0.0) if section.waited_share > 0 else off_cpu


def _blocks(section: SectionView) -> bool:
    """Return whether the loop's thread gave up its core often enough to wait in each call of `section`."""
    view = section.view
    switches = usual_per_tick(view.loop, "voluntary_switches") if view.loop is not None else None
    sleeps = sum(sleep.calls for sleep in view.path_sections if sleep.is_slack)
    return switches is not None and switches >= section.calls + sleeps


_EXECUTION = Categories(
    {"execution": ("send action*", "execute action*", "apply action*", "env step", "step env", "robot step")}
)
# An action is executed in every tick; a few ticks may have none because the queue was empty. Our own choice.
EVERY_TICK_SHARE = 0.5
# A queue may also be between a loader and its learner, and a buffer may hold experience.
_ACTIONS = frozenset({"action", "actions", "chunk", "chunks"})

# A guide to real-time chunking asks for an execution horizon of at least 10 to 20 actions.
MIN_HORIZON = 10
# A policy that is called in every tick does not return chunks, whatever the name of its section.
MIN_ACTIONS = 1.5

# The minimum cost of guidance if nothing is wasted: of an inference of SmolVLA on one thread it took 33% by default
# (87 ms with it, 58 without) and 25% with the policy's parameters frozen (77 ms), measured here.
GUIDANCE_SHARE = 0.25
# This share of readings may be below the queue's low: the queue is empty when a run begins.
LOW = 0.05
# If the queue has twice the actions that are executed during one inference, an inference may take twice as long before
# the loop waits. Our own choice.
IN_QUEUE_FACTOR = 2.0
# With this share and this number of empty readings, the queue runs empty; the first few are the run's beginning.
# (Without guided chunks 3.7 to 5.7% of the ticks of a 30 Hz loop were without an action, measured here.)
EMPTY_SHARE = 0.01
EMPTY_READINGS = 10

# The work after an inference of 100 to 200 ms is expected to take 1 to 5 ms: at most a twentieth. (From a guide to
# real-time chunking; it gives no number for the merge itself, which is the smaller part of that work. It names large
# buffers of previous actions as a cause, but gives no number for them.)
MERGE_SHARE = 0.05
# It must also be at least this share of its tick, with or without inference in it. Our own choice.
OF_THE_TICK_SHARE = 0.05
# "For every inference": for at least nine of ten, or in nine of ten ticks if there is no inference. Our own choice.
EVERY_INFERENCE_SHARE = 0.9


class HorizonRule:
    """Too few actions of each inference are used for it to pay.

    Finds each loop that infers a chunk of actions too often; see docs/rules/horizon.md.
    """

    name: ClassVar[str] = "horizon"

    def find(self, context: Context) -> Iterator[Finding]:
        """Yield a finding for each loop that executes fewer than ten actions per chunk, if that costs time."""
        for view in context.repeated:
            model = inference(view, context)
            if view.loop is None or not model or not _executes_chunks(view, context):
                continue
            section = longest(model)
            actions = view.ticks / section.count if section.count >= MIN_TICKS else MIN_HORIZON
            share = section.share * (1 - actions / MIN_HORIZON)
            if not MIN_ACTIONS <= actions < MIN_HORIZON or share < WARNING_SHARE:
                continue
            facts: Facts = {
                "section": section.path,
                "actions_per_inference": actions,
                "wanted_actions_per_inference": MIN_HORIZON,
                "per_call_ns": section.call_ns,
                "per_tick_ns": section.total_ns,
                "tick_share": section.share,
                "inferences": section.count,
                "ticks": view.ticks,
            }
            yield finding(self.name, section.path, facts, Claim(share, view.path))


def _executes_chunks(view: LoopView, context: Context) -> bool:
    """Return whether `view` executes, tick by tick, the actions of chunks.

    A policy that is called in every tick returns no chunks. A loop that only infers may do so at any rate: how many of
    its actions are executed is then unknown.
    """
    kinds = (QUEUE_MERGE, GUIDANCE, PREVIOUS_ACTIONS)
    depths = (name for name, gauge in context.profile.gauges.items() if is_depth(gauge))
    counts_actions = any(not _ACTIONS.isdisjoint(words(name)) for name in depths)
    if not counts_actions and not any(sections_of_kind(view, kind, context) for kind in kinds):
        return False
    if view.loop is not None and view.loop.hz:
        return True
    calls = [section.calls for section in view.path_sections if _EXECUTION.of(section.name) == "execution"]
    return max(calls, default=0) >= EVERY_TICK_SHARE


class _Guided(NamedTuple):
    """A guided inference: the longest guidance; per tick, the time of guidance and inference, and their number."""

    section: SectionView
    ns: float
    inference_ns: float
    inferences: float


class GuidanceRule:
    """Guiding a policy's new actions by the old ones costs more than it gains.

    Finds each guided inference whose queue of actions shows that it does not pay; see docs/rules/guidance.md.
    """

    name: ClassVar[str] = "guidance"

    def find(self, context: Context) -> Iterator[Finding]:
        """Yield a finding if guidance is expensive and the queue never runs low, or runs empty nevertheless."""
        depths = [gauge for gauge in context.profile.gauges.values() if is_depth(gauge)]
        if len(depths) != 1 or depths[0].count < MIN_TICKS:  # of several, any might be the queue of actions
            return
        depth = depths[0]
        for view in context.repeated:
            guided = _guided(view, context)
            if guided is None or guided.ns < GUIDANCE_SHARE * guided.inference_ns:
                continue
            loop, share = _control_loop(view, context), view.share(guided.ns)
            zeros, readings = depth.since_filled
            reason = _empty(zeros, readings) or _never_low(depth, guided, loop)
            if reason is None or share < MIN_SAVING_SHARE:
                continue
            facts: Facts = {
                "section": guided.section.path,
                "guidance_per_inference_ns": guided.ns / guided.inferences,
                "inference_ns": guided.inference_ns / guided.inferences,
                "of_inference_share": guided.ns / guided.inference_ns,
                "gauge": depth.name,
                "readings_at_0": zeros,
                "readings": readings,
                **reason,
            }
            claim = Claim(share, view.path) if loop is view.loop else None
            yield finding(self.name, guided.section.path, facts, claim)


def _guided(view: LoopView, context: Context) -> _Guided | None:
    """Return the guidance in `view`; None without guidance or inference."""
    guides = sections_of_kind(view, GUIDANCE, context)
    unguided = [section for section in inference(view, context) if section not in guides]
    model = [section for section in unguided if not _is_in(section, guides)]
    inferences = max((section.calls for section in model), default=0)
    if not guides or inferences * view.ticks < MIN_TICKS:
        return None
    outside = [section for section in guides if not _is_in(section, model)]
    inference_ns = per_tick_ns(model) + per_tick_ns(outside)
    if inference_ns <= 0:
        return None
    return _Guided(longest(guides), per_tick_ns(guides), inference_ns, inferences)


def _is_in(section: SectionView, sections: Sequence[SectionView]) -> bool:
    return any(above in sections for above in section.above())


def _control_loop(view: LoopView, context: Context) -> Loop | None:
    """Return the loop that executes the actions: the only loop with a rate, or, without rates, the one that infers."""
    paced = [loop for loop in context.profile.loops.values() if loop.budget_ns is not None]
    return paced[0] if len(paced) == 1 else view.loop if not paced else None


def _empty(zeros: int, readings: int) -> Facts | None:
    """Return the share of readings with an empty queue; None if there are hardly any."""
    if zeros < EMPTY_READINGS or zeros < EMPTY_SHARE * readings:
        return None
    return {"empty_share": zeros / readings}


def _never_low(depth: Gauge, guided: _Guided, loop: Loop | None) -> Facts | None:
    """Return the queue's low if it always had far more actions than an inference takes; else None."""
    period_ns, low = (loop.budget_ns or loop.stats.mean_ns) if loop is not None else None, depth.quantile(LOW)
    if not period_ns or low is None:
        return None
    ticks = guided.inference_ns / guided.inferences / period_ns
    if low < IN_QUEUE_FACTOR * max(1.0, ticks):
        return None
    return {"low_in_queue": low, "inference_ticks": ticks}


class QueueMergeRule:
    """Merging new actions into the queue of those still to do is slow.

    Finds each merge that takes a twentieth of its tick and of the inference it follows; see docs/rules/queue-merge.md.
    """

    name: ClassVar[str] = "queue-merge"

    def find(self, context: Context) -> Iterator[Finding]:
        """Yield a finding for each merge of actions that takes too long."""
        for view in context.repeated:
            model_ns = per_tick_ns(inference(view, context))
            for section in sections_of_kind(view, QUEUE_MERGE, context):
                is_long = section.total_ns >= MERGE_SHARE * model_ns
                if not is_long or section.count < MIN_TICKS or section.share < OF_THE_TICK_SHARE:
                    continue
                facts: Facts = {
                    "of_inference_share": section.total_ns / model_ns if model_ns > 0 else None,
                    "waited_share": section.waited_share if section.waited_share > 0 else None,
                    "as_long_at_the_end_factor": growth(section.node),
                }
                yield _finding(self.name, section, facts)


class BufferCopiesRule:
    """The previous actions are copied for every inference.

    Finds each section that copies previous actions and takes long; see docs/rules/buffer-copies.md.
    """

    name: ClassVar[str] = "buffer-copies"

    def find(self, context: Context) -> Iterator[Finding]:
        """Yield a finding for each copy of the previous actions that takes long."""
        for view in context.repeated:
            inferences = max((section.count for section in inference(view, context)), default=view.ticks)
            for section in sections_of_kind(view, PREVIOUS_ACTIONS, context):
                is_long = section.share >= OF_THE_TICK_SHARE and section.count >= MIN_TICKS
                if not is_long or not _copies(section) or section.count < EVERY_INFERENCE_SHARE * inferences:
                    continue
                yield _finding(self.name, section, {"per_call_bytes": _copied_bytes(section)})


def _finding(rule: str, section: SectionView, facts: Facts) -> Finding:
    """Return the finding that a loop could do without a section."""
    calls: dict[str, Fact] = {
        "section": section.path,
        "per_call_ns": section.call_ns,
        "calls": section.count,
        "tick_share": section.share,
    }
    claim = Claim(section.share, section.view.path)
    return finding(rule, section.path, {**calls, **facts}, claim)


def _copies(section: SectionView) -> bool:
    """Return whether a section copies, or most of its time is in children that do: by declared bytes, or by name."""
    if section.bytes_per_call is not None or moves_data(section.name):
        return True
    copies = [child for child in section.below if moves_data(child.name) or child.bytes_per_call is not None]
    return 2 * per_tick_ns(copies) >= section.total_ns > 0


def _copied_bytes(section: SectionView) -> float | None:
    """Return the bytes per call that a section or its children declare; None if none does."""
    if section.bytes_per_call is not None:
        return section.bytes_per_call
    sizes = [
        child.bytes_per_call * child.calls for child in section.below if child.bytes_per_call is not None
    ]
    return sum(sizes) / section.calls if sizes and section.calls else None
