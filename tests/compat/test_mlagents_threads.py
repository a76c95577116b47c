"""Timers of several threads and processes; each program in a process of its own, for timers are the program's."""

from __future__ import annotations

import json

import pytest

THREADED = """
import json, sys, threading, time
from ticktree.compat import mlagents as timers

def work(name="trainer_advance", calls=3):
    for _ in range(calls):
        with timers.hierarchical_timer(name):
            time.sleep(0.001)
            timers.set_gauge("loss", 2)

def started(*threads):
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return threads

def tree():
    return timers.get_timer_tree()
"""


@pytest.fixture
def run_timers(run_python, tmp_path):
    """Runs a program that writes a tree last, and gives it; it must leave no other file behind."""

    def run(program):
        done = run_python(THREADED + program)
        assert done.stderr == ""
        assert {path.name for path in tmp_path.iterdir()} <= {"memory", "program.py"}
        return json.loads(done.stdout.splitlines()[-1])

    return run


def test_threads_that_the_program_asks_for_are_merged_by_it_as_in_the_toolkit(run_timers):
    tree = run_timers("""
with timers.hierarchical_timer("start_learning"):
    threads = started(*(threading.Thread(target=work) for _ in range(3)))
with timers.hierarchical_timer("trainer_threads") as main:
    for thread in threads:
        stack = timers.get_timer_stack_for_thread(thread)
        main.merge(stack.root, root_name="thread_root", is_parallel=True)
        timers.merge_gauges(stack.gauges)
print(json.dumps(tree()))
""")
    assert tree["children"].keys() == {"start_learning", "trainer_threads"}
    assert "children" not in tree["children"]["start_learning"]
    main = tree["children"]["trainer_threads"]
    root = main["children"]["thread_root"]
    assert (root["count"], root["is_parallel"]) == (3, True)
    assert root["children"]["trainer_advance"]["count"] == 9
    assert root["total"] >= root["children"]["trainer_advance"]["total"] >= 0.009
    assert main["self"] == main["total"]
    assert tree["gauges"]["loss"]["count"] == 9


def test_threads_that_nobody_asks_for_are_where_they_were_started(run_timers):
    """In the toolkit they are missing."""
    tree = run_timers("""
with timers.hierarchical_timer("start_learning"):
    started(*(threading.Thread(target=work) for _ in range(2)))
print(json.dumps(tree()))
""")
    learning = tree["children"]["start_learning"]
    advance = learning["children"]["trainer_advance"]
    assert (advance["count"], advance["is_parallel"]) == (6, True)
    assert learning["self"] == learning["total"]
    assert "is_parallel" not in learning
    assert tree["gauges"]["loss"]["count"] == 6


def test_each_thread_has_a_tree_of_its_own(run_timers):
    trees = run_timers("""
trees = []
def thread():
    with timers.hierarchical_timer("mine"):
        time.sleep(0.002)
    trees.append(timers.get_timer_tree())
with timers.hierarchical_timer("main"):
    started(threading.Thread(target=thread))
print(json.dumps(trees))
""")
    (tree,) = trees
    assert tree["children"].keys() == {"mine"}
    assert tree["total"] >= tree["children"]["mine"]["total"] >= 0.002
    assert tree["self"] >= 0
    assert "is_parallel" not in tree["children"]["mine"]


def test_a_thread_that_goes_on_with_a_dead_ones_tree_has_only_its_own_in_its(run_timers):
    first, second = run_timers("""
threads = [started(threading.Thread(target=work, args=("a", 2)))[0], started(threading.Thread(target=work))[0]]
print(json.dumps([timers.get_timer_stack_for_thread(thread).get_timing_tree() for thread in threads]))
""")
    assert {name: node["count"] for name, node in first["children"].items()} == {"a": 2}
    assert {name: node["count"] for name, node in second["children"].items()} == {"trainer_advance": 3}


def test_a_thread_resets_its_own_timers_only(run_timers):
    tree = run_timers("""
def thread():
    work()
    timers.reset_timers()
    work("after", 1)
    after.append(timers.get_timer_tree()["children"].keys())
after = []
with timers.hierarchical_timer("main"):
    started(threading.Thread(target=thread))
assert after == [{"after"}], after
print(json.dumps(tree()))
""")
    assert tree["children"]["main"]["children"].keys() == {"trainer_advance", "after"}


def test_the_first_timer_of_a_second_thread_imports_nothing(run_timers):
    """What it imports is in its time, and all other threads' first timers wait for it."""
    imported = run_timers("""
known = set(sys.modules)

def first():
    with timers.hierarchical_timer("first"):
        imported.extend(set(sys.modules) - known)

imported = []
with timers.hierarchical_timer("main"):
    started(threading.Thread(target=first))
print(json.dumps(imported))
""")
    assert imported == []


def test_a_thread_without_timers_has_no_stack(run_timers):
    assert run_timers("""
idle = threading.Thread(target=lambda: None)
print(json.dumps([timers.get_timer_stack_for_thread(idle), timers.get_timer_stack_for_thread(*started(idle))]))
""") == [None, None]


def test_gauges_of_threads_that_are_gone_are_not(run_timers):
    tree = run_timers("""
import gc
started(threading.Thread(target=work))
gc.collect()
work("main", 1)
print(json.dumps(tree()))
""")
    assert tree["gauges"]["loss"]["count"] == 4


def test_workers_of_an_executor_are_where_the_work_was_given(run_timers):
    tree = run_timers("""
from concurrent.futures import ThreadPoolExecutor
with timers.hierarchical_timer("main"), ThreadPoolExecutor(2) as pool:
    for _ in range(4):
        pool.submit(work, "job", 1)
print(json.dumps(tree()))
""")
    assert tree["children"]["main"]["children"]["job"]["count"] == 4


def test_a_forked_worker_begins_anew_and_sends_only_its_own(run_timers):
    """The toolkit's carries the parent's timers along."""
    tree = run_timers("""
import multiprocessing

def worker(queue):
    for _ in range(3):
        with timers.hierarchical_timer("env.step"):
            time.sleep(0.001)
        queue.put(timers.get_timer_root())
        timers.reset_timers()

with timers.hierarchical_timer("setup"):
    time.sleep(0.01)
context = multiprocessing.get_context("fork")
queue = context.Queue()
with timers.hierarchical_timer("env_step"):
    processes = [context.Process(target=worker, args=(queue,)) for _ in range(2)]
    for process in processes:
        process.start()
    roots = [queue.get() for _ in range(6)]
    for process in processes:
        process.join()
    with timers.hierarchical_timer("workers") as workers:
        for root in roots:
            assert list(root.children) == ["env.step"] and root.children["env.step"].count == 1
            workers.merge(root, root_name="worker_root", is_parallel=True)
print(json.dumps(tree()))
""")
    assert tree["children"].keys() == {"setup", "env_step"}
    workers = tree["children"]["env_step"]["children"]["workers"]
    assert workers["children"]["worker_root"]["count"] == 6
    assert workers["children"]["worker_root"]["children"]["env.step"]["count"] == 6
    assert workers["self"] == workers["total"]


def test_nothing_is_recorded_where_ticktree_is_off(run_python):
    done = run_python(THREADED + "work(); print(json.dumps(tree()))", TICKTREE_OFF="1")
    tree = json.loads(done.stdout)
    assert "children" not in tree
    assert tree["count"] == 1
    assert tree["gauges"]["loss"]["count"] == 3
