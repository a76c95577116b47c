"""Short names: what nodes are called where their full names would not fit, or would say too much for a sentence.

The name of a call under focus is an expression, a function, a file and a line. In a sentence it is the function. Where
a run has calls of one function in several places, their lines are added; of those on one line, what differs.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from ticktree.profile import path as paths
from ticktree.profile.node import Node

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


_PIECE = (
    32  # characters of what is different in a call; more only where they are needed to tell it from others
)
_BEGUN_WORD = re.compile(r"[\[({]?[\w.]*\Z")


class ShortNames:
    """The short names of a tree; other names, and those of other trees, are as they are."""

    def __init__(self, root: Node | None = None) -> None:
        self._short: dict[str, str] = {}
        if root is None:
            return
        lines: defaultdict[str, set[int]] = defaultdict(set)
        functions: defaultdict[str, dict[str, Called]] = defaultdict(dict)
        plain: set[str] = set()
        for _, _, node in root.walk():
            called = Called.of(node.name)
            if called is None:
                plain.add(node.name)
            else:
                functions[called.function][node.name] = called
                lines[node.name].update(site.line for site in node.call_sites)
        for function, calls in functions.items():
            if len(calls) == 1 and function not in plain:
                self._short.update(dict.fromkeys(calls, function))
            else:
                self._short.update(_distinguished(function, calls, lines))

    def of(self, name: str) -> str:
        """Return the short name of a node called `name`."""
        return self._short.get(name, name)

    def of_path(self, path: str) -> str:
        """Return the short name of the node at `path`; of the root's path, ""."""
        return self.of(paths.name_of(path))

    def joined(self, names: Iterable[str]) -> str:
        """Return the short names of full ones, as people read a path; the result is not a path."""
        return paths.plain(paths.join(map(self.of, names)))

    def within(self, text: str) -> str:
        """Return a sentence with the short names in it, whichever names are."""
        if not self._short or " @ L" not in text:
            return text
        for name in sorted(self._short, key=len, reverse=True):  # one name may end like another
            for written in (name, paths.element(name)):
                text = text.replace(written, self._short[name])
        return text


def _distinguished(
    function: str, calls: dict[str, Called], lines: dict[str, set[int]]
) -> Iterator[tuple[str, str]]:
    """Yield the names of the calls of one function with what each is called for short."""
    at_line: defaultdict[str, list[str]] = defaultdict(list)
    for name in sorted(calls):
        found = lines[name] if calls[name].expression else {calls[name].line}
        at_line[f"{function} @ L{min(found)}" if len(found) == 1 else function].append(name)
    for short, names in at_line.items():
        if len(names) == 1 and short != function:
            yield names[0], short
            continue
        pieces = _pieces([calls[name].expression for name in names])
        for name, piece in zip(names, pieces, strict=True):
            is_alone = piece and pieces.count(piece) == 1
            yield name, f"{short} {piece}" if is_alone else name


def _pieces(expressions: Sequence[str]) -> list[str]:
    """Return of each expression that from where on it differs from the others."""
    same = ""
    for letters in zip(*expressions, strict=False) if len(expressions) > 1 else ():
        if len({*letters}) > 1:
            break
        same += letters[0]
    same = _BEGUN_WORD.sub("", same, count=1)
    whole = [("…" if same else "") + expression[len(same) :] for expression in expressions]
    cut = [f"{piece[:_PIECE]}…" if len(piece) > _PIECE + 1 else piece for piece in whole]
    return cut if len({*cut}) == len(cut) else whole
