"""Inference is most of the loop, and nothing is compiled."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from ticktree.analysis.finding import LEAST_SHARE, Claim, Finding
from ticktree.analysis.loops import DOMINATES_SHARE, LEAST_TICKS, LoopView, SectionView
from ticktree.analysis.section_kinds import inference, together_ns
from ticktree.analysis.survey import Survey
from ticktree.analysis.wording import duration, percent
from ticktree.profile import Profile
from ticktree.profile.clock import HOST, REMOTE

# Who waits for half of the time has its inference made elsewhere: by a server, or another process.
WAITS_SHARE = 0.5
# How much faster inference became on average by torch.compile, over more than 180 models on an A100: Ansel et al.,
# "PyTorch 2: Faster Machine Learning Through Dynamic Python Bytecode Transformation and Graph Compilation", ASPLOS
# 2024.
TYPICAL_FACTOR = 2.27
# A call of less is mostly Python's own cost on a CPU, which guards and graph breaks of torch.compile add to: CleanRL's
# network of 19 to 70 us a call became 0.67 and 0.86 times as fast.
LEAST_CALL_NS = 200_000
# What instruments/torch counts: functions and modules that were given to torch.compile.
COMPILED_GAUGE = "torch/compiled"


class NoCompilationRule:
    """Each loop of inference where nothing was compiled; see docs/rules/no-compilation.md."""

    name: ClassVar[str] = "no-compilation"

    def find(self, seen: Survey) -> Iterator[Finding]:
        """Yield a finding for each loop that is half inference or more, if nothing is known to be compiled."""
        if not _known_not_to_compile(seen.profile):
            return
        for view in seen.repeated:
            model = [section for section in inference(view, seen) if _infers_here(section)]
            took_ns = together_ns(model)
            at_stake = view.share(took_ns) * (1 - 1 / TYPICAL_FACTOR)
            if view.needed_share(took_ns) >= DOMINATES_SHARE and at_stake >= LEAST_SHARE:
                yield self._finding(view, max(model, key=lambda section: section.total_ns), took_ns, at_stake)

    def _finding(self, view: LoopView, chief: SectionView, took_ns: float, at_stake: float) -> Finding:
        return Finding(
            rule=self.name,
            claim=Claim(at_stake, view.path),
            path=chief.path,
            message=(
                f"{chief.name} ({duration(chief.call_ns)} a call) is inference, that is "
                f"{percent(view.needed_share(took_ns))} of the work of {view.name}, and nothing was given to "
                "torch.compile: if it is torch that infers, compile the policy, and leave the first ticks, which "
                "compile, out of what is compared"
            ),
            evidence={
                "inference_each_time_ns": took_ns,
                "each_time_ns": view.tick_ns,
                "a_typical_gain_factor": TYPICAL_FACTOR,
                "calls": chief.count,
            },
        )


def _infers_here(section: SectionView) -> bool:
    """Tell whether it works, for long enough to be worth compiling, and does not wait for another one that infers."""
    on_a_device = any(child.clock not in (HOST, REMOTE) for child in section.node.children.values())
    is_long = on_a_device or (section.node.steady.p50_ns or 0) >= LEAST_CALL_NS
    return is_long and section.count >= LEAST_TICKS and section.waited_share < WAITS_SHARE


def _known_not_to_compile(profile: Profile) -> bool:
    """Tell whether somebody watched torch, and it was not asked to compile anything."""
    compiled = profile.gauges.get(COMPILED_GAUGE)
    return compiled is not None and compiled.max == 0
