"""Collapsed stacks: a line a section, for every tool that draws flame graphs."""

from __future__ import annotations

import re

from ticktree.outputs.options import ViewOptions
from ticktree.outputs.shapes.stacks import Frame, Stack, stacks
from ticktree.outputs.writing.literal import literal
from ticktree.profile import Profile

# A second root: what ran beside has its own widths, and adds nothing to those of the run.
BESIDE = "beside"
# A number at a name's end would be the weight, and the weight that of a second run to compare with.
_NUMBER_AT_END = re.compile(r" (?=\d+(\.\d*)?$)")


def render(profile: Profile, options: ViewOptions) -> bytes:  # noqa: ARG001 - a program reads all or nothing
    """Return each section's own time in nanoseconds, behind the names from the root to it, as lines in UTF-8."""
    return "".join(_line(stack) for stack in stacks(profile) if stack.node.self_ns > 0).encode()


def _line(stack: Stack) -> str:
    root = BESIDE if stack.beside else stack.frames[0].name
    return f"{';'.join([root, *map(_name, stack.frames[1:])])} {stack.node.self_ns}\n"


def _name(frame: Frame) -> str:
    mark = " [partly beside]" if frame.partly else ""
    # The unbreakable space looks the same, and is no other name's: of those it is escaped.
    return _NUMBER_AT_END.sub("\u00a0", literal(frame.name).replace(";", "\\x3b")) + mark
