from __future__ import annotations

import contextvars
import signal
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest

from support.recorder.queries import counts, losses, node, times
from ticktree.run.reading.image import Image


def in_thread(work, *args):
    thread = threading.Thread(target=work, args=args)
    thread.start()
    thread.join()


def test_a_thread_is_a_child_of_the_section_that_started_it(recorder):
    def work():
        with recorder.section("work"):
            recorder.advance(5)

    with recorder.section("main"):
        in_thread(work)
        recorder.advance(1)
    assert times(recorder) == {"main": 6, "main/work": 5}
    assert node(recorder, "main").self_ns == 6  # another thread covers nothing
    assert node(recorder, "main/work").concurrent_ns == 5
    assert node(recorder, "main").parallel


def test_a_thread_may_outlive_the_section_it_was_started_in(recorder):
    go = threading.Event()

    def work():
        go.wait()
        with recorder.section("work"):
            recorder.advance(2)

    with recorder.section("main"):
        thread = threading.Thread(target=work)
        thread.start()
    go.set()
    thread.join()
    assert counts(recorder) == {"main": 1, "main/work": 1}


def test_a_thread_started_by_a_thread_is_a_child_of_that_one(recorder):
    def outer():
        with recorder.section("outer"):
            in_thread(inner)

    def inner():
        with recorder.section("inner"):
            recorder.advance(1)

    with recorder.section("main"):
        in_thread(outer)
    assert counts(recorder) == {"main": 1, "main/outer": 1, "main/outer/inner": 1}


def test_concurrent_threads_are_distinguished(recorder):
    barrier = threading.Barrier(2)

    def work(name):
        with recorder.section(name):
            barrier.wait()
            with recorder.section("part"):
                barrier.wait()
            barrier.wait()

    threads = [threading.Thread(target=work, args=(name,)) for name in "ab"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert counts(recorder) == {"a": 1, "a/part": 1, "b": 1, "b/part": 1}
    assert losses(recorder) == {}


def test_calls_from_many_threads_at_once_are_all_counted(recorder):
    def work():
        for _ in range(2000):
            with recorder.section("outer"), recorder.section("inner"):
                pass

    with recorder.section("main"):
        threads = [threading.Thread(target=work) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert counts(recorder) == {"main": 1, "main/outer": 16_000, "main/outer/inner": 16_000}
    assert losses(recorder) == {}


@pytest.mark.parametrize("at_once", [1, 4])
def test_thousands_of_threads_that_come_and_go_use_a_bounded_number_of_trees(recorder, at_once):
    def work():
        with recorder.section("work"):
            recorder.record_duration("measured", 1e-9)

    with recorder.section("main"):
        for _ in range(3000 // at_once):
            threads = [threading.Thread(target=work) for _ in range(at_once)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
    made = 3000 // at_once * at_once
    assert counts(recorder) == {"main": 1, "main/work": made, "main/work/measured": made}
    image = Image(recorder.image())
    # A thread's end is noticed a little later: some may still count as alive when the next one begins.
    assert len(image.trees()) <= 8 * at_once
    assert len(image.nodes()) <= 3 * len(image.trees()) + 1
    assert sum(tree.adoptions for _, tree in image.trees()) + len(image.trees()) == made + 1


def test_a_thread_that_dies_with_a_section_open_is_counted_as_a_loss(recorder):
    def work():
        recorder.section("open").__enter__()
        recorder.advance(3)

    in_thread(work)
    recorder.advance(10)
    for _ in range(100):  # the next thread notices; the operating system may take its time to end the first
        in_thread(lambda: recorder.record_duration("later", 0))
        if losses(recorder):
            break
    assert losses(recorder) == {"threads_ended_open": 1}
    assert counts(recorder)["open"] == 0
    assert node(recorder, "open").open is None


def test_a_thread_with_a_name_of_any_kind_is_recorded(recorder):
    def work():
        with recorder.section("work"):
            pass

    for name in ("", "x" * 500, "\ud800", "名前"):
        thread = threading.Thread(target=work, name=name)
        thread.start()
        thread.join()
    assert counts(recorder) == {"work": 4}


def test_a_thread_without_a_hook_is_a_child_of_the_root(recorder):
    import _thread

    done = threading.Event()

    def work():
        with recorder.section("foreign"):
            recorder.advance(1)
        done.set()

    with recorder.section("main"):
        _thread.start_new_thread(work, ())
        done.wait()
    assert counts(recorder) == {"main": 1, "foreign": 1}


def test_work_submitted_to_an_executor_hangs_where_it_was_submitted(recorder):
    def work():
        with recorder.section("work"):
            recorder.advance(2)

    with ThreadPoolExecutor(1) as executor:
        for name in ("a", "b", "a"):
            with recorder.section(name):
                executor.submit(work).result()
    assert counts(recorder) == {"a": 2, "a/work": 2, "b": 1, "b/work": 1}
    assert node(recorder, "a/work").concurrent_ns == 4


def test_each_task_counts_for_the_thread_that_did_it(recorder):
    barrier = threading.Barrier(2)
    done = Counter()

    def work(name):
        barrier.wait()  # so that each round's two tasks are on two threads, in whatever order
        with recorder.section(name):
            done[name, threading.current_thread().name] += 1
        barrier.wait()

    with ThreadPoolExecutor(2) as executor, recorder.section("main"):
        for _ in range(50):
            for task in [executor.submit(work, "one"), executor.submit(work, "two")]:
                task.result()
    profile = recorder.snapshot()
    counted = Counter()
    for name in ("one", "two"):
        for thread, share in profile.root.at(f"main/{name}").by_thread.items():
            counted[name, profile.threads[thread].thread_name] += share.count
    assert counted == done


def test_an_executors_results_and_exceptions_are_the_programs_own(recorder):
    def fails(*args, **kwargs):
        raise KeyError(args, kwargs)

    with ThreadPoolExecutor(2) as executor, recorder.section("main"):
        assert list(executor.map(divmod, [7, 9], [2, 4])) == [(3, 1), (2, 1)]
        assert executor.submit(dict, a=1).result() == {"a": 1}
        error = executor.submit(fails, 1, b=2).exception()
    assert isinstance(error, KeyError)
    assert error.args == ((1,), {"b": 2})


def test_work_submitted_by_an_executors_own_thread_hangs_under_that_work(recorder):
    def inner():
        with recorder.section("inner"):
            pass

    def outer(executor):
        with recorder.section("outer"):
            executor.submit(inner).result()

    with ThreadPoolExecutor(2) as executor, recorder.section("main"):
        executor.submit(outer, executor).result()
    assert counts(recorder) == {"main": 1, "main/outer": 1, "main/outer/inner": 1}


def test_an_executor_with_an_initialiser_that_has_a_section_open_does_not_mix(recorder):
    section = recorder.section("whole life")

    with ThreadPoolExecutor(1, initializer=section.__enter__) as executor, recorder.section("main"):
        executor.submit(recorder.record_duration, "measured", 1e-9).result()
    recorder.snapshot().check()
    assert set(counts(recorder)) >= {"main"}


def test_a_thread_is_started_as_ever_while_nothing_records(recorder):
    recorder.disable()
    names = []
    in_thread(names.append, 1)
    assert names == [1]


def test_the_last_stage_of_a_thread_ends_when_the_thread_ends(recorder):
    def work():
        recorder.stage("load")
        recorder.advance(2)
        recorder.stage("use")
        recorder.advance(3)

    in_thread(work)
    recorder.advance(100)
    assert times(recorder) == {"load": 2, "use": 3}
    assert counts(recorder) == {"load": 1, "use": 1}
    assert not losses(recorder)


def test_the_last_tick_of_a_thread_is_cut_short_when_the_thread_ends(recorder):
    def work():
        for _ in range(3):
            recorder.tick("env")
            recorder.advance(5)

    in_thread(work)
    recorder.advance(100)
    assert times(recorder) == {"env": 15}
    loop = recorder.snapshot().loops["env"]
    assert (loop.ticks, loop.incomplete) == (2, 1)


def test_a_section_left_open_ends_with_its_thread_and_is_counted_at_once(recorder):
    def work():
        with recorder.section("whole"):
            pass
        recorder.section("lost").__enter__()
        recorder.advance(4)

    for thread in range(1, 4):
        in_thread(work)
        recorder.advance(100)
        assert losses(recorder) == {"threads_ended_open": thread}
        assert times(recorder) == {"whole": 0, "lost": 4 * thread}
    recorder.disable()
    assert losses(recorder) == {"threads_ended_open": 3}


def test_what_a_context_of_a_thread_left_open_ends_with_the_thread(recorder):
    def work():
        contextvars.copy_context().run(recorder.stage, "in a context")
        recorder.advance(7)

    in_thread(work)
    recorder.advance(100)
    assert times(recorder) == {"in a context": 7}


def test_a_finaliser_that_runs_as_the_thread_ends_is_recorded(recorder):
    local = threading.local()

    class Last:
        def __del__(self):
            with recorder.section("last"):
                recorder.advance(1)

    def work():
        with recorder.section("first"):
            local.kept = Last()

    in_thread(work)
    in_thread(work)
    assert times(recorder) == {"first": 0, "last": 2}


def test_a_killed_run_knows_when_its_threads_ended(run_session):
    profile, _ = run_session(
        """
        import os, signal, threading, time
        ticktree.enable()
        def work():
            for _ in range(2):
                ticktree.tick("env")
                ticktree.stage("act")
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        os.kill(os.getpid(), signal.SIGKILL)
        """,
        status=-signal.SIGKILL,
    )
    act = profile.root.at("env/act")
    assert (act.count, act.open) == (2, None)
    assert profile.loops["env"].incomplete == 1
