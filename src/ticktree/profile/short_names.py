"""Short names of nodes, for sentences and for places where the full names do not fit.

The full name of a call in focus is an expression, a function, a file and a line. Its short name is the function. If a
run has calls of one function on several lines, the line is appended; for calls on one line, the part that differs.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from ticktree.profile import path as paths
from ticktree.profile.node import Node

# The line of the call is present only if a function contains calls of the same text on several lines.
_CALL = re.compile(
    r"(?:(?P<expression>.+) \| )?(?P<function>.+?)(?: : (?P<file>.+))? @ L(?P<line>\d+)", re.DOTALL
)


@dataclass(frozen=True, slots=True)
class FocusCall:
    """The parts of the name of a call in focus.

    Attributes:
        expression: the source of the call; "" for a function that no code in focus calls.
        function: the qualified name of the callee.
        file: where the callee is defined; "" for a C function.
        line: where the callee is defined; for a C function, where it is called.
    """

    expression: str
    function: str
    file: str
    line: int

    @classmethod
    def of(cls, name: str) -> FocusCall | None:
        """Parse a node's name; None if it is not a call in focus."""
        match = _CALL.fullmatch(name) if " @ L" in name else None
        if match is None or not (match["expression"] or match["file"]):
            return None
        return cls(match["expression"] or "", match["function"], match["file"] or "", int(match["line"]))


def function_name(name: str) -> str:
    """Return the function of a call in focus, without arguments and file; any other name unchanged."""
    called = FocusCall.of(name)
    return name if called is None else called.function


_MAX_DIFFERENCE = 32  # characters of the part of a call that differs; more only if needed to tell calls apart
_PARTIAL_WORD = re.compile(r"[\[({]?[\w.]*\Z")


class ShortNames:
    """The short names of a tree; names without a short form stay unchanged."""

    def __init__(self, root: Node | None = None) -> None:
        self._short: dict[str, str] = {}
        if root is None:
            return
        lines: defaultdict[str, set[int]] = defaultdict(set)
        functions: defaultdict[str, dict[str, FocusCall]] = defaultdict(dict)
        section_names: set[str] = set()
        for _, _, node in root.walk():
            called = FocusCall.of(node.name)
            if called is None:
                section_names.add(node.name)
            else:
                functions[called.function][node.name] = called
                lines[node.name].update(site.line for site in node.call_sites)
        for function, calls in functions.items():
            if len(calls) == 1 and function not in section_names:
                self._short.update(dict.fromkeys(calls, function))
            else:
                self._short.update(_distinguish(function, calls, lines))

    def of(self, name: str) -> str:
        """Return the short name of a node named `name`."""
        return self._short.get(name, name)

    def of_path(self, path: str) -> str:
        """Return the short name of the node at `path`; of the root's path, ""."""
        return self.of(paths.name_of(path))

    def joined(self, names: Iterable[str]) -> str:
        """Return the short forms of `names` as a readable path; `paths.split` cannot parse it."""
        return paths.display_text(paths.join(map(self.of, names)))

    def within(self, text: str) -> str:
        """Return a sentence in which all full names are replaced by short names."""
        if not self._short or " @ L" not in text:
            return text
        for name in sorted(self._short, key=len, reverse=True):  # a name may be the end of another
            for full_name in (name, paths.element(name)):
                text = text.replace(full_name, self._short[name])
        return text


def _distinguish(
    function: str, calls: dict[str, FocusCall], lines: dict[str, set[int]]
) -> Iterator[tuple[str, str]]:
    """Yield the full and the short name of each call of one function."""
    names_by_label: defaultdict[str, list[str]] = defaultdict(list)
    for name in sorted(calls):
        call_lines = lines[name] if calls[name].expression else {calls[name].line}
        names_by_label[f"{function} @ L{min(call_lines)}" if len(call_lines) == 1 else function].append(name)
    for label, names in names_by_label.items():
        if len(names) == 1 and label != function:
            yield names[0], label
            continue
        differences = _differences([calls[name].expression for name in names])
        for name, difference in zip(names, differences, strict=True):
            is_unique = difference and differences.count(difference) == 1
            yield name, f"{label} {difference}" if is_unique else name


def _differences(expressions: Sequence[str]) -> list[str]:
    """Return each expression from the point where it differs from the others."""
    prefix = ""
    for chars in zip(*expressions, strict=False) if len(expressions) > 1 else ():
        if len({*chars}) > 1:
            break
        prefix += chars[0]
    prefix = _PARTIAL_WORD.sub("", prefix, count=1)
    suffixes = [("…" if prefix else "") + expression[len(prefix) :] for expression in expressions]
    shortened = [
        f"{suffix[:_MAX_DIFFERENCE]}…" if len(suffix) > _MAX_DIFFERENCE + 1 else suffix for suffix in suffixes
    ]
    return shortened if len({*shortened}) == len(shortened) else suffixes
