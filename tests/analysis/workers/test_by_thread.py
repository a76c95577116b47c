from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ticktree.analysis.workers.roles import Worker, amounts, spread

WORKERS = [Worker(name, "actor", "run", threads) for name, threads in (("a", ("1", "2")), ("b", ("3",)))]


def test_a_worker_has_the_sum_of_its_threads_and_is_left_out_without_any():
    assert amounts({"1": 5, "2": 7, "9": 1}, WORKERS) == {WORKERS[0]: 12}
    assert amounts({"3": 0}, WORKERS) == {WORKERS[1]: 0}


def test_workers_keep_their_order():
    assert list(amounts({"3": 1, "1": 1}, WORKERS)) == WORKERS


@given(st.lists(st.integers(0, 10**15), min_size=1, max_size=20))
def test_the_slowest_worker_is_the_first_with_the_maximum(values):
    workers = [Worker(str(at), "actor", "run", (str(at),)) for at in range(len(values))]
    found = spread(dict(zip(workers, values, strict=True)))
    assert found is not None
    assert (found.min_ns, found.max_ns, found.workers) == (min(values), max(values), len(values))
    assert found.slowest is workers[values.index(max(values))]
    assert found.min_ns <= found.median_ns <= found.max_ns


def test_without_amounts_there_is_no_spread():
    assert spread({}) is None
