"""Processes of multiprocessing, whatever their start method."""

from __future__ import annotations

import pytest

METHODS = ("fork", "spawn", "forkserver")
methods = pytest.mark.parametrize("method", METHODS)


@methods
def test_a_process_is_a_child_of_the_section_that_started_it(start_method, calls, method):
    profile = start_method(
        f"""
        def main():
            import multiprocessing
            context = multiprocessing.get_context({method!r})
            with ticktree.section("start"):
                process = context.Process(target=job)
                process.start()
            with ticktree.section("wait"):
                process.join()
            assert process.exitcode == 0
        """
    )
    assert calls(profile) == {"start": 1, "wait": 1, "start/job": 3}
    child = profile.root.at("start/job")
    assert child.concurrent_ns == child.total_ns


@methods
def test_several_processes_are_children_of_the_sections_that_started_them(start_method, calls, method):
    profile = start_method(
        f"""
        def main():
            import multiprocessing
            context = multiprocessing.get_context({method!r})
            processes = []
            for number in range(3):
                with ticktree.section(f"start {{number}}"):
                    processes.append(context.Process(target=job, args=("job", number + 1)))
                    processes[-1].start()
            for process in processes:
                process.join()
                assert process.exitcode == 0
        """
    )
    assert calls(profile) == {
        **{f"start {number}": 1 for number in range(3)},
        **{f"start {number}/job": number + 1 for number in range(3)},
    }


@methods
def test_a_pools_workers_are_children_of_the_section_that_created_the_pool(start_method, calls, method):
    profile = start_method(
        f"""
        def main():
            import multiprocessing
            with ticktree.section("pool"):
                pool = multiprocessing.get_context({method!r}).Pool(2)
            with ticktree.section("map"):
                assert pool.starmap(job, [("job", 1)] * 10) == [1] * 10
            pool.close()
            pool.join()
        """
    )
    assert calls(profile) == {"pool": 1, "map": 1, "pool/job": 10}


def test_replaced_workers_of_a_pool_are_children_of_the_section_that_created_it(start_method, calls):
    profile = start_method(
        """
        def main():
            import multiprocessing
            with ticktree.section("pool"):
                pool = multiprocessing.get_context("fork").Pool(1, maxtasksperchild=1)
            with ticktree.section("map"):
                assert pool.starmap(job, [("job", 1)] * 4, chunksize=1) == [1] * 4
            pool.close()
            pool.join()
        """
    )
    assert calls(profile) == {"pool": 1, "map": 1, "pool/job": 4}


@methods
def test_an_executors_workers_are_children_of_the_section_that_needed_them(start_method, calls, method):
    profile = start_method(
        f"""
        def main():
            import multiprocessing
            from concurrent.futures import ProcessPoolExecutor
            executor = ProcessPoolExecutor(1, mp_context=multiprocessing.get_context({method!r}))
            with executor, ticktree.section("submit"):
                assert [executor.submit(job, "job", 2).result() for _ in range(3)] == [2, 2, 2]
        """
    )
    assert calls(profile) == {"submit": 1, "submit/job": 6}


@methods
def test_processes_of_processes_are_nested(start_method, calls, method):
    profile = start_method(
        f"""
        def middle(method):
            import multiprocessing
            work("before", 1)
            with ticktree.section("middle"):
                process = multiprocessing.get_context(method).Process(target=job)
                process.start()
                process.join()
            assert process.exitcode == 0

        def main():
            import multiprocessing
            with ticktree.section("top"):
                process = multiprocessing.get_context({method!r}).Process(target=middle, args=({method!r},))
                process.start()
                process.join()
            assert process.exitcode == 0
        """
    )
    assert calls(profile) == {"top": 1, "top/before": 1, "top/middle": 1, "top/middle/job": 3}


def test_a_child_that_enables_ticktree_itself_records_into_the_same_run(start_method, calls):
    """spawn runs the main module again in the child, top-level `enable()` and all."""
    profile = start_method(
        """
        ticktree.enable()

        def main():
            import multiprocessing
            with ticktree.section("start"):
                process = multiprocessing.get_context("spawn").Process(target=job)
                process.start()
                process.join()
            assert process.exitcode == 0
        """
    )
    assert calls(profile) == {"start": 1, "start/job": 3}


@methods
def test_a_process_started_by_a_thread_is_a_child_of_that_threads_section(start_method, calls, method):
    profile = start_method(
        f"""
        def thread():
            import multiprocessing
            with ticktree.section("thread"):
                process = multiprocessing.get_context({method!r}).Process(target=job)
                process.start()
                process.join()
            assert process.exitcode == 0

        def main():
            with ticktree.section("main"):
                other = threading.Thread(target=thread)
                other.start()
                other.join()
        """
    )
    assert calls(profile) == {"main": 1, "main/thread": 1, "main/thread/job": 3}


def test_processes_of_a_thread_without_records_are_children_of_the_threads_parent(start_method, calls):
    profile = start_method(
        """
        def thread():
            import multiprocessing
            process = multiprocessing.get_context("fork").Process(target=job)
            process.start()
            process.join()
            assert process.exitcode == 0

        def main():
            with ticktree.section("main"):
                other = threading.Thread(target=thread)
                other.start()
                other.join()
        """
    )
    assert calls(profile) == {"main": 1, "main/job": 3}


def test_a_process_that_raises_is_recorded_and_ends_as_without_ticktree(run_session, calls):
    profile, done = run_session(
        """
        import multiprocessing

        def fail():
            with ticktree.section("job"):
                raise ValueError("no")

        if __name__ == "__main__":
            ticktree.enable(quiet=True)
            process = multiprocessing.get_context("spawn").Process(target=fail)
            process.start()
            process.join()
            print(process.exitcode)
        """
    )
    assert done.stdout == "1\n"
    assert done.stderr.rstrip().endswith("ValueError: no")
    assert "ticktree" not in done.stderr
    assert calls(profile) == {"job": 1}


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_fifty_processes_at_once_are_all_counted(run_session, calls, method):
    profile, _ = run_session(
        f"""
        import multiprocessing

        def job(barrier):
            with ticktree.section("job"):
                barrier.wait()

        if __name__ == "__main__":
            ticktree.enable()
            context = multiprocessing.get_context({method!r})
            barrier = context.Barrier(50)
            with ticktree.section("start"):
                processes = [context.Process(target=job, args=(barrier,)) for _ in range(50)]
                for process in processes:
                    process.start()
                for process in processes:
                    process.join()
            assert [process.exitcode for process in processes] == [0] * 50
        """
    )
    assert calls(profile) == {"start": 1, "start/job": 50}
    assert profile.losses == {}
