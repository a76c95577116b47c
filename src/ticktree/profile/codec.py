"""The profile as JSON text: `ticktree-profile/1`.

History of the format. Fields may be added within a version, never renamed or given another meaning; a reader
ignores fields it does not know.

1   The first. Times are integer nanoseconds; what was not measured is null or absent, never 0. Derived fields
    (means, percentiles, `parallel`, `call_site`, rates) are there for other programs and are not read back;
    `total_ns` and `path` are derived too, but must be right.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, NoReturn

from ticktree.profile import nested
from ticktree.profile.errors import ProfileError, quoted
from ticktree.profile.fields import Fields
from ticktree.profile.pausing import collector_paused

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
                return nested.loads(text, _DECODER)
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
