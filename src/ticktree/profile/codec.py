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
    """Return a profile's fields, of which the tree is the last, as JSON in ASCII: valid in every encoding."""
    *rest, (tree_key, root) = value.items()
    return f"{_dumps(dict(rest))[:-1]},{_dumps(tree_key)}:{''.join(_tree_pieces(root))}}}"


def open_profile(value: Any) -> Fields:
    """Return the fields of the profile in `value`, which `parse_json` returned.

    Raises:
        ProfileError: it is not a profile, or its version is unknown.
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


def _tree_pieces(node: dict[str, Any]) -> Iterator[str]:
    """Yield a tree piece by piece: json recurses at every level, and trees are too deep for that."""
    stack: list[dict[str, Any] | str] = [node]
    while stack:
        piece = stack.pop()
        if isinstance(piece, str):
            yield piece
            continue
        yield _dumps({**piece, "children": []})[:-2]  # less "]}"
        stack.append("]}")
        for i, child in enumerate(reversed(piece["children"])):
            stack.extend([",", child] if i else [child])


def parse_json(text: str | bytes) -> Any:
    """Return the JSON value in `text`, however deep.

    Raises:
        ProfileError: `text` is not JSON, or contains NaN or an infinity.
    """
    if not text or text.isspace():
        raise ProfileError("not a profile: not JSON (it is empty)")
    try:
        text = text if isinstance(text, str) else text.decode()
        with pause_gc():
            try:
                return _DECODER.decode(text)
            except RecursionError:
                return loads(text, _DECODER)
    except ProfileError:
        raise
    except UnicodeDecodeError:
        raise ProfileError("not a profile: not JSON (no text in UTF-8)") from None
    except ValueError as error:  # bad JSON, bad UTF-8, or a number of thousands of digits
        reason = "it is cut short" if _is_cut_short(error) else str(error).splitlines()[0][:120]
        raise ProfileError(f"not a profile: not JSON ({reason})") from None


def _is_cut_short(error: ValueError) -> bool:
    if not isinstance(error, json.JSONDecodeError):
        return False
    return error.msg.startswith("Unterminated") or (error.pos > 0 and error.pos >= len(error.doc.rstrip()))


def _reject_constant(constant: str) -> NoReturn:
    raise ProfileError(f"not a profile: {constant} is not a number that can be measured")


_DECODER = json.JSONDecoder(parse_constant=_reject_constant)


_WHITESPACE = re.compile(r"[ \t\n\r]*")
_CLOSING: dict[type[Any], str] = {dict: "}", list: "]"}
_UNFINISHED = object()


def loads(text: str, decoder: json.JSONDecoder) -> Any:
    """Return the value that `decoder` would find in `text` if Python's stack were deep enough."""
    reader = _Reader(text, decoder)
    while True:
        value = reader.begin_value()
        while value is not _UNFINISHED:
            if reader.is_complete():
                return value
            value = reader.add_value(value)


class _Reader:
    """A position in a text, and the lists and objects that are open there."""

    def __init__(self, text: str, decoder: json.JSONDecoder) -> None:
        self._text = text
        self._decoder = decoder
        self._containers: list[Any] = []
        self._keys: list[str] = []  # of the value that is being read, for each open object
        self._pos = 0
        self._move_to(0)

    def is_complete(self) -> bool:
        """Tell whether the value is complete; then the text must end here."""
        if not self._containers and self._pos < len(self._text):
            raise self._error("Extra data")
        return not self._containers

    def begin_value(self) -> Any:
        """Read a scalar or an empty container; of any other container only the beginning."""
        container: Any = {"[": [], "{": {}}.get(self._peek())
        if container is None:
            return self._scalar()
        self._move_to(self._pos + 1)
        if self._peek() == _CLOSING[type(container)]:
            self._move_to(self._pos + 1)
            return container
        self._containers.append(container)
        self._read_key()
        return _UNFINISHED

    def add_value(self, value: Any) -> Any:
        """Add `value` to the innermost open container; return the container if it ends here."""
        container = self._containers[-1]
        if isinstance(container, dict):
            container[self._keys.pop()] = value
        else:
            container.append(value)
        char = self._peek()
        if char not in (",", _CLOSING[type(container)]):
            raise self._error("Expecting ',' delimiter")
        self._move_to(self._pos + 1)
        if char != ",":
            return self._containers.pop()
        self._read_key()
        return _UNFINISHED

    def _read_key(self) -> None:
        if isinstance(self._containers[-1], list):
            return
        if self._peek() != '"':
            raise self._error("Expecting property name enclosed in double quotes")
        self._keys.append(self._scalar())
        if self._peek() != ":":
            raise self._error("Expecting ':' delimiter")
        self._move_to(self._pos + 1)

    def _scalar(self) -> Any:
        value, end = self._decoder.raw_decode(self._text, self._pos)
        self._move_to(end)
        return value

    def _peek(self) -> str:
        return self._text[self._pos : self._pos + 1]

    def _move_to(self, pos: int) -> None:
        spaces = _WHITESPACE.match(self._text, pos)
        self._pos = spaces.end() if spaces else pos

    def _error(self, message: str) -> json.JSONDecodeError:
        return json.JSONDecodeError(message, self._text, self._pos)


@contextmanager
def pause_gc() -> Iterator[None]:
    """Keep the garbage collector from scanning parts of profiles again and again: that may treble the time.

    Profiles contain no reference cycles, so there is nothing to collect.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
