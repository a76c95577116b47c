"""The profile as JSON text: `ticktree-profile/1`.

History of the format. Fields may be added within a version, never renamed or given another meaning; a reader
ignores fields it does not know.

1   The first. Times are integer nanoseconds; what was not measured is null or absent, never 0. Derived fields
    (means, percentiles, `parallel`, `call_site`, rates) are there for other programs and are not read back;
    `total_ns` and `path` are derived too, but must be right.
"""

from __future__ import annotations

import gc
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

from ticktree.profile.fields import Fields, ProfileError, quoted

SCHEMA = "ticktree-profile/1"


def to_text(value: dict[str, Any]) -> str:
    """Return a profile's fields as JSON in ASCII, which every file and every encoding can carry; the tree is last."""
    *rest, (tree, root) = value.items()  # the tree is last
    return f"{_dumps(dict(rest))[:-1]},{_dumps(tree)}:{''.join(_written(root))}}}"


def opened(value: Any) -> Fields:
    """Return the fields of the profile in `value`, as `value_in` gives it.

    Raises:
        ProfileError: it is not a profile, or one of a version not known here.
    """
    fields = Fields(value, "profile")
    schema = fields.text("schema")
    if schema != SCHEMA:
        raise ProfileError(
            f"unknown profile schema {quoted(schema)}: this ticktree reads {SCHEMA!r};"
            " if a newer one wrote it, read it with that"
        )
    return fields


def _dumps(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), allow_nan=False)


def _written(node: dict[str, Any]) -> Iterator[str]:
    """Yield a tree piece by piece: json calls itself at every level, and trees are too deep for that."""
    waiting: list[dict[str, Any] | str] = [node]
    while waiting:
        piece = waiting.pop()
        if isinstance(piece, str):
            yield piece
            continue
        yield _dumps({**piece, "children": []})[:-2]  # less "]}"
        waiting.append("]}")
        for place, child in enumerate(reversed(piece["children"])):
            waiting.extend([",", child] if place else [child])


def value_in(text: str | bytes) -> Any:
    """Return what JSON has in `text`, however deep.

    Raises:
        ProfileError: `text` is not JSON, or holds what is no number.
    """
    if not text or text.isspace():
        raise ProfileError("not a profile: not JSON (it is empty)")
    try:
        text = text if isinstance(text, str) else text.decode()
        with collector_paused():
            try:
                return _DECODER.decode(text)
            except RecursionError:
                return loads(text, _DECODER)
    except ProfileError:
        raise
    except UnicodeDecodeError:
        raise ProfileError("not a profile: not JSON (no text in UTF-8)") from None
    except ValueError as error:  # bad JSON, bad UTF-8, or a number of thousands of digits
        why = "it is cut short" if _is_cut_short(error) else str(error).splitlines()[0][:120]
        raise ProfileError(f"not a profile: not JSON ({why})") from None


def _is_cut_short(error: ValueError) -> bool:
    if not isinstance(error, json.JSONDecodeError):
        return False
    return error.msg.startswith("Unterminated") or (error.pos > 0 and error.pos >= len(error.doc.rstrip()))


def _refuse(constant: str) -> NoReturn:
    raise ProfileError(f"not a profile: {constant} is not a number that can be measured")


_DECODER = json.JSONDecoder(parse_constant=_refuse)


_BLANK = re.compile(r"[ \t\n\r]*")
_END: dict[type[Any], str] = {dict: "}", list: "]"}
_UNFINISHED = object()


def loads(text: str, decoder: json.JSONDecoder) -> Any:
    """Return the value in `text`, as `decoder` would if Python's stack were deep enough."""
    reader = _Reader(text, decoder)
    while True:
        value = reader.begun()
        while value is not _UNFINISHED:
            if reader.at_top():
                return value
            value = reader.added(value)


class _Reader:
    """A place in a text, and the lists and objects that are open there."""

    def __init__(self, text: str, decoder: json.JSONDecoder) -> None:
        self._text = text
        self._decoder = decoder
        self._open: list[Any] = []
        self._keys: list[str] = []  # of what is being read in each open object
        self._at = 0
        self._go_to(0)

    def at_top(self) -> bool:
        """Tell whether nothing is open any more, and that it is the end."""
        if not self._open and self._at < len(self._text):
            raise self._error("Extra data")
        return not self._open

    def begun(self) -> Any:
        """Read a value, or of one that holds others the beginning."""
        opened: Any = {"[": [], "{": {}}.get(self._next())
        if opened is None:
            return self._scalar()
        self._go_to(self._at + 1)
        if self._next() == _END[type(opened)]:
            self._go_to(self._at + 1)
            return opened
        self._open.append(opened)
        self._read_key()
        return _UNFINISHED

    def added(self, value: Any) -> Any:
        """Put `value` into what is open around it; return that, if it ends here."""
        around = self._open[-1]
        if isinstance(around, dict):
            around[self._keys.pop()] = value
        else:
            around.append(value)
        mark = self._next()
        if mark not in (",", _END[type(around)]):
            raise self._error("Expecting ',' delimiter")
        self._go_to(self._at + 1)
        if mark != ",":
            return self._open.pop()
        self._read_key()
        return _UNFINISHED

    def _read_key(self) -> None:
        if isinstance(self._open[-1], list):
            return
        if self._next() != '"':
            raise self._error("Expecting property name enclosed in double quotes")
        self._keys.append(self._scalar())
        if self._next() != ":":
            raise self._error("Expecting ':' delimiter")
        self._go_to(self._at + 1)

    def _scalar(self) -> Any:
        value, end = self._decoder.raw_decode(self._text, self._at)
        self._go_to(end)
        return value

    def _next(self) -> str:
        return self._text[self._at : self._at + 1]

    def _go_to(self, at: int) -> None:
        blank = _BLANK.match(self._text, at)
        self._at = blank.end() if blank else at

    def _error(self, message: str) -> json.JSONDecodeError:
        return json.JSONDecodeError(message, self._text, self._at)


@contextmanager
def collector_paused() -> Iterator[None]:
    """Keep the garbage collector from looking at parts of profiles again and again: that may treble the time.

    They do not refer to themselves, so there is nothing to collect.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
