"""Loops that several contenders run, each with its own bytecode."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from itertools import repeat
from types import FunctionType
from typing import Any, TypeVar, cast

from harness.race import Block

F = TypeVar("F", bound=Callable[..., Any])
Section = Callable[[str], AbstractContextManager[object]]
"""What opens a section of that name when it is entered by `with`."""


def own_code(function: F) -> F:
    """A copy of a function with bytecode that it shares with no other.

    Since 3.11 the interpreter adapts a call site to the types it sees there, and the adapted code belongs to
    the code object. Closures of one function share it: each contender would find the site adapted to the one
    before, which no program does to its own.
    """
    original = cast(FunctionType, function)
    copy = FunctionType(
        original.__code__.replace(),
        original.__globals__,
        original.__name__,
        original.__defaults__,
        original.__closure__,
    )
    return cast(F, copy)


def by_name(section: Section) -> Block:
    """`with section("x")`, looked up every time, with nothing in it."""

    def block(turns: int) -> None:
        for _ in repeat(None, turns):
            with section("x"):
                pass

    return own_code(block)


def calls(function: Callable[[], object]) -> Block:
    """Calls a function without arguments."""

    def block(turns: int) -> None:
        for _ in repeat(None, turns):
            function()

    return own_code(block)
