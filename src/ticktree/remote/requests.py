"""Requests: a section around each, on the side of the client and on that of the server, under few names."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from contextlib import suppress
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any, Self

from ticktree.recorder import OWN, Calling, Watch
from ticktree.recorder.site import NO_SITE, Site, site_of
from ticktree.remote import trace_context
from ticktree.remote.server_timing import heard, report_of, written

if TYPE_CHECKING:
    from ticktree.recorder import Recorder, Section

# Names with paths, of one process. Every name is a node, with its percentiles.
PATHS_AT_MOST = 64
# With the names of hosts alone, which those get that come after.
NAMES_AT_MOST = 128
_KEPT_AT_MOST = 1024

_METHODS = frozenset(
    ("GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH", "QUERY")
)
# A number, or what is made to be found in no list of names: numbers of 16 digits (UUIDs too), long texts.
_CHOSEN = re.compile(r"[0-9]+|(?=[^/]*[0-9])[0-9a-fA-F-]{8,}|.{33,}")


class Names:
    """The names of one kind of requests: method, host and path, without what is different in each.

    Of a path, a segment that is a number, a hash or longer than 32 characters is written `{}`; what comes after `?` is
    left out. After 64 paths, further ones are only called by their host; after that, by nothing but the method.
    """

    def __init__(self) -> None:
        self._known: set[str] = set()
        self._named: dict[tuple[str, str, str], str] = {}

    def of(self, method: str, host: str, path: str) -> str:
        """Return what a request is called; the host, with its port, is "" on the server's side."""
        key = (method, host, path)
        name = self._named.get(key)
        if name is None:
            name = self._new(method, host, path)
            if len(self._named) < _KEPT_AT_MOST:
                self._named[key] = name
        return name

    def _new(self, method: str, host: str, path: str) -> str:
        method = method.upper()
        method = method if method in _METHODS else "(other method)"
        full = f"{method} {host[:64]}{_shape(path)}"
        for name, room in ((full, PATHS_AT_MOST), (f"{method} {host[:64]}/...", NAMES_AT_MOST)):
            if name in self._known or len(self._known) < room:
                self._known.add(name)
                return name
        return f"{method} (other hosts)"


def _shape(path: str) -> str:
    path = path.partition("?")[0].partition("#")[0]
    segments = ("{}" if _CHOSEN.fullmatch(segment) else segment for segment in path.split("/"))
    return "/".join(segments)[:128]


class _Sections:
    """The sections of one kind of requests, of which there are few."""

    def __init__(self, recorder: Recorder, site: Site, *, wait: bool) -> None:
        self.recorder = recorder
        self._site = site
        self._wait = wait
        self._sections: dict[str, Section] = {}
        self._names = Names()

    def named(self, name: str) -> Section:
        """Return the section of a name, to be entered around what is done for a request."""
        section = self._sections.get(name)
        if section is None:
            section = self.recorder.timed_section(name, self._site, wait=self._wait)
            section = self._sections.setdefault(name, section)
        return section


class Requests(_Sections):
    """The requests that one application serves: where it is defined, is what their rows show."""

    def __init__(self, application: object) -> None:
        super().__init__(OWN, _definition(application), wait=False)

    def name(self, method: str, path: str) -> str:
        """Return what a request is called: there are few names, whatever paths there are."""
        return self._names.of(method, "", path)


class Served:
    """A request that is being served: a context in the innermost open section, which is just open.

    What follows the context is not done for the request.

    Args:
        recorder: What records.
        name: What the request is called.
        queued_ns: How long it waited in this program before; None where that is not known.
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
            self._watch = None  # the client is right above, and records it all

    def again(self) -> Self:
        """Return the context for another section, after it was left: what is done there is done for it too."""
        if self._watch is not None:
            self._watch.begin()
        return self

    def __enter__(self) -> Self:
        self._var = self._watch_var.set(self._watch)
        self._trace = trace_context.incoming.set(self._context) if self._context is not None else None
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(ValueError):  # left in another context than it was entered in, which ends by itself
            self._watch_var.reset(self._var)
            if self._trace is not None:
                trace_context.incoming.reset(self._trace)

    def server_timing(self) -> str | None:
        """Return its `Server-Timing`: up to now, or up to its end. None: nothing is known."""
        if self._watch is None:
            return None
        return written(report_of(self._name, self._watch, self._queued_ns))


def since(began_ns: int | None) -> int | None:
    """Return how long ago that was, of `perf_counter_ns`; None of None."""
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
    """The calls of one library: where the function that makes them is defined, is what their rows show."""

    def __init__(self, recorder: Recorder, function: Callable[..., Any]) -> None:
        super().__init__(recorder, site_of(function), wait=True)

    def section(self, method: str, host: str, path: str) -> Section:
        """Return the section of a call, to be entered around it."""
        return self.named(self._names.of(method, host, path))


class RemoteCall:
    """A call that is being made: of the innermost open section."""

    __slots__ = ("_calling", "_fits", "_has_server", "_recorder")

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._calling = Calling(recorder)
        self._has_server = False
        self._fits = True

    def answered(self, timings: Iterable[str | None]) -> None:
        """Puts what servers report of the call under it, and the rest as the network's.

        Args:
            timings: The `Server-Timing` of each answer: of a call that was redirected there are several.
        """
        for value in timings:
            if value is None or not self._hear(value):
                self._fits = False  # some of the time is of a server that does not report it
        if self._has_server and self._fits:
            self._calling.rest(NETWORK)

    def _hear(self, value: str) -> bool:
        """Whether it is known what that server took, and the call was at least as long."""
        says = heard(value)
        if says.unreadable:
            _count(self._recorder, "Server-Timing/unreadable metrics", says.unreadable)
        total_ns = next((ns for name, ns in says.foreign if name == _TOTAL), None)
        others = [(1, name, ns, ns) for name, ns in says.foreign if name != _TOTAL]
        if says.report is not None:
            return self._put(says.report.total_ns, [*says.report.rows, *others])
        if total_ns is not None:
            return self._put(total_ns, others)
        for _, name, ns, _ in others:
            self._calling.graft(name, ns, concurrent=True)
        return False

    def _put(self, total_ns: int, rows: Iterable[tuple[int, str, int, int]]) -> bool:
        fits = self._calling.graft(SERVER, total_ns, rows)
        self._has_server = self._has_server or fits
        if not fits and self._recorder.recording:
            _count(self._recorder, "Server-Timing/longer than the call", 1)
        return fits


_counts: dict[str, int] = {}


def _count(recorder: Recorder, what: str, more: int) -> None:
    _counts[what] = _counts.get(what, 0) + more
    recorder.gauge(what, _counts[what])
