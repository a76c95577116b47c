"""Called: what the name of a call under focus says, as the recorder writes it (recorder/focus/naming.py)."""

from __future__ import annotations

import re
from dataclasses import dataclass

# With the line of a call only where a function makes calls of the same text in several places.
_CALL = re.compile(
    r"(?:(?P<expression>.+) \| )?(?P<function>.+?)(?: : (?P<file>.+))? @ L(?P<line>\d+)", re.DOTALL
)


@dataclass(frozen=True, slots=True)
class Called:
    """What the name of a call under focus says.

    Attributes:
        expression: the call as it is written; "" of a function that nothing in focus calls.
        function: the qualified name of what is called.
        file: where it is defined; "" where that is no file: a C function's.
        line: where it is defined, or of a C function where it is called.
    """

    expression: str
    function: str
    file: str
    line: int

    @classmethod
    def of(cls, name: str) -> Called | None:
        """Read a name; None where it is no call's."""
        match = _CALL.fullmatch(name) if " @ L" in name else None
        if match is None or not (match["expression"] or match["file"]):
            return None
        return cls(match["expression"] or "", match["function"], match["file"] or "", int(match["line"]))


def does(name: str) -> str:
    """Return what of a name says what is done: of a call under focus the function, not its arguments or its file."""
    called = Called.of(name)
    return name if called is None else called.function
