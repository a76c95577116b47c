"""The checklist for comparing with and without real-time chunking, answered from what was recorded."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ticktree import Profile

from .compare_options import CompareOptions
from .rows import Row, row
from .verdict import Verdict

LEAST_ITERATIONS = 10  # and the first chunks are slow: so many are to be left out at least
LEAST_WARMUP = 2
LEAST_HORIZON = 10
MOST_OF_A_CHUNK = 0.05  # a merge that takes more than that of its inference is worth a look


@dataclass(frozen=True, slots=True)
class Answer:
    """One line of the checklist.

    Attributes:
        is_well: whether nothing is to be done about it; None where this run cannot tell.
        question: as users ask it.
        text: the answer, of this run's numbers.
    """

    is_well: bool | None
    question: str
    text: str

    def __str__(self) -> str:
        mark = {True: "x", False: " ", None: "?"}[self.is_well]
        return f"[{mark}] {self.question} {self.text}"


def answers(
    profile: Profile, options: CompareOptions, verdict: Verdict | None, ways: tuple[str, str]
) -> list[Answer]:
    """Return the checklist's answers, in its order."""
    return [
        *_inference(verdict),
        *_merge(profile, ways[1]),
        _iterations(profile, options, ways[1]),
        _compilation(options),
        _horizon(options),
        Answer(True, "Same hardware and device?", f"yes: one process, both in turn on {options.device}"),
    ]


def _inference(verdict: Verdict | None) -> Iterator[Answer]:
    if verdict is not None:
        well, answer = {
            "slower": (False, "yes"),
            "faster": (True, "no"),
            "cannot tell": (None, "cannot tell"),
        }[verdict.word]
        yield Answer(well, "Is policy_inference higher with RTC?", f"{answer}: {verdict.ratio:.2f} times")


def _merge(profile: Profile, way: str) -> Iterator[Answer]:
    merge, model = (
        row(profile, f"get_actions.{name}", way, steady=True)
        for name in ("action_queue_merge", "policy_inference")
    )
    if merge is not None and model is not None:
        share = merge.total / model.total
        answer = "yes" if share > MOST_OF_A_CHUNK else "no"
        yield Answer(
            share <= MOST_OF_A_CHUNK,
            "Does action_queue_merge take long?",
            f"{answer}: {merge.mean:.2f} ms, {share:.2%} of the inference before it",
        )


def _iterations(profile: Profile, options: CompareOptions, way: str) -> Answer:
    question = "Enough iterations, and a warm-up before them?"
    enough = options.num_iterations >= LEAST_ITERATIONS and options.warmup >= LEAST_WARMUP
    answer = f"{'yes' if enough else 'no'}: {options.num_iterations} after {options.warmup}"
    steady = row(profile, "get_actions.policy_inference", way, steady=True)
    every = row(profile, "get_actions.policy_inference", way)
    return Answer(enough, question, answer + _first(steady, every))


def _first(steady: Row | None, every: Row | None) -> str:
    """What the calls that were left out took, where any were."""
    if steady is None or every is None or every.calls == steady.calls:
        return ""
    mean = (every.total - steady.total) / (every.calls - steady.calls)
    return f"; those took {mean:.0f} ms, the others {steady.mean:.0f} ms"


def _compilation(options: CompareOptions) -> Answer:
    answer = "yes, in both ways" if options.use_torch_compile else "no, in neither way: --use_torch_compile"
    return Answer(options.use_torch_compile, "Is torch.compile enabled, for both?", answer)


def _horizon(options: CompareOptions) -> Answer:
    enough = options.execution_horizon >= LEAST_HORIZON
    answer = f"{'yes' if enough else 'no'}: {options.execution_horizon}, and {LEAST_HORIZON} to 20 are wanted at least"
    return Answer(enough, "Is the execution horizon large enough?", answer)
