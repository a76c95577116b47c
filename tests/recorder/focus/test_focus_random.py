"""Focus against a reference tracer, on random programs and a virtual clock: exact by path, and accounts add up."""

from __future__ import annotations

import gc
import inspect
import linecache
import re
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from support.recorder.focus_programs import PAUSE, random_program
from support.recorder.focus_reference import Reference
from support.thorough import part_of
from ticktree.profile import Node
from ticktree.recorder.focus import begin_focus, end_focus
from ticktree.session import Recorder

ROUNDS = 3


def loaded(source: str, path: Path, advance: Callable[[int], None]) -> dict[str, Any]:
    path.write_text(source)
    linecache.checkcache(str(path))
    names: dict[str, Any] = {"__name__": "focus_program", "advance": advance, "PAUSE": PAUSE}
    exec(compile(source, str(path), "exec"), names)
    return names


def driven(names: dict[str, Any], advance: Callable[[int], None]) -> None:
    """Calls the root some times; of a coroutine, time passes and other functions run while it pauses."""
    for _ in range(ROUNDS):
        advance(7)
        try:
            result = names["f0"](0)
            while inspect.iscoroutine(result):
                result.send(None)
                advance(11)
                names["Held"](0)
        except (KeyError, StopIteration):
            advance(3)


def shape(node: Node, names: Collection[str]) -> dict[str, Any]:
    """As the reference has it: by the callee's name and, of these functions, the first argument of the call."""
    found: dict[str, Any] = {}
    for name, child in node.children.items():
        expression, _, callee = name.rpartition(" : ")[0].rpartition(" | ")
        last = callee.split(".")[-1]
        site = re.search(rf"\b{last}\((\d+)", expression) if last in names else None
        init = re.search(r"\bHeld\((\d+)", expression) if last == "__init__" else None
        key = f"{last}({(init or site).group(1) if init or site else ''}"
        assert key not in found or not site, f"two nodes are one call site: {name}"
        count, total_ns, below = found.get(key, (0, 0, {}))
        found[key] = (count + child.count, total_ns + child.total_ns, merged(below, shape(child, names)))
    return dict(sorted(found.items()))


def merged(left: dict[str, Any], right: dict[str, Any]) -> dict[str, Any]:
    both = dict(left)
    for key, (count, total_ns, below) in right.items():
        before = both.get(key, (0, 0, {}))
        both[key] = (before[0] + count, before[1] + total_ns, merged(before[2], below))
    return dict(sorted(both.items()))


@contextmanager
def no_collections() -> Iterator[None]:
    """No garbage collection runs by itself: its callbacks would be calls in one of two runs and not in the other.

    Other tests leave such callbacks behind, hypothesis its own.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def referred(source: str, path: Path, depth: int, collects: bool) -> dict[str, Any]:
    """The tree that the reference has of a program."""
    clock = Recorder(virtual_clock=True)
    names = loaded(source, path, advancing(clock, collects))
    reference = Reference(names["f0"].__code__, depth, lambda: clock.ticks, PAUSE)
    with no_collections():
        reference.run(lambda: driven(names, clock.advance))
    clock.disable()  # or thousands would be kept, and hear of every collection
    return reference.tree.shape()


def focused(source: str, path: Path, depth: int, before: int, collects: bool) -> dict[str, Any] | None:
    """The tree that focus has of it, whose functions are called `before` times outside first; None: too large."""
    recorder = Recorder(virtual_clock=True)
    names = loaded(source, path, advancing(recorder, collects))
    functions = [names[name] for name in names if re.fullmatch("f[1-9]", name)]
    told_apart = [
        name for name in names if "site" in getattr(getattr(names[name], "__code__", None), "co_varnames", ())
    ]
    begin_focus(recorder, ["focus_program.f0"], depth)
    try:
        with no_collections():
            # What is called outside that often is no longer looked at, until it is called inside.
            for function in functions * before:
                outside(function)
            driven(names, recorder.advance)
    finally:
        end_focus()
    profile = recorder.snapshot()
    profile.check()
    recorder.disable()
    if profile.losses.get("calls_over_node_cap"):
        return None
    roots = [child for name, child in profile.root.children.items() if name.startswith("f0 : ")]
    return dict(("f0(0", (node.count, node.total_ns, shape(node, told_apart))) for node in roots)  # noqa: C402


def advancing(recorder: Recorder, collects: bool) -> Callable[[int], None]:
    """What the program passes time with; one that collects garbage each time, too, is a call like others."""

    def collect(amount: int) -> None:
        gc.collect(0)
        recorder.advance(amount)

    if not collects:
        return recorder.advance
    gc.collect()  # what others left behind, which may run code of theirs
    return collect


def compared(seed: int, depth: int, path: Path, before: int = 0, collects: bool = False) -> bool:
    """Runs the same program twice, looked at by one and by the other; False where one has not kept all of it."""
    source = random_program(seed)
    expected = referred(source, path, depth, collects)
    found = focused(source, path, depth, before, collects)
    assert found in (None, expected), source
    return found is not None


def outside(function: Callable[[int, int], Any]) -> None:
    try:
        result = function(0, 0)
        if inspect.iscoroutine(result):
            result.close()
        elif inspect.isgenerator(result):
            list(result)
    except KeyError:
        return


@pytest.mark.parametrize("seed", range(120))
def test_calls_of_random_programs_equal_the_references(seed: int, tmp_path: Path) -> None:
    assert compared(seed, 1 + seed % 7, tmp_path / "focus_program.py")


@pytest.mark.parametrize("seed", range(0, 120, 10))
def test_functions_ignored_after_many_calls_outside_are_recorded_inside(seed: int, tmp_path: Path) -> None:
    assert compared(seed, 6, tmp_path / "focus_program.py", before=100)


@pytest.mark.parametrize("seed", range(0, 120, 20))
def test_ticktrees_work_at_a_garbage_collection_is_not_a_call(seed: int, tmp_path: Path) -> None:
    assert compared(seed, 6, tmp_path / "focus_program.py", collects=True)


@pytest.mark.slow
@pytest.mark.parametrize("start", range(1000, 5000, 500))
def test_many_random_programs(start: int, tmp_path: Path) -> None:
    programs = ((seed, tmp_path / f"focus_program_{seed}.py") for seed in range(start, start + part_of(500)))
    assert sum(compared(seed, 1 + seed % 7, path) for seed, path in programs) > part_of(490)
