"""The `Server-Timing` header, as the W3C's Server Timing describes it: written for reports, read from anybody.

A metric is a name (a token) with parameters, of which `dur` is in milliseconds and `desc` is for people; others are to
be ignored by readers that do not know them. A report is one metric `total` with the parameter `ticktree=1`,
then one metric per row, in order, with its depth:

    total;dur=12.4;desc="POST /step";ticktree=1, queue;dur=0.3;d=1, simulate;dur=8.1;d=1, collide;dur=2.5;d=2

so that the developer tools of a browser show it as they show any. A row's `c` is its concurrent time, `n` how many
places the row of the rest combines.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import quote, unquote

if TYPE_CHECKING:
    from ticktree.recorder import Watch


class Row(NamedTuple):
    """One place, a section, in a server's subtree of one request; its calls of this request taken together."""

    depth: int  # 1 right below the request
    name: str
    total_ns: int
    concurrent_ns: int = (
        0  # what does not count against the row around it, because something else ran meanwhile
    )


class Report(NamedTuple):
    """What a server says of one request."""

    name: str  # what the server calls it: `POST /step`
    total_ns: int  # from when it knew of the request until it reported, by its own clock
    rows: tuple[Row, ...] = ()  # below it, parents first


def report_of(name: str, watch: Watch, queued_ns: int | None = None) -> Report:
    """Return what has been recorded of one request; `queued_ns` is how long it waited, where that is known."""
    rows = _arranged(watch.rows())
    if queued_ns is None:
        return Report(name, watch.total_ns, rows)
    return Report(name, watch.total_ns + queued_ns, (Row(1, QUEUE, queued_ns), *rows))


# The rows that are ticktree's own. A client shows them under the names that they have here.
QUEUE = "queue"
OTHERS = "others"


def _arranged(found: Iterable[tuple[int, int, str, int, int]]) -> tuple[Row, ...]:
    """Put rows in order, parents first, those of one name in one place merged: each thread has own nodes."""
    below: dict[int, list[tuple[int, str, int, int]]] = {}
    nodes = set()
    for node, around, name, total_ns, concurrent_ns in found:
        nodes.add(node)
        below.setdefault(around, []).append((node, name, total_ns, concurrent_ns))
    rows: list[Row] = []
    # Not by recursion: trees are deep. What is to come next is last.
    waiting = _together(1, [around for around in below if around not in nodes], below)
    while waiting:
        row, members = waiting.pop()
        rows.append(row)
        waiting += _together(row.depth + 1, members, below)
    return tuple(rows)


def _together(
    depth: int, around: Iterable[int], below: dict[int, list[tuple[int, str, int, int]]]
) -> list[tuple[Row, list[int]]]:
    """Return the rows below several nodes, one per name, each with its nodes; the last name first."""
    sums: dict[str, tuple[list[int], int, int]] = {}
    for above in around:
        for node, name, total_ns, concurrent_ns in below.get(above, ()):
            members, so_far_ns, overlap_ns = sums.get(name, ([], 0, 0))
            sums[name] = ([*members, node], so_far_ns + total_ns, overlap_ns + concurrent_ns)
    rows = [(Row(depth, name, ns, overlap_ns), members) for name, (members, ns, overlap_ns) in sums.items()]
    return rows[::-1]


HEADER = "Server-Timing"
METADATA_KEY = HEADER.lower()  # of gRPC's trailing metadata, which takes no capitals
# What a report's header may have at most. Servers and proxies take 4 to 8 KiB for all headers together.
BYTES_AT_MOST = 2048
NAME_AT_MOST = 64
# What is read of a header from outside.
READ_AT_MOST = 4096
METRICS_AT_MOST = 128

_MARK = "ticktree"
_TOKEN = r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+"
_NO_TOKEN = re.compile(r"[^!#$%&'*+\-.^_`|~0-9A-Za-z]+")
# What stands in a quoted string as it is. All else is percent-encoded, "%" too.
_SAFE = " !#$&'()*+,-./:;<=>?@[]^_`{|}~"
_NO_PLAIN = re.compile(rf"[^{re.escape(_SAFE)}0-9A-Za-z]")
_QUOTED = r'"(?:[^"\\]|\\.)*"'
_BLANK = r"[ \t]*"
_PARAMETER = re.compile(rf"{_BLANK};{_BLANK}({_TOKEN})(?:{_BLANK}={_BLANK}({_TOKEN}|{_QUOTED}))?")
_NAME = re.compile(rf"{_BLANK}({_TOKEN})")
_END = re.compile(rf"{_BLANK}(?:,|$)")
_MS = 1_000_000
_NUMBER = re.compile(r"[0-9]{1,15}(?:\.[0-9]{1,15})?")


class Metric(NamedTuple):
    """One metric of a header."""

    name: str  # a token
    parameters: dict[str, str]  # the first of each name counts

    @property
    def ns(self) -> int | None:
        """Its duration; None where it has none that is one."""
        return _ns(self.parameters.get("dur"))


class Heard(NamedTuple):
    """What a header reports."""

    report: Report | None  # of a server under ticktree
    foreign: tuple[tuple[str, int], ...]  # durations that anybody else reported, by the metrics' names
    unreadable: int  # how many metrics were none


def written(report: Report, at_most: int = BYTES_AT_MOST) -> str:
    """Return a report as the value of a header of this length at most.

    Of what is too long the longest rows are kept; those that are not, are summed up in a row of the rest, under the
    row that they were in.
    """
    head = f"total;dur={_ms(report.total_ns)}{_desc(report.name)};{_MARK}=1"
    metrics = [_metric(row) for row in report.rows]
    if len(head) + sum(len(metric) + 2 for metric in metrics) <= at_most:
        return ", ".join((head, *metrics))
    kept = len(report.rows)
    while kept:  # a few times: each try halves what is left over
        kept = kept * 3 // 4
        text = ", ".join((head, *(_metric(*row) for row in _cut(report.rows, kept))))
        if len(text) <= at_most:
            return text
    return head if len(head) <= at_most else f"total;dur={_ms(report.total_ns)};{_MARK}=1"


def _cut(rows: tuple[Row, ...], keep: int) -> Iterator[tuple[Row, int]]:
    """Keep the longest rows, and what they are in; sum up the others under the row that they were in."""
    by_time = sorted(range(len(rows)), key=lambda at: (-rows[at].total_ns, at))
    longest = set(by_time[:keep])
    kept = _with_parents(rows, longest)
    rest: list[tuple[int, int, int]] = [(0, 0, 0)]  # by depth of the row around: how many, ns, concurrent ns
    left_out = 0  # depth of the row that is left out, with all below it
    for at, row in enumerate(rows):
        if left_out and row.depth > left_out:
            continue
        left_out = 0
        yield from _rests(rest, row.depth)
        if at in kept:
            rest.append((0, 0, 0))
            yield row, 0
        else:
            left_out = row.depth
            count, total_ns, concurrent_ns = rest[-1]
            rest[-1] = (count + 1, total_ns + row.total_ns, concurrent_ns + row.concurrent_ns)
    yield from _rests(rest, 0)


def _rests(rest: list[tuple[int, int, int]], depth: int) -> Iterator[tuple[Row, int]]:
    """Close the rows that are open at this depth and deeper."""
    while len(rest) > depth:
        count, total_ns, concurrent_ns = rest.pop()
        if count:
            yield Row(len(rest) + 1, OTHERS, total_ns, concurrent_ns), count


def _with_parents(rows: tuple[Row, ...], chosen: set[int]) -> set[int]:
    kept = set()
    around: list[int] = []
    for at, row in enumerate(rows):
        del around[row.depth - 1 :]
        around.append(at)
        if at in chosen:
            kept.update(around)
    return kept


def _metric(row: Row, count: int = 0) -> str:
    name = row.name[:NAME_AT_MOST]
    token = _NO_TOKEN.sub("-", name).strip("-") or "-"
    text = f"{token};dur={_ms(row.total_ns)};d={row.depth}"
    if token != name:
        text += _desc(name)
    if row.concurrent_ns > 0:
        text += f";c={_ms(row.concurrent_ns)}"
    return f"{text};n={count}" if count else text


def _desc(name: str) -> str:
    """Return a name as a quoted string: a header has no other letters than ASCII's."""
    name = name[:NAME_AT_MOST]
    if _NO_PLAIN.search(name):
        name = quote(name, safe=_SAFE, errors="backslashreplace")
    return f';desc="{name}"'


def _ms(ns: int) -> str:
    return f"{ns // _MS}.{ns % _MS:06d}".rstrip("0").rstrip(".")


def _ns(text: str | None) -> int | None:
    """Return a duration; None where it is none, or longer than a century."""
    if text is None or not _NUMBER.fullmatch(text):
        return None
    whole, _, part = text.partition(".")
    ns = _joined(whole, part[:6])
    return ns if ns < 1 << 62 else None


def metrics_of(value: str) -> tuple[list[Metric], int]:
    """Return a header's metrics, and how many more there were that are none."""
    metrics: list[Metric] = []
    text = value[:READ_AT_MOST]
    unreadable = int(len(value) > READ_AT_MOST)
    at = 0
    while at < len(text):
        if len(metrics) + unreadable >= METRICS_AT_MOST:
            return metrics, unreadable + 1
        metric, end = _metric_at(text, at)
        if metric is not None:
            metrics.append(metric)
        elif text[at:end].strip(" \t,"):
            unreadable += 1
        at = end
    return metrics, unreadable


def _metric_at(text: str, at: int) -> tuple[Metric | None, int]:
    """Return the metric that begins here, None where there is none, and where the next begins."""
    name = _NAME.match(text, at)
    if name is None:
        return None, _next(text, at)
    parameters: dict[str, str] = {}
    here = name.end()
    while found := _PARAMETER.match(text, here):
        value = found[2] or ""
        if value.startswith('"'):
            value = re.sub(r"\\(.)", r"\1", value[1:-1], flags=re.DOTALL)
        parameters.setdefault(found[1].lower(), value)
        here = found.end()
    end = _END.match(text, here)
    if end is None:
        return None, _next(text, here)
    return Metric(name[1], parameters), end.end()


def _next(text: str, at: int) -> int:
    """Return where to read on after what is no metric."""
    return text.find(",", at) + 1 or len(text)


def heard(value: str) -> Heard:
    """Return what a header says; nothing that it may hold raises."""
    report = _as_written(value)
    return Heard(report, (), 0) if report is not None else _as_found(value)


# A header just as `written` writes it, as most are: several times as fast to read as by the standard's own grammar.
_DURATION = r"([0-9]{1,12})(?:\.([0-9]{1,6}))?"
_PLAIN = r'"([^"\\]*)"'
_HEAD = re.compile(rf"total;dur={_DURATION}(?:;desc={_PLAIN})?;{_MARK}=1(?:, |$)")
_ROW = re.compile(
    rf"({_TOKEN});dur={_DURATION};d=([1-9][0-9]?)(?:;desc={_PLAIN})?(?:;c={_DURATION})?(?:;n=[0-9]{{1,6}})?(?:, |$)"
)


def _as_written(value: str) -> Report | None:
    """Return the report of a header that holds nothing else; None where it does, or is not just so."""
    head = _HEAD.match(value) if len(value) <= READ_AT_MOST else None
    if head is None:
        return None
    at, depth = head.end(), 0
    rows: list[Row] = []
    while at < len(value):
        found = _ROW.match(value, at)
        if found is None:
            return None
        token, ms, part, deep, desc, overlap_ms, overlap_part = found.groups()
        if int(deep) > depth + 1 or len(rows) >= METRICS_AT_MOST:
            return None
        depth, ns = int(deep), _joined(ms, part)
        concurrent_ns = min(_joined(overlap_ms, overlap_part), ns) if overlap_ms else 0
        rows.append(Row(depth, token if desc is None else _unquoted(desc), ns, concurrent_ns))
        at = found.end()
    ms, part, desc = head.groups()
    return Report("total" if desc is None else _unquoted(desc), _joined(ms, part), tuple(rows))


def _joined(ms: str, part: str | None) -> int:
    return int(ms) * _MS + (int(part.ljust(6, "0")) if part else 0)


def _unquoted(text: str) -> str:
    return unquote(text, errors="replace") if "%" in text else text


def _as_found(value: str) -> Heard:
    metrics, unreadable = metrics_of(value)
    head: Metric | None = None
    rows: list[Row] = []
    foreign: list[tuple[str, int]] = []
    for metric in metrics:
        if head is None and metric.parameters.get(_MARK) == "1":
            head = metric
        elif head is not None and (row := _row(metric, rows[-1].depth if rows else 0)) is not None:
            rows.append(row)
        elif head is not None and "d" in metric.parameters:
            unreadable += 1
        elif metric.ns is not None:
            foreign.append((metric.name, metric.ns))
    if head is None:
        return Heard(None, tuple(foreign), unreadable)
    if head.ns is None:
        return Heard(None, tuple(foreign), unreadable + 1)
    return Heard(Report(_title(head), head.ns, tuple(rows)), tuple(foreign), unreadable)


def _row(metric: Metric, depth_before: int) -> Row | None:
    """Return the row of a metric, after one of `depth_before`; None where it has none."""
    ns, depth = metric.ns, metric.parameters.get("d", "")
    if ns is None or not re.fullmatch(r"[1-9][0-9]{0,2}", depth) or int(depth) > depth_before + 1:
        return None
    return Row(int(depth), _title(metric), ns, min(_ns(metric.parameters.get("c")) or 0, ns))


def _title(metric: Metric) -> str:
    description = metric.parameters.get("desc")
    return metric.name if description is None else _unquoted(description)
