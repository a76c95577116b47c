"""Rule: something to look for in a profile."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, Protocol

from ticktree.analysis.finding import Finding
from ticktree.analysis.survey import Survey


class Rule(Protocol):
    """Finds one sort of thing. It keeps nothing between profiles.

    Attributes:
        name: of its findings, its file here and its page in docs/rules.
    """

    name: ClassVar[str]

    def find(self, seen: Survey) -> Iterator[Finding]:
        """Yield what it finds in `seen.profile`, the most important first; nothing where there is nothing to say."""
        ...
