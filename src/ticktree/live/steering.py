"""What each key makes of the view."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ticktree.live.keys import Action
from ticktree.live.rows import Row, place_in
from ticktree.live.screen import Picture
from ticktree.live.view import View
from ticktree.profile import path as paths


def steered(picture: Picture, action: Action) -> View:
    """Return the view after an action, `picture` being what was on the screen before."""
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


def _escaped(view: View) -> View:
    return replace(view, helping=False) if view.helping else view.unfiltered()


_PLAIN: dict[Action, Callable[[View], View]] = {
    "sort": View.sorted_next,
    "filter": lambda view: replace(view, typing=True, helping=False),
    "escape": _escaped,
    "pause": lambda view: replace(view, paused=not view.paused),
    "help": lambda view: replace(view, helping=not view.helping),
    "unfold_all": lambda view: replace(view, folded=frozenset()),
    "processes": lambda view: replace(view, by_process=not view.by_process),
    "next_process": lambda view: replace(view, first_process=view.first_process + 1),
    "previous_process": lambda view: replace(view, first_process=max(0, view.first_process - 1)),
}

_MOVES: dict[Action, Callable[[int, Picture], int]] = {
    "up": lambda at, _: at - 1,
    "down": lambda at, _: at + 1,
    "page_up": lambda at, picture: at - max(1, picture.rows_in_sight - 1),
    "page_down": lambda at, picture: at + max(1, picture.rows_in_sight - 1),
    "first": lambda _, __: 0,
    "last": lambda _, picture: len(picture.rows) - 1,
}


def _toggled(view: View, _: Picture, row: Row) -> View:
    if not row.is_section or not row.node.children:
        return view
    return replace(view.toggled(row.path), cursor=row.place)


def _folded(view: View, picture: Picture, row: Row) -> View:
    """Fold the row; where there is nothing to fold, go to its parent."""
    if row.is_section and row.node.children and row.path not in view.folded:
        return replace(view.without(row.path), cursor=row.place)
    above = row.path if not row.is_section else paths.parent(row.path)
    parent = next((each for each in picture.rows if each.is_section and each.path == above), row)
    return replace(view, cursor=parent.place)


def _unfolded(view: View, _: Picture, row: Row) -> View:
    return replace(view.with_below(row.path), cursor=row.place) if row.is_section else view


def _all_folded(view: View, picture: Picture, _: Row) -> View:
    return replace(
        view, folded=frozenset(row.path for row in picture.rows if row.is_section and row.node.children)
    )


_FOLDS: dict[Action, Callable[[View, Picture, Row], View]] = {
    "toggle": _toggled,
    "fold": _folded,
    "unfold": _unfolded,
    "fold_all": _all_folded,
}
