"""Noted lines: lines of a program whose source shows what the time of their samples was spent on.

A run notes them while its source is available (`analysis/line_kinds.py` finds them), so that its samples can be read
later without the source.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from ticktree.profile.samples import STATES, CodeLine, SampledStack

# The fact of a run that contains them: lines of KIND FILE:NUMBER.
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


class _CallPattern(NamedTuple):
    """How to recognise samples within a call of one kind.

    Attributes:
        files: parts of file paths, one of which the called code's file must contain.
        is_native: whether samples count in which the line calls no Python code: C does the work.
        states: what the thread does in samples that count.
    """

    files: tuple[str, ...] = ()
    is_native: bool = True
    states: frozenset[str] = frozenset({"running", "gil"})


_ARRAYS = ("/numpy/", "/torch/")
_WITH_WAITS = frozenset(STATES) - {"suspended"}
KINDS: Mapping[str, _CallPattern] = {
    LOCK: _CallPattern(states=frozenset({"lock"})),
    DEEP_COPY: _CallPattern(("/copy.py",), is_native=False),
    JSON: _CallPattern(("/json/",), is_native=False),
    PICKLE: _CallPattern(("/copyreg.py",)),
    PROGRAM: _CallPattern(("/subprocess.py",), is_native=False, states=_WITH_WAITS),
    GROWING_ARRAY: _CallPattern(_ARRAYS),
    ARRAY_OF_LIST: _CallPattern(_ARRAYS),
    ELEMENT_LOOP: _CallPattern(_ARRAYS),
    PERMUTATION: _CallPattern(_ARRAYS),
    COMMIT: _CallPattern(states=_WITH_WAITS),
    EAGER_LOG: _CallPattern(_ARRAYS),
    COLLECT: _CallPattern(),
    POOL: _CallPattern(("/multiprocessing/", "/concurrent/"), states=_WITH_WAITS),
    CONVERSION: _CallPattern(_ARRAYS),
    DEQUE: _CallPattern(("/random.py",), is_native=False),
    POLL: _CallPattern(states=frozenset({"sleep"})),
    TABLE_ROW: _CallPattern(("/pandas/",), is_native=False),
    PARSED_JSON: _CallPattern(("/json/",), is_native=False),
    # Also calls of the program's own functions, which end in some library.
    ONE_BY_ONE: _CallPattern(("",)),
}

NotedLines = Mapping[tuple[str, int], frozenset[str]]


def write_noted_lines(kinds_by_line: NotedLines) -> str:
    """Return the fact of a run that contains noted lines."""
    rows = [f"{kind} {file}:{line}" for (file, line), kinds in kinds_by_line.items() for kind in kinds]
    return "\n".join(sorted(rows))


def read_noted_lines(text: str) -> NotedLines:
    """Return the noted lines in a fact; other lines are left out."""
    kinds_by_line: dict[tuple[str, int], frozenset[str]] = {}
    for row in text.splitlines():
        kind, _, location = row.partition(" ")
        file, _, number = location.rpartition(":")
        if kind in KINDS and number.isdecimal() and len(number) < 10:
            key = (file, int(number))
            kinds_by_line[key] = kinds_by_line.get(key, frozenset()) | {kind}
    return kinds_by_line


def kind_of(stack: SampledStack, kinds_by_line: NotedLines) -> tuple[str, CodeLine] | None:
    """Return the kind of a sample's innermost noted line, and the line; None if there is none."""
    for index in range(len(stack.lines) - 1, -1, -1):
        line = stack.lines[index]
        for kind in sorted(kinds_by_line.get((line.file, line.line), ())):
            if _is_within(kind, stack, index):
                return kind, line
    return None


def is_logged(stack: SampledStack, line: CodeLine) -> bool:
    """Return whether a sample shows that the message a line passes to logging is logged, so it had to be formatted."""
    inner_lines = stack.lines[stack.lines.index(line) + 1 :] if line in stack.lines else ()
    return any("/logging/" in inner.file and inner.function == "Logger.handle" for inner in inner_lines)


def _is_within(kind: str, stack: SampledStack, index: int) -> bool:
    pattern, line = KINDS[kind], stack.lines[index]
    if stack.state not in pattern.states:
        return False
    for inner in stack.lines[index + 1 :]:
        if (inner.file, inner.line) != (
            line.file,
            line.line,
        ):  # a comprehension has a frame until Python 3.11
            return any(part in inner.file for part in pattern.files)
    return pattern.is_native
