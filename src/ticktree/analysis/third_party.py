"""Rules: their protocol, and the rules of other distributions, loaded by entry point and never trusted to work."""

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
MAX_REASON_LENGTH = 200  # characters: an exception may quote a whole file


@dataclass(frozen=True, slots=True)
class RuleSource:
    """The source of a rule.

    Attributes:
        entry: the name of its entry point.
        distribution: the distribution that provides it; "" if the packaging does not record it.
        load: imports the rule.
    """

    entry: str
    distribution: str
    load: Callable[[], object]

    def __str__(self) -> str:
        """Return the entry point and its distribution, for messages."""
        return f"rule {self.entry} of {self.distribution or 'an unnamed package'}"


@dataclass(frozen=True, slots=True)
class LoadedRule:
    """The result of loading one source: a rule, or the reason why there is none."""

    source: RuleSource
    rule: Rule | None = None
    reason: str = ""


def load_rules(sources: Iterable[RuleSource], existing_names: Collection[str]) -> tuple[LoadedRule, ...]:
    """Return the result of each of `sources`, in an order that does not depend on their discovery.

    A rule with a name in `existing_names`, or of an earlier source, is refused: their findings would be
    indistinguishable.
    """
    names, results = set(existing_names), []
    for source in sorted(sources, key=lambda source: (source.distribution, source.entry)):
        loaded = _load_rule(source, names)
        results.append(loaded)
        if loaded.rule is not None:
            names.add(loaded.rule.name)
    return tuple(results)


def installed_rules() -> Iterator[RuleSource]:
    """Yield the sources of the rules of this environment's distributions, without importing them."""
    for entry in entry_points_of(GROUP):
        distribution = getattr(entry, "dist", None)
        name = distribution.metadata["Name"] if distribution is not None else None
        yield RuleSource(entry.name, str(name or ""), entry.load)


def findings_of(loaded: LoadedRule, context: Context) -> list[Finding]:
    """Return the findings of a third party's rule; an error becomes a finding and is never raised."""
    if loaded.rule is None:
        return [_note(loaded.source, loaded.reason)]
    name = loaded.rule.name
    try:
        results = list(loaded.rule.find(context))
        problem = next((problem for result in results for problem in _problems(result, name)), None)
    except (Exception, SystemExit) as error:  # any exception: it must not end a report
        problem = _reason("failed", error)
    return results if problem is None else [_note(loaded.source, problem)]


def _load_rule(source: RuleSource, names: Collection[str]) -> LoadedRule:
    try:
        target = source.load()
        rule = target() if isinstance(target, type) else target
    except (Exception, SystemExit) as error:  # foreign code may raise anything
        return LoadedRule(source, reason=_reason("cannot be loaded", error))
    name = getattr(rule, "name", None)
    if not isinstance(name, str) or not name or not callable(getattr(rule, "find", None)):
        return LoadedRule(source, reason="is not a rule: it needs a name and a method find")
    if name in names:
        return LoadedRule(source, reason=f"is refused: there is a rule of the name {name!r} already")
    return LoadedRule(source, rule)  # type: ignore[arg-type]  # cannot be checked before it is called


def _problems(finding: object, name: str) -> Iterator[str]:
    """Yield the reasons why a finding cannot be shown."""
    if not isinstance(finding, Finding):
        yield f"gives {type(finding).__name__} instead of findings"
        return
    if finding.rule != name:
        yield f"speaks in the name of {finding.rule!r}"
    if finding.severity not in SEVERITIES:
        yield f"gives the severity {finding.severity!r}, which is none of {', '.join(SEVERITIES)}"
    if finding.kind not in KINDS:
        yield f"gives the kind {finding.kind!r}, which is none of {', '.join(KINDS)}"
    claim = finding.claim
    if claim is not None and not (
        isinstance(claim, Claim) and isinstance(claim.path, str) and math.isfinite(claim.share)
    ):
        yield f"claims {claim!r}, which is not a share of a loop or of the run"
    if not isinstance(finding.path, str) or not isinstance(finding.message, str):
        yield "gives a path or a message that is not text"
    for key, value in finding.facts.items():
        if not isinstance(key, str) or not isinstance(value, (str, int, float)):
            yield f"gives a fact that is neither number nor text: {key!r}"
        elif isinstance(value, float) and not math.isfinite(value):
            yield f"gives a fact that is not a finite number: {key!r}"


def _note(source: RuleSource, reason: str) -> Finding:
    message = f"{source} {reason}; nothing was looked for with it"
    return Finding(rule=source.entry, path="", message=message, kind="measurement")


def _reason(problem: str, error: BaseException) -> str:
    text = " ".join(str(error).split())
    description = f"{type(error).__name__}: {text}" if text else type(error).__name__
    return f"{problem}: {description[:MAX_REASON_LENGTH]}"
