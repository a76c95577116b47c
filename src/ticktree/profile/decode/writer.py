"""Writers, their parts of nodes, wakers and the critical path from the objects JSON knows."""

from __future__ import annotations

from collections.abc import Sequence

from ticktree.profile.critical import CriticalPlace
from ticktree.profile.errors import quoted
from ticktree.profile.fields import Fields
from ticktree.profile.share import Share
from ticktree.profile.wakes import Waker, Wakes
from ticktree.profile.writer import Writer


def writers_from(fields: Fields) -> dict[str, Writer]:
    """Return the writers in `fields`, the outermost object, in the order in which all else names them."""
    writers: dict[str, Writer] = {}
    for value in fields.list("writers"):
        writer = _writer(Fields(value, "writer"))
        if writer.id in writers:
            fields.fail(f"the writer {quoted(writer.id)} is there twice")
        writers[writer.id] = writer
    return writers


def _writer(fields: Fields) -> Writer:
    fields.where = f"writer {quoted(fields.text('id'))}"
    return Writer(
        id=fields.text("id"),
        run=fields.text("run"),
        process_name=fields.text("process_name"),
        thread_name=fields.text("thread_name"),
        role=fields.text("role"),
        is_main=fields.flag("is_main"),
        parent=fields.text("parent"),
        started_ns=fields.whole_or_none("started_ns"),
        last_ns=fields.whole_or_none("last_ns"),
        members=fields.whole("members", 1),
        host=fields.text("host") if "host" in fields else "",
    )


def critical_from(fields: Fields, writers: Sequence[str]) -> dict[CriticalPlace, int]:
    """Return the critical path in `fields`, the outermost object."""
    places: dict[CriticalPlace, int] = {}
    for value in fields.list("critical_path"):
        entry = Fields(value, "critical path")
        place = CriticalPlace(entry.chosen("writer", writers), entry.text("path"))
        if place in places:
            entry.fail("the same place is there twice")
        places[place] = entry.whole("ns")
    return places


def shares_from(fields: Fields, writers: Sequence[str]) -> dict[str, Share]:
    """Return each writer's part of the node in `fields`."""
    rows = fields.rows("by_writer", 4)
    places = [row[0] for row in rows]
    if len(set(places)) != len(places):
        fields.fail("'by_writer' has the same writer twice")
    if rows and not 0 <= min(places) <= max(places) < len(writers):
        fields.fail("'by_writer' has a writer that there is not")
    return {writers[place]: Share(count, total_ns, self_ns) for place, count, total_ns, self_ns in rows}


def wakers_from(fields: Fields, writers: Sequence[str]) -> dict[Waker, Wakes]:
    """Return who let calls of the node in `fields` go on."""
    wakers: dict[Waker, Wakes] = {}
    for value in fields.list("woken_by"):
        entry = Fields(value, f"{fields.where}: 'woken_by'")
        waker = Waker(
            channel=entry.text("channel"),
            writer=entry.chosen("writer", writers),
            by=entry.chosen("by", writers),
            path=entry.text("path"),
        )
        if waker in wakers:
            entry.fail("the same waker is there twice")
        wakers[waker] = Wakes(entry.whole("count"), entry.whole("waited_ns"), entry.whole("handover_ns"))
    return wakers
