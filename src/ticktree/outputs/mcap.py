"""MCAP: a log of messages in plain JSON, with their schemas, for Foxglove and other robotics tools.

Times of messages count from 1970 if the run's timeline has its start; a profile alone does not, and then they count
from the run's beginning.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from ticktree.outputs.curves import SectionCurve, last_window_end_ns, section_curves
from ticktree.outputs.options import ViewOptions
from ticktree.outputs.registry import import_library
from ticktree.outputs.tabular import data_table
from ticktree.outputs.view.headline import losses, title
from ticktree.outputs.writing.visible import encodable, visible
from ticktree.profile import Loop, Profile
from ticktree.profile.metadata import ordered
from ticktree.profile.timeline import Timeline

_MS = 1_000_000
_SECOND = 1_000_000_000
_WARNING = 3  # as Foxglove numbers levels
_SCHEMAS: Mapping[str, Mapping[str, str]] = {
    "window": {"calls": "integer", "total_ms": "number", "mean_ms": "number", "window_s": "number"},
    "call": {"duration_ms": "number", "thread": "string"},
    "tick": {"tick": "integer", "duration_ms": "number", "thread": "string", "breakdown_ms": "object"},
    "gauge": {"last": "number", "min": "number", "max": "number", "readings": "integer"},
    "table": {"rows": "array"},
    "log": {"level": "integer", "message": "string", "name": "string"},
}


class _Message(NamedTuple):
    at_ns: int
    topic: str
    kind: str
    fields: Mapping[str, Any]


def render(profile: Profile, options: ViewOptions, timeline: Timeline | None) -> bytes:
    """Return the file: channels for sections, loops and gauges, tables of the whole run, the profile as attachment."""
    content = io.BytesIO()
    writer = import_library("mcap.writer", by="mcap", extra="mcap").Writer(content)
    writer.start(profile="", library="ticktree")
    began_wall_ns = timeline.began_wall_ns or 0 if timeline is not None else 0
    messages = [] if options.only == "calls" else list(_totals(profile))
    if timeline is not None:
        messages += _calls(timeline)
    messages.sort(key=lambda message: message.at_ns)
    end_ns = messages[-1].at_ns if messages else 0
    for loss in losses(profile):
        fields = {"level": _WARNING, "name": "ticktree", "message": loss}
        messages.append(_Message(end_ns, "/ticktree/log", "log", fields))
    _write(writer, messages, began_wall_ns)
    metadata = sorted(profile.metadata.items())
    facts = {encodable(key): encodable(", ".join(map(str, ordered(values)))) for key, values in metadata}
    writer.add_metadata("ticktree", {**facts, "title": encodable(title(profile))})
    writer.add_attachment(
        create_time=0,
        log_time=began_wall_ns,
        name="profile.json",
        media_type="application/json",
        data=profile.to_json().encode(),
    )
    writer.finish()
    return content.getvalue()


def _totals(profile: Profile) -> Iterator[_Message]:
    end_ns = last_window_end_ns(profile)
    for curve in section_curves(profile):
        yield from _windows(curve)
    for _, loop in sorted(profile.loops.items()):
        yield from _worst_ticks(loop)
    for _, gauge in sorted(profile.gauges.items()):
        fields = {"last": gauge.last, "min": gauge.min, "max": gauge.max, "readings": gauge.count}
        yield _Message(end_ns, _topic("gauge", gauge.name), "gauge", fields)
    for name in ("nodes", "loops"):
        rows = [dict(row) for row in data_table(profile, name).rows]
        yield _Message(end_ns, f"/ticktree/{name}", "table", {"rows": rows})


def _windows(curve: SectionCurve) -> Iterator[_Message]:
    topic, window_s = _topic("section", curve.path), curve.width_ns / _SECOND
    rows = zip(curve.ends_ns, curve.counts, curve.totals_ns, curve.means_ms, strict=True)
    for end_ns, calls, total_ns, mean_ms in rows:
        fields = {"calls": calls, "total_ms": total_ns / _MS, "mean_ms": mean_ms, "window_s": window_s}
        yield _Message(end_ns, topic, "window", fields)


def _worst_ticks(loop: Loop) -> Iterator[_Message]:
    for tick in loop.worst:
        fields = {
            "tick": tick.tick,
            "duration_ms": tick.duration_ns / _MS,
            "thread": tick.thread,
            "breakdown_ms": {path: ns / _MS for path, ns in sorted(tick.breakdown.items())},
        }
        yield _Message(tick.started_ns, _topic("worst_tick", loop.path), "tick", fields)


def _calls(timeline: Timeline) -> Iterator[_Message]:
    topics = [_topic("call", node.path) for node in timeline.nodes]
    threads = [f"{lane.process_title} {lane.pid}, {lane.name}" for lane in timeline.lanes]
    columns = (timeline.start_ns, timeline.duration_ns, timeline.node, timeline.lane)
    for start_ns, duration_ns, node, lane in zip(*(column.tolist() for column in columns), strict=True):
        fields = {"duration_ms": duration_ns / _MS, "thread": threads[lane]}
        yield _Message(start_ns, topics[node], "call", fields)


def _topic(kind: str, path: str) -> str:
    return f"/ticktree/{kind}/{visible(path)}"


def _write(writer: Any, messages: list[_Message], began_wall_ns: int) -> None:
    """Write the messages, with one schema per kind and one channel per topic."""
    schemas: dict[str, int] = {}
    channels: dict[str, int] = {}
    for message in messages:
        if message.kind not in schemas:
            properties = {name: {"type": kind} for name, kind in _SCHEMAS[message.kind].items()}
            schema = json.dumps({"type": "object", "properties": properties}).encode()
            schemas[message.kind] = writer.register_schema(
                name=f"ticktree.{message.kind}", encoding="jsonschema", data=schema
            )
        if message.topic not in channels:
            channels[message.topic] = writer.register_channel(
                topic=message.topic, message_encoding="json", schema_id=schemas[message.kind]
            )
        time_ns = began_wall_ns + message.at_ns
        data = json.dumps(message.fields, separators=(",", ":"), allow_nan=False).encode()
        writer.add_message(channels[message.topic], log_time=time_ns, publish_time=time_ns, data=data)
