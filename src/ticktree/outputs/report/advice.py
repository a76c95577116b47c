"""Advice: the findings about a profile, in words and numbers that are safe to show."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ticktree.analysis import Finding
from ticktree.analysis.finding import LEAST_SHARE
from ticktree.analysis.loops import Saving
from ticktree.analysis.survey import Survey
from ticktree.outputs.options import ViewOptions
from ticktree.outputs.sentences import findings_in
from ticktree.outputs.sentences.facts import formatted, unit_of
from ticktree.outputs.writing import formatting
from ticktree.outputs.writing.document import Advice
from ticktree.outputs.writing.visible import visible

# As many things as anyone does next; the others are worth less.
FINDINGS_SHOWN = 3


def advice(seen: Survey, options: ViewOptions) -> Advice:
    """Return what to do about a profile, and what makes its numbers doubtful; with `all` every finding."""
    found = findings_in(seen)
    shown = found if options.all else list(_foremost(found))
    return Advice(shown, len(found) - len(shown))


def _foremost(found: Sequence[Finding]) -> Iterator[Finding]:
    left = {"recommendation": FINDINGS_SHOWN, "measurement": FINDINGS_SHOWN}
    for finding in found:
        is_doubt = finding.kind == "measurement" and finding.severity != "info"
        if (is_doubt or finding.kind == "recommendation") and left[finding.kind]:
            left[finding.kind] -= 1
            yield finding


def more(part: Advice) -> str:
    """Return how many findings are not shown; "" where all are."""
    return f"{formatting.count(part.more)} more: ticktree report --all" if part.more else ""


def said(finding: Finding) -> str:
    """Return the sentence."""
    return finding.message


def evidence(finding: Finding) -> list[str]:
    """Return what a finding rests on, piece by piece: its rule last."""
    return [*_evidence(finding), f"rule: {visible(finding.rule)}"]


def _evidence(finding: Finding) -> Iterator[str]:
    if finding.saving is not None:
        yield _worth(finding.saving, "loop" if finding.loop else "run")
    for key, value in finding.facts.items():
        if not isinstance(value, (str, bool)):
            yield f"{formatted(key, value)} {_words(key.removesuffix(f'_{unit_of(key)}'))}"


def _worth(saving: Saving, of: str) -> str:
    """Return what is saved, in the loop's own currency: a loop that holds its rate gains time to spare."""
    if saving.limited_by_rate and saving.share < LEAST_SHARE:
        return f"worth up to {formatting.time(saving.headroom_ns)} more time to spare in each tick"
    return f"worth up to {formatting.share(saving.share)} of the {of}"


def _words(key: str) -> str:
    return visible(key).replace("_", " ")
