"""Focus against a reference tracer, on random programs and a virtual clock: exact by path, with consistent sums."""

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


def load(source: str, path: Path, advance: Callable[[int], None]) -> dict[str, Any]:
    path.write_text(source)
    linecache.checkcache(str(path))
    names: dict[str, Any] = {"__name__": "focus_program", "advance": advance, "PAUSE": PAUSE}
    exec(compile(source, str(path), "exec"), names)
    return names


def drive(names: dict[str, Any], advance: Callable[[int], None]) -> None:
    """Call the root some times; while a coroutine is suspended, time passes and other functions run."""
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
    """Return the tree as in the reference: by the callee's name and, for these functions, its first argument."""
    found: dict[str, Any] = {}
    for name, child in node.children.items():
        expression, _, callee = name.rpartition(" : ")[0].rpartition(" | ")
        last = callee.split(".")[-1]
        site = re.search(rf"\b{last}\((\d+)", expression) if last in names else None
        init = re.search(r"\bHeld\((\d+)", expression) if last == "__init__" else None
        key = f"{last}({(init or site).group(1) if init or site else ''}"
        assert key not in found or not site, f"two nodes are one call site: {name}"
        count, total_ns, below = found.get(key, (0, 0, {}))
        found[key] = (count + child.count, total_ns + child.total_ns, merge(below, shape(child, names)))
    return dict(sorted(found.items()))


def merge(left: dict[str, Any], right: dict[str, Any]) -> dict[str, Any]:
    result = dict(left)
    for key, (count, total_ns, below) in right.items():
        previous = result.get(key, (0, 0, {}))
        result[key] = (previous[0] + count, previous[1] + total_ns, merge(previous[2], below))
    return dict(sorted(result.items()))


@contextmanager
def no_collections() -> Iterator[None]:
    """Disable automatic garbage collection: its callbacks would be calls in one of two runs and not in the other.

    Other tests leave such callbacks behind, hypothesis its own.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def reference_tree(source: str, path: Path, depth: int, collects: bool) -> dict[str, Any]:
    """Return the reference tracer's tree of a program."""
    clock = Recorder(virtual_clock=True)
    names = load(source, path, make_advance(clock, collects))
    reference = Reference(names["f0"].__code__, depth, lambda: clock.ticks, PAUSE)
    with no_collections():
        reference.run(lambda: drive(names, clock.advance))
    clock.disable()  # or thousands would be kept, and hear of every collection
    return reference.tree.shape()


def focus_tree(source: str, path: Path, depth: int, before: int, collects: bool) -> dict[str, Any] | None:
    """Return the tree of focus, after `before` calls of the functions outside of it; None: too large."""
    recorder = Recorder(virtual_clock=True)
    names = load(source, path, make_advance(recorder, collects))
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
            drive(names, recorder.advance)
    finally:
        end_focus()
    profile = recorder.snapshot()
    profile.check()
    recorder.disable()
    if profile.losses.get("calls_over_node_cap"):
        return None
    roots = [child for name, child in profile.root.children.items() if name.startswith("f0 : ")]
    return dict(("f0(0", (node.count, node.total_ns, shape(node, told_apart))) for node in roots)  # noqa: C402


def make_advance(recorder: Recorder, collects: bool) -> Callable[[int], None]:
    """Return the function that advances the clock; with a garbage collection each time, it is a call like others."""

    def collect(amount: int) -> None:
        gc.collect(0)
        recorder.advance(amount)

    if not collects:
        return recorder.advance
    gc.collect()  # what others left behind, which may run code of theirs
    return collect


def matches_reference(seed: int, depth: int, path: Path, before: int = 0, collects: bool = False) -> bool:
    """Run the same program under the reference and under focus; False if the tree was too large."""
    source = random_program(seed)
    expected = reference_tree(source, path, depth, collects)
    actual = focus_tree(source, path, depth, before, collects)
    assert actual in (None, expected), source
    return actual is not None


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
    assert matches_reference(seed, 1 + seed % 7, tmp_path / "focus_program.py")


@pytest.mark.parametrize("seed", range(0, 120, 10))
def test_functions_ignored_after_many_calls_outside_are_recorded_inside(seed: int, tmp_path: Path) -> None:
    assert matches_reference(seed, 6, tmp_path / "focus_program.py", before=100)


@pytest.mark.parametrize("seed", range(0, 120, 20))
def test_ticktrees_work_at_a_garbage_collection_is_not_a_call(seed: int, tmp_path: Path) -> None:
    assert matches_reference(seed, 6, tmp_path / "focus_program.py", collects=True)


@pytest.mark.slow
@pytest.mark.parametrize("start", range(1000, 5000, 500))
def test_many_random_programs(start: int, tmp_path: Path) -> None:
    programs = ((seed, tmp_path / f"focus_program_{seed}.py") for seed in range(start, start + part_of(500)))
    assert sum(matches_reference(seed, 1 + seed % 7, path) for seed, path in programs) > part_of(490)
