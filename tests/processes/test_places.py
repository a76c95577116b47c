"""The parent node of a process: found at the fork, or read from the environment, whatever that contains."""

from __future__ import annotations

import os

import pytest

from ticktree.recorder._native import place_numbers


def test_a_fork_is_a_child_of_the_section_of_the_task_that_forks(run_session, calls):
    """It is not a child of the task that entered a section last."""
    profile, _ = run_session(
        """
        import asyncio, os, warnings
        warnings.simplefilter("ignore", DeprecationWarning)

        def fork():
            pid = os.fork()
            if not pid:
                with ticktree.section("child"):
                    pass
                os._exit(0)
            assert os.waitpid(pid, 0)[1] == 0

        async def forks(turn):
            with ticktree.section("forks"):
                turn.set()
                await asyncio.sleep(0.01)
                fork()

        async def works(turn):
            await turn.wait()
            with ticktree.section("works"):
                await asyncio.sleep(0.03)

        async def bare(turn):
            await turn.wait()
            await asyncio.sleep(0.02)
            fork()

        async def main():
            turn = asyncio.Event()
            await asyncio.gather(forks(turn), works(turn), bare(turn))

        ticktree.enable(quiet=True)
        with ticktree.section("main"):
            asyncio.run(main())
        """
    )
    assert calls(profile) == {
        "main": 1,
        "main/forks": 1,
        "main/works": 1,
        "main/forks/child": 1,
        "main/child": 1,
    }


def test_a_fork_in_a_thread_without_records_is_a_child_of_the_threads_parent(run_session, calls):
    profile, _ = run_session(
        """
        import os, threading, warnings
        warnings.simplefilter("ignore", DeprecationWarning)

        def thread():
            pid = os.fork()
            if not pid:
                with ticktree.section("child"):
                    pass
                os._exit(0)
            assert os.waitpid(pid, 0)[1] == 0

        ticktree.enable(quiet=True)
        with ticktree.section("main"):
            one = threading.Thread(target=thread)
            one.start()
            one.join()
        """
    )
    assert calls(profile) == {"main": 1, "main/child": 1}


def test_a_process_without_records_passes_its_parent_node_on(run_session, calls):
    profile, _ = run_session(
        """
        import os, subprocess, sys
        inner = "import ticktree\\nwith ticktree.section('inner'): pass"
        outer = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {inner!r}], check=True)"
        ticktree.enable(quiet=True)
        with ticktree.section("start"):
            subprocess.run([sys.executable, "-c", outer], check=True)
        with ticktree.section("fork"):
            pid = os.fork()
            if not pid:
                os.execv(sys.executable, [sys.executable, "-c", inner])
            assert os.waitpid(pid, 0)[1] == 0
        """
    )
    assert calls(profile) == {"start": 1, "start/inner": 1, "fork": 1, "fork/inner": 1}


@pytest.mark.parametrize(
    "environment_value",
    ["", "nonsense", "1-2-3", "1-2-3:x", "1-2-1:99999999999", "-1--1-1:4", "0-0-1:0", "99-99-7:12"],
)
def test_a_process_is_recorded_whatever_the_environment_contains(run_session, calls, environment_value):
    profile, result = run_session(
        f"""
        import os, subprocess, sys
        ticktree.enable(quiet=True)
        inner = "import os, ticktree\\nwith ticktree.section('inner'): print('TICKTREE_PARENT' in os.environ)"
        from ticktree.recorder import disconnect_children
        with ticktree.section("start"):
            disconnect_children()
            environment = {{**os.environ, "TICKTREE_PARENT": {environment_value!r}}}
            subprocess.run([sys.executable, "-c", inner], env=environment, check=True)
        """
    )
    assert (result.stdout, result.stderr) == ("False\n", "")
    assert calls(profile) == {"start": 1, "inner": 1}


@pytest.mark.parametrize(
    "text",
    [
        "",
        ":",
        "1:2",
        "1-2-3",
        "1-2-3:",
        "1-2-3:4:5",
        "1-2-3-4:5",
        "a-2-3:4",
        "1-2-3:-4",
        "0-0-1:0",
        "\u0661-2-3:4",
    ],
)
def test_a_malformed_parent_node_is_refused(text):
    with pytest.raises(ValueError, match="names no place"):
        place_numbers(text)


def test_numbers_too_large_for_a_record_are_refused():
    assert place_numbers("12-34-5:6") == (12, 34, 5, 6)
    for text in (f"{2**63}-1-1:1", f"1-{2**63}-1:1", f"1-1-{2**32}:1", f"1-1-1:{2**32}"):
        with pytest.raises(ValueError, match="names no place"):
            place_numbers(text)


@pytest.mark.skipif(not os.path.exists("/proc/self/stat"), reason="ancestors are looked at in /proc")  # noqa: PTH110
def test_a_recording_ancestor_is_found_through_processes_that_do_not_record(run_session, calls):
    profile, _ = run_session(
        """
        import os, subprocess, sys
        inner = "import ticktree\\nwith ticktree.section('inner'): pass"
        middle = f'''
        import os, subprocess, sys, ticktree
        with ticktree.section("middle"):
            environment = dict(os.environ)
            ticktree.disable()
            shell = ["/bin/sh", "-c", '"$0" -c "$1"; true', sys.executable, {inner!r}]
            subprocess.run(shell, env=environment, check=True)
        '''.replace("\\n        ", "\\n")
        ticktree.enable(quiet=True)
        with ticktree.section("start"):
            subprocess.run([sys.executable, "-c", middle], check=True)
        """
    )
    call_counts = calls(profile)
    assert call_counts == {"start": 1, "start/inner": 1}
    assert profile.root.at("start/middle").total_ns > 0


def test_a_program_of_another_run_stays_in_it(run_python, tmp_path):
    """`ticktree run` inside a recorded program: its program belongs to another run."""
    result = run_python(
        """
        import os, subprocess, sys, ticktree
        ticktree.enable(quiet=True)
        inner = "import ticktree\\nwith ticktree.section('inner'): pass"
        open("inner.py", "w").write(inner)
        with ticktree.section("start"):
            command = [sys.executable, "-m", "ticktree", "run", "--quiet", "--no-instrument"]
            command += ["--out", "inner", "inner.py"]
            subprocess.run(command, check=True)
        """
    )
    assert result.stderr == ""
    from ticktree.run.finishing import RunDirectory

    outer = RunDirectory.newest(tmp_path / "ticktree-runs").profile()
    inner = RunDirectory.newest(tmp_path / "inner").profile()
    assert set(outer.root.children) == {"start"}
    assert not outer.root.at("start").children
    assert inner.root.at("inner").count == 1
    assert not inner.root.parallel
