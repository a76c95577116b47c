"""Requests: a section for each, in the client and in the server, with few different names."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from contextlib import suppress
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any, Self

from ticktree.recorder import OWN, Calling, Watch
from ticktree.recorder.site import NO_SITE, Site, site_of
from ticktree.remote import trace_context
from ticktree.remote.server_timing import format_header, make_report, parse_header

if TYPE_CHECKING:
    from ticktree.recorder import Recorder, Section

# How many names with paths one process may have. Every name is a node, with its percentiles.
PATHS_AT_MOST = 64
# The same, with the names of hosts alone, which later requests get.
NAMES_AT_MOST = 128
_KEPT_AT_MOST = 1024

_METHODS = frozenset(
    ("GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH", "QUERY")
)
# A number, or an identifier: hexadecimal numbers (UUIDs too), long texts.
_IDENTIFIER = re.compile(r"[0-9]+|(?=[^/]*[0-9])[0-9a-fA-F-]{8,}|.{33,}")


class Names:
    """The names of one kind of requests: method, host and path, without what differs between requests.

    A segment of the path that is a number, a hash or longer than 32 characters becomes `{}`; the query is left out.
    After 64 paths, names have only the method and the host; after 128 names, only the method.
    """

    def __init__(self) -> None:
        self._names_in_use: set[str] = set()
        self._names_by_request: dict[tuple[str, str, str], str] = {}

    def of(self, method: str, host: str, path: str) -> str:
        """Return the name of a request; the host, with its port, is "" in the server."""
        key = (method, host, path)
        name = self._names_by_request.get(key)
        if name is None:
            name = self._new(method, host, path)
            if len(self._names_by_request) < _KEPT_AT_MOST:
                self._names_by_request[key] = name
        return name

    def _new(self, method: str, host: str, path: str) -> str:
        method = method.upper()
        method = method if method in _METHODS else "(other method)"
        full = f"{method} {host[:64]}{_shape(path)}"
        for name, room in ((full, PATHS_AT_MOST), (f"{method} {host[:64]}/...", NAMES_AT_MOST)):
            if name in self._names_in_use or len(self._names_in_use) < room:
                self._names_in_use.add(name)
                return name
        return f"{method} (other hosts)"


def _shape(path: str) -> str:
    path = path.partition("?")[0].partition("#")[0]
    segments = ("{}" if _IDENTIFIER.fullmatch(segment) else segment for segment in path.split("/"))
    return "/".join(segments)[:128]


class _Sections:
    """The sections of one kind of requests, by name."""

    def __init__(self, recorder: Recorder, site: Site, *, wait: bool) -> None:
        self.recorder = recorder
        self._site = site
        self._wait = wait
        self._sections: dict[str, Section] = {}
        self._names = Names()

    def named(self, name: str) -> Section:
        """Return the section with this name, for the work on a request."""
        section = self._sections.get(name)
        if section is None:
            section = self.recorder.timed_section(name, self._site, wait=self._wait)
            section = self._sections.setdefault(name, section)
        return section


class Requests(_Sections):
    """The requests that one application serves; their call site is its definition."""

    def __init__(self, application: object) -> None:
        super().__init__(OWN, _definition(application), wait=False)

    def name(self, method: str, path: str) -> str:
        """Return the name of a request: one of few, however many paths there are."""
        return self._names.of(method, "", path)


class Served:
    """A request that is being served: a context in the innermost open section, which was just entered.

    Work after the context does not count for the request.

    Args:
        recorder: The recorder.
        name: The request's name.
        queued_ns: How long it waited in this program before; None if unknown.
        context: The trace that it belongs to.
    """

    __slots__ = ("_context", "_name", "_queued_ns", "_trace", "_var", "_watch", "_watch_var")

    def __init__(
        self,
        recorder: Recorder,
        name: str,
        queued_ns: int | None = None,
        context: trace_context.TraceContext | None = None,
    ) -> None:
        self._name = name
        self._queued_ns = queued_ns
        self._context = context
        self._watch_var = recorder.watch_var
        self._watch: Watch | None = Watch(recorder)
        if not self._watch.begin() or self._watch.in_call:
            self._watch = None  # the caller is this thread's own client, which records everything

    def reenter(self) -> Self:
        """Return the context for another section, after it was left: work there counts for the request too."""
        if self._watch is not None:
            self._watch.begin()
        return self

    def __enter__(self) -> Self:
        self._var = self._watch_var.set(self._watch)
        self._trace = trace_context.incoming.set(self._context) if self._context is not None else None
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(
            ValueError
        ):  # left in another context than it was entered in; that context ends by itself
            self._watch_var.reset(self._var)
            if self._trace is not None:
                trace_context.incoming.reset(self._trace)

    def server_timing(self) -> str | None:
        """Return its `Server-Timing`, up to now or up to its end; None if nothing was recorded."""
        if self._watch is None:
            return None
        return format_header(make_report(self._name, self._watch, self._queued_ns))


def elapsed_ns(began_ns: int | None) -> int | None:
    """Return the nanoseconds since a reading of `perf_counter_ns`; None for None."""
    return None if began_ns is None else max(0, perf_counter_ns() - began_ns)


def _definition(application: object) -> Site:
    function: Callable[..., Any] | None = None
    if callable(application):
        function = application if hasattr(application, "__code__") else type(application).__call__
    return site_of(function) if function is not None else NO_SITE


SERVER = "server"
NETWORK = "network"
# A server without ticktree may report its total under this name, as many do.
_TOTAL = "total"


class LibraryCalls(_Sections):
    """The calls of one library; their call site is the definition of the function that makes them."""

    def __init__(self, recorder: Recorder, function: Callable[..., Any]) -> None:
        super().__init__(recorder, site_of(function), wait=True)

    def section(self, method: str, host: str, path: str) -> Section:
        """Return the section of a call."""
        return self.named(self._names.of(method, host, path))


class RemoteCall:
    """The call that the innermost open section makes."""

    __slots__ = ("_calling", "_fits", "_has_server", "_recorder")

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._calling = Calling(recorder)
        self._has_server = False
        self._fits = True

    def add_server_timings(self, timings: Iterable[str | None]) -> None:
        """Add what servers report as rows below the call, and the rest as the network's.

        Args:
            timings: The `Server-Timing` of each answer; a redirected call has several.
        """
        for value in timings:
            if value is None or not self._add_server_timing(value):
                self._fits = False  # part of the time belongs to a server that does not report it
        if self._has_server and self._fits:
            self._calling.rest(NETWORK)

    def _add_server_timing(self, value: str) -> bool:
        """Return whether the header has the server's total time, and the call took at least as long."""
        header = parse_header(value)
        if header.unreadable:
            _count(self._recorder, "Server-Timing/unreadable metrics", header.unreadable)
        total_ns = next((ns for name, ns in header.foreign if name == _TOTAL), None)
        others = [(1, name, ns, ns) for name, ns in header.foreign if name != _TOTAL]
        if header.report is not None:
            return self._graft_server(header.report.total_ns, [*header.report.rows, *others])
        if total_ns is not None:
            return self._graft_server(total_ns, others)
        for _, name, ns, _ in others:
            self._calling.graft(name, ns, concurrent=True)
        return False

    def _graft_server(self, total_ns: int, rows: Iterable[tuple[int, str, int, int]]) -> bool:
        fits = self._calling.graft(SERVER, total_ns, rows)
        self._has_server = self._has_server or fits
        if not fits and self._recorder.recording:
            _count(self._recorder, "Server-Timing/longer than the call", 1)
        return fits


_counts: dict[str, int] = {}


def _count(recorder: Recorder, name: str, count: int) -> None:
    _counts[name] = _counts.get(name, 0) + count
    recorder.gauge(name, _counts[name])
