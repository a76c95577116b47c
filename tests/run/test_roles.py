"""The role of a worker: its name without its number."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ticktree.run.reading.accounts import role_of


@pytest.mark.parametrize(
    ("name", "role"),
    [
        ("env_worker-3", "env_worker"),
        ("Worker<AsyncVectorEnv>-3", "Worker<AsyncVectorEnv>"),
        ("ThreadPoolExecutor-0_3", "ThreadPoolExecutor-0"),
        ("pool worker-12", "pool worker"),
        ("SpawnProcess-1:2", "SpawnProcess"),
        ("actor 3", "actor"),
        ("actor[3]", "actor"),
        ("actor (3)", "actor"),
        ("actor #3", "actor"),
        ("actor_03", "actor"),
        ("actor.3", "actor"),
        ("actor3", "actor"),
        ("my actor3", "my actor"),
        ("env_actor3", "env_actor"),
        ("Thread-7 (collect)", "collect"),
        ("Thread-7 (collect_2)", "collect_2"),
        ("Thread-7", "Thread"),
        ("learner", "learner"),
        ("MainThread", "MainThread"),
        ("td3", "td3"),
        ("x2", "x2"),
        ("3", "3"),
        ("-3", "-3"),
        ("", ""),
        ("actor 3 of 4", "actor 3 of"),
        ("3 actors", "3 actors"),
    ],
)
def test_the_role_that_a_name_implies(name, role):
    assert role_of(name) == role


@given(st.text())
def test_a_role_is_a_part_of_its_name(name):
    role = role_of(name)
    assert role in name
    assert bool(role) == bool(name)


@given(st.text("abc<>() -_"), st.integers(0, 10**6))
def test_names_that_differ_in_a_number_have_one_role(name, number):
    assert role_of(f"x{name}-{number}") == role_of(f"x{name}-{number + 1}")
