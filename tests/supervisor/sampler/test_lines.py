"""Lines are equal to the interpreter's own."""

from __future__ import annotations

import argparse
import ast
import asyncio.base_events
import dis
import enum
import inspect
import types
from collections.abc import Iterator

import pytest

from ticktree.supervisor.sampler.lines import CodeLines

MODULES = [argparse, ast, asyncio.base_events, dis, enum, inspect]
ODD = (
    """
def f(x, *,
      y=[i
         for i in range(3)]):
    with open(x) as a, \\
         open(y) as b:
        try:
            return (a.read() +
                    b.read())
        except (OSError,
                ValueError) as e:
            raise TypeError from e
        finally:
            del a


def g(): return (yield
    (lambda: 1))
"""
    + "\n" * 5000
    + "def far():\n    x = 1"
    + "\n" * 9000
    + "    return x\n"
)


def codes_in(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from codes_in(constant)


@pytest.mark.parametrize("source", [*map(inspect.getsource, MODULES), ODD])
def test_every_instruction_has_the_line_that_the_interpreter_gives_it(source: str) -> None:
    instruction_count = 0
    for code in codes_in(compile(source, "source.py", "exec")):
        lines = CodeLines(code.co_firstlineno, code.co_linetable)
        for begin, end, line in code.co_lines():
            for offset in range(begin, end, 2):
                assert lines.at(offset) == (line or code.co_firstlineno), (code, offset)
                instruction_count += 1
    assert instruction_count > 20


def test_a_truncated_table_still_gives_lines() -> None:
    code = compile(ODD, "source.py", "exec")
    for length in range(len(code.co_linetable)):
        assert isinstance(CodeLines(1, code.co_linetable[:length]).at(10), int)


@pytest.mark.parametrize("kind", [13, 14])
def test_an_overwritten_table_gives_no_line(kind):
    head = 0x80 | kind << 3
    distant_line = bytes([head, *[0x7F] * 10, 0x3E])  # plus 2**65 and more
    assert [CodeLines(7, distant_line).at(offset) for offset in (0, 2, 100)] == [7, 7, 7]
    assert CodeLines(7, bytes([head]) + b"\x02").at(0) == 8
