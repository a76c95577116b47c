"""Rules: what one is, and those that other distributions bring, found by entry point and never trusted to work."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import ClassVar, Protocol

from ticktree.analysis.context import Context
from ticktree.analysis.finding import KINDS, SEVERITIES, Claim, Finding
from ticktree.entry_points import entry_points_of


class Rule(Protocol):
    """Finds one kind of problem. It keeps no state between profiles.

    Attributes:
        name: of its findings, and of its page in docs/rules.
    """

    name: ClassVar[str]

    def find(self, context: Context) -> Iterator[Finding]:
        """Yield findings about `context.profile`, the most important first."""
        ...


GROUP = "ticktree.rules"
LONGEST_REASON = 200  # characters: an exception may quote a whole file


@dataclass(frozen=True, slots=True)
class RuleSource:
    """The source of a rule.

    Attributes:
        entry: the name of its entry point.
        distribution: that provides it; "" if the packaging does not record it.
        load: imports it.
    """

    entry: str
    distribution: str
    load: Callable[[], object]

    def __str__(self) -> str:
        """What a person would look for."""
        return f"rule {self.entry} of {self.distribution or 'an unnamed package'}"


@dataclass(frozen=True, slots=True)
class Loaded:
    """The result of loading one source: a rule, or the reason why there is none."""

    source: RuleSource
    rule: Rule | None = None
    reason: str = ""


def load(sources: Iterable[RuleSource], taken: Collection[str]) -> tuple[Loaded, ...]:
    """Return the result of each of `sources`, in an order that does not depend on their discovery.

    A second rule with the name of an existing one, which is `taken`, is refused, because their findings would be
    indistinguishable.
    """
    names, loaded = set(taken), []
    for source in sorted(sources, key=lambda each: (each.distribution, each.entry)):
        loaded.append(_loaded(source, names))
        names |= {one.rule.name for one in loaded[-1:] if one.rule is not None}
    return tuple(loaded)


def installed() -> Iterator[RuleSource]:
    """Yield where the distributions of this environment bring rules from; nothing is imported."""
    for entry in entry_points_of(GROUP):
        distribution = getattr(entry, "dist", None)
        name = distribution.metadata["Name"] if distribution is not None else None
        yield RuleSource(entry.name, str(name or ""), entry.load)


def found_by(loaded: Loaded, context: Context) -> list[Finding]:
    """Return what a third party's rule finds; what goes wrong is itself a finding, and nothing is raised."""
    if loaded.rule is None:
        return [_note(loaded.source, loaded.reason)]
    name = loaded.rule.name
    try:
        found = list(loaded.rule.find(context))
        problem = next((problem for each in found for problem in _problems(each, name)), None)
    except (Exception, SystemExit) as error:  # any exception: it must not end a report
        problem = _reason("failed", error)
    return found if problem is None else [_note(loaded.source, problem)]


def _loaded(source: RuleSource, names: Collection[str]) -> Loaded:
    try:
        made = source.load()
        rule = made() if isinstance(made, type) else made
    except (Exception, SystemExit) as error:  # another's code: it may do anything
        return Loaded(source, reason=_reason("cannot be loaded", error))
    name = getattr(rule, "name", None)
    if not isinstance(name, str) or not name or not callable(getattr(rule, "find", None)):
        return Loaded(source, reason="is not a rule: it needs a name and a method find")
    if name in names:
        return Loaded(source, reason=f"is refused: there is a rule of the name {name!r} already")
    return Loaded(source, rule)  # type: ignore[arg-type]  # cannot be checked before it is called


def _problems(found: object, name: str) -> Iterator[str]:
    """Yield what would keep a finding from being shown."""
    if not isinstance(found, Finding):
        yield f"gives {type(found).__name__} instead of findings"
        return
    if found.rule != name:
        yield f"speaks in the name of {found.rule!r}"
    if found.severity not in SEVERITIES:
        yield f"gives the severity {found.severity!r}, which is none of {', '.join(SEVERITIES)}"
    if found.kind not in KINDS:
        yield f"gives the kind {found.kind!r}, which is none of {', '.join(KINDS)}"
    claim = found.claim
    if claim is not None and not (
        isinstance(claim, Claim) and isinstance(claim.path, str) and math.isfinite(claim.share)
    ):
        yield f"claims {claim!r}, which is not a share of a loop or of the run"
    if not isinstance(found.path, str) or not isinstance(found.message, str):
        yield "gives a path or a message that is not text"
    for key, value in found.facts.items():
        if not isinstance(key, str) or not isinstance(value, (str, int, float)):
            yield f"gives a fact that is neither number nor text: {key!r}"
        elif isinstance(value, float) and not math.isfinite(value):
            yield f"gives a fact that is not a finite number: {key!r}"


def _note(source: RuleSource, reason: str) -> Finding:
    message = f"{source} {reason}; nothing was looked for with it"
    return Finding(rule=source.entry, path="", message=message, kind="measurement")


def _reason(what: str, error: BaseException) -> str:
    text = " ".join(str(error).split())
    said = f"{type(error).__name__}: {text}" if text else type(error).__name__
    return f"{what}: {said[:LONGEST_REASON]}"
