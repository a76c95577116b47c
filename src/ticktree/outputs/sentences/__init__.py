"""The messages of findings: one template per rule."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from inspect import getmembers, isfunction

from ticktree.analysis.context import Context
from ticktree.analysis.finding import Finding
from ticktree.analysis.registry import context_findings
from ticktree.outputs.sentences import runs, work
from ticktree.outputs.sentences.facts import FactText
from ticktree.outputs.writing.visible import visible
from ticktree.profile.short_names import ShortNames


def findings_in(context: Context) -> list[Finding]:
    """Return the findings of a context, each with its sentence as its message."""
    return with_sentences(context_findings(context), context.short_names)


def with_sentences(findings: Iterable[Finding], names: ShortNames) -> list[Finding]:
    """Return findings, each with its sentence as its message."""
    return [replace(finding, message=sentence(finding, names)) for finding in findings]


def sentence(finding: Finding, names: ShortNames) -> str:
    """Return the message of a finding, safe to show.

    Args:
        finding: a finding of one of ticktree's rules, which have a template, or of another rule, with a message.
        names: the nodes' short names.
    """
    template = _TEMPLATES.get(finding.rule)
    text = finding.message if template is None or finding.message else template(FactText(finding, names))
    return visible(names.within(text))


# A template has the name of its rule.
_TEMPLATES: Mapping[str, Callable[[FactText], str]] = {
    name.replace("_", "-"): template
    for module in (runs, work)
    for name, template in getmembers(module, isfunction)
    if template.__module__ == module.__name__ and not name.startswith("_")
} | {"gpu-memory": work.memory}
