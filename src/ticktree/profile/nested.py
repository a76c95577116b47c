"""JSON nested deeper than the json module can follow: that calls itself at every level, this does not."""

from __future__ import annotations

import json
import re
from typing import Any

_BLANK = re.compile(r"[ \t\n\r]*")
_END: dict[type[Any], str] = {dict: "}", list: "]"}
_UNFINISHED = object()


def loads(text: str, decoder: json.JSONDecoder) -> Any:
    """Return the value in `text`, as `decoder` would if Python's stack were deep enough.

    Raises:
        json.JSONDecodeError: `text` is not JSON.
    """
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
