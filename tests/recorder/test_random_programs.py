"""Random programs give the same tree, calls and nanoseconds as a reference that is obviously right."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings

from support.recorder.player import Player
from support.recorder.programs import (
    Advance,
    Generator,
    InContext,
    Program,
    Resume,
    Section,
    Stage,
    Suspend,
    Task,
    Timed,
    programs,
)
from support.thorough import thorough

few = settings(
    max_examples=50, deadline=None, suppress_health_check=list(HealthCheck), report_multiple_bugs=False
)
many = settings(few, max_examples=250)

kinds = {
    "plain": programs("reset", "disable"),
    "contexts": programs("context", "context", "generator", "reset", in_functions=("context",)),
    "generators": programs("generator", "generator", "resume", "resume", "close", "reset"),
    "tasks": programs("task", "task", "resume", "resume", "resume", "reset"),
    "threads": programs("thread", "submit", "resume", "resume", "reset"),
    "everything": programs(
        *("generator", "task", "thread", "submit", "context", "resume", "resume", "resume", "close", "reset"),
        in_functions=("suspend", "generator", "resume", "context"),
    ),
}

# What chance found once; a fresh machine's chance may not.
nodes = {
    "a context's copy run in a task whose section was left": Program(
        (
            Section("a", (Task((InContext((Section("a", (Advance(1),)),)),)),)),
            Resume(0),
        ),
        ((), (), ()),
    ),
    "a stage begun by a call that has returned, in a generator that sleeps": Program(
        (
            Generator((Section("a", (Stage("a"), Suspend())),)),
            Generator((Timed("a", (Advance(0),)),)),
            Resume(0),
            Resume(1),
        ),
        ((), (), ()),
    ),
}


@pytest.mark.timeout(600)  # hundreds of programs: on a busy machine they take minutes
@pytest.mark.parametrize("kind", kinds)
def test_random_programs_give_the_accounts_of_the_reference(kind):
    @few
    @given(kinds[kind])
    def holds(program):
        Player(program).play()

    holds()


@pytest.mark.parametrize("program", nodes.values(), ids=nodes)
def test_programs_that_once_differed_give_the_accounts_of_the_reference(program):
    Player(program).play()


@thorough
@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("kind", kinds)
def test_many_random_programs_give_the_accounts_of_the_reference(kind):
    @many
    @given(kinds[kind])
    def holds(program):
        Player(program).play()

    holds()
