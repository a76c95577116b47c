"""Advice: the findings about a profile, in words and numbers that are safe to show."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from ticktree.analysis import Finding
from ticktree.analysis.finding import LEAST_SHARE
from ticktree.analysis.loops import Saving
from ticktree.analysis.registry import found_in
from ticktree.analysis.survey import Survey
from ticktree.outputs.options import ViewOptions
from ticktree.outputs.writing import formatting
from ticktree.outputs.writing.document import Advice
from ticktree.outputs.writing.visible import visible

# As many things as anyone does next; the others are worth less.
FINDINGS_SHOWN = 3

_UNITS: dict[str, Callable[[float], str]] = {
    "_ns": formatting.time,
    "_share": formatting.share,
    "_bytes": formatting.size,
    "_bytes_per_s": lambda rate: formatting.scaled(rate, "B/s"),
    "_flops_per_s": lambda rate: formatting.scaled(rate, "FLOP/s"),
    "_factor": lambda factor: f"{formatting.significant(factor)} x",
}


def advice(seen: Survey, options: ViewOptions) -> Advice:
    """Return what to do about a profile, and what makes its numbers doubtful; with `all` every finding."""
    found = found_in(seen)
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
    return visible(finding.message)


def evidence(finding: Finding) -> list[str]:
    """Return what a finding rests on, piece by piece: its rule last."""
    return [*_evidence(finding), f"rule: {visible(finding.rule)}"]


def _evidence(finding: Finding) -> Iterator[str]:
    if finding.saving is not None:
        yield _worth(finding.saving, "loop" if finding.loop else "run")
    for key, value in finding.evidence.items():
        if isinstance(value, str):
            if value not in finding.message:
                yield f"{_words(key)}: {visible(value)}"
        else:
            ending = next((ending for ending in _UNITS if key.endswith(ending)), "")
            text = _UNITS[ending](value) if ending else formatting.reading(value)
            yield f"{text} {_words(key.removesuffix(ending))}"


def _worth(saving: Saving, of: str) -> str:
    """Return what is saved, in the loop's own currency: a loop that holds its rate gains time to spare."""
    if saving.limited_by_rate and saving.share < LEAST_SHARE:
        return f"worth up to {formatting.time(saving.headroom_ns)} more time to spare in each tick"
    return f"worth up to {formatting.share(saving.share)} of the {of}"


def _words(key: str) -> str:
    return visible(key).replace("_", " ")
