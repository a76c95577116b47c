"""Remedies that can be applied to a program from outside, and the results of trying them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from ticktree.analysis.comparison.compare import Side
from ticktree.analysis.comparison.entry import Verdict, verdict_of
from ticktree.analysis.comparison.shift import CONFIDENCE, Shift, within_pairs
from ticktree.analysis.experiments.results import Results
from ticktree.analysis.finding import Finding
from ticktree.profile import Profile

# The chance that 6 pairs all agree is 2 in 2^6: small enough for a 95% interval.
LEAST_PAIRS = 6
# A remedy that saved nothing in this many pairs is abandoned: more pairs are not worth the time.
GIVE_UP_PAIRS = 3


@dataclass(frozen=True, slots=True)
class Remedy:
    """A change of a program that needs no edit of it.

    Attributes:
        name: its name on the command line.
        rules: the rules to whose findings it applies.
        environment: the variables that it sets.
        is_patch: whether code in the program's process applies it (`instruments/remedies.py`, under the same name).
        lines: the lines of the program that make it permanent; if there are none, the environment does.
        fact: the fact that a finding of those rules must have; "" if it applies to all of them.
        number: its argument, taken from the `fact` of the finding; None if it has none.
    """

    name: str
    rules: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict)
    is_patch: bool = False
    lines: tuple[str, ...] = ()
    fact: str = ""
    number: int | None = None

    @property
    def word(self) -> str:
        """Its name with its argument, as written in the program's environment."""
        return self.name if self.number is None else f"{self.name}={self.number}"

    def answer(self, finding: Finding) -> Remedy | None:
        """Return the remedy for `finding`; None if it does not apply."""
        if finding.kind != "recommendation" or finding.rule not in self.rules:
            return None
        if self.fact and self.fact not in finding.facts:
            return None
        return self if self.number is None else replace(self, number=int(finding.facts[self.fact]))


# Each threading library has its own variable; torch uses OpenMP's.
_ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
# The kernel zeroes memory that glibc gave back, page by page, when glibc allocates it again (mallopt(3)).
_KEEP_MEMORY = {"MALLOC_MMAP_THRESHOLD_": "4294967296", "MALLOC_TRIM_THRESHOLD_": "4294967296"}
# Such a loader draws a seed for its workers once, not in each epoch; the remedies still draw it.
_SHUFFLES = "other shuffles after epoch 1"

REMEDIES: Sequence[Remedy] = (
    Remedy(
        "unused-gradients",
        ("unused-gradients",),
        is_patch=True,
        lines=(
            "loss.backward(inputs=[*parameters])  # of the optimizers that step with this pass's gradients",
        ),
    ),
    Remedy(
        "compile",
        ("no-compilation",),
        is_patch=True,
        lines=("policy.compile()  # after it is made; each module that the program calls",),
    ),
    Remedy("one-thread", ("oversubscribed",), _ONE_THREAD),
    Remedy("passive-threads", ("oversubscribed",), {"OMP_WAIT_POLICY": "PASSIVE", "GOMP_SPINCOUNT": "0"}),
    Remedy("huge-pages", ("allocation",), {"THP_MEM_ALLOC_ENABLE": "1"}),
    Remedy("keep-memory", ("allocation",), _KEEP_MEMORY),
    Remedy(
        "gc-freeze",
        ("garbage-collection",),
        is_patch=True,
        lines=(
            "gc.collect(); gc.freeze()  # before the loop, when everything is set up",
            "gc.set_threshold(50_000)",
        ),
    ),
    Remedy(
        "sync-vector-env",
        ("transport",),
        is_patch=True,
        lines=(
            "envs = gymnasium.vector.SyncVectorEnv(env_fns)  # in stable-baselines3: DummyVecEnv(env_fns)",
        ),
    ),
    Remedy(
        "loader-workers",
        ("slow-loader",),
        is_patch=True,
        lines=(f"DataLoader(..., num_workers={{}}, persistent_workers=True)  # {_SHUFFLES}",),
        fact="workers",
        number=2,
    ),
    Remedy(
        "persistent-workers",
        ("slow-loader",),
        is_patch=True,
        lines=(f"DataLoader(..., persistent_workers=True)  # {_SHUFFLES}",),
        fact="starts",
    ),
)


def remedies_for(findings: Iterable[Finding]) -> dict[str, tuple[Remedy, Finding]]:
    """Return the remedies by name, in the order of the findings, each with the first finding that it applies to."""
    remedies: dict[str, tuple[Remedy, Finding]] = {}
    for finding in findings:
        for remedy in REMEDIES:
            answer = remedy.answer(finding)
            if answer is not None:
                remedies.setdefault(remedy.name, (answer, finding))
    return remedies


@dataclass(frozen=True, slots=True)
class Trial:
    """The result of trying one remedy, or two together.

    Attributes:
        rules: the rules to whose findings they apply.
        pairs: number of compared pairs of runs, one without and one with the remedies.
        base_ns: mean steady tick without them; None if no pair was complete.
        new_ns: the same with them.
        shift: shift of the tick's duration from base to new; None if no pair was complete.
        verdict: the verdict on the tick's duration.
        results: whether the program's results are the same.
        failure: why there is no verdict; "" if there is one.
    """

    remedies: tuple[Remedy, ...]
    rules: tuple[str, ...]
    pairs: int
    base_ns: float | None
    new_ns: float | None
    shift: Shift | None
    verdict: Verdict
    results: Results
    failure: str = ""

    @property
    def name(self) -> str:
        """The names of its remedies."""
        return " + ".join(remedy.word for remedy in self.remedies)

    @property
    def is_verified(self) -> bool:
        """Whether the ticks are shorter and the results the same."""
        return self.verdict == "faster" and self.results.state in ("unchanged", "within tolerance")


@dataclass(frozen=True, slots=True)
class Trials:
    """The results of `ticktree try`.

    Attributes:
        program: the program's command line.
        loop: path of the loop whose ticks are compared.
        trials: one per remedy, in the order of the trials.
        winner: the best remedy, measured again in fresh pairs; None if none was verified.
        both: the two best together, compared with no remedy; None if there are not two.
        untried: names of the rules whose recommendations have no remedy that can be applied from outside.
    """

    program: str
    loop: str
    trials: Sequence[Trial] = ()
    winner: Trial | None = None
    both: Trial | None = None
    untried: Sequence[str] = ()

    @property
    def kept(self) -> Trial | None:
        """The trial whose remedies are worth keeping: two together only if they are better than the best alone."""
        if self.winner is None or not self.winner.is_verified:
            return None
        if self.both is not None and self.both.is_verified and _estimate(self.both) < _estimate(self.winner):
            return self.both
        return self.winner


def _estimate(trial: Trial) -> float:
    return math.inf if trial.shift is None else trial.shift.estimate


def best_of(trials: Sequence[Trial], number: int) -> list[Trial]:
    """Return the `number` verified trials with the largest gains, or all if there are fewer."""
    return sorted((trial for trial in trials if trial.is_verified), key=_estimate)[:number]


def tick_shift(
    base: Sequence[Profile],
    new: Sequence[Profile],
    loop: str,
    threshold: float,
    confidence: float = CONFIDENCE,
) -> tuple[float, float, Shift, Verdict]:
    """Return the mean steady tick of the `base` and of the `new` runs in ns, its shift, and the verdict.

    The n-th runs of both, without the remedy and with it, are a pair, measured one after the other. `threshold` is the
    smallest shift that matters, as a fraction.

    Raises:
        ValueError: A run has no steady tick of the loop.
    """
    before, after = (Side(runs).run_means(loop) for runs in (base, new))
    shift = within_pairs(before, after, confidence)
    return sum(before) / len(before), sum(after) / len(after), shift, verdict_of(shift, threshold)
