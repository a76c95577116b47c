"""The `Server-Timing` header of the W3C: written for a report, and read from any server.

A metric is a name (a token) with parameters: `dur` is in milliseconds, `desc` is for people, and readers ignore those
that they do not know. A report is one metric `total` with the parameter `ticktree=1`, then one metric per row, in
order, with its depth:

    total;dur=12.4;desc="POST /step";ticktree=1, queue;dur=0.3;d=1, simulate;dur=8.1;d=1, collide;dur=2.5;d=2

so that the developer tools of a browser show it like any other. A row's `c` is its concurrent time; `n` is how many
rows the row `others` combines.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import quote, unquote

if TYPE_CHECKING:
    from ticktree.recorder import Watch


class Row(NamedTuple):
    """A section in a server's subtree of one request: the sum of its calls of this request."""

    depth: int  # 1 right below the request
    name: str
    total_ns: int
    concurrent_ns: int = (
        0  # what does not count against the row around it, because something else ran meanwhile
    )


class Report(NamedTuple):
    """What a server reports of one request."""

    name: str  # what the server calls it: `POST /step`
    total_ns: int  # from when it knew of the request until it reported, by its own clock
    rows: tuple[Row, ...] = ()  # below it, parents first


def make_report(name: str, watch: Watch, queued_ns: int | None = None) -> Report:
    """Return what has been recorded of one request; `queued_ns` is how long it waited, where that is known."""
    rows = _order_rows(watch.rows())
    if queued_ns is None:
        return Report(name, watch.total_ns, rows)
    return Report(name, watch.total_ns + queued_ns, (Row(1, QUEUE, queued_ns), *rows))


# The names of rows that ticktree adds, as clients show them.
QUEUE = "queue"
OTHERS = "others"


def _order_rows(nodes: Iterable[tuple[int, int, str, int, int]]) -> tuple[Row, ...]:
    """Return rows in order, parents first; rows with the same path are merged: each thread has its own nodes."""
    below: dict[int, list[tuple[int, str, int, int]]] = {}
    ids = set()
    for node, around, name, total_ns, concurrent_ns in nodes:
        ids.add(node)
        below.setdefault(around, []).append((node, name, total_ns, concurrent_ns))
    rows: list[Row] = []
    # A stack instead of recursion, because trees are deep.
    pending = _merge_rows(1, [around for around in below if around not in ids], below)
    while pending:
        row, members = pending.pop()
        rows.append(row)
        pending += _merge_rows(row.depth + 1, members, below)
    return tuple(rows)


def _merge_rows(
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
# The longest header. Servers and proxies accept 4 to 8 KiB for all headers together.
BYTES_AT_MOST = 2048
NAME_AT_MOST = 64
# How much of a received header is read.
READ_AT_MOST = 4096
METRICS_AT_MOST = 128

_MARK = "ticktree"
_TOKEN = r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+"
_NO_TOKEN = re.compile(r"[^!#$%&'*+\-.^_`|~0-9A-Za-z]+")
# The characters that are not percent-encoded in a quoted string.
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
        """Its duration; None if it has no valid one."""
        return _ns(self.parameters.get("dur"))


class ParsedHeader(NamedTuple):
    """What a header reports."""

    report: Report | None  # of a server under ticktree
    foreign: tuple[tuple[str, int], ...]  # durations that other servers reported, by the metrics' names
    unreadable: int  # how many metrics were not valid


def format_header(report: Report, at_most: int = BYTES_AT_MOST) -> str:
    """Return a report as the value of a header of this length at most.

    If it would be too long, it has only the longest rows, and the sums of the others in rows `others`.
    """
    head = f"total;dur={_ms(report.total_ns)}{_desc(report.name)};{_MARK}=1"
    metrics = [_metric(row) for row in report.rows]
    if len(head) + sum(len(metric) + 2 for metric in metrics) <= at_most:
        return ", ".join((head, *metrics))
    kept = len(report.rows)
    while kept:  # a few times: each try halves what is left over
        kept = kept * 3 // 4
        text = ", ".join((head, *(_metric(*row) for row in _shorten(report.rows, kept))))
        if len(text) <= at_most:
            return text
    return head if len(head) <= at_most else f"total;dur={_ms(report.total_ns)};{_MARK}=1"


def _shorten(rows: tuple[Row, ...], keep: int) -> Iterator[tuple[Row, int]]:
    """Keep the longest rows and their ancestors; sum the others below their parents."""
    by_time = sorted(range(len(rows)), key=lambda at: (-rows[at].total_ns, at))
    longest = set(by_time[:keep])
    kept = _with_parents(rows, longest)
    rest: list[tuple[int, int, int]] = [(0, 0, 0)]  # by depth of the row around: how many, ns, concurrent ns
    left_out = 0  # depth of the row that is left out, with all below it
    for at, row in enumerate(rows):
        if left_out and row.depth > left_out:
            continue
        left_out = 0
        yield from _close_rows(rest, row.depth)
        if at in kept:
            rest.append((0, 0, 0))
            yield row, 0
        else:
            left_out = row.depth
            count, total_ns, concurrent_ns = rest[-1]
            rest[-1] = (count + 1, total_ns + row.total_ns, concurrent_ns + row.concurrent_ns)
    yield from _close_rows(rest, 0)


def _close_rows(rest: list[tuple[int, int, int]], depth: int) -> Iterator[tuple[Row, int]]:
    """Yield the sums below the open rows at this depth and deeper, and close these."""
    while len(rest) > depth:
        count, total_ns, concurrent_ns = rest.pop()
        if count:
            yield Row(len(rest) + 1, OTHERS, total_ns, concurrent_ns), count


def _with_parents(rows: tuple[Row, ...], longest: set[int]) -> set[int]:
    kept = set()
    ancestors: list[int] = []
    for at, row in enumerate(rows):
        del ancestors[row.depth - 1 :]
        ancestors.append(at)
        if at in longest:
            kept.update(ancestors)
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
    """Return a name as a quoted string of ASCII characters."""
    name = name[:NAME_AT_MOST]
    if _NO_PLAIN.search(name):
        name = quote(name, safe=_SAFE, errors="backslashreplace")
    return f';desc="{name}"'


def _ms(ns: int) -> str:
    return f"{ns // _MS}.{ns % _MS:06d}".rstrip("0").rstrip(".")


def _ns(text: str | None) -> int | None:
    """Return a duration; None if it is not one, or longer than a century."""
    if text is None or not _NUMBER.fullmatch(text):
        return None
    ms, _, fraction = text.partition(".")
    ns = _to_ns(ms, fraction[:6])
    return ns if ns < 1 << 62 else None


def metrics_of(value: str) -> tuple[list[Metric], int]:
    """Return a header's metrics, and how many others were not valid."""
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
    """Return the metric that begins here, None if it is not valid, and where the next one begins."""
    name = _NAME.match(text, at)
    if name is None:
        return None, _next(text, at)
    parameters: dict[str, str] = {}
    position = name.end()
    while parameter := _PARAMETER.match(text, position):
        value = parameter[2] or ""
        if value.startswith('"'):
            value = re.sub(r"\\(.)", r"\1", value[1:-1], flags=re.DOTALL)
        parameters.setdefault(parameter[1].lower(), value)
        position = parameter.end()
    end = _END.match(text, position)
    if end is None:
        return None, _next(text, position)
    return Metric(name[1], parameters), end.end()


def _next(text: str, at: int) -> int:
    """Return where to continue after an invalid metric."""
    return text.find(",", at) + 1 or len(text)


def parse_header(value: str) -> ParsedHeader:
    """Return what a header reports. No content raises an error."""
    report = _parse_own(value)
    return ParsedHeader(report, (), 0) if report is not None else _parse_any(value)


# For headers exactly as `format_header` writes them, as most are: several times faster than the full grammar.
_DURATION = r"([0-9]{1,12})(?:\.([0-9]{1,6}))?"
_PLAIN = r'"([^"\\]*)"'
_HEAD = re.compile(rf"total;dur={_DURATION}(?:;desc={_PLAIN})?;{_MARK}=1(?:, |$)")
_ROW = re.compile(
    rf"({_TOKEN});dur={_DURATION};d=([1-9][0-9]?)(?:;desc={_PLAIN})?(?:;c={_DURATION})?(?:;n=[0-9]{{1,6}})?(?:, |$)"
)


def _parse_own(value: str) -> Report | None:
    """Return the report of a header that `format_header` wrote; None for other headers."""
    head = _HEAD.match(value) if len(value) <= READ_AT_MOST else None
    if head is None:
        return None
    at, depth = head.end(), 0
    rows: list[Row] = []
    while at < len(value):
        match = _ROW.match(value, at)
        if match is None:
            return None
        token, ms, part, deep, desc, overlap_ms, overlap_part = match.groups()
        if int(deep) > depth + 1 or len(rows) >= METRICS_AT_MOST:
            return None
        depth, ns = int(deep), _to_ns(ms, part)
        concurrent_ns = min(_to_ns(overlap_ms, overlap_part), ns) if overlap_ms else 0
        rows.append(Row(depth, token if desc is None else _unquoted(desc), ns, concurrent_ns))
        at = match.end()
    ms, part, desc = head.groups()
    return Report("total" if desc is None else _unquoted(desc), _to_ns(ms, part), tuple(rows))


def _to_ns(ms: str, part: str | None) -> int:
    return int(ms) * _MS + (int(part.ljust(6, "0")) if part else 0)


def _unquoted(text: str) -> str:
    return unquote(text, errors="replace") if "%" in text else text


def _parse_any(value: str) -> ParsedHeader:
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
        return ParsedHeader(None, tuple(foreign), unreadable)
    if head.ns is None:
        return ParsedHeader(None, tuple(foreign), unreadable + 1)
    return ParsedHeader(Report(_title(head), head.ns, tuple(rows)), tuple(foreign), unreadable)


def _row(metric: Metric, depth_before: int) -> Row | None:
    """Return the row of a metric that follows one of `depth_before`; None if it has none."""
    ns, depth = metric.ns, metric.parameters.get("d", "")
    if ns is None or not re.fullmatch(r"[1-9][0-9]{0,2}", depth) or int(depth) > depth_before + 1:
        return None
    return Row(int(depth), _title(metric), ns, min(_ns(metric.parameters.get("c")) or 0, ns))


def _title(metric: Metric) -> str:
    description = metric.parameters.get("desc")
    return metric.name if description is None else _unquoted(description)
