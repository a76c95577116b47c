"""Tasks of pools: a row for each function that workers were given, and nothing else is another."""

from __future__ import annotations

import asyncio
import contextvars
import functools
import inspect
import multiprocessing.pool
import pickle
from concurrent.futures import ThreadPoolExecutor

import pytest

import ticktree
from ticktree.analysis.context import Context
from ticktree.analysis.workers.imbalance import presence
from ticktree.analysis.workers.roles import roles
from ticktree.instruments import pools

BARE = (ThreadPoolExecutor.submit, multiprocessing.pool.worker)

TASKS = """
import functools
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

class Env:
    def __init__(self, number):
        self.number = number
    def step(self, by):
        return self.number + by
    def __call__(self, by):
        return self.number * by

def square(n):
    return n * n

def add(a, b=1):
    return a + b

@ticktree.timed("marked")
def marked(n):
    return n

def fails(n):
    raise ValueError(n)

def raised(call):
    try:
        call()
    except ValueError as error:
        return error.args
"""

POOL = (
    TASKS
    + """
def main():
    pool = multiprocessing.get_context({method!r}).Pool(2)
    assert pool.map(square, range(100), chunksize=10) == [n * n for n in range(100)]
    assert pool.apply(add, (1,), {{"b": 3}}) == 4
    assert pool.starmap(add, [(1, 2), (3, 4)]) == [3, 7]
    assert sorted(pool.imap_unordered(functools.partial(add, 5), range(4))) == [5, 6, 7, 8]
    assert pool.apply_async(Env(3).step, (4,)).get() == 7
    assert pool.map(Env(3), [1, 2], chunksize=2) == [3, 6]
    assert pool.map(marked, [7], chunksize=1) == [7]
    assert raised(lambda: pool.apply(fails, (8,))) == (8,)
    assert raised(lambda: pool.map(square, (int(word) for word in "12x"))) is not None
    pool.close()
    pool.join()
"""
)
EXECUTOR = (
    TASKS
    + """
def main():
    with ProcessPoolExecutor(2, multiprocessing.get_context({method!r})) as pool:
        assert list(pool.map(square, range(100), chunksize=10)) == [n * n for n in range(100)]
        assert pool.submit(add, 1, b=3).result() == 4
        assert pool.submit(Env(3).step, 4).result() == 7
        assert pool.submit(marked, 7).result() == 7
        assert raised(pool.submit(fails, 8).result) == (8,)
"""
)
JOBLIB = (
    TASKS
    + """
def main():
    from joblib import Parallel, delayed
    for backend in ("loky", "threading", "multiprocessing"):
        tasks = (delayed(square)(n) for n in range(100))
        assert Parallel(2, backend=backend, batch_size=10, pre_dispatch="all")(tasks) == [n * n for n in range(100)]
        assert raised(lambda: Parallel(2, backend=backend)([delayed(fails)(8)] * 3)) == (8,)
"""
)
BUSY = """
from concurrent.futures import ProcessPoolExecutor

def main():
    with ProcessPoolExecutor(2, multiprocessing.get_context("fork")) as pool:
        assert list(pool.map(len, [b"x"] * 100)) == [1] * 100
"""


def counts(profile):
    """How often each task was called that is a row at the root, waits left out."""
    profile.check()
    return {name: node.count for name, node in profile.root.children.items() if not node.wait}


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_each_task_of_a_pool_is_a_row_and_a_chunk_is_one_call(recorded, method):
    found = counts(recorded(POOL.format(method=method)))
    assert found.pop("square") in (10, 11, 12)  # of the map that fails, what was sent before
    assert found == {"add": 7, "Env.step": 1, "Env": 1, "marked": 1, "fails": 1}


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_each_task_of_a_process_executor_is_a_row(recorded, method):
    found = counts(recorded(EXECUTOR.format(method=method)))
    assert found == {"square": 10, "add": 1, "Env.step": 1, "marked": 1, "fails": 1}


@pytest.mark.slow
def test_each_batch_of_joblib_is_a_row_in_processes_and_threads(recorded):
    pytest.importorskip("joblib")
    found = counts(recorded(JOBLIB))
    assert found.pop("square") == 30
    assert set(found) == {"fails"}


def test_without_the_instrument_there_are_no_rows_and_the_worker_is_not_called_idle(recorded):
    profile = recorded(POOL.format(method="fork"), "--instrument", "default,-pools")
    assert counts(profile) == {"marked": 1}
    profile = recorded(BUSY, "--instrument", "waits")
    (workers,) = (role for role in roles(profile, "process") if role.name == "executor worker")
    found = presence(workers, Context(profile))
    assert not found.is_instrumented
    assert found.waited_share is None


@pytest.fixture
def recorder():
    recorder = ticktree.Recorder()
    pools.INSTRUMENT.install(recorder)
    yield recorder
    pools.INSTRUMENT.uninstall()
    recorder.disable()


def square(n):
    return n * n


def test_what_an_executor_of_threads_is_given_is_below_where_it_was_given(recorder):
    recorder.section("before").__enter__().__exit__(None, None, None)
    with ThreadPoolExecutor(2) as executor:
        for name in ("one", "other"):
            with recorder.section(name):
                assert list(executor.map(square, range(10))) == [n * n for n in range(10)]
    profile = recorder.snapshot()
    profile.check()
    for name in ("one", "other"):
        assert profile.root.at(f"{name}/square").count == 10
    assert "square" not in profile.root.children


def test_what_is_called_in_a_context_of_its_own_is_below_its_task(recorder):
    def inner():
        with recorder.section("inside"):
            return 3

    async def main():
        with recorder.section("here"):
            return await asyncio.to_thread(functools.partial(inner))

    assert asyncio.run(main()) == 3
    with ThreadPoolExecutor(1) as executor, recorder.section("there"):
        assert executor.submit(contextvars.copy_context().run, inner).result() == 3
    profile = recorder.snapshot()
    profile.check()
    assert [profile.root.at(f"{where}/inner/inside").count for where in ("here", "there")] == [1, 1]


def test_functions_of_one_decorator_have_a_row_each(recorder):
    def doubled(function):
        @functools.wraps(function)
        def wrapper(n):
            return 2 * function(n)

        return wrapper

    with ThreadPoolExecutor(1) as executor:
        assert [executor.submit(doubled(each), 3).result() for each in (square, float, square)] == [18, 6, 18]
    found = recorder.snapshot().root.children
    assert {name: found[name].count for name in ("square", "float")} == {"square": 2, "float": 1}


def test_a_callable_that_cannot_be_asked_for_its_name_is_called_as_it_was(recorder):
    class Closed:
        def __getattribute__(self, name):
            raise RuntimeError(name)

        def __call__(self, n):
            return n

    with ThreadPoolExecutor(1) as executor:
        assert executor.submit(Closed(), 3).result() == 3


def test_signatures_stay_what_is_pickled_too_and_all_is_put_back(recorder):
    now = (ThreadPoolExecutor.submit, multiprocessing.pool.worker)
    for ours, bare in zip(now, BARE, strict=True):
        assert ours is not bare
        assert inspect.signature(ours) == inspect.signature(bare)
    assert pickle.loads(pickle.dumps(multiprocessing.pool.worker)) is multiprocessing.pool.worker
    pools.INSTRUMENT.uninstall()
    # What the recorder itself puts around `submit` is its own affair.
    assert multiprocessing.pool.worker is BARE[1]
    assert inspect.unwrap(ThreadPoolExecutor.submit) is inspect.unwrap(BARE[0])


def test_a_worker_does_not_keep_what_its_last_task_had(recorder):
    import gc
    import weakref

    class Thing:
        pass

    with multiprocessing.pool.ThreadPool(1) as pool:
        thing = Thing()
        left = weakref.ref(thing)
        pool.apply(id, (thing,))
        pool.apply(len, ("",))
        del thing
        gc.collect()
        assert left() is None
