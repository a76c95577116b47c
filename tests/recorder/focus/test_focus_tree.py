"""Records of focus: by call site, by kind of function, by thread and process."""

from __future__ import annotations

import asyncio
import gc
import os
import sys
import threading
from typing import Any

import pytest

from support.recorder.focus_modules import Sample, below, fixtures
from ticktree.recorder.focus import begin_focus, end_focus
from ticktree.session import Recorder

_recorder, _sample = fixtures("focus_sample")


def tree(recorder: Recorder) -> dict[str, Any]:
    profile = recorder.snapshot()
    profile.check()
    return below(profile.root)


DRIVER = """
    class Forwarder:
        def step(self, x):
            advance(10)
            return x

    class Driver:
        def __init__(self):
            self._forwarder = Forwarder()

        def step(self):
            advance(1)
            self._forwarder.step(1)
            self._forwarder.step(2); self._forwarder.step(2)
            self._forwarder.step(1)
"""


def test_every_call_site_has_its_own_node(recorder: Recorder, sample: Sample) -> None:
    module = sample(DRIVER)
    begin_focus(recorder, ["focus_sample.Driver.step"])
    driver = module.Driver()
    for _ in range(3):
        driver.step()
    step = "Forwarder.step : focus_sample.py @ L4"
    assert tree(recorder) == {
        "Driver.step : focus_sample.py @ L12": (
            3,
            123,
            {
                f"self._forwarder.step(1) @ L14 | {step}": (3, 30, {}),
                f"self._forwarder.step(2) @ L15:8 | {step}": (3, 30, {}),
                f"self._forwarder.step(2) @ L15:33 | {step}": (3, 30, {}),
                f"self._forwarder.step(1) @ L16 | {step}": (3, 30, {}),
            },
        )
    }


def test_a_call_that_returns_does_not_count_as_raised(recorder: Recorder, sample: Sample) -> None:
    module = sample(DRIVER)
    begin_focus(recorder, ["focus_sample.Driver.step"])
    module.Driver().step()
    assert {node.raised for _, _, node in recorder.snapshot().root.walk()} == {0}


def test_a_node_has_its_call_site(recorder: Recorder, sample: Sample) -> None:
    module = sample(DRIVER)
    begin_focus(recorder, ["focus_sample.Driver.step"])
    module.Driver().step()
    root = next(iter(recorder.snapshot().root.children.values()))
    calls = {
        (site.line, site.function) for child in root.children.values() for site in child.call_sites or ()
    }
    assert {line for line, _ in calls} == {14, 15, 16}
    assert {function for _, function in calls} == {"Driver.step"}


def test_every_call_of_a_root_is_a_tick(recorder: Recorder, sample: Sample) -> None:
    module = sample(DRIVER)
    begin_focus(recorder, ["focus_sample.Driver.step"])
    driver = module.Driver()
    for _ in range(30):
        driver.step()
        recorder.advance(1000)
    (loop,) = recorder.snapshot().loops.values()
    assert loop.ticks == 30
    assert recorder.snapshot().root.children["Driver.step : focus_sample.py @ L12"].count == 30


def test_calls_below_the_requested_depth_are_their_callers_self_time(
    recorder: Recorder, sample: Sample
) -> None:
    module = sample("""
        def a(): advance(1); b()
        def b(): advance(2); c()
        def c(): advance(4); d()
        def d(): advance(8)
    """)
    begin_focus(recorder, ["focus_sample.a"], depth=2)
    module.a()
    assert tree(recorder) == {
        "a : focus_sample.py @ L3": (
            1,
            15,
            {
                "b() | b : focus_sample.py @ L4": (
                    1,
                    14,
                    {"c() | c : focus_sample.py @ L5": (1, 12, {})},
                )
            },
        )
    }
    assert recorder.snapshot().root.children["a : focus_sample.py @ L3"].self_ns == 1


def test_a_depth_of_zero_records_only_the_root(recorder: Recorder, sample: Sample) -> None:
    module = sample(DRIVER)
    begin_focus(recorder, ["focus_sample.Driver.step"], depth=0)
    module.Driver().step()
    assert tree(recorder) == {"Driver.step : focus_sample.py @ L12": (1, 41, {})}


def test_recursion_and_exceptions_are_recorded(recorder: Recorder, sample: Sample) -> None:
    module = sample("""
        def down(n):
            advance(1)
            if not n:
                raise ValueError
            down(n - 1)
    """)
    begin_focus(recorder, ["focus_sample.down"], depth=2)
    for _ in range(2):
        with pytest.raises(ValueError, match=r"^$"):
            module.down(3)
    name = "down(n - 1) | down : focus_sample.py @ L3"
    assert tree(recorder) == {"down : focus_sample.py @ L3": (2, 8, {name: (2, 6, {name: (2, 4, {})})})}


def test_specialized_constructor_calls_are_recorded_at_their_call_site(
    recorder: Recorder, sample: Sample
) -> None:
    """The interpreter specializes calls of `__init__`, which then have an extra frame."""
    module = sample("""
        class Made:
            def __init__(self, amount): advance(amount)
        def root():
            Made(1)
            Made(2)
    """)
    begin_focus(recorder, ["focus_sample.root"])
    for _ in range(100):
        module.root()
    made = "Made.__init__ : focus_sample.py @ L4"
    assert tree(recorder) == {
        "root : focus_sample.py @ L5": (
            100,
            300,
            {f"Made(1) | {made}": (100, 100, {}), f"Made(2) | {made}": (100, 200, {})},
        )
    }


def test_a_generator_is_recorded_while_it_runs(recorder: Recorder, sample: Sample) -> None:
    module = sample("""
        def numbers():
            advance(1)
            yield 1
            advance(2)
            yield 2

        def root():
            for number in numbers():
                advance(100)
    """)
    begin_focus(recorder, ["focus_sample.root"])
    module.root()
    ((_, total_ns, children),) = tree(recorder).values()
    assert total_ns == 203
    ((name, (count, inside_ns, _)),) = children.items()
    assert name.endswith("numbers() | numbers : focus_sample.py @ L3")
    assert (count, inside_ns) == (3, 3)


def test_a_generator_that_is_closed_ends(recorder: Recorder, sample: Sample) -> None:
    module = sample("""
        def numbers():
            try:
                advance(1)
                yield 1
            finally:
                advance(5)

        def root():
            made = numbers()
            next(made)
            advance(100)
            made.close()
    """)
    begin_focus(recorder, ["focus_sample.root"])
    module.root()
    module.root()
    ((count, total_ns, children),) = tree(recorder).values()
    assert (count, total_ns) == (2, 212)
    assert sorted((count, ns) for count, ns, _ in children.values()) == [(2, 2), (2, 10)]


def test_a_coroutine_is_timed_with_what_it_awaits(recorder: Recorder, sample: Sample) -> None:
    module = sample("""
        import asyncio

        async def fetch(ns):
            advance(ns)
            await asyncio.sleep(0)
            advance(ns)

        async def root():
            await fetch(10)
    """)
    begin_focus(recorder, ["focus_sample.root"], depth=1)

    async def main() -> None:
        await module.root()
        await module.root()

    asyncio.run(main())
    ((name, (count, total_ns, children)),) = tree(recorder).items()
    assert name.startswith("root : focus_sample.py")
    assert (count, total_ns) == (2, 40)
    assert [(count, ns) for count, ns, _ in children.values()] == [(2, 40)]


def test_tasks_of_an_event_loop_that_a_root_runs_are_in_it(recorder: Recorder, sample: Sample) -> None:
    module = sample("""
        import asyncio

        async def fetch():
            advance(10)

        async def main():
            await asyncio.gather(fetch(), fetch())

        def root():
            asyncio.run(main())
    """)
    begin_focus(recorder, ["focus_sample.root"], depth=100)
    module.root()
    found = {
        node.name: node.count for _, _, node in recorder.snapshot().root.walk() if " | fetch : " in node.name
    }
    assert sum(found.values()) == 2
    recorder.snapshot().check()


def test_threads_that_call_a_root_have_their_own_trees(recorder: Recorder, sample: Sample) -> None:
    module = sample(DRIVER)
    begin_focus(recorder, ["focus_sample.Driver.step"])
    threads = [threading.Thread(target=module.Driver().step) for _ in range(3)]
    for thread in threads:
        thread.start()
        thread.join()
    module.Driver().step()
    nodes = [node for _, _, node in recorder.snapshot().root.walk() if node.name.startswith("Driver.step : ")]
    assert sum(node.count for node in nodes) == 4
    recorder.snapshot().check()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_fork_inside_a_root_does_not_change_the_parents_tree(recorder: Recorder, sample: Sample) -> None:
    module = sample("""
        import os

        def child():
            advance(1)

        def root():
            pid = os.fork()
            child()
            if not pid:
                os._exit(0)
            os.waitpid(pid, 0)
    """)
    begin_focus(recorder, ["focus_sample.root"])
    module.root()
    ((count, total_ns, children),) = tree(recorder).values()
    assert (count, total_ns) == (1, 1)
    # What others have registered to be called at a fork is called there too.
    assert [child[:2] for name, child in children.items() if name.startswith("child()")] == [(1, 1)]


def test_the_object_of_a_c_method_is_freed_when_the_program_releases_it(
    recorder: Recorder, sample: Sample
) -> None:
    module = sample("""
        import weakref
        from functools import partial

        class Things(list):
            pass

        class Call(partial):
            pass

        def root():
            things = Things([2, 1])
            things.sort()
            things.append(3)
            call = Call(len, things)
            call()
            return weakref.ref(things), weakref.ref(call)
    """)
    begin_focus(recorder, ["focus_sample.root"], c_functions=True)
    gc.disable()
    try:
        assert [seen() for _ in range(2) for seen in module.root()] == [None] * 4
    finally:
        gc.enable()
    ((_, _, children),) = tree(recorder).values()
    assert any(".sort @" in name for name in children)


def test_c_functions_are_recorded_on_request(recorder: Recorder, sample: Sample) -> None:
    module = sample("""
        def key(x):
            advance(1)
            return x

        def root():
            sorted([1, 2], key=key)
            try:
                int("x")
            except ValueError:
                pass
            [].append(1)
    """)
    begin_focus(recorder, ["focus_sample.root"], c_functions=True)
    module.root()
    ((_, _, children),) = tree(recorder).values()
    names = {name.rpartition(" | ")[2].partition(" @ ")[0]: child for name, child in children.items()}
    assert names["sorted"][0] == 1
    assert [(count, ns) for count, ns, _ in names["sorted"][2].values() if ns] == [(2, 2)]
    assert "list.append" in names
    if sys.version_info >= (3, 12):  # before, a type that is called tells nobody
        assert names["int"][0] == 1


def test_the_programs_sections_are_in_the_tree(recorder: Recorder, sample: Sample) -> None:
    module = sample("""
        section = None

        def inner():
            advance(2)

        def root():
            with section("mine"):
                advance(1)
                inner()
    """)
    module.section = recorder.section  # type: ignore[attr-defined]
    begin_focus(recorder, ["focus_sample.root"])
    module.root()
    assert tree(recorder) == {
        "root : focus_sample.py @ L8": (
            1,
            3,
            {"mine": (1, 3, {"inner() | inner : focus_sample.py @ L5": (1, 2, {})})},
        )
    }


def test_a_root_below_another_has_ticks_and_the_full_depth(recorder: Recorder, sample: Sample) -> None:
    module = sample("""
        def a(): b()
        def b(): c()
        def c(): d()
        def d(): e()
        def e(): advance(1)
    """)
    begin_focus(recorder, ["focus_sample.a", "focus_sample.c"], depth=2)
    module.a()
    path = [node.name.partition(" : ")[0] for _, _, node in recorder.snapshot().root.walk()]
    assert path[1:] == ["a", "b() | b", "c() | c", "d() | d", "e() | e"]
    assert len(recorder.snapshot().loops) == 2


def test_after_focus_there_is_no_cost(recorder: Recorder, sample: Sample) -> None:
    """All hooks are removed: the functions are the original ones, and calls are not reported."""
    module = sample(DRIVER)
    original = vars(module.Driver)["step"]
    begin_focus(recorder, ["focus_sample.Driver.step"])
    module.Driver().step()
    end_focus()
    module.Driver().step()
    assert recorder.snapshot().root.children["Driver.step : focus_sample.py @ L12"].count == 1
    assert vars(module.Driver)["step"] is original
    assert sys.getprofile() is None
    if sys.version_info >= (3, 12):
        assert [sys.monitoring.get_tool(identifier) for identifier in (3, 4, 5)] == [None] * 3


@pytest.mark.parametrize("warmup", [0, 3])
def test_the_requested_number_of_first_calls_is_set_aside(
    recorder: Recorder, sample: Sample, warmup: int
) -> None:
    module = sample(DRIVER)
    begin_focus(recorder, ["focus_sample.Driver.step"], warmup=warmup)
    driver = module.Driver()
    for _ in range(5):
        driver.step()
    (loop,) = recorder.snapshot().loops.values()
    assert (loop.ticks, loop.warmup_ticks, loop.stats.count) == (5, warmup, 5 - warmup)
