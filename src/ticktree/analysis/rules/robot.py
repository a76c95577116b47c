"""Rules about robot policies and chunks of actions: what is done for each, how many serve, what their copies cost."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar, NamedTuple

from ticktree.analysis.categories import Categories, words
from ticktree.analysis.context import Context
from ticktree.analysis.finding import LEAST_SHARE, WARNING_SHARE, Claim, Fact, Finding
from ticktree.analysis.loops import DOMINATES_SHARE, LEAST_TICKS, LoopView, SectionView
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
    sections_of,
)
from ticktree.analysis.server_side import server_side
from ticktree.analysis.tick_causes import growth, usual_per_tick
from ticktree.profile import Gauge, Loop

# A guide to the real-time chunking of robot policies expects 5 to 20 ms of preprocessing for 100 to 200 ms of
# inference: at most a fifth of it, the most of the one against the least of the other.
OF_INFERENCE_SHARE = 0.2

# So much of a round trip is waited, where waits or CPU time were measured: what is on the CPU computes, whatever its
# name.
WAITS_SHARE = 0.5


class PreprocessingRule:
    """Preparing a model's input takes too long compared with the model itself.

    Finds each loop's preprocessing where it is out of proportion; see docs/rules/preprocessing.md.
    """

    name: ClassVar[str] = "preprocessing"

    def find(self, context: Context) -> Iterator[Finding]:
        """Yield a finding for each loop in which preprocessing takes a tenth and too much for its inference."""
        for view in context.repeated:
            sections = sections_of(view, PREPROCESSING, context, lambda section: section.count >= LEAST_TICKS)
            prepared_ns = per_tick_ns(sections)
            if not sections or view.share(prepared_ns) < WARNING_SHARE:
                continue
            model = inference(view, context)
            inside = [section for section in sections if any(above in model for above in section.above())]
            model_ns = per_tick_ns(model) - per_tick_ns(inside)
            if model_ns > 0:
                is_too_long = prepared_ns > OF_INFERENCE_SHARE * model_ns
            else:  # a section that is not a loop may be a helper that only prepares what another one uses
                is_too_long = view.loop is not None and view.needed_share(prepared_ns) >= DOMINATES_SHARE
            if is_too_long:
                yield self._finding(view, sections, model_ns)

    def _finding(self, view: LoopView, sections: Sequence[SectionView], model_ns: float) -> Finding:
        longest = max(sections, key=lambda section: section.total_ns)
        prepared_ns = per_tick_ns(sections)
        facts: dict[str, Fact] = {
            "section": longest.path,
            "preprocessing_per_tick_ns": prepared_ns,
            "tick_ns": view.tick_ns,
            "busy_share": view.needed_share(prepared_ns),
            "section_per_tick_ns": longest.total_ns,
            "per_call_ns": longest.call_ns,
            "calls": longest.count,
        }
        if model_ns > 0:
            facts |= {"inference_per_tick_ns": model_ns, "of_inference_share": prepared_ns / model_ns}
        if longest.bytes_per_call is not None:
            facts |= {
                "per_call_bytes": longest.bytes_per_call,
                "section_bytes_per_s": longest.bytes_per_s or 0.0,
            }
        claim = Claim(view.share(prepared_ns), view.path)
        return Finding(rule=self.name, claim=claim, path=longest.path, facts=facts)


class RoundTripRule:
    """The round trip to the robot, or over the network, is most of a loop.

    Finds each loop of which half or more of the busy time is a round trip; see docs/rules/round-trip.md.
    """

    name: ClassVar[str] = "round-trip"

    def find(self, context: Context) -> Iterator[Finding]:
        """Yield a finding for each loop that spends most of its time on round trips."""
        for view in context.repeated:
            sections = sections_of(view, ROUND_TRIP, context, _is_trip)
            if sections and view.needed_share(per_tick_ns(sections)) >= DOMINATES_SHARE:
                yield self._finding(view, sorted(sections, key=lambda section: -section.total_ns))

    def _finding(self, view: LoopView, sections: Sequence[SectionView]) -> Finding:
        longest, trips_ns = sections[0], per_tick_ns(sections)
        facts: dict[str, Fact] = {
            "section": longest.path,
            "round_trips_per_tick_ns": trips_ns,
            "needed_per_tick_ns": view.needed_ns,
            "busy_share": view.needed_share(trips_ns),
            "calls_per_tick": longest.calls,
            "calls": longest.count,
        }
        if len(sections) > 1:
            facts["second_section"] = sections[1].path
        idle = _idle_share(longest)
        if idle is not None:
            facts["waited_share"] = idle
        server = server_side(sections)
        if server is not None:
            facts |= {
                "server_share": server.server_share,
                "server_part": server.longest.name,
                "server_part_share": server.longest_share,
            }
        claim = Claim(view.share(trips_ns), view.path)
        return Finding(rule=self.name, claim=claim, path=longest.path, facts=facts)


def _is_trip(section: SectionView) -> bool:
    """Return whether `section` waited for something outside the run."""
    if section.count < LEAST_TICKS or section.wakers():  # a process of the run: other rules name it
        return False
    idle = _idle_share(section)
    if idle is not None:
        return idle >= WAITS_SHARE
    # A user's category describes what a section is, not that it waits.
    return kind_of(section.name) == ROUND_TRIP and _blocks(section)


def _idle_share(section: SectionView) -> float | None:
    """Return the share of it that was waiting, or not on the CPU; None if neither was measured."""
    cpu = section.node.cpu
    off_cpu = max(0.0, 1 - cpu.cpu_ns / cpu.wall_ns) if cpu is not None and cpu.wall_ns > 0 else None
    return max(section.waited_share, off_cpu or 0.0) if section.waited_share > 0 else off_cpu


def _blocks(section: SectionView) -> bool:
    """Return whether the loop's thread gave up its core often enough to wait in each call of `section`."""
    view = section.view
    switches = usual_per_tick(view.loop, "voluntary_switches") if view.loop is not None else None
    sleeps = sum(each.calls for each in view.path_sections if each.is_slack)
    return switches is not None and switches >= section.calls + sleeps


_EXECUTION = Categories(
    {"execution": ("send action*", "execute action*", "apply action*", "env step", "step env", "robot step")}
)
# An action is executed in every tick; a few may be left out where the queue was empty. Our own choice.
EVERY_TICK_SHARE = 0.5
# A queue is also between a loader and its learner, and a buffer is where experience is kept.
_ACTIONS = frozenset({"action", "actions", "chunk", "chunks"})

# A guide to real-time chunking asks for an execution horizon of at least 10 to 20 actions.
LEAST_HORIZON = 10
# A policy that is called in every tick does not execute chunks, whatever the name of its section.
LEAST_USED = 1.5

# What guidance costs at least where nothing is wasted: of an inference of SmolVLA on one thread it took 33% as it
# comes (87 ms with it, 58 without) and 25% with the policy's parameters frozen (77 ms), measured here.
GUIDANCE_SHARE = 0.25
# This share of readings may be below the queue's low: it is empty when a run begins.
LOW = 0.05
# With twice the actions in the queue that one inference takes, it may take twice as long before the loop waits. Our
# own choice.
IN_QUEUE_FACTOR = 2.0
# From this share and this number of empty readings, the queue runs empty; the first few are the run's
# beginning. (Without guided chunks 3.7 to 5.7% of the ticks of a 30 Hz loop were without an action, measured here.)
EMPTY_SHARE = 0.01
EMPTY_READINGS = 10

# What follows inference is expected to take 1 to 5 ms where it takes 100 to 200: at most a twentieth of it. (Of a
# guide to real-time chunking; it gives no number for the merge itself, which does less than the rest that
# follows. It names large buffers of previous actions as a cause, but gives no number of their own.)
MERGE_SHARE = 0.05
# And it must be at least this share of its tick, with or without inference in it. Our own choice.
OF_THE_TICK_SHARE = 0.05
# What waits for more than half of its time waits for the other thread; else it works.
MOSTLY_SHARE = 0.5
# "Each time": in at least nine of ten inferences, or ticks where there is none. Our own choice.
EACH_TIME_SHARE = 0.9


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
            longest = max(model, key=lambda section: section.total_ns)
            used = view.ticks / longest.count if longest.count >= LEAST_TICKS else LEAST_HORIZON
            share = longest.share * (1 - used / LEAST_HORIZON)
            if not LEAST_USED <= used < LEAST_HORIZON or share < WARNING_SHARE:
                continue
            facts: dict[str, Fact] = {
                "section": longest.path,
                "actions_per_inference": used,
                "wanted_actions_per_inference": LEAST_HORIZON,
                "per_call_ns": longest.call_ns,
                "per_tick_ns": longest.total_ns,
                "tick_share": longest.share,
                "inferences": longest.count,
                "ticks": view.ticks,
            }
            yield Finding(rule=self.name, claim=Claim(share, view.path), path=longest.path, facts=facts)


def _executes_chunks(view: LoopView, context: Context) -> bool:
    """Return whether `view` executes, tick by tick, the actions of chunks.

    A policy that is called in every tick gives no chunks. A loop that only infers may do so at any rate: which of its
    actions are executed, and how many, is unknown then.
    """
    kinds = (QUEUE_MERGE, GUIDANCE, PREVIOUS_ACTIONS)
    depths = (name for name, gauge in context.profile.gauges.items() if is_depth(gauge))
    counts_actions = any(not _ACTIONS.isdisjoint(words(name)) for name in depths)
    if not counts_actions and not any(sections_of(view, kind, context) for kind in kinds):
        return False
    if view.loop is not None and view.loop.hz:
        return True
    calls = [section.calls for section in view.path_sections if _EXECUTION.of(section.name) == "execution"]
    return max(calls, default=0) >= EVERY_TICK_SHARE


class _Guided(NamedTuple):
    """A guided inference: the longest section that guides; per tick, its time, that of all, and how many."""

    section: SectionView
    ns: float
    inference_ns: float
    inferences: float


class GuidanceRule:
    """Guiding a policy's new actions by the old ones costs more than it gives.

    Finds each guided inference whose queue of actions shows that it does not pay; see docs/rules/guidance.md.
    """

    name: ClassVar[str] = "guidance"

    def find(self, context: Context) -> Iterator[Finding]:
        """Yield a finding where guidance is expensive and the queue is never short, or is empty in spite of it."""
        depths = [gauge for gauge in context.profile.gauges.values() if is_depth(gauge)]
        if len(depths) != 1 or depths[0].count < LEAST_TICKS:  # of several, any might be the actions'
            return
        depth = depths[0]
        for view in context.repeated:
            guided = _guided(view, context)
            if guided is None or guided.ns < GUIDANCE_SHARE * guided.inference_ns:
                continue
            loop, share = _control_loop(view, context), view.share(guided.ns)
            zeros, readings = depth.since_filled
            reason = _empty(zeros, readings) or _never_low(depth, guided, loop)
            if reason is None or share < LEAST_SHARE:
                continue
            facts: dict[str, Fact] = {
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
            yield Finding(rule=self.name, claim=claim, path=guided.section.path, facts=facts)


def _guided(view: LoopView, context: Context) -> _Guided | None:
    """Return the guidance in `view`; None without guidance or inference."""
    guides = sections_of(view, GUIDANCE, context)
    every = inference(view, context)
    model = [each for each in every if not any(one in guides for one in (each, *each.above()))]
    inferences = max((section.calls for section in model), default=0)
    if not guides or inferences * view.ticks < LEAST_TICKS:
        return None
    outside = [section for section in guides if not any(above in model for above in section.above())]
    inference_ns = per_tick_ns(model) + per_tick_ns(outside)
    longest = max(guides, key=lambda section: section.total_ns)
    return _Guided(longest, per_tick_ns(guides), inference_ns, inferences) if inference_ns > 0 else None


def _control_loop(view: LoopView, context: Context) -> Loop | None:
    """Return the loop that executes the actions: the only one with a rate; else the one that infers."""
    paced = [loop for loop in context.profile.loops.values() if loop.budget_ns is not None]
    return paced[0] if len(paced) == 1 else view.loop if not paced else None


def _empty(zeros: int, readings: int) -> Mapping[str, Fact] | None:
    """Return the share of readings with an empty queue; None if there are hardly any."""
    if zeros < EMPTY_READINGS or zeros < EMPTY_SHARE * readings:
        return None
    return {"empty_share": zeros / readings}


def _never_low(depth: Gauge, guided: _Guided, loop: Loop | None) -> Mapping[str, Fact] | None:
    """Return the queue's low if it always had far more actions than an inference takes; None if not."""
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
            for section in sections_of(view, QUEUE_MERGE, context):
                is_long = section.total_ns >= MERGE_SHARE * model_ns
                if not is_long or section.count < LEAST_TICKS or section.share < OF_THE_TICK_SHARE:
                    continue
                facts = _call_facts(section)
                if model_ns > 0:
                    facts["of_inference_share"] = section.total_ns / model_ns
                if section.waited_share > 0:
                    facts["waited_share"] = section.waited_share
                grown = growth(section.node)
                if grown is not None:
                    facts["as_long_at_the_end_factor"] = grown
                claim = Claim(section.share, view.path)
                yield Finding(rule=self.name, claim=claim, path=section.path, facts=facts)


class BufferCopiesRule:
    """The previous actions are copied for every inference.

    Finds each section that copies previous actions and takes long; see docs/rules/buffer-copies.md.
    """

    name: ClassVar[str] = "buffer-copies"

    def find(self, context: Context) -> Iterator[Finding]:
        """Yield a finding for each copy of the previous actions that takes long."""
        for view in context.repeated:
            times = max((section.count for section in inference(view, context)), default=view.ticks)
            for section in sections_of(view, PREVIOUS_ACTIONS, context):
                is_long = section.share >= OF_THE_TICK_SHARE and section.count >= LEAST_TICKS
                if not is_long or not _copies(section) or section.count < EACH_TIME_SHARE * times:
                    continue
                facts = _call_facts(section)
                copied = _copied_bytes(section)
                if copied is not None:
                    facts["per_call_bytes"] = copied
                claim = Claim(section.share, view.path)
                yield Finding(rule=self.name, claim=claim, path=section.path, facts=facts)


def _call_facts(section: SectionView) -> dict[str, Fact]:
    """Return what a call of a section takes, and the share of the tick that its calls take."""
    return {
        "section": section.path,
        "per_call_ns": section.call_ns,
        "calls": section.count,
        "tick_share": section.share,
    }


def _copies(section: SectionView) -> bool:
    """Return whether it, or most of its time below, copies: by its declared bytes, or by its name."""
    if section.bytes_per_call is not None or moves_data(section.name):
        return True
    inside = [each for each in section.below if moves_data(each.name) or each.bytes_per_call is not None]
    return 2 * per_tick_ns(inside) >= section.total_ns > 0


def _copied_bytes(section: SectionView) -> float | None:
    """Return the bytes per call that it or its children declare; None if none does."""
    if section.bytes_per_call is not None:
        return section.bytes_per_call
    declared = [each.bytes_per_call * each.calls for each in section.below if each.bytes_per_call is not None]
    return sum(declared) / section.calls if declared and section.calls else None
