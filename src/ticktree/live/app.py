"""The app: keys, a clock, and a thread that reads. What is on the screen is decided elsewhere.

This is the only module that needs textual.
"""

from __future__ import annotations

import signal
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import ClassVar

from textual import events
from textual.app import App, ComposeResult
from textual.geometry import Size
from textual.strip import Strip
from textual.timer import Timer
from textual.widget import Widget

from ticktree.analysis.survey import Survey
from ticktree.live.columns import NS_PER_SECOND
from ticktree.live.frame import Now
from ticktree.live.keys import ACTIONS, Action
from ticktree.live.reading import Reading
from ticktree.live.recent import Recent, Span
from ticktree.live.screen import Picture, drawn
from ticktree.live.source import Source
from ticktree.live.steering import steered
from ticktree.live.view import View
from ticktree.profile import Profile

# Reading is to take at most a fifth of a core, and that at the lowest priority.
REST_PER_READING = 4


class Board(Widget):
    """The whole terminal, drawn line by line from a picture."""

    can_focus = True

    def __init__(self, redrawn: Callable[[int, int], Picture]) -> None:
        super().__init__()
        self._redrawn = redrawn
        self._picture: Picture | None = None

    def draw_again(self) -> None:
        """Something has changed."""
        self._picture = None
        self.refresh()

    def render_line(self, y: int) -> Strip:
        """Return one line of the terminal."""
        if self._picture is None or len(self._picture.lines) != self.size.height:
            self._picture = self._redrawn(self.size.width, self.size.height)
        lines = self._picture.lines
        if y >= len(lines):
            return Strip.blank(self.size.width)
        segments = [part for part in lines[y].render(self.app.console) if part.text]
        return Strip(segments).adjust_cell_length(self.size.width)

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:  # noqa: ARG002
        """Return that it takes all there is."""
        return container.height


class Top(App[None]):
    """`ticktree top` on a terminal.

    Args:
        source: what to watch.
        every_s: how often to read it, in seconds.
        last_s: how many of the last seconds to show the rates of.
        explain: why a profile holds nothing; None where it holds something.
        first_s: how soon to read it a second time: nobody wants to wait long for the first rates.
    """

    ENABLE_COMMAND_PALETTE: ClassVar[bool] = False
    CSS = "Screen { background: ansi_default; color: ansi_default; } Board { width: 1fr; height: 1fr; }"
    TITLE = "ticktree top"

    def __init__(
        self,
        source: Source,
        every_s: float = 1.0,
        last_s: float = 10.0,
        explain: Callable[[Profile], str | None] = lambda _: None,
        first_s: float = 0.5,
    ) -> None:
        super().__init__(ansi_color=True)  # the terminal's own colours, as `report` uses them
        self._source = source
        self._recent = Recent(round(last_s * NS_PER_SECOND))
        self._explain = explain
        self._first_ns = round(first_s * NS_PER_SECOND)
        self._board = Board(self._drawn)
        self._reading = False
        self._timer: Timer | None = None
        self.now = Now(every_ns=round(every_s * NS_PER_SECOND))
        self.view = View()

    def compose(self) -> ComposeResult:
        """Yield the only widget."""
        yield self._board

    def on_mount(self) -> None:
        """Begin to watch."""
        self._board.focus()
        self._end_at_signals()
        self.look()

    def on_unmount(self) -> None:
        """Watch no longer."""
        if self._timer is not None:
            self._timer.stop()

    def look(self) -> None:
        """Read the run, in a thread of its own: keys are heard meanwhile."""
        if not self._reading and not self.view.paused:
            self._reading = True
            self.run_worker(self._look, thread=True, exit_on_error=False)

    def _look(self) -> None:
        reading = self._source.read()
        span = None
        if reading.profile is not None and reading.state == "running":
            span = self._recent.add(reading.at_ns, reading.profile)
        seen, recent = _loops_seen(reading.profile), _loops_seen(span.profile if span else None)
        with suppress(RuntimeError):  # the app has ended meanwhile
            self.call_from_thread(self._show, reading, span, seen, recent)

    def _show(self, reading: Reading, span: Span | None, seen: Survey | None, recent: Survey | None) -> None:
        self._reading = False
        if reading.state == "ended" or reading.profile is None:  # what its last seconds were like
            span, recent = self.now.span, self.now.recent
        pause_ns = self._pause_ns(reading, span)
        self.now = replace(
            self.now,
            reading=self.now.reading if reading.profile is None else reading,
            span=span,
            state=reading,
            slowed_ns=pause_ns if pause_ns > self.now.every_ns else 0,
            reason=(self._explain(reading.profile) or "") if reading.profile else "",
            seen=seen or self.now.seen,
            recent=recent,
        )
        self._board.draw_again()
        if not reading.is_last:
            self._timer = self.set_timer(pause_ns / NS_PER_SECOND, self.look)

    def _pause_ns(self, reading: Reading, span: Span | None) -> int:
        every_ns = self.now.every_ns if span else min(self.now.every_ns, self._first_ns)
        return max(every_ns, REST_PER_READING * reading.took_ns)

    def on_key(self, event: events.Key) -> None:
        """Do what a key says."""
        event.stop()
        event.prevent_default()
        if self.view.typing and event.key not in ("ctrl+c", "ctrl+q"):
            self._typed(event)
            return
        action = ACTIONS.get(event.key)
        if action == "quit":
            self.exit()
        elif event.key == "ctrl+z":
            self.action_suspend_process()
        elif action is not None:
            self._act(action)

    def on_paste(self, event: events.Paste) -> None:
        """Take what is pasted for typed, where letters are asked for."""
        if self.view.typing:
            self._change(self.view.typed(event.text))

    def on_mouse_scroll_down(self) -> None:
        """Scroll."""
        self._change(replace(self.view, top=self.view.top + 3, cursor=None))

    def on_mouse_scroll_up(self) -> None:
        """Scroll back."""
        self._change(replace(self.view, top=max(0, self.view.top - 3), cursor=None))

    def on_click(self, event: events.Click) -> None:
        """Put the cursor on a row and fold or unfold it."""
        picture = self._drawn(self._board.size.width, self._board.size.height)
        at = self.view.top + event.y - picture.first_line
        if self.view.top <= at < min(len(picture.rows), self.view.top + picture.rows_in_sight):
            self._change(replace(self.view, cursor=picture.rows[at].place))
            self._act("toggle")

    def on_resize(self) -> None:
        """Draw for the new size."""
        self._board.draw_again()

    def _typed(self, event: events.Key) -> None:
        if event.key == "escape":
            self._change(self.view.unfiltered())
        elif event.key == "enter":
            self._change(replace(self.view, typing=False))
        elif event.key == "backspace":
            self._change(self.view.erased())
        elif event.character is not None:
            self._change(self.view.typed(event.character))

    def _act(self, action: Action) -> None:
        was_paused = self.view.paused
        picture = self._drawn(self._board.size.width, self._board.size.height)
        self._change(steered(picture, action))
        if was_paused and not self.view.paused:
            self._recent.forget()
            self.look()

    def _change(self, view: View) -> None:
        self.view = view
        self._board.draw_again()

    def _drawn(self, width: int, height: int) -> Picture:
        picture = drawn(self.now, self.view, width, height)
        self.view = picture.view
        return picture

    def _end_at_signals(self) -> None:
        """Leave the terminal as it was, however we are told to end."""
        import asyncio

        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
            loop.add_signal_handler(number, self.exit)


def _loops_seen(profile: Profile | None) -> Survey | None:
    """Return what the report makes of a profile's loops: made in the thread that reads, not as keys are pressed."""
    if profile is None:
        return None
    seen = Survey(profile)
    seen.all_loops  # noqa: B018 - kept from here on
    return seen
