"""OpenTelemetry's metrics and spans as lines of OTLP/JSON, which its collector reads from files and over HTTP.

Metrics are a run's totals, and spans the calls of its timeline: neither is derived from the other. A span's parent is
the call that made it, if that was recorded; a call without one begins a new trace. So a loop's ticks are traces, like
a server's requests. Ids of spans and traces are counted, not random: the same timeline gives the same bytes, and
another timeline has other traces.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from hashlib import blake2b

import numpy as np

from ticktree.outputs.options import ViewOptions
from ticktree.outputs.otlp_metrics import SCOPE, attribute, counts, facts, request
from ticktree.outputs.view.headline import lost
from ticktree.outputs.writing.visible import encodable
from ticktree.profile import Profile
from ticktree.profile import path as paths
from ticktree.profile.measures import HOST
from ticktree.profile.metadata import Value
from ticktree.profile.timeline import CalledNode, Column, Lane, Timeline

NO_CALL = -1


def callers_of(timeline: Timeline) -> Column:
    """Return for each call the index of its caller; `NO_CALL` if that is not among the calls.

    The tree has the section whose child a call is. The caller is that section's call, in the same lane, that lasted
    during the whole call, or, for a duration measured elsewhere, at the moment when it was recorded. That call may not
    have ended yet; and if the section is on another thread or in another task, it was not recorded which of its calls
    it is. In both cases, no caller is invented.
    """
    count = len(timeline)
    if not count:
        return np.empty(0, np.int64)
    place, above = _places(timeline)
    width = len(timeline.spots)
    # The calls of a lane in one node, in order of start: one code per node, and one per call of the node.
    groups, group = np.unique(timeline.lane * width + place[timeline.spot], return_inverse=True)
    codes = np.sort(group * count + np.arange(count))
    wanted = timeline.lane * width + above[timeline.spot]
    at = np.minimum(np.searchsorted(groups, wanted), len(groups) - 1)
    known = (above[timeline.spot] >= 0) & (groups[at] == wanted)
    # The last of them that had begun by then: the calls of a node in a lane do not overlap.
    found = codes[np.searchsorted(codes, at * count + _bounds(timeline), "left") - 1]
    caller = found % count
    known &= (found // count == at) & (timeline.end_ns[caller] >= timeline.end_ns)
    return np.where(known, caller, NO_CALL)


def _places(timeline: Timeline) -> tuple[Column, Column]:
    """Return for each spot its node, which spots may share, and that node's parent; -1 if there is none."""
    place: dict[str, int] = {}
    for spot in timeline.spots:
        place.setdefault(spot.path, len(place))
    own = [place[spot.path] for spot in timeline.spots]
    above = [place.get(paths.parent(spot.path), -1) if spot.path else -1 for spot in timeline.spots]
    return np.array(own, np.int64), np.array(above, np.int64)


def _bounds(timeline: Timeline) -> Column:
    """Return for each call how many calls could be its caller: those before it, or before it was recorded."""
    recorded = np.array([spot.recorded for spot in timeline.spots], bool)[timeline.spot]
    handed_over = np.searchsorted(timeline.start_ns, timeline.end_ns, "right")
    return np.where(recorded, handed_over, np.arange(len(timeline)))


# Per request: less than a collector accepts by default, even with long names.
SPANS_AT_ONCE = 10_000
_INTERNAL = 1


def requests(profile: Profile, timeline: Timeline) -> Iterator[str]:
    """Yield ExportTraceServiceRequests as JSON, each with spans of one process."""
    spans = _Spans(timeline)
    processes = list(dict.fromkeys(lane.process for lane in timeline.lanes))
    number = {process: at for at, process in enumerate(processes)}
    process_of = np.array([number[lane.process] for lane in timeline.lanes], np.int64)[timeline.lane]
    about = [*facts(profile), counts("not_recorded", lost(profile, timeline))]
    for at, process in enumerate(processes):
        lane = next(lane for lane in timeline.lanes if lane.process == process)
        process_facts = (attribute("process.pid", lane.pid), attribute("process.title", lane.process_title))
        resource = json.dumps({"attributes": [*about, *process_facts]}, separators=(",", ":"))
        calls = np.flatnonzero(process_of == at)
        # A request without calls has the losses.
        for first in range(0, max(1, len(calls)), SPANS_AT_ONCE):
            listed = ",".join(spans.of(calls[first : first + SPANS_AT_ONCE]))
            scoped = f'{{"scope":{json.dumps(SCOPE)},"spans":[{listed}]}}'
            yield f'{{"resourceSpans":[{{"resource":{resource},"scopeSpans":[{scoped}]}}]}}'


class _Spans:
    """The spans of a timeline; text that many of them share is built once."""

    def __init__(self, timeline: Timeline) -> None:
        self._timeline = timeline
        self._callers = callers_of(timeline)
        self._outermost = _outermost(self._callers)
        self._trace = _identity(timeline)
        names = (json.dumps(encodable(spot.name)) for spot in timeline.spots)
        self._heads = [f'"name":{name},"kind":{_INTERNAL}' for name in names]
        self._abouts = [_listed(_about(spot)) for spot in timeline.spots]
        self._threads = [_listed(_thread(lane)) for lane in timeline.lanes]

    def of(self, calls: Column) -> Iterator[str]:
        timeline = self._timeline
        began = timeline.began_wall_ns or 0
        for call, caller, outermost, start, end, spot, lane in zip(
            calls.tolist(),
            self._callers[calls].tolist(),
            self._outermost[calls].tolist(),
            timeline.start_ns[calls].tolist(),
            timeline.end_ns[calls].tolist(),
            timeline.spot[calls].tolist(),
            timeline.lane[calls].tolist(),
            strict=True,
        ):
            parent = "" if caller == NO_CALL else f'"parentSpanId":"{caller + 1:016x}",'
            yield (
                f'{{"traceId":"{self._trace}{outermost + 1:016x}","spanId":"{call + 1:016x}",{parent}'
                f'{self._heads[spot]},"startTimeUnixNano":"{began + start}","endTimeUnixNano":"{began + end}",'
                f'"attributes":[{self._abouts[spot]},{self._threads[lane]}]}}'
            )


def _outermost(callers: Column) -> Column:
    top = np.where(callers == NO_CALL, np.arange(len(callers)), callers)
    while not np.array_equal(top, further := top[top]):
        top = further
    return top


def _identity(timeline: Timeline) -> str:
    """Return the first half of each trace's id: the timeline's run, and when it was read."""
    processes = sorted({lane.process for lane in timeline.lanes})
    identity = (timeline.began_wall_ns, timeline.overwritten, len(timeline), processes)
    return blake2b(json.dumps(identity).encode(), digest_size=8).hexdigest()


def _about(spot: CalledNode) -> Iterator[tuple[str, Value]]:
    yield "path", spot.path
    if spot.clock != HOST:
        yield "clock", spot.clock
    flags = {"wait": spot.wait, "tick": spot.tick, "measured_elsewhere": spot.recorded}
    yield from ((name, True) for name, is_so in flags.items() if is_so)


def _thread(lane: Lane) -> Iterator[tuple[str, Value]]:
    if lane.thread_id:
        yield "thread.id", lane.thread_id
    yield "thread.name", lane.name
    if lane.number:
        yield "task", lane.number


def _listed(attributes: Iterator[tuple[str, Value]]) -> str:
    """Return attributes as JSON, without the brackets around them."""
    return json.dumps([attribute(key, value) for key, value in attributes], separators=(",", ":"))[1:-1]


def render(profile: Profile, options: ViewOptions, timeline: Timeline | None) -> bytes:
    """Return one request per line: one ExportMetricsServiceRequest, then the timeline's ExportTraceServiceRequests."""
    lines = [] if timeline is None else list(requests(profile, timeline))
    if options.only != "calls":
        lines.insert(0, json.dumps(request(profile), separators=(",", ":"), allow_nan=False))
    return "".join(f"{line}\n" for line in lines).encode()
