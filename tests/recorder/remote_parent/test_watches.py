"""Watches: the time of each request's sections, among many simultaneous requests."""

from __future__ import annotations

import asyncio
import contextvars
import random
import threading
from concurrent.futures import ThreadPoolExecutor

from ticktree import Recorder
from ticktree.recorder import Watch
from ticktree.remote.server_timing import Row, make_report


def recorder_of_tests():
    return Recorder(virtual_clock=True)


def watch_rows(watch):
    return {(row.depth, row.name): (row.total_ns, row.concurrent_ns) for row in make_report("", watch).rows}


def test_a_request_has_its_own_sums_and_not_those_of_the_one_before():
    recorder = recorder_of_tests()
    seen = []
    for ns in (10, 300):
        with recorder.section("request"):
            watch = Watch(recorder)
            assert watch.begin()
            with recorder.section("simulate"):
                recorder.advance(ns)
                with recorder.section("collide"):
                    recorder.advance(2 * ns)
            recorder.advance(1)
        seen.append((watch.total_ns, make_report("", watch).rows))
    assert seen == [
        (31, (Row(1, "simulate", 30), Row(2, "collide", 20))),
        (901, (Row(1, "simulate", 900), Row(2, "collide", 600))),
    ]


def test_what_is_open_counts_until_now():
    recorder = recorder_of_tests()
    with recorder.section("request"):
        watch = Watch(recorder)
        watch.begin()
        with recorder.section("render"):
            recorder.advance(5)
            with recorder.section("encode"):
                recorder.advance(7)
                assert watch.total_ns == 12
                assert watch_rows(watch) == {(1, "render"): (12, 0), (2, "encode"): (7, 0)}


def test_stages_count_once_they_are_over_and_those_that_are_not_until_now():
    recorder = recorder_of_tests()
    with recorder.section("request"):
        watch = Watch(recorder)
        watch.begin()
        recorder.stage("simulate")
        recorder.advance(3)
        recorder.stage("render")
        recorder.advance(4)
        assert watch_rows(watch) == {(1, "simulate"): (3, 0), (1, "render"): (4, 0)}


def test_requests_that_take_turns_on_a_thread_each_have_their_own_rows():
    """Random programs of many tasks, against what each task itself has added up."""
    for seed in range(30):
        recorder = recorder_of_tests()
        chance = random.Random(seed)

        async def work(own_rows, depth, recorder=recorder, chance=chance):
            for _ in range(chance.randrange(1, 4)):
                name = chance.choice("abc")
                began = recorder.ticks
                with recorder.section(name):
                    recorder.advance(chance.randrange(100))
                    if chance.random() < 0.5:
                        await asyncio.sleep(0)
                    if depth < 3 and chance.random() < 0.5:
                        await work(own_rows.setdefault(name, [0, {}])[1], depth + 1)
                    recorder.advance(chance.randrange(100))
                own_rows.setdefault(name, [0, {}])[0] += recorder.ticks - began

        async def request(recorder=recorder, work=work):
            own_rows = {}
            began = recorder.ticks
            with recorder.section("request"):
                watch = Watch(recorder)
                watch.begin()
                await work(own_rows, 1)
            assert watch.total_ns == recorder.ticks - began
            return own_rows, make_report("", watch).rows

        async def serve(request=request):
            return await asyncio.gather(*(request() for _ in range(8)))

        def flat(own_rows, depth=1):
            return {
                (depth, name, total, tuple(sorted(flat(below, depth + 1))))
                for name, (total, below) in own_rows.items()
            }

        for own_rows, rows in asyncio.run(serve()):
            assert nested(rows) == flat(own_rows)
        recorder.snapshot().check()


def nested(rows):
    """Rows as a set of (depth, name, total, what is below)."""
    result, stack = set(), []

    def close(depth):
        while stack and stack[-1][0] >= depth:
            row_depth, name, total, below = stack.pop()
            (stack[-1][3] if stack else result).add((row_depth, name, total, tuple(sorted(below))))

    for row in rows:
        close(row.depth)
        stack.append((row.depth, row.name, row.total_ns, set()))
    close(1)
    return result


def test_what_a_task_of_the_request_does_is_the_requests():
    recorder = recorder_of_tests()

    async def part(ns):
        with recorder.section("part"):
            recorder.advance(ns)
            await asyncio.sleep(0)
            recorder.advance(ns)

    async def serve():
        with recorder.section("request"):
            watch = Watch(recorder)
            watch.begin()
            await asyncio.gather(part(10), part(20))
        return watch

    watch = asyncio.run(serve())
    assert watch.total_ns == 60
    total_ns, concurrent_ns = watch_rows(watch)[1, "part"]
    assert total_ns - concurrent_ns == 60  # together they cover the request, and no more


def test_what_goes_on_after_the_request_is_in_nobodys():
    recorder = recorder_of_tests()

    async def later():
        with recorder.section("later"):
            await asyncio.sleep(0.01)
            recorder.advance(1000)

    async def serve():
        with recorder.section("request"):
            watch = Watch(recorder)
            watch.begin()
            task = asyncio.ensure_future(later())
            await asyncio.sleep(0)
            recorder.advance(5)
        await task
        return watch

    watch = asyncio.run(serve())
    assert watch.total_ns == 5
    assert make_report("", watch).rows == ()


def on_a_thread(function):
    thread = threading.Thread(target=function)
    thread.start()
    thread.join()


def test_what_an_executor_does_for_the_request_is_the_requests():
    recorder = recorder_of_tests()

    def encode():
        with recorder.section("encode"):
            recorder.advance(40)

    with ThreadPoolExecutor(1) as pool:
        pool.submit(encode).result()  # for no request
        with recorder.section("request"):
            watch = Watch(recorder)
            watch.begin()
            with recorder.section("render"):
                pool.submit(encode).result()
        pool.submit(encode).result()
    assert watch_rows(watch) == {(1, "render"): (40, 0), (2, "encode"): (40, 40)}


def test_what_another_thread_does_in_the_requests_context_is_the_requests():
    """As frameworks do with handlers that may block: the thread is their own, the context is a copy."""
    recorder = recorder_of_tests()

    def handler():
        with recorder.section("handler"):
            recorder.advance(40)

    with recorder.section("request"):
        watch = Watch(recorder)
        watch.begin()
        recorder.watch_var.set(watch)
        context = contextvars.copy_context()
        on_a_thread(lambda: context.run(handler))
        on_a_thread(handler)  # in no context of the request
    assert watch_rows(watch) == {(1, "handler"): (40, 40)}
    recorder.watch_var.set(None)


def test_a_request_inside_another_counts_in_both():
    recorder = recorder_of_tests()
    with recorder.section("outer"):
        outer = Watch(recorder)
        outer.begin()
        with recorder.section("inner"):
            inner = Watch(recorder)
            inner.begin()
            with recorder.section("work"):
                recorder.advance(3)
    assert watch_rows(inner) == {(1, "work"): (3, 0)}
    assert watch_rows(outer) == {(1, "inner"): (3, 0), (2, "work"): (3, 0)}


def test_several_stretches_of_one_request_add_up():
    recorder = recorder_of_tests()
    watch = Watch(recorder)
    for ns in (1, 2, 3):
        with recorder.section("request"):
            assert watch.begin()
            with recorder.section("next"):
                recorder.advance(ns)
        recorder.advance(100)
    assert watch.total_ns == 6
    assert watch_rows(watch) == {(1, "next"): (6, 0)}


def test_a_watch_that_is_gone_is_written_by_nobody():
    recorder = recorder_of_tests()
    with recorder.section("request"):
        Watch(recorder).begin()
        with recorder.section("work"):
            recorder.advance(1)
    again = Watch(recorder)
    assert not again.begin()
    assert (again.total_ns, again.rows()) == (0, [])


def test_nothing_is_watched_while_nothing_is_recorded():
    recorder = recorder_of_tests()
    with recorder.section("request"):
        watch = Watch(recorder)
        watch.begin()
        recorder.advance(7)
        recorder.disable()
        assert watch.total_ns == 7
        assert not Watch(recorder).begin()
    recorder.enable()
    with recorder.section("request"):
        assert watch.begin()


def test_a_request_has_as_many_rows_as_it_has_nodes():
    recorder = recorder_of_tests()
    with recorder.section("request"):
        watch = Watch(recorder)
        watch.begin()
        for number in range(500):
            with recorder.section(f"part {number}"):
                recorder.advance(number + 1)
    assert watch_rows(watch) == {(1, f"part {number}"): (number + 1, 0) for number in range(500)}
