"""What a rule is about, in a sentence or two: what its docstring says."""

from __future__ import annotations

import inspect
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
    about, _, finds = (inspect.getdoc(type(rule)) or "").partition("\n\n")
    first, _, _ = " ".join(finds.split()).partition(_SEE)
    return " ".join(f"{about} It {first[:1].lower()}{first[1:]}.".split()) if first else about


def _first_paragraph(documented: object) -> str:
    return " ".join((inspect.getdoc(documented) or "").split("\n\n")[0].split())
