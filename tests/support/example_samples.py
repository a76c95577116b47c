"""Profiles with stack samples and invented numbers: a trainer, and a program without sections."""

from __future__ import annotations

from dataclasses import replace

from support.example_profiles import MS, training
from support.virtual_programs import Program
from ticktree.profile import CodeLine, Node, Profile, SampledStack, Samples, Weight
from ticktree.profile.noted_lines import SAMPLED_LINES

MAIN = CodeLine("main", "/home/ada/train.py", 40)
UPDATE = CodeLine("Agent.update", "/home/ada/train.py", 12)
CRUNCH = CodeLine("crunch", "/home/ada/lib.py", 7)
OTHER_LINE = CRUNCH._replace(line=9)
NAP = CodeLine("nap", "/home/ada/lib.py", 3)


def sampled(counts, **more) -> Samples:
    """Samples of which each stands for 10 ms."""
    return Samples({stack: Weight(n, n * 10 * MS) for stack, n in counts.items()}, rounds=100, **more)


def stack(path, *lines, state="running", thread="") -> SampledStack:
    return SampledStack(path, thread, state, lines)


def sampled_store(counts, noted="", *, late=0) -> Profile:
    """A loop that spends 8 of its 10 ms in `store`, sampled at lines in states, and its lines of note."""
    profile = Program()
    for _ in profile.loop("train", range(50)):
        profile.work("learn", 2)
        profile.work("store", 8)
    stacks = {stack("train/store", line, state=state): n for (line, state), n in counts.items()}
    facts = {SAMPLED_LINES: frozenset([noted])} if noted else {}
    return replace(profile.profile(), samples=sampled(stacks, late=late), metadata=facts)


def sampled_training() -> Profile:
    """A training loop: what its self time and that of one of its updates was, and another thread."""
    return replace(
        training(),
        samples=sampled(
            {
                stack("", MAIN): 3,
                stack("train/update", UPDATE): 10,
                stack("train/update", UPDATE, CRUNCH): 60,
                stack("train/update", UPDATE, OTHER_LINE): 20,
                stack("train/update", UPDATE, NAP, state="sleep"): 10,
                stack("train/update", state="suspended"): 1,
                stack("", NAP, state="lock", thread="other threads"): 5,
            }
        ),
    )


def unmarked() -> Profile:
    """A program without sections, of 1 s and one nanosecond."""
    return Profile(
        root=Node(name="root", self_ns=1000 * MS + 1),
        samples=sampled(
            {
                stack("", MAIN, CRUNCH): 50,
                stack("", MAIN, OTHER_LINE): 20,
                stack("", MAIN, NAP, state="sleep"): 29,
                stack("", NAP, state="lock", thread="other threads"): 5,
            }
        ),
    )
