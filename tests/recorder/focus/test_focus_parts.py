"""Comprehensions and generator expressions under focus are part of the function that runs them, on every Python."""

from __future__ import annotations

from typing import Any

import pytest

from support.recorder.focus_modules import Sample, below, fixtures
from ticktree.recorder.focus import begin_focus
from ticktree.session import Recorder

F = "f : parts_sample.py @ L3"


_recorder, _sample = fixtures("parts_sample", "\ndef f(x): advance(1); return x\n")


def below_root(recorder: Recorder) -> dict[str, Any]:
    profile = recorder.snapshot()
    profile.check()
    (root,) = profile.root.children.values()
    return below(root)


def test_calls_in_comprehensions_are_their_functions(recorder: Recorder, sample: Sample) -> None:
    module = sample("""
        def root():
            [f(1) for one in range(3)]
            {f(2) for one in range(3)}
            {one: f(3) for one in range(3)}
            sum(f(4) for one in range(3))
    """)
    begin_focus(recorder, ["parts_sample.root"], depth=1)
    module.root()
    assert below_root(recorder) == {f"f({at}) | {F}": (3, 3, {}) for at in (1, 2, 3, 4)}


def test_calls_of_the_same_text_are_distinguished_in_the_whole_function(
    recorder: Recorder, sample: Sample
) -> None:
    module = sample("""
        def root():
            f(0)
            [f(0) for one in range(3)]
            sum(f(0) for one in range(3))
    """)
    begin_focus(recorder, ["parts_sample.root"])
    module.root()
    assert below_root(recorder) == {
        f"f(0) @ L{line} | {F}": (count, count, {}) for line, count in ((6, 1), (7, 3), (8, 3))
    }


def test_calls_in_comprehensions_have_their_function_and_line(recorder: Recorder, sample: Sample) -> None:
    module = sample("""
        class Held:
            def root(self):
                sum(f(0) for one in range(3))
    """)
    begin_focus(recorder, ["parts_sample.Held.root"])
    module.Held().root()
    (root,) = recorder.snapshot().root.children.values()
    (call,) = root.children.values()
    assert [(site.line, site.function) for site in call.call_sites or ()] == [(7, "Held.root")]


def test_a_passed_generator_expression_is_part_of_the_function_that_takes_its_values(
    recorder: Recorder, sample: Sample
) -> None:
    module = sample("""
        def take(values):
            for value in values:
                advance(10)

        def root():
            take(f(0) for one in range(3))
            return (f(0) for one in range(2))

        def other(values):
            list(values)
    """)
    begin_focus(recorder, ["parts_sample.root", "parts_sample.other"])
    module.other(module.root())
    profile = recorder.snapshot()
    profile.check()
    root, other = (
        below(profile.root.children[name])
        for name in ("root : parts_sample.py @ L9", "other : parts_sample.py @ L13")
    )
    call = "take(f(0) for one in range(3)) | take : parts_sample.py @ L5"
    assert root == {call: (1, 33, {f"f(0) @ L10 | {F}": (3, 3, {})})}
    assert other == {f"f(0) @ L11 | {F}": (2, 2, {})}


def test_a_generator_expression_run_by_another_thread_is_not_its_functions(
    recorder: Recorder, sample: Sample
) -> None:
    module = sample("""
        import threading

        def root():
            values = (f(0) for one in range(3))
            thread = threading.Thread(target=list, args=(values,))
            thread.start()
            thread.join()
            advance(100)
    """)
    begin_focus(recorder, ["parts_sample.root"], depth=1)
    module.root()
    assert not [name for name in below_root(recorder) if name.endswith(F)]


def test_comprehensions_are_not_a_level_of_depth(recorder: Recorder, sample: Sample) -> None:
    module = sample("""
        def g(x): return [f(1) for one in [1]]

        def root():
            [
                [g(2) for two in [1]] for one in [1]
            ]
    """)
    begin_focus(recorder, ["parts_sample.root"], depth=2)
    module.root()
    assert below_root(recorder) == {"g(2) | g : parts_sample.py @ L5": (1, 1, {f"f(1) | {F}": (1, 1, {})})}


def test_a_generator_run_by_a_comprehension_is_called_where_it_is_named(
    recorder: Recorder, sample: Sample
) -> None:
    module = sample("""
        def numbers(n):
            for one in range(n):
                advance(5)
                yield one

        def root():
            [f(one) for one in numbers(2) for two in numbers(1)]
    """)
    begin_focus(recorder, ["parts_sample.root"], depth=1)
    module.root()
    numbers = "numbers : parts_sample.py @ L5"
    assert below_root(recorder) == {
        f"numbers(2) | {numbers}": (3, 10, {}),
        f"numbers(1) | {numbers}": (4, 10, {}),
        f"f(one) | {F}": (2, 2, {}),
    }


def test_comprehensions_that_await_are_part_of_their_function(recorder: Recorder, sample: Sample) -> None:
    module = sample("""
        import types

        @types.coroutine
        def hold():
            yield

        async def fetch(x):
            advance(1)
            await hold()
            f(x)

        async def root():
            [await fetch(1) for one in range(2)]
    """)
    begin_focus(recorder, ["parts_sample.root"], depth=2)
    running = module.root()
    for _ in range(2):
        running.send(None)
        recorder.advance(100)
    with pytest.raises(StopIteration):
        running.send(None)
    (name, (count, total_ns, inside)), *_ = below_root(recorder).items()
    assert name.endswith("fetch(1) | fetch : parts_sample.py @ L11")
    assert (count, total_ns) == (2, 204)
    assert [found[:2] for name, found in inside.items() if name.endswith(F)] == [(2, 2)]


def test_c_functions_called_in_comprehensions_are_calls_of_the_running_function(
    recorder: Recorder, sample: Sample
) -> None:
    module = sample("""
        def root():
            [len("ab") for one in range(3)]
            sum(len("abc") for one in range(2))
    """)
    begin_focus(recorder, ["parts_sample.root"], c_functions=True)
    module.root()
    found = {
        name.partition(" | ")[0]: (count, inside) for name, (count, _, inside) in below_root(recorder).items()
    }
    assert found['len("ab")'] == (3, {})
    count, inside = found['sum(len("abc") for one in range(2))']
    calls = [(name.partition(" | ")[0], count) for name, (count, _, _) in inside.items()]
    assert (count, calls) == (1, [('len("abc")', 2)])


def test_a_function_ignored_after_many_calls_outside_is_recorded_in_a_generator_expression(
    recorder: Recorder, sample: Sample
) -> None:
    module = sample("""
        def take(values):
            return sum(values)

        def root(values):
            take(values)
    """)
    function = module.f
    begin_focus(recorder, ["parts_sample.root"])
    for _ in range(100):
        sum(function(one) for one in range(2))
    for _ in range(2):
        module.root(function(one) for one in range(2))
    ((_, (_, _, inside)),) = below_root(recorder).items()
    assert [(name.rpartition(" | ")[2], count) for name, (count, _, _) in inside.items()] == [(F, 4)]
