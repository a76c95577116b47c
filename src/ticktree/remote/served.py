"""The server's side: a section around each request, and what is said of it to who asked."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any

from ticktree.recorder import OWN, Watch
from ticktree.recorder.site import NO_SITE, Site, site_of
from ticktree.remote import trace_context
from ticktree.remote.names import Names
from ticktree.remote.report import report_of
from ticktree.remote.server_timing import written

if TYPE_CHECKING:
    from ticktree.recorder import Recorder, Section


class Requests:
    """The requests that one application serves.

    Args:
        application: What serves them: where it is defined, is what their rows show.
        recorder: What records; the program's own.
    """

    def __init__(self, application: object, recorder: Recorder = OWN) -> None:
        self.recorder = recorder
        self._site = _definition(application)
        self._sections: dict[str, Section] = {}
        self._names = Names()

    def name(self, method: str, path: str) -> str:
        """Return what a request is called: there are few names, whatever paths there are."""
        return self._names.of(method, "", path)

    def section(self, name: str) -> Section:
        """Return the section of a name, to be entered around what is done for a request."""
        section = self._sections.get(name)
        if section is None:
            section = self.recorder.timed_section(name, self._site)
            section = self._sections.setdefault(name, section)
        return section


class Served:
    """A request that is being served, in the innermost open section.

    Args:
        recorder: What records.
        name: What the request is called.
        queued_ns: How long it waited in this program before; None where that is not known.
        context: The trace that it belongs to.
    """

    __slots__ = ("_context", "_name", "_queued_ns", "_trace", "_var", "_watch")

    def __init__(
        self,
        recorder: Recorder,
        name: str,
        queued_ns: int | None = None,
        context: trace_context.Context | None = None,
    ) -> None:
        self._name = name
        self._queued_ns = queued_ns
        self._context = context
        self._watch: Watch | None = Watch(recorder)
        if not self._watch.begin() or self._watch.in_call:
            self._watch = None  # who asked is right above, and sees it all
        self._let_know(recorder.watch_var)

    def _let_know(self, watch_var: ContextVar[Watch | None]) -> None:
        self._var = watch_var.set(self._watch)
        self._trace = trace_context.incoming.set(self._context) if self._context is not None else None

    def again(self) -> None:
        """In another section, after `over` and until it is over again: what is done there is done for it too."""
        if self._watch is not None:
            self._watch.begin()
        self._let_know(self._var.var)

    def said(self) -> str | None:
        """Return what is said of it: up to now, or up to its end. None: nothing is known."""
        if self._watch is None:
            return None
        return written(report_of(self._name, self._watch, self._queued_ns))

    def over(self) -> None:
        """In the context that it began in: what follows there is not done for it."""
        try:
            self._var.var.reset(self._var)
            if self._trace is not None:
                trace_context.incoming.reset(self._trace)
        except ValueError:
            return  # another context: it ends by itself


def since(began_ns: int | None) -> int | None:
    """Return how long ago that was, of `perf_counter_ns`; None of None."""
    return None if began_ns is None else max(0, perf_counter_ns() - began_ns)


def _definition(application: object) -> Site:
    function: Callable[..., Any] | None = None
    if callable(application):
        function = application if hasattr(application, "__code__") else type(application).__call__
    return site_of(function) if function is not None else NO_SITE
