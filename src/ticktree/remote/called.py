"""The client's side: a section around each call, and below it what the server says of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from ticktree.recorder import Calling
from ticktree.recorder.site import site_of
from ticktree.remote.names import Names
from ticktree.remote.server_timing import heard

if TYPE_CHECKING:
    from ticktree.recorder import Recorder, Section

SERVER = "server"
NETWORK = "network"
# A server that is none of ours may say how long it took in all under this name, as many do.
_TOTAL = "total"


class LibraryCalls:
    """The calls of one library.

    Args:
        recorder: What records.
        function: The library's function that makes a call: where its definition is, is what its rows show.
    """

    def __init__(self, recorder: Recorder, function: Callable[..., Any]) -> None:
        self.recorder = recorder
        self._site = site_of(function)
        self._sections: dict[str, Section] = {}
        self._names = Names()

    def section(self, method: str, host: str, path: str) -> Section:
        """Return the section of a call, to be entered around it."""
        return self.named(self._names.of(method, host, path))

    def named(self, name: str) -> Section:
        """Return the section of a name, of which there must not be many."""
        section = self._sections.get(name)
        if section is None:
            section = self.recorder.timed_section(name, self._site, wait=True)
            section = self._sections.setdefault(name, section)
        return section


class RemoteCall:
    """A call that is being made: of the innermost open section."""

    __slots__ = ("_calling", "_fits", "_recorder", "_told")

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._calling = Calling(recorder)
        self._told = False
        self._fits = True

    def answered(self, said: Iterable[str | None]) -> None:
        """Puts what servers said of the call under it, and what is left as the network's.

        Args:
            said: The `Server-Timing` of each answer: of a call that was redirected there are several.
        """
        for value in said:
            if value is None or not self._hear(value):
                self._fits = False  # some of the time is of a server that does not say how much
        if self._told and self._fits:
            self._calling.rest(NETWORK)

    def _hear(self, value: str) -> bool:
        """Whether it is known what that server took, and the call was at least as long."""
        says = heard(value)
        if says.unreadable:
            _count(self._recorder, "Server-Timing/unreadable metrics", says.unreadable)
        fits = False
        report = says.report
        total_ns = next((ns for name, ns in says.foreign if name == _TOTAL), None)
        beside = [(1, name, ns, ns) for name, ns in says.foreign if name != _TOTAL]
        if report is not None and report.total_ns is not None:
            fits = self._put(report.total_ns, [*report.rows, *beside])
        elif total_ns is not None:
            fits = self._put(total_ns, beside)
        else:
            for _, name, ns, _ in beside:
                self._calling.graft(name, ns, beside=True)
        return fits

    def _put(self, total_ns: int, rows: Iterable[tuple[int, str, int, int]]) -> bool:
        fits = self._calling.graft(SERVER, total_ns, rows)
        self._told = self._told or fits
        if not fits and self._recorder.recording:
            _count(self._recorder, "Server-Timing/longer than the call", 1)
        return fits


_counts: dict[str, int] = {}


def _count(recorder: Recorder, what: str, more: int) -> None:
    _counts[what] = _counts.get(what, 0) + more
    recorder.gauge(what, _counts[what])
