"""The app: keys, a clock, and a thread that reads. Other modules decide what is on the screen.

This is the only module that needs textual.
"""

from __future__ import annotations

import asyncio
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

from ticktree.analysis.context import Context
from ticktree.live.columns import NS_PER_SECOND
from ticktree.live.difference import Recent, Span
from ticktree.live.rows import LiveRow, place_in
from ticktree.live.screen import LivePicture, Now, drawn
from ticktree.live.source import LiveReading, LiveSource
from ticktree.live.view import ACTIONS, ORDERS, Action, LiveView
from ticktree.profile import Profile
from ticktree.profile import path as paths


def steered(picture: LivePicture, action: Action) -> LiveView:
    """Return the view after an action; `picture` is what was on the screen before."""
    view = picture.view
    if action in _PLAIN:
        return _PLAIN[action](view)
    if not picture.rows or view.helping:
        return view
    at = place_in(picture.rows, view.cursor)
    if action in _MOVES:
        first = view.cursor is None and action in ("up", "down")
        to = at if first else _MOVES[action](at, picture)
        return replace(view, cursor=picture.rows[min(max(0, to), len(picture.rows) - 1)].place)
    return _FOLDS[action](view, picture, picture.rows[at])


_NEXT = dict(zip(ORDERS, (*ORDERS[1:], ORDERS[0]), strict=True))
_PLAIN: dict[Action, Callable[[LiveView], LiveView]] = {
    "sort": lambda view: replace(view, order=_NEXT[view.order], siblings={}),
    "filter": lambda view: replace(view, typing=True, helping=False),
    "escape": lambda view: replace(view, helping=False) if view.helping else view.unfiltered(),
    "pause": lambda view: replace(view, paused=not view.paused),
    "help": lambda view: replace(view, helping=not view.helping),
    "unfold_all": lambda view: replace(view, folded=frozenset()),
    "processes": lambda view: replace(view, by_process=not view.by_process),
    "next_process": lambda view: replace(view, first_process=view.first_process + 1),
    "previous_process": lambda view: replace(view, first_process=max(0, view.first_process - 1)),
}

_MOVES: dict[Action, Callable[[int, LivePicture], int]] = {
    "up": lambda at, _: at - 1,
    "down": lambda at, _: at + 1,
    "page_up": lambda at, picture: at - max(1, picture.rows_in_sight - 1),
    "page_down": lambda at, picture: at + max(1, picture.rows_in_sight - 1),
    "first": lambda _, __: 0,
    "last": lambda _, picture: len(picture.rows) - 1,
}


def _toggled(view: LiveView, _: LivePicture, row: LiveRow) -> LiveView:
    has_rows = row.is_section and row.node.children
    return replace(view, folded=view.folded ^ {row.path}, cursor=row.place) if has_rows else view


def _folded(view: LiveView, picture: LivePicture, row: LiveRow) -> LiveView:
    """Fold the row; if there is nothing to fold, go to its parent."""
    if row.is_section and row.node.children and row.path not in view.folded:
        return replace(view, folded=view.folded | {row.path}, cursor=row.place)
    above = row.path if not row.is_section else paths.parent(row.path)
    parent = next((each for each in picture.rows if each.is_section and each.path == above), row)
    return replace(view, cursor=parent.place)


def _unfolded(view: LiveView, _: LivePicture, row: LiveRow) -> LiveView:
    return replace(view, folded=view.folded - {row.path}, cursor=row.place) if row.is_section else view


def _all_folded(view: LiveView, picture: LivePicture, _: LiveRow) -> LiveView:
    found = (row.path for row in picture.rows if row.is_section and row.node.children)
    return replace(view, folded=frozenset(found))


_FOLDS: dict[Action, Callable[[LiveView, LivePicture, LiveRow], LiveView]] = {
    "toggle": _toggled,
    "fold": _folded,
    "unfold": _unfolded,
    "fold_all": _all_folded,
}


# Reading may take at most a fifth of a core, at the lowest priority.
REST_PER_READING = 4


class Board(Widget):
    """The whole terminal, drawn line by line from a picture."""

    can_focus = True

    def __init__(self, redrawn: Callable[[int, int], LivePicture]) -> None:
        super().__init__()
        self._redrawn = redrawn
        self._picture: LivePicture | None = None

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
        """Return that it takes all available space."""
        return container.height


class Top(App[None]):
    """`ticktree top` on a terminal.

    Args:
        source: what to watch.
        every_s: how often to read it, in seconds.
        last_s: how many of the last seconds to show the rates of.
        explain: returns why a profile is empty; None if it is not.
        first_s: how soon to read it a second time, so that the first rates appear soon.
    """

    ENABLE_COMMAND_PALETTE: ClassVar[bool] = False
    CSS = "Screen { background: ansi_default; color: ansi_default; } Board { width: 1fr; height: 1fr; }"
    TITLE = "ticktree top"

    def __init__(
        self,
        source: LiveSource,
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
        self.view = LiveView()

    def compose(self) -> ComposeResult:
        """Yield the only widget."""
        yield self._board

    def on_mount(self) -> None:
        """Begin to watch."""
        self._board.focus()
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):  # each restores the terminal
            asyncio.get_running_loop().add_signal_handler(number, self.exit)
        self.look()

    def on_unmount(self) -> None:
        """Stop watching."""
        if self._timer is not None:
            self._timer.stop()

    def look(self) -> None:
        """Read the run in a separate thread, so that keys work meanwhile."""
        if not self._reading and not self.view.paused:
            self._reading = True
            self.run_worker(self._look, thread=True, exit_on_error=False)

    def _look(self) -> None:
        reading = self._source.read()
        span = None
        if reading.profile is not None and reading.state == "running":
            span = self._recent.add(reading.at_ns, reading.profile)
        context, recent = _context_of(reading.profile), _context_of(span.profile if span else None)
        with suppress(RuntimeError):  # the app has ended meanwhile
            self.call_from_thread(self._show, reading, span, context, recent)

    def _show(
        self, reading: LiveReading, span: Span | None, context: Context | None, recent: Context | None
    ) -> None:
        self._reading = False
        if reading.state == "ended" or reading.profile is None:  # the loops of the last seconds
            span, recent = self.now.span, self.now.recent
        every_ns = self.now.every_ns if span else min(self.now.every_ns, self._first_ns)
        pause_ns = max(every_ns, REST_PER_READING * reading.took_ns)
        self.now = replace(
            self.now,
            reading=self.now.reading if reading.profile is None else reading,
            span=span,
            state=reading,
            slowed_ns=pause_ns if pause_ns > self.now.every_ns else 0,
            reason=(self._explain(reading.profile) or "") if reading.profile else "",
            context=context or self.now.context,
            recent=recent,
        )
        self._board.draw_again()
        if not reading.is_last:
            self._timer = self.set_timer(pause_ns / NS_PER_SECOND, self.look)

    def on_key(self, event: events.Key) -> None:
        """Perform the action of a key."""
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
        """Treat pasted text as typed while a filter is being typed."""
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
            self._change(replace(self.view, filter=self.view.filter[:-1], top=0))
        elif event.character is not None:
            self._change(self.view.typed(event.character))

    def _act(self, action: Action) -> None:
        was_paused = self.view.paused
        picture = self._drawn(self._board.size.width, self._board.size.height)
        self._change(steered(picture, action))
        if was_paused and not self.view.paused:
            self._recent.forget()
            self.look()

    def _change(self, view: LiveView) -> None:
        self.view = view
        self._board.draw_again()

    def _drawn(self, width: int, height: int) -> LivePicture:
        picture = drawn(self.now, self.view, width, height)
        self.view = picture.view
        return picture


def _context_of(profile: Profile | None) -> Context | None:
    """Return the context of a profile with its loops: computed in the reading thread, not when keys are pressed."""
    if profile is None:
        return None
    context = Context(profile)
    context.all_loops  # noqa: B018 - kept from here on
    return context
