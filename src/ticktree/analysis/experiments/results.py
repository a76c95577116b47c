"""Whether a program has the same results under a remedy: the numbers that it prints, and its gauges."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

from ticktree.profile import Profile
from ticktree.profile.machine import program_gauges

# Relative tolerance of results: threads add floating-point numbers in another order.
TOLERANCE = 1e-3

# Prefixes of the gauges that instruments record: they measure how the program runs, not its results.
_INSTRUMENTS = ("torch/", "jax/", "machine/", "remedy/")
_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")
# A line of equal characters, as above and below tables: its length depends on the width of the table's numbers.
_RULE = re.compile(r"([^\w\s])\1{2,}")
# Durations and rates differ from run to run, but whole seconds may agree by chance.
_WORD = re.compile(r"[^\W\d_]+")
_BEFORE_DURATION = frozenset(
    ["duration", "elapsed", "eta", "fps", "seconds", "speed", "sps", "throughput", "time", "took"]
)
# In "loss 0.5 fps 90", fps belongs to 90.
_AFTER_DURATION = re.compile(
    r"\s*(?:[num\u00b5]?s|secs?|seconds?|mins?|minutes?|h|hours?|fps|[a-z]+/s)\b(?!\s*[:=]?\s*[-+.\d])",
    re.IGNORECASE,
)

State: TypeAlias = Literal["unchanged", "within tolerance", "changed", "not comparable"]


@dataclass(frozen=True, slots=True)
class Results:
    """Whether a program's results are the same under a remedy.

    Attributes:
        state: the outcome of the comparison.
        numbers: how many numbers of the output and gauges were compared: those that are equal in all base runs.
        reason: the result that changed, or why no result could be compared; "" otherwise.
    """

    state: State
    numbers: int = 0
    reason: str = ""


class _Line(NamedTuple):
    """A line of the output, or a gauge: its words, and its numbers without durations and rates."""

    label: str
    words: str
    numbers: tuple[float, ...]

    def is_like(self, other: _Line) -> bool:
        """Return whether only the numbers differ."""
        return self.words == other.words and len(self.numbers) == len(other.numbers)


@dataclass(frozen=True, slots=True)
class ProgramOutput:
    """What a run printed to its standard output, and the last readings of the program's own gauges."""

    text: str
    gauges: Mapping[str, float]

    @classmethod
    def of(cls, text: str, profile: Profile) -> ProgramOutput:
        """Return the output of a run, given its text and profile."""
        gauges = program_gauges(profile.gauges)
        readings = {
            name: gauge.last for name, gauge in sorted(gauges.items()) if not name.startswith(_INSTRUMENTS)
        }
        return cls(text, readings)

    def lines(self) -> list[_Line]:
        """Return the lines of the text, and then one for each gauge."""
        printed = [
            _Line(f"line {number} of its output", _words(line), tuple(_numbers(line)))
            for number, line in enumerate(self.text.splitlines(), 1)
        ]
        return printed + [_Line(f"gauge {name}", name, (value,)) for name, value in self.gauges.items()]


def _words(line: str) -> str:
    """Return everything except the numbers, and without what depends on their width."""
    return _RULE.sub(r"\1", " ".join(_NUMBER.sub("0", line).split()))


def _numbers(line: str) -> Iterator[float]:
    end = 0
    for match in _NUMBER.finditer(line):
        words_before = _WORD.findall(line[end : match.start()].lower())[-2:]
        end = match.end()
        if _BEFORE_DURATION.isdisjoint(words_before) and not _AFTER_DURATION.match(line, end):
            yield float(match.group())


def compare_results(
    base: Sequence[ProgramOutput], new: Sequence[ProgramOutput], tolerance: float = TOLERANCE
) -> Results:
    """Return whether `new` runs of a program have the same results as the `base` runs.

    Lines whose words differ between base runs do not count as results, nor do numbers that differ between them,
    durations and rates. There are at least two base runs, and `tolerance` is the largest relative difference from the
    number of the base.
    """
    first, *other_runs = (output.lines() for output in base)
    if any(len(lines) != len(first) for lines in other_runs):
        return Results("not comparable", reason="it prints more lines in some runs, without any remedy")
    comparable = [
        index for index, line in enumerate(first) if all(line.is_like(lines[index]) for lines in other_runs)
    ]
    stable = {
        index: [
            (position, number)
            for position, number in enumerate(first[index].numbers)
            if all(lines[index].numbers[position] == number for lines in other_runs)
        ]
        for index in comparable
    }
    count = sum(map(len, stable.values()))
    if not count:
        return Results(
            "not comparable", reason="it prints no number that is the same in two runs: set its seed"
        )
    max_difference = 0.0
    for lines in (output.lines() for output in new):
        if len(lines) != len(first):
            return Results("changed", count, f"lines of its output: {len(first)} became {len(lines)}")
        for index in comparable:
            if not lines[index].is_like(first[index]):
                return Results("changed", count, f"{first[index].label} has other words")
            for position, number in stable[index]:
                new_number = lines[index].numbers[position]
                difference = abs(new_number - number)
                if not difference <= tolerance * abs(number):
                    reason = f"{first[index].label}: {number:.6g} became {new_number:.6g}"
                    return Results("changed", count, reason)
                max_difference = max(max_difference, difference)
    return Results("within tolerance" if max_difference else "unchanged", count)
