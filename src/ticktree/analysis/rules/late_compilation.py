"""torch.compile compiles again after the warm-up."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from ticktree.analysis.finding import Claim, Finding
from ticktree.analysis.survey import Survey
from ticktree.analysis.wording import duration, last_name, percent
from ticktree.profile import Loop, Node
from ticktree.profile import path as paths

# What instruments/torch/compiling.py calls it.
COMPILING = "torch compile"
# Where no warm-up was set aside, the first ticks are not counted: there compiling is in its place.
FIRST_TICKS = 10


class LateCompilationRule:
    """Each loop in which torch.compile was at work after its warm-up; see docs/rules/late-compilation.md."""

    name: ClassVar[str] = "late-compilation"

    def find(self, seen: Survey) -> Iterator[Finding]:
        """Yield a finding for each place below a loop that compiled once more, the dearest first."""
        found = []
        inside: set[str] = set()
        # The innermost loop is where it happens; the outer ones would only say so again.
        for path, loop in sorted(seen.profile.loops.items(), key=lambda item: -item[0].count("/")):
            node = seen.profile.root.at(path)
            for below, _, child in node.walk():
                whole = f"{path}/{below}" if below else path
                if child.name == COMPILING and whole not in inside:
                    inside.add(whole)
                    calls, took_ns = _late(child, node, loop)
                    if calls:
                        found.append((took_ns, calls, whole, loop))
        for took_ns, calls, whole, loop in sorted(found, key=lambda each: (-each[0], each[2])):
            yield self._finding(took_ns, calls, whole, loop, seen)

    def _finding(self, took_ns: float, calls: int, path: str, loop: Loop, seen: Survey) -> Finding:
        run_ns = seen.run_ns or loop.busy_ns
        times = "once more" if calls == 1 else f"{calls:,} more times"
        where = last_name(paths.parent(path))
        return Finding(
            rule=self.name,
            claim=Claim(took_ns / run_ns if run_ns else 0.0),
            path=path,
            message=(
                f"torch.compile compiles {times} after the warm-up of {last_name(loop.path)}, in {where}, for"
                f" {duration(took_ns)} in all: inputs change their shape or a number in them; dynamic=True,"
                " torch._dynamo.mark_dynamic or padding to a few shapes spares it"
            ),
            evidence={
                "recompilations": calls,
                "recompiling_ns": took_ns,
                **_in_worst(path, loop),
            },
        )


def _late(node: Node, of_loop: Node, loop: Loop) -> tuple[int, int]:
    """Return how often and how long a node compiled after the loop's warm-up."""
    if loop.warmup_ticks:
        return node.steady.count, node.steady.sum_ns
    width_ns = max(node.windows.width_ns, of_loop.windows.width_ns)
    ticks, own = of_loop.windows.coarsened(width_ns), node.windows.coarsened(width_ns)
    passed = 0
    for index in sorted(ticks.counts):
        passed += ticks.counts[index]
        if passed >= FIRST_TICKS:
            late = [at for at in own.counts if at > index]
            return sum(own.counts[at] for at in late), sum(own.totals.get(at, 0) for at in late)
    return 0, 0


def _in_worst(path: str, loop: Loop) -> dict[str, str]:
    """Return how many of the worst ticks it made."""
    worst = [tick for tick in loop.worst if tick.breakdown.get(path, 0) >= tick.duration_ns / 2]
    return {"most_of_the_worst_ticks": percent(len(worst) / len(loop.worst))} if worst else {}
