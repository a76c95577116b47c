"""asyncio and uvloop: a task's sections are children of the section that created the task."""

from __future__ import annotations

import asyncio
import contextvars
import sys
import threading

import pytest

from support.recorder.event_loops import both, run
from support.recorder.queries import counts, losses, node, times


async def work(recorder, name, turns=3):
    with recorder.section(name):
        for _ in range(turns):
            with recorder.section("part"):
                recorder.advance(1)
                await asyncio.sleep(0)


@both
def test_gathered_tasks_are_children_of_the_section_that_gathers_them(recorder, kind):
    async def main():
        with recorder.section("gather"):
            await asyncio.gather(*(work(recorder, name) for name in "abc"))

    run(kind, main())
    expected = {
        "gather": 1,
        **{f"gather/{name}": 1 for name in "abc"},
        **{f"gather/{n}/part": 3 for n in "abc"},
    }
    assert counts(recorder) == expected
    assert times(recorder)["gather"] == 9
    assert node(recorder, "gather").self_ns == 0
    assert node(recorder, "gather").parallel
    assert losses(recorder) == {}


@both
def test_two_awaiting_tasks_together_cover_what_their_parent_waited(recorder, kind):
    async def main():
        with recorder.section("both"):
            recorder.advance(5)
            await asyncio.gather(work(recorder, "a", 1), work(recorder, "b", 1))
            recorder.advance(7)

    run(kind, main())
    assert node(recorder, "both").total_ns == 14
    assert node(recorder, "both").self_ns == 12


@both
def test_a_task_groups_tasks_are_children_of_the_section_that_holds_the_group(recorder, kind):
    async def main():
        with recorder.section("group"):
            async with asyncio.TaskGroup() as group:
                for name in "ab":
                    group.create_task(work(recorder, name))
                with recorder.section("beside"):
                    await asyncio.sleep(0)

    run(kind, main())
    assert set(counts(recorder)) == {
        "group",
        "group/a",
        "group/a/part",
        "group/b",
        "group/b/part",
        "group/beside",
    }
    assert losses(recorder) == {}


@both
def test_a_cancelled_task_leaves_its_sections(recorder, kind):
    async def forever():
        with recorder.section("forever"), recorder.section("inner"):
            await asyncio.Event().wait()

    async def main():
        with recorder.section("main"):
            task = asyncio.create_task(forever())
            await asyncio.sleep(0)
            recorder.advance(4)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

    run(kind, main())
    assert counts(recorder) == {"main": 1, "main/forever": 1, "main/forever/inner": 1}
    assert times(recorder)["main/forever/inner"] == 4
    assert losses(recorder) == {}


@both
def test_a_timeout_leaves_the_sections_it_interrupts(recorder, kind):
    async def forever():
        with recorder.section("forever"):
            await asyncio.Event().wait()

    async def main():
        with recorder.section("main"), pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(forever(), 0.001)

    run(kind, main())
    assert counts(recorder) == {"main": 1, "main/forever": 1}
    assert losses(recorder) == {}


@both
def test_a_task_may_outlive_the_section_that_made_it(recorder, kind):
    async def main():
        with recorder.section("maker"):
            recorder.advance(1)
            task = asyncio.create_task(work(recorder, "task", 4))
            await asyncio.sleep(0)
        with recorder.section("later"):
            await task

    run(kind, main())
    assert set(counts(recorder)) == {"maker", "maker/task", "maker/task/part", "later"}
    assert node(recorder, "maker/task").total_ns == 4
    assert node(recorder, "maker").total_ns == 2  # until it was left
    assert losses(recorder) == {}


@both
def test_a_task_that_begins_after_its_section_was_left_is_still_its_child(recorder, kind):
    async def main():
        with recorder.section("maker"):
            task = asyncio.create_task(work(recorder, "task", 1))
        await task

    run(kind, main())
    assert set(counts(recorder)) == {"maker", "maker/task", "maker/task/part"}
    assert node(recorder, "maker").total_ns == 0
    assert node(recorder, "maker/task").concurrent_ns == 1


@both
def test_a_context_run_in_a_task_whose_section_was_left_covers_nobody_either(recorder, kind):
    """With nothing open in the task, what it runs synchronously has the task's parent: next to the run, not in it."""

    def inside():
        with recorder.section("inner"):
            recorder.advance(1)

    async def task():
        contextvars.copy_context().run(inside)

    async def main():
        with recorder.section("maker"):
            made = asyncio.create_task(task())
        await made

    run(kind, main())
    assert counts(recorder) == {"maker": 1, "maker/inner": 1}
    assert node(recorder, "maker").total_ns == 0
    assert node(recorder, "maker/inner").concurrent_ns == 1


@both
def test_a_task_created_by_a_task_is_a_child_of_that_one(recorder, kind):
    async def parent():
        with recorder.section("parent"):
            await asyncio.create_task(work(recorder, "child", 1))

    async def main():
        with recorder.section("main"):
            await asyncio.gather(parent(), parent())

    run(kind, main())
    assert counts(recorder)["main/parent/child/part"] == 2


@both
def test_a_task_with_an_explicit_context_is_a_child_of_its_creator(recorder, kind):
    async def main():
        context = contextvars.copy_context()
        with recorder.section("maker"):
            task = asyncio.get_running_loop().create_task(work(recorder, "task", 1), context=context)
            await task

    run(kind, main())
    assert set(counts(recorder)) == {"maker", "maker/task", "maker/task/part"}
    assert losses(recorder) == {}


def test_tasks_that_share_one_context_never_corrupt_the_tree(recorder):
    async def main():
        context = contextvars.copy_context()
        loop = asyncio.get_running_loop()
        with recorder.section("maker"):
            await asyncio.gather(*(loop.create_task(work(recorder, name), context=context) for name in "abc"))

    run("asyncio", main())
    recorder.snapshot().check()
    assert counts(recorder)["maker"] == 1
    with recorder.section("next"):
        recorder.advance(1)
    assert times(recorder)["next"] == 1


@both
def test_to_thread_is_a_child_of_the_section_that_awaits_it(recorder, kind):
    def blocking():
        with recorder.section("blocking"):
            recorder.advance(6)

    async def main():
        with recorder.section("main"):
            await asyncio.to_thread(blocking)
            await asyncio.to_thread(blocking)

    run(kind, main())
    assert counts(recorder) == {"main": 1, "main/blocking": 2}
    assert node(recorder, "main/blocking").concurrent_ns == 12
    assert losses(recorder) == {}


@both
def test_a_callback_is_a_child_of_its_tasks_open_section(recorder, kind):
    def callback(done):
        with recorder.section("callback"):
            recorder.advance(1)
        done.set()

    async def main():
        with recorder.section("main"):
            done = asyncio.Event()
            asyncio.get_running_loop().call_soon(callback, done)
            await done.wait()

    run(kind, main())
    assert counts(recorder) == {"main": 1, "main/callback": 1}


@both
def test_tasks_are_children_of_the_section_around_their_event_loop(recorder, kind):
    async def main():
        await asyncio.gather(work(recorder, "a", 1), work(recorder, "b", 1))

    with recorder.section("program"):
        run(kind, main())
    assert set(counts(recorder)) == {
        "program",
        *(f"program/{name}{part}" for name in "ab" for part in ("", "/part")),
    }


@both
def test_a_loop_in_a_thread_is_a_child_of_the_section_that_started_the_thread(recorder, kind):
    async def main():
        with recorder.section("main"):
            await asyncio.gather(work(recorder, "a", 1), work(recorder, "b", 1))

    def thread():
        with recorder.section("thread"):
            run(kind, main())

    with recorder.section("outer"):
        running = threading.Thread(target=thread)
        running.start()
        running.join()
    assert set(counts(recorder)) >= {"outer/thread/main/a/part", "outer/thread/main/b/part"}
    assert len(counts(recorder)) == 7
    assert losses(recorder) == {}


@both
def test_thousands_of_tasks_one_after_another_leave_nothing_behind(recorder, kind):
    async def main():
        with recorder.section("main"):
            for _ in range(2000):
                await asyncio.create_task(work(recorder, "task", 1))

    run(kind, main())
    assert counts(recorder) == {"main": 1, "main/task": 2000, "main/task/part": 2000}
    assert losses(recorder) == {}


@pytest.mark.skipif(sys.version_info < (3, 12), reason="eager tasks are new in 3.12")
def test_an_eager_task_is_a_child_of_the_section_that_created_it(recorder):
    async def main():
        asyncio.get_running_loop().set_task_factory(asyncio.eager_task_factory)
        with recorder.section("main"):
            await asyncio.gather(work(recorder, "a"), work(recorder, "b"))

    run("asyncio", main())
    assert set(counts(recorder)) == {
        "main",
        *(f"main/{name}{part}" for name in "ab" for part in ("", "/part")),
    }
    assert losses(recorder) == {}
