"""Noted lines: lines of a program whose source says what the time of samples there was spent on.

A run notes them while its source is available (`analysis/line_kinds.py` finds them), so that its samples can be read
without it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from ticktree.profile.samples import STATES, CodeLine, SampledStack

# The fact of a run that holds them: lines of KIND FILE:NUMBER.
SAMPLED_LINES = "sampled.lines"

LOCK = "lock"
DEEP_COPY = "deep-copy"
JSON = "json"
PICKLE = "pickle"
PROGRAM = "program"
GROWING_ARRAY = "growing-array"
ARRAY_OF_LIST = "array-of-list"
ELEMENT_LOOP = "element-loop"
PERMUTATION = "permutation"
COMMIT = "commit"
EAGER_LOG = "eager-log"
COLLECT = "collect"
POOL = "pool"
CONVERSION = "conversion"
DEQUE = "deque"
POLL = "poll"
TABLE_ROW = "table-row"
PARSED_JSON = "parsed-json"
ONE_BY_ONE = "one-by-one"


class _Inside(NamedTuple):
    """What samples within a call look like.

    Attributes:
        files: a part of the path of the file whose code the line calls; empty if there may be none.
        is_native: whether samples count in which the line calls no Python code: C does the work.
        states: what the thread does in samples that count.
    """

    files: tuple[str, ...] = ()
    is_native: bool = True
    states: frozenset[str] = frozenset({"running", "gil"})


_ARRAYS = ("/numpy/", "/torch/")
_ALSO_WAITS = frozenset(STATES) - {"suspended"}
KINDS: Mapping[str, _Inside] = {
    LOCK: _Inside(states=frozenset({"lock"})),
    DEEP_COPY: _Inside(("/copy.py",), is_native=False),
    JSON: _Inside(("/json/",), is_native=False),
    PICKLE: _Inside(("/copyreg.py",)),
    PROGRAM: _Inside(("/subprocess.py",), is_native=False, states=_ALSO_WAITS),
    GROWING_ARRAY: _Inside(_ARRAYS),
    ARRAY_OF_LIST: _Inside(_ARRAYS),
    ELEMENT_LOOP: _Inside(_ARRAYS),
    PERMUTATION: _Inside(_ARRAYS),
    COMMIT: _Inside(states=_ALSO_WAITS),
    EAGER_LOG: _Inside(_ARRAYS),
    COLLECT: _Inside(),
    POOL: _Inside(("/multiprocessing/", "/concurrent/"), states=_ALSO_WAITS),
    CONVERSION: _Inside(_ARRAYS),
    DEQUE: _Inside(("/random.py",), is_native=False),
    POLL: _Inside(states=frozenset({"sleep"})),
    TABLE_ROW: _Inside(("/pandas/",), is_native=False),
    PARSED_JSON: _Inside(("/json/",), is_native=False),
    # The call is also of the program's own functions, which end in some library.
    ONE_BY_ONE: _Inside(("",)),
}

NotedLines = Mapping[tuple[str, int], frozenset[str]]


def write_noted_lines(noted: NotedLines) -> str:
    """Return noted lines as the fact of a run."""
    rows = [f"{kind} {file}:{line}" for (file, line), kinds in noted.items() for kind in kinds]
    return "\n".join(sorted(rows))


def read_noted_lines(text: str) -> NotedLines:
    """Return the noted lines of a fact; lines that are no noted line are left out."""
    noted: dict[tuple[str, int], frozenset[str]] = {}
    for row in text.splitlines():
        kind, _, place = row.partition(" ")
        file, _, number = place.rpartition(":")
        if kind in KINDS and number.isdecimal() and len(number) < 10:
            key = (file, int(number))
            noted[key] = noted.get(key, frozenset()) | {kind}
    return noted


def kind_of(stack: SampledStack, noted: NotedLines) -> tuple[str, CodeLine] | None:
    """Return what the time of a sample was spent on, and the line that shows it; None if no line does."""
    for at in range(len(stack.lines) - 1, -1, -1):
        line = stack.lines[at]
        for kind in sorted(noted.get((line.file, line.line), ())):
            if _is_within(kind, stack, at):
                return kind, line
    return None


def is_logged(stack: SampledStack, line: CodeLine) -> bool:
    """Return whether a sample shows that what a line gives to logging is logged, so that it had to be formatted."""
    after = stack.lines[stack.lines.index(line) + 1 :] if line in stack.lines else ()
    return any("/logging/" in each.file and each.function == "Logger.handle" for each in after)


def _is_within(kind: str, stack: SampledStack, at: int) -> bool:
    inside, line = KINDS[kind], stack.lines[at]
    if stack.state not in inside.states:
        return False
    # A comprehension has a frame of its own until Python 3.11.
    called = next(
        (each for each in stack.lines[at + 1 :] if (each.file, each.line) != (line.file, line.line)), None
    )
    if called is None:
        return inside.is_native
    return any(part in called.file for part in inside.files)
