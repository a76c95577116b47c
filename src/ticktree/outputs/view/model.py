"""ReportView: what a report says of a run. Outputs draw it, and derive nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ticktree.outputs.writing.document import Table

SCHEMA = "ticktree-view/1"


@dataclass(frozen=True, slots=True)
class Fact:
    """Something that is known of the run as a whole. All of it is safe to show.

    Attributes:
        key: what programs call it.
        text: what people read.
    """

    key: str
    text: str

    def to_dict(self) -> dict[str, str]:
        """Return it as pages get it."""
        return {"key": self.key, "text": self.text}


@dataclass(frozen=True, slots=True)
class Headline:
    """One loop, or the run, in a line: how fast it is, or whether it holds its rate.

    Attributes:
        path: of the loop; "" of the run.
        name: of the loop, or of the run.
        pieces: what is known of it, the most important first.
        is_missed: whether it misses ticks.
    """

    path: str
    name: str
    pieces: Sequence[str]
    is_missed: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Return it as pages get it."""
        return {
            "path": self.path,
            "name": self.name,
            "pieces": list(self.pieces),
            "is_missed": self.is_missed,
        }


@dataclass(frozen=True, slots=True)
class Warned:
    """What makes the numbers doubtful, or what is missing from them.

    Attributes:
        text: the sentence, safe to show.
        rule: which rule found it; "" of losses.
        evidence: what it rests on, piece by piece.
    """

    text: str
    rule: str = ""
    evidence: Sequence[str] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return it as pages get it."""
        return {"text": self.text, "rule": self.rule, "evidence": list(self.evidence)}


@dataclass(frozen=True, slots=True)
class Recommendation:
    """What to do, and what it saves.

    Attributes:
        rule: which rule found it.
        severity: how much it saves.
        kind: a recommendation, or a section that is merely large.
        path: of the node that it is about.
        loop: path of the loop that gains; "" of the run.
        gain: what is saved, in the loop's own currency; "" where that is not known.
        share: the same as a part of the tick, or of the run; None where it is not known.
        text: the sentence, safe to show.
        where: the section, as people read it.
        evidence: what it rests on, piece by piece.
    """

    rule: str
    severity: str
    kind: str
    path: str
    loop: str
    gain: str
    share: float | None
    text: str
    where: str
    evidence: Sequence[str]

    def to_dict(self) -> dict[str, Any]:
        """Return it as pages get it."""
        return {
            "rule": self.rule,
            "severity": self.severity,
            "kind": self.kind,
            "path": self.path,
            "loop": self.loop,
            "gain": self.gain,
            "share": self.share,
            "text": self.text,
            "where": self.where,
            "evidence": list(self.evidence),
        }


@dataclass(frozen=True, slots=True)
class LoopPart:
    """Where the time of a loop's mean tick goes, or that of the run.

    Attributes:
        path: of the loop; "" of the run.
        self_times: by section, the largest first; None where there is only one.
        dismissed: what is not worth optimizing, each with the most that it could bring.
        tree: the mean tick as a tree.
    """

    path: str
    self_times: Table | None
    dismissed: Sequence[str]
    tree: Table | None

    def to_dict(self) -> dict[str, Any]:
        """Return it as pages get it."""
        return {
            "path": self.path,
            "self_times": None if self.self_times is None else self.self_times.to_dict(),
            "dismissed": list(self.dismissed),
            "tree": None if self.tree is None else self.tree.to_dict(),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportView:
    """What a report says, in the order in which it is read.

    Attributes:
        title: what the run is called.
        provenance: what was run, when, where and with what.
        headlines: the loops that the report leads with, or the run.
        warnings: what makes the numbers doubtful or is missing from them.
        recommendations: what to do, the most important first.
        more: how many findings are not shown.
        loops: each loop a row, in the model's order; None where there is none.
        parts: where the time goes, loop by loop in the same order.
        tables: what else there is to know: roles, waits, the critical path, gauges.
        nothing: what to do where nothing was recorded; "" where something was.
        closing: how to see the rest, a line each.
    """

    title: str
    provenance: Sequence[Fact] = ()
    headlines: Sequence[Headline] = ()
    warnings: Sequence[Warned] = ()
    recommendations: Sequence[Recommendation] = ()
    more: int = 0
    loops: Table | None = None
    parts: Sequence[LoopPart] = ()
    tables: Sequence[Table] = field(default_factory=tuple)
    nothing: str = ""
    closing: Sequence[str] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return it as pages get it."""
        return {
            "schema": SCHEMA,
            "title": self.title,
            "provenance": [fact.to_dict() for fact in self.provenance],
            "headlines": [headline.to_dict() for headline in self.headlines],
            "warnings": [warned.to_dict() for warned in self.warnings],
            "recommendations": [each.to_dict() for each in self.recommendations],
            "more": self.more,
            "loops": None if self.loops is None else self.loops.to_dict(),
            "parts": [part.to_dict() for part in self.parts],
            "tables": [table.to_dict() for table in self.tables],
            "nothing": self.nothing,
            "closing": list(self.closing),
        }
