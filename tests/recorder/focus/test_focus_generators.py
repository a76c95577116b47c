"""Generators and coroutines under focus that begin, continue and end in different frames."""

from __future__ import annotations

from typing import Any

import pytest

from support.recorder.focus_modules import Sample, below, fixtures
from ticktree.recorder.focus import begin_focus
from ticktree.session import Recorder

_recorder, _sample = fixtures("focus_generators")


def tree_by_name(recorder: Recorder) -> dict[str, Any]:
    """Return the tree by the functions' names only."""
    profile = recorder.snapshot()
    profile.check()

    def by_function(children: dict[str, Any]) -> dict[str, Any]:
        tree: dict[str, Any] = {}
        for name, (count, total_ns, inner) in children.items():
            function = name.partition(" : ")[0].rpartition(" | ")[2].rpartition(".")[2]
            assert function not in tree
            tree[function] = (count, total_ns, by_function(inner))
        return tree

    return by_function(below(profile.root))


SOURCE = """
    def loader():
        while True:
            advance(7)
            yield 1

    batches = loader()

    def root():
        next(batches)
"""


@pytest.mark.parametrize("before", [1, 200])
def test_a_generator_that_began_outside_is_recorded_where_it_continues(
    before: int, recorder: Recorder, sample: Sample
) -> None:
    module = sample(SOURCE)
    begin_focus(recorder, ["focus_generators.root"])
    for _ in range(before):
        next(module.batches)
    for _ in range(3):
        module.root()
    assert tree_by_name(recorder) == {"root": (3, 21, {"loader": (3, 21, {})})}


def test_a_generator_that_began_too_deep_is_recorded_where_it_continues(
    recorder: Recorder, sample: Sample
) -> None:
    module = sample("""
        def numbers():
            while True:
                advance(7)
                yield 1

        kept = []  # one that is dropped is closed, which is a call of it

        def begun():
            kept.append(numbers())
            next(kept[-1])
            return kept[-1]

        def root():
            next(begun())
    """)
    begin_focus(recorder, ["focus_generators.root"], depth=1)
    module.root()
    module.root()
    assert tree_by_name(recorder) == {"root": (2, 28, {"begun": (2, 14, {}), "numbers": (2, 14, {})})}


def test_an_exception_thrown_into_a_generator_goes_to_the_inner_one(
    recorder: Recorder, sample: Sample
) -> None:
    """The interpreter resumes the inner one directly: the outer one runs only after that has ended."""
    module = sample("""
        def inner():
            try:
                yield 1
            finally:
                advance(5)

        def outer():
            try:
                yield from inner()
            finally:
                advance(3)

        def root():
            made = outer()
            next(made)
            try:
                made.throw(KeyError)
            except KeyError:
                advance(1)
    """)
    begin_focus(recorder, ["focus_generators.root"], depth=1)
    module.root()
    module.root()
    assert below(recorder.snapshot().root)
    (root,) = recorder.snapshot().root.children.values()
    assert (root.count, root.total_ns, root.self_ns) == (2, 18, 2)
    assert sum(node.count for node in root.children.values()) == 6  # outer begins, inner ends, outer ends


def test_callbacks_of_an_event_loop_are_not_calls_of_a_suspended_coroutine(
    recorder: Recorder, sample: Sample
) -> None:
    module = sample("""
        import asyncio

        async def fetch():
            await asyncio.sleep(0)
            advance(5)

        async def root():
            asyncio.get_running_loop().call_soon(called_back)
            await asyncio.gather(fetch(), fetch())
            await fetch()

        def called_back():
            advance(3)

        def main():
            asyncio.run(root())
    """)
    begin_focus(recorder, ["focus_generators.root"], depth=1)
    module.main()
    ((count, total_ns, children),) = tree_by_name(recorder).values()
    assert (count, total_ns) == (1, 18)  # what the loop did meanwhile is root's time, and its own
    assert set(children) - {"call_soon", "get_running_loop"} == {"gather", "fetch"}
    assert children["fetch"][:2] == (1, 5)


def test_the_loop_and_not_a_suspended_coroutine_closes_an_open_async_generator(
    recorder: Recorder, sample: Sample
) -> None:
    module = sample("""
        import asyncio

        async def numbers():
            try:
                for number in range(3):
                    advance(2)
                    await asyncio.sleep(0)
                    yield number
            finally:
                advance(5)

        async def go():
            async for number in numbers():
                break
            made = numbers()
            await made.__anext__()
            await made.aclose()
            await asyncio.sleep(0)

        def main():
            asyncio.run(go())
    """)
    begin_focus(recorder, ["focus_generators.numbers"], depth=3)
    module.main()
    profile = recorder.snapshot()
    profile.check()
    names = [node.name.partition(" : ")[0].rpartition(" | ")[2] for _, _, node in profile.root.walk()]
    assert {*names} - {"sleep", "__sleep0"} == {"root", "numbers"}
    assert sum(node.count for _, _, node in profile.root.walk() if node.name.startswith("numbers : ")) == 4
