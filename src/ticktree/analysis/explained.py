"""What a rule is about, in a sentence or two: what its own file says of it."""

from __future__ import annotations

import inspect
import sys
from typing import NamedTuple

from ticktree.analysis.registry import RULES, others
from ticktree.analysis.rule import Rule

# What the first line of each of ticktree's own rules ends with; docs/rules has a page each.
_SEE = "; see docs/rules/"


class Explained(NamedTuple):
    """What there is to know of a rule.

    Attributes:
        about: what it is about; "" where it does not say, or Python left the docstrings out.
        page: its page in ticktree's documentation; "" of other distributions' rules.
    """

    about: str
    page: str


def explained(name: str) -> Explained:
    """Return what the rule called `name` is about."""
    rule = next((rule for rule in RULES if rule.name == name), None)
    if rule is not None:
        return Explained(_of_ours(rule), f"docs/rules/{name}.md")
    found = (other.rule for other in others() if other.rule is not None)
    theirs = next((rule for rule in found if rule.name == name), None)
    return Explained(_first_paragraph(type(theirs)) if theirs is not None else "", "")


def _of_ours(rule: Rule) -> str:
    of_the_file = _first_paragraph(sys.modules[type(rule).__module__])
    finds, _, _ = _first_paragraph(type(rule)).partition(_SEE)
    return f"{of_the_file} It finds {finds[:1].lower()}{finds[1:]}." if finds else of_the_file


def _first_paragraph(documented: object) -> str:
    return " ".join((inspect.getdoc(documented) or "").split("\n\n")[0].split())
