"""The end of the interpreter: sections in daemon threads, in exit handlers, in the last finalisers."""

from __future__ import annotations

import signal


def counts(profile):
    return {path: node.count for path, _, node in profile.root.walk() if path}


def test_sections_in_exit_handlers_are_recorded_or_ignored_but_never_raise(run_session):
    profile, result = run_session(
        """
        import atexit
        def say(name):
            with ticktree.section(name):
                print(name)
        atexit.register(say, "registered before")
        ticktree.enable(quiet=True)
        atexit.register(say, "registered after")
        with ticktree.section("main"):
            pass
        """
    )
    assert result.stderr == ""
    assert result.stdout.split("\n")[:2] == ["registered after", "registered before"]
    assert counts(profile)["main"] == 1
    assert counts(profile)["registered after"] == 1


def test_sections_in_the_last_finalisers_never_raise(run_session):
    _, result = run_session(
        """
        import weakref
        class Last:
            def __del__(self):
                with ticktree.section("del"):
                    ticktree.stage("stage")
                ticktree.gauge("g", 1); ticktree.record_duration("r", 1); ticktree.tick("t")
                print("deleted")
        section = ticktree.section("kept")
        last = Last()
        cycle = Last(); cycle.self = cycle
        weakref.finalize(Last, lambda: ticktree.section("finalize").__enter__())
        ticktree.enable(quiet=True)
        @ticktree.timed
        def timed(): ...
        class Later:
            def __del__(self, timed=timed, section=section):
                with section:
                    timed()
        later = Later()
        import builtins
        builtins.kept = Last()
        """
    )
    assert result.stderr == ""
    assert result.stdout.count("deleted") >= 2


def test_daemon_threads_inside_sections_do_not_crash_the_exit(run_session):
    profile, result = run_session(
        """
        import threading, time
        ticktree.enable(quiet=True)
        started = threading.Barrier(5)
        def forever():
            started.wait()
            while True:
                with ticktree.section("outer"), ticktree.section("inner"):
                    for _ in ticktree.loop("loop", range(3)):
                        time.sleep(0.0001)
        for _ in range(4):
            threading.Thread(target=forever, daemon=True).start()
        started.wait()
        with ticktree.section("main"):
            time.sleep(0.05)
        """
    )
    assert result.stderr == ""
    assert counts(profile)["main"] == 1
    assert counts(profile)["outer/inner"] > 0


def test_daemon_threads_asleep_inside_sections_do_not_crash_the_exit(run_session):
    profile, result = run_session(
        """
        import threading, time
        ticktree.enable(quiet=True)
        ready = threading.Event()
        def asleep():
            with ticktree.section("asleep"):
                ready.set()
                time.sleep(1000)
        threading.Thread(target=asleep, daemon=True).start()
        ready.wait()
        """
    )
    assert result.stderr == ""
    assert counts(profile) == {"asleep": 0}


def test_generators_and_tasks_left_suspended_do_not_crash_the_exit(run_session):
    profile, result = run_session(
        """
        import asyncio, sys
        ticktree.enable(quiet=True)
        def generator():
            with ticktree.section("generator"):
                yield
        kept = [generator() for _ in range(3)]
        for each in kept: next(each)
        async def forever():
            with ticktree.section("task"):
                await asyncio.Event().wait()
        loop = asyncio.new_event_loop()
        sys.modules["kept"] = task = loop.create_task(forever())
        loop.run_until_complete(asyncio.sleep(0))
        task._log_destroy_pending = False
        """
    )
    assert "Traceback" not in result.stderr
    assert set(counts(profile)) == {"generator", "task"}


def test_an_exception_that_ends_the_program_is_the_programs_own(run_session):
    profile, result = run_session(
        """
        ticktree.enable(quiet=True)
        with ticktree.section("outer"):
            raise SystemExit(3)
        """,
        status=3,
    )
    assert result.stderr == ""
    assert counts(profile) == {"outer": 1}
    profile, result = run_session(
        """
        ticktree.enable(quiet=True)
        with ticktree.section("outer"):
            raise KeyError("mine")
        """,
        status=1,
    )
    assert result.stderr.rstrip().endswith("KeyError: 'mine'")
    assert "ticktree" not in result.stderr.split("KeyError")[0].replace("ticktree.section", "")


def test_the_record_survives_os_exit(run_session):
    profile, _ = run_session(
        """
        import os
        ticktree.enable(quiet=True)
        for _ in range(5):
            with ticktree.section("done"):
                pass
        with ticktree.section("open"):
            os._exit(7)
        """,
        status=7,
    )
    assert counts(profile) == {"done": 5, "open": 0}


def test_the_record_survives_a_kill(run_session):
    profile, _ = run_session(
        """
        import os, signal
        ticktree.enable(quiet=True)
        for _ in ticktree.loop("loop", range(50)):
            with ticktree.section("step"):
                pass
        with ticktree.section("open"):
            os.kill(os.getpid(), signal.SIGKILL)
        """,
        status=-signal.SIGKILL,
    )
    assert counts(profile) == {"loop": 50, "loop/step": 50, "open": 0}


def test_the_record_of_a_program_killed_at_any_moment_can_be_read(run_session, tmp_path):
    """Its own count of calls is the expected count, except for the call it was killed in."""
    for attempt in range(12):
        profile, _ = run_session(
            f"""
            import os, signal, threading, time
            counted = open("counted", "w+b", buffering=0)
            ticktree.enable(quiet=True)
            def kill():
                time.sleep({0.002 + attempt * 0.0017})
                os.kill(os.getpid(), signal.SIGKILL)
            threading.Thread(target=kill).start()
            calls = 0
            while True:
                with ticktree.section("outer"):
                    with ticktree.section("inner"):
                        calls += 1
                if not calls % 64:
                    os.pwrite(counted.fileno(), calls.to_bytes(8, "little"), 0)
            """,
            status=-signal.SIGKILL,
        )
        written = int.from_bytes((tmp_path / "counted").read_bytes()[:8], "little")
        found = counts(profile)
        assert written <= found.get("outer", 0) <= written + 64
        assert found.get("outer", 0) <= found.get("outer/inner", 0) <= found.get("outer", 0) + 1


def test_importing_starts_nothing(run_python):
    result = run_python(
        """
        import sys, threading
        before = threading.active_count()
        import ticktree
        assert threading.active_count() == before
        assert not {"numpy", "rich", "click", "psutil", "asyncio"} & set(sys.modules), sorted(sys.modules)
        import os
        assert not os.path.exists("ticktree-runs")
        with ticktree.section("x"):
            pass
        assert not os.path.exists("ticktree-runs")
        assert list(ticktree.snapshot().root.walk())[1:] == []
        """
    )
    assert (result.stdout, result.stderr) == ("", "")
