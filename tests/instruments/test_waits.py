"""What programs wait for, recorded by itself: who let them go on, and what set the run's length."""

from __future__ import annotations

import sys

import pytest

from support.wake_edges import names, wakers

SLEEPS_NS = 200_000_000  # what the slow side of each program sleeps in all
# On a busy machine who waits may be late himself; then it is he whom the run waits for.
A_FAIR_PART = 0.25


def on_path(profile, name):
    """Nanoseconds of the critical path in sections of this name."""
    return sum(ns for place, ns in profile.critical.items() if place.path.split("/")[-1] == name)


def length_of(profile):
    return sum(profile.critical.values())


def test_a_consumer_thread_waits_for_its_producer(recorded):
    profile = recorded(
        """
        def produce(items):
            with ticktree.section("producer"):
                for item in range(20):
                    with ticktree.section("make"):
                        time.sleep(0.01)
                    items.put(item)

        def main():
            items = queue.Queue()
            thread = threading.Thread(target=produce, args=(items,))
            thread.start()
            with ticktree.section("consumer"):
                for _ in range(20):
                    items.get()
                thread.join()
        """
    )
    get = profile.root.at("consumer/Queue.get")
    assert get.wait
    assert get.count == 20
    assert get.total_ns > SLEEPS_NS * A_FAIR_PART
    assert wakers(profile, "consumer/Queue.get") == {("queue", "producer"): 20}
    assert sum(wakes.waited_ns for wakes in get.wakers.values()) > SLEEPS_NS * A_FAIR_PART
    assert on_path(profile, "make") > SLEEPS_NS * A_FAIR_PART
    assert not {"Condition.wait", "Event.wait"} & names(profile)


PROCESSES = """
def produce(items, back):
    with ticktree.section("producer"):
        for item in range(20):
            with ticktree.section("make"):
                time.sleep(0.01)
            items.put(item)
            back.get()

def main():
    context = multiprocessing.get_context({method!r})
    items, back = context.Queue(), context.SimpleQueue()
    process = context.Process(target=produce, args=(items, back))
    with ticktree.section("consumer"):
        process.start()
        for item in range(20):
            assert items.get() == item
            back.put(item)
        process.join()
"""


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_a_consumer_waits_for_a_producer_in_another_process(recorded, method):
    profile = recorded(PROCESSES.format(method=method))
    assert wakers(profile, "consumer/Queue.get") == {("pipe", "consumer/producer"): 20}
    assert wakers(profile, "consumer/producer/SimpleQueue.get") == {("pipe", "consumer"): 20}
    assert sum(wakers(profile, "consumer/Process.join").values()) == 1
    assert on_path(profile, "make") > SLEEPS_NS * A_FAIR_PART
    processes = {place.thread.partition("/")[0] for place in profile.critical}
    assert len(processes) >= 2
    inner = {"Condition.wait", "Event.wait", "Lock.acquire", "Connection.recv"}
    if method == "forkserver" and sys.version_info >= (3, 14):
        inner.remove("Connection.recv")  # the server asks there who starts a process
    assert not inner & names(profile)


def test_both_ends_of_a_pipe_of_a_spawned_child_are_known(recorded):
    profile = recorded(
        """
        def work(pipe):
            with ticktree.section("worker"):
                for _ in range(5):
                    pipe.recv()
                    time.sleep(0.01)
                    pipe.send("done")

        def main():
            context = multiprocessing.get_context("spawn")
            ours, theirs = context.Pipe()
            process = context.Process(target=work, args=(theirs,))
            with ticktree.section("main"):
                process.start()
                for _ in range(5):
                    ours.send("go")
                    assert ours.poll(60)
                    ours.recv()
                process.join()
        """
    )
    assert wakers(profile, "main/Connection.poll") == {("pipe", "main/worker"): 5}
    assert wakers(profile, "main/Connection.recv") == {("pipe", "main/worker"): 5}
    assert wakers(profile, "main/worker/Connection.recv") == {("pipe", "main"): 5}


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_a_pools_work_is_on_the_critical_path(recorded, method):
    profile = recorded(
        f"""
        def work(item):
            with ticktree.section("work"):
                time.sleep(0.1)
            return item

        def main():
            with multiprocessing.get_context({method!r}).Pool(2) as pool:
                with ticktree.section("map"):
                    assert pool.map(work, range(8), chunksize=1) == list(range(8))
        """
    )
    assert profile.root.at("map/Event.wait").wakers
    assert on_path(profile, "work") > 100_000_000


def test_futures_and_submitted_calls_lead_the_path_to_the_executors_work(recorded):
    profile = recorded(
        """
        def work():
            with ticktree.section("work"):
                time.sleep(0.05)

        def main():
            from concurrent.futures import ThreadPoolExecutor
            with ThreadPoolExecutor(1) as executor:
                with ticktree.section("results"):
                    for future in [executor.submit(work) for _ in range(3)]:
                        future.result()
        """
    )
    assert profile.root.at("results/Future.result").count >= 1
    assert on_path(profile, "work") > 50_000_000


def test_threads_that_meet_wait_for_the_last(recorded):
    profile = recorded(
        """
        def come(barrier, name, after):
            with ticktree.section(name):
                while barrier.n_waiting < after:
                    time.sleep(0.001)
                barrier.wait()

        def main():
            barrier = threading.Barrier(2)
            thread = threading.Thread(target=come, args=(barrier, "late", 1))
            thread.start()
            come(barrier, "early", 0)
        """
    )
    assert wakers(profile, "early/Barrier.wait") == {("barrier", "late"): 1}
    assert profile.root.at("early/Barrier.wait").wait


def test_events_conditions_and_bounded_queues_know_who_let_them_go_on(recorded):
    profile = recorded(
        """
        def until_waited_for(condition):
            while not condition._waiters:
                time.sleep(0.001)

        def helper(event, condition, full):
            with ticktree.section("helper"):
                until_waited_for(event._cond)
                event.set()
                until_waited_for(condition)
                with condition:
                    condition.notify()
                until_waited_for(full.not_full)
                full.get()

        def main():
            event, condition, full = threading.Event(), threading.Condition(), queue.Queue(1)
            full.put(1)
            thread = threading.Thread(target=helper, args=(event, condition, full))
            with condition, ticktree.section("main"):
                thread.start()
                event.wait()
                condition.wait()
                full.put(2)
        """
    )
    assert wakers(profile, "main/Event.wait") == {("event", "main/helper"): 1}
    assert wakers(profile, "main/Condition.wait") == {("condition", "main/helper"): 1}
    assert wakers(profile, "main/Queue.put") == {("queue space", "main/helper"): 1}


def test_only_a_lock_that_is_taken_is_waited_for(recorded):
    profile = recorded(
        """
        def is_asleep(pid):
            with open(f"/proc/{pid}/stat") as stat:
                return stat.read().rpartition(")")[2].split()[0] == "S"

        def hold(lock, ready, goes_on):
            with lock, ticktree.section("holder"):
                ready.set()
                while not goes_on.value or not is_asleep(os.getppid()):
                    time.sleep(0.001)

        def main():
            context = multiprocessing.get_context("fork")
            lock, ready, goes_on = context.Lock(), context.Event(), context.RawValue("b", 0)
            process = context.Process(target=hold, args=(lock, ready, goes_on))
            process.start()
            with ticktree.section("main"):
                ready.wait()
                goes_on.value = 1  # from here on it sleeps only where it waits for the lock
                with lock:
                    pass
                with lock:
                    pass
            process.join()
        """
    )
    assert profile.root.at("main/Lock.acquire").count == 1
    assert sum(wakers(profile, "main/Lock.acquire").values()) == 1
    assert wakers(profile, "main/Event.wait") == {("event", "holder"): 1}


def test_helper_threads_that_wait_all_the_time_have_no_rows(recorded):
    profile = recorded(
        """
        def serve(work):
            while work.get() is not None:
                pass

        def main():
            work = queue.Queue()
            thread = threading.Thread(target=serve, args=(work,))
            thread.start()
            for _ in range(5):
                work.put(1)
            work.put(None)
            thread.join()
        """
    )
    assert names(profile) <= {"root", "Thread.join"}


def test_no_auto_records_nothing_by_itself(recorded):
    profile = recorded(PROCESSES.format(method="spawn"), "--no-instrument")
    assert names(profile) == {"root", "consumer", "producer", "make"}
    assert profile.critical == {}


def test_auto_says_which(recorded):
    profile = recorded(PROCESSES.format(method="fork"), "--instrument", "gymnasium")
    assert names(profile) == {"root", "consumer", "producer", "make"}


def test_a_run_killed_in_the_middle_of_signals_keeps_what_it_was_waiting_for(recorded):
    profile = recorded(
        """
        def produce(items):
            with ticktree.section("producer"):
                for item in range(10 ** 9):
                    items.put(item)

        def main():
            context = multiprocessing.get_context("fork")
            items = context.SimpleQueue()
            process = context.Process(target=produce, args=(items,), daemon=True)
            with ticktree.section("consumer"):
                process.start()
                for _ in range(2000):
                    items.get()
                os.kill(process.pid, 9)
                os.kill(os.getpid(), 9)
        """,
        status=-9,
    )
    get = profile.root.at("consumer/SimpleQueue.get")
    assert get.count == 2000
    assert sum(wakers(profile, "consumer/SimpleQueue.get").values()) >= 1990
    assert length_of(profile) > 0


def test_a_slow_worker_of_a_vector_environment_is_named(recorded):
    pytest.importorskip("gymnasium")
    profile = recorded(
        """
        from functools import partial
        import gymnasium
        import numpy as np

        class Env(gymnasium.Env):
            observation_space = gymnasium.spaces.Box(-1, 1, (3,))
            action_space = gymnasium.spaces.Discrete(2)

            def __init__(self, slow):
                self.slow = slow

            def reset(self, *, seed=None, options=None):
                return np.zeros(3, np.float32), {}

            def step(self, action):
                with ticktree.section("slow step" if self.slow else "step"):
                    time.sleep(0.02 if self.slow else 0)
                return np.zeros(3, np.float32), 0.0, False, False, {}

        def main():
            envs = gymnasium.vector.AsyncVectorEnv(
                [partial(Env, number == 1) for number in range(3)], shared_memory=False
            )
            with ticktree.section("rollout"):
                envs.reset()
                for _ in range(10):
                    envs.step(np.zeros(3, int))
            envs.close()
        """
    )
    wait = profile.root.at("rollout/envs.step/step_wait")
    assert wait.wait
    assert not profile.root.at("rollout/envs.step/step_async").wait
    waited = {}
    for waker, wakes in wait.wakers.items():
        waited[waker.by] = waited.get(waker.by, 0) + wakes.waited_ns
    slowest = max(waited, key=waited.get)
    (slow,) = [node for _, _, node in profile.root.walk() if node.name == "slow step"]
    assert list(slow.by_thread) == [slowest]
    assert on_path(profile, "slow step") > SLEEPS_NS * A_FAIR_PART
    assert "Connection.recv" not in wait.children
