"""One of several equal workers is slower than the others, who wait for it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from ticktree.analysis.finding import LEAST_SHARE, Claim, Evidence, Finding
from ticktree.analysis.survey import Survey
from ticktree.analysis.wording import last_name, percent, times, who
from ticktree.analysis.workers.blame import Blame, blames
from ticktree.analysis.workers.stragglers import Straggler


class StragglerRule:
    """The slowest of each role's stragglers, with how many others there are; see docs/rules/straggler.md."""

    name: ClassVar[str] = "straggler"

    def find(self, seen: Survey) -> Iterator[Finding]:
        """Yield a finding for each role, in each run, that has a straggler."""
        for role in seen.threads:
            said: set[str] = set()
            everyone = [one for one in seen.stragglers[role.name] if matters(one, seen)]
            for one in everyone:
                if one.unit.run in said:
                    continue
                said.add(one.unit.run)
                others = sum(other.unit.run == one.unit.run for other in everyone) - 1
                waiting = next(iter(blames(one, seen)), None)
                yield self._finding(one, others, waiting, seen.run_ns)

    def _finding(self, one: Straggler, others: int, waiting: Blame | None, whole_ns: int) -> Finding:
        return Finding(
            rule=self.name,
            claim=Claim(waiting.saved_ns / whole_ns) if waiting and whole_ns else None,
            path=one.chief,
            message="; ".join(_said(one, others, waiting)),
            evidence=_evidence(one, waiting),
        )


def matters(one: Straggler, seen: Survey) -> bool:
    """Tell whether so much is lost that it is worth a word."""
    return one.excess_ns >= LEAST_SHARE * seen.run_ns


def _said(one: Straggler, others: int, waiting: Blame | None) -> Iterator[str]:
    """Yield the parts of the sentence: who and by how much, who waits for it, who else straggles."""
    peers = "its only peer" if one.peers == 1 else f"its {one.peers:,} peers"
    where = last_name(one.path)
    if one.chief != one.path:
        where += f", most of it in {last_name(one.chief)}"
    if one.measure == "call":
        yield f"{one.unit.name} takes {times(one.factor)} as long a call as {peers} in {where}"
    elif one.measure == "wait":
        verb = "waits" if one.peers == 1 else "wait"
        yield f"{one.unit.name} comes last to {where}: {peers} {verb} {times(1 / one.factor)} as long there"
    else:
        yield f"{one.unit.name} has {times(one.factor)} as much to do as {peers} in {where}"
    if waiting is not None:
        most = "" if waiting.is_known else "up to "
        verb = "waits" if waiting.units == 1 else "wait"
        waiter = f"{who(waiting.role, waiting.units)} {verb} in {last_name(waiting.path)}"
        yield f"{most}{percent(waiting.share)} of what {waiter} is for it"
    if others:
        yield f"{others:,} more straggle" if others > 1 else "one more straggles"


def _evidence(one: Straggler, waiting: Blame | None) -> Evidence:
    unit = {"call": "a_call", "total": "in_all", "wait": "waited_a_call"}[one.measure]
    said: dict[str, str | int | float] = {"who": one.unit.name}
    said[f"{unit}_ns"] = one.took_ns
    said[f"{unit}_by_its_peers_ns"] = one.peers_took_ns
    said["calls"] = one.calls
    if one.calls != one.peers_calls:
        said["calls_by_its_peers"] = one.peers_calls
    said["more_than_its_peers_ns"] = one.excess_ns
    if waiting is not None:
        said["waited_ns"] = waiting.waited_ns
        said["waited_for_it_ns"] = waiting.for_it_ns
        said["known_by"] = "signals" if waiting.is_known else "going in step"
    return said
