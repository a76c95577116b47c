"""The app: keys, a timer, and a thread that reads. Other modules decide what is on the screen.

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
from ticktree.live.rows import LiveRow, row_index
from ticktree.live.screen import LivePicture, ScreenState, draw_screen
from ticktree.live.source import LiveReading, LiveSource
from ticktree.live.view import ACTIONS, ORDERS, Action, LiveView
from ticktree.profile import Profile
from ticktree.profile import path as paths


def steer(picture: LivePicture, action: Action) -> LiveView:
    """Return the view after an action; `picture` is what was on the screen before."""
    view = picture.view
    if action in _VIEW_ACTIONS:
        return _VIEW_ACTIONS[action](view)
    if not picture.rows or view.shows_help:
        return view
    index = row_index(picture.rows, view.cursor)
    if action in _MOVES:
        is_first_move = view.cursor is None and action in ("up", "down")
        target = index if is_first_move else _MOVES[action](index, picture)
        return replace(view, cursor=picture.rows[min(max(0, target), len(picture.rows) - 1)].key)
    return _FOLDS[action](view, picture, picture.rows[index])


_NEXT = dict(zip(ORDERS, (*ORDERS[1:], ORDERS[0]), strict=True))
_VIEW_ACTIONS: dict[Action, Callable[[LiveView], LiveView]] = {
    "sort": lambda view: replace(view, order=_NEXT[view.order], siblings={}),
    "filter": lambda view: replace(view, is_typing=True, shows_help=False),
    "escape": lambda view: replace(view, shows_help=False) if view.shows_help else view.without_filter(),
    "pause": lambda view: replace(view, is_paused=not view.is_paused),
    "help": lambda view: replace(view, shows_help=not view.shows_help),
    "unfold_all": lambda view: replace(view, folded=frozenset()),
    "processes": lambda view: replace(view, processes_first=not view.processes_first),
    "next_process": lambda view: replace(view, first_process=view.first_process + 1),
    "previous_process": lambda view: replace(view, first_process=max(0, view.first_process - 1)),
}

_MOVES: dict[Action, Callable[[int, LivePicture], int]] = {
    "up": lambda at, _: at - 1,
    "down": lambda at, _: at + 1,
    "page_up": lambda at, picture: at - max(1, picture.visible_rows - 1),
    "page_down": lambda at, picture: at + max(1, picture.visible_rows - 1),
    "first": lambda _, __: 0,
    "last": lambda _, picture: len(picture.rows) - 1,
}


def _toggle(view: LiveView, _: LivePicture, row: LiveRow) -> LiveView:
    has_rows = row.is_section and row.node.children
    return replace(view, folded=view.folded ^ {row.path}, cursor=row.key) if has_rows else view


def _fold(view: LiveView, picture: LivePicture, row: LiveRow) -> LiveView:
    """Fold the row; if there is nothing to fold, go to its parent."""
    if row.is_section and row.node.children and row.path not in view.folded:
        return replace(view, folded=view.folded | {row.path}, cursor=row.key)
    section_path = row.path if not row.is_section else paths.parent(row.path)
    sections = (section for section in picture.rows if section.is_section and section.path == section_path)
    return replace(view, cursor=next(sections, row).key)


def _unfold(view: LiveView, _: LivePicture, row: LiveRow) -> LiveView:
    return replace(view, folded=view.folded - {row.path}, cursor=row.key) if row.is_section else view


def _fold_all(view: LiveView, picture: LivePicture, _: LiveRow) -> LiveView:
    folded = (row.path for row in picture.rows if row.is_section and row.node.children)
    return replace(view, folded=frozenset(folded))


_FOLDS: dict[Action, Callable[[LiveView, LivePicture, LiveRow], LiveView]] = {
    "toggle": _toggle,
    "fold": _fold,
    "unfold": _unfold,
    "fold_all": _fold_all,
}


# Reading may take at most a fifth of a core, at the lowest priority.
REST_PER_READING = 4


class Board(Widget):
    """The whole terminal, drawn line by line from a picture."""

    can_focus = True

    def __init__(self, draw: Callable[[int, int], LivePicture]) -> None:
        super().__init__()
        self._draw = draw
        self._picture: LivePicture | None = None

    def draw_again(self) -> None:
        """Discard the picture and draw the screen again."""
        self._picture = None
        self.refresh()

    def render_line(self, y: int) -> Strip:
        """Return one line of the terminal."""
        if self._picture is None or len(self._picture.lines) != self.size.height:
            self._picture = self._draw(self.size.width, self.size.height)
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
        self._board = Board(self._draw)
        self._reading = False
        self._timer: Timer | None = None
        self.screen_state = ScreenState(every_ns=round(every_s * NS_PER_SECOND))
        self.view = LiveView()

    def compose(self) -> ComposeResult:
        """Yield the only widget."""
        yield self._board

    def on_mount(self) -> None:
        """Start watching."""
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
        if not self._reading and not self.view.is_paused:
            self._reading = True
            self.run_worker(self._read, thread=True, exit_on_error=False)

    def _read(self) -> None:
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
            span, recent = self.screen_state.span, self.screen_state.recent
        every_ns = self.screen_state.every_ns if span else min(self.screen_state.every_ns, self._first_ns)
        pause_ns = max(every_ns, REST_PER_READING * reading.took_ns)
        self.screen_state = replace(
            self.screen_state,
            reading=self.screen_state.reading if reading.profile is None else reading,
            span=span,
            latest=reading,
            slowed_ns=pause_ns if pause_ns > self.screen_state.every_ns else 0,
            reason=(self._explain(reading.profile) or "") if reading.profile else "",
            context=context or self.screen_state.context,
            recent=recent,
        )
        self._board.draw_again()
        if not reading.is_last:
            self._timer = self.set_timer(pause_ns / NS_PER_SECOND, self.look)

    def on_key(self, event: events.Key) -> None:
        """Perform the action of a key."""
        event.stop()
        event.prevent_default()
        if self.view.is_typing and event.key not in ("ctrl+c", "ctrl+q"):
            self._type(event)
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
        if self.view.is_typing:
            self._change(self.view.with_letters(event.text))

    def on_mouse_scroll_down(self) -> None:
        """Scroll."""
        self._change(replace(self.view, top=self.view.top + 3, cursor=None))

    def on_mouse_scroll_up(self) -> None:
        """Scroll back."""
        self._change(replace(self.view, top=max(0, self.view.top - 3), cursor=None))

    def on_click(self, event: events.Click) -> None:
        """Put the cursor on a row and fold or unfold it."""
        picture = self._draw(self._board.size.width, self._board.size.height)
        index = self.view.top + event.y - picture.first_line
        if self.view.top <= index < min(len(picture.rows), self.view.top + picture.visible_rows):
            self._change(replace(self.view, cursor=picture.rows[index].key))
            self._act("toggle")

    def on_resize(self) -> None:
        """Draw for the new size."""
        self._board.draw_again()

    def _type(self, event: events.Key) -> None:
        if event.key == "escape":
            self._change(self.view.without_filter())
        elif event.key == "enter":
            self._change(replace(self.view, is_typing=False))
        elif event.key == "backspace":
            self._change(replace(self.view, filter=self.view.filter[:-1], top=0))
        elif event.character is not None:
            self._change(self.view.with_letters(event.character))

    def _act(self, action: Action) -> None:
        was_paused = self.view.is_paused
        picture = self._draw(self._board.size.width, self._board.size.height)
        self._change(steer(picture, action))
        if was_paused and not self.view.is_paused:
            self._recent.clear()
            self.look()

    def _change(self, view: LiveView) -> None:
        self.view = view
        self._board.draw_again()

    def _draw(self, width: int, height: int) -> LivePicture:
        picture = draw_screen(self.screen_state, self.view, width, height)
        self.view = picture.view
        return picture


def _context_of(profile: Profile | None) -> Context | None:
    """Return the context of a profile with its loops: computed in the reading thread, not when keys are pressed."""
    if profile is None:
        return None
    context = Context(profile)
    context.all_loops  # noqa: B018 - kept from here on
    return context
