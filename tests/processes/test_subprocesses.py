"""Programs started by subprocess, asyncio, exec, posix_spawn and shells."""

from __future__ import annotations

import os
import sys

import pytest


def test_a_program_is_a_child_of_the_section_that_started_it(start_method, calls):
    profile = start_method(
        """
        def main():
            with ticktree.section("run"):
                subprocess.run(program("child", 3), check=True)
            with ticktree.section("popen"):
                process = subprocess.Popen(program("child", 2))
            with ticktree.section("wait"):
                assert process.wait() == 0
        """
    )
    assert calls(profile) == {"run": 1, "run/child": 3, "popen": 1, "popen/child": 2, "wait": 1}
    child = profile.root.at("run/child")
    assert child.concurrent_ns == child.total_ns


@pytest.mark.slow
def test_programs_started_in_any_way_are_children_of_their_section(start_method, calls):
    profile = start_method(
        """
        def forked(call):
            pid = os.fork()
            if not pid:
                try:
                    call()
                finally:
                    os._exit(9)
            assert os.waitpid(pid, 0)[1] == 0

        def main():
            import asyncio, shlex
            command = program("child", 1)
            environment = dict(os.environ)

            async def in_a_loop():
                with ticktree.section("asyncio"):
                    process = await asyncio.create_subprocess_exec(*command)
                    assert await process.wait() == 0

            def spawn(spawner):
                assert os.waitpid(spawner(command[0], command, environment), 0)[1] == 0

            ways = {
                "shell": lambda: subprocess.run(shlex.join(command), shell=True, check=True),
                "not closing": lambda: subprocess.run(command, close_fds=False, check=True),
                "preexec": lambda: subprocess.run(command, preexec_fn=lambda: None, check=True),
                "execv": lambda: forked(lambda: os.execv(command[0], command)),
                "execve": lambda: forked(lambda: os.execve(command[0], command, environment)),
                "execlp": lambda: forked(lambda: os.execlp(command[0], *command)),
                "execvpe": lambda: forked(lambda: os.execvpe(command[0], command, environment)),
                "spawnv": lambda: os.spawnv(os.P_WAIT, command[0], command),
                "spawnve": lambda: os.spawnve(os.P_WAIT, command[0], command, environment),
                "posix_spawn": lambda: spawn(os.posix_spawn),
                "posix_spawnp": lambda: spawn(os.posix_spawnp),
                "popen": lambda: os.popen(shlex.join(command)).close(),
            }
            for name, way in ways.items():
                with ticktree.section(name):
                    way()
            asyncio.run(in_a_loop())
        """
    )
    names = [
        *("shell", "not closing", "preexec", "execv", "execve", "execlp", "execvpe", "spawnv", "spawnve"),
        *("posix_spawn", "posix_spawnp", "popen", "asyncio"),
    ]
    assert calls(profile) == {**dict.fromkeys(names, 1), **{f"{name}/child": 1 for name in names}}


def test_a_program_that_replaces_another_is_a_child_of_the_section_that_started_it(start_method, calls):
    profile = start_method(
        """
        def main():
            work("before", 2)
            command = program("after", 3, then='''
                with ticktree.section("next"):
                    if len(sys.argv) == 1:
                        os.execv(sys.executable, [*sys.orig_argv, "again"])
                    print("done")
            ''')
            with ticktree.section("exec"):
                os.execv(command[0], command)
        """
    )
    assert calls(profile) == {"before": 2, "exec/after": 3, "exec/next/after": 3, "exec/next/next": 1}
    assert profile.root.at("exec").open.count == 1
    assert profile.root.at("exec/next").open.count == 1


def test_a_failed_exec_leaves_no_trace(start_method, calls):
    profile = start_method(
        """
        def main():
            before = dict(os.environ), ticktree_environment()
            with ticktree.section("exec"):
                for attempt in (
                    lambda: os.execv("/no/such/program", ["x"]),
                    lambda: os.execve("/no/such/program", ["x"], {}),
                    lambda: os.execv(sys.executable, []),
                    lambda: os.execve(sys.executable, ["x"], "no environment"),
                    lambda: os.posix_spawn("/no/such/program", ["x"], {}),
                    lambda: os.posix_spawn("/no/such/program"),
                ):
                    try:
                        attempt()
                    except (OSError, ValueError, TypeError, AttributeError):
                        work("failed", 1)
            assert (dict(os.environ), ticktree_environment()) == before

        def ticktree_environment():
            from ticktree.recorder._native import environment
            return sorted(environment())
        """
    )
    assert calls(profile) == {"exec": 1, "exec/failed": 6}


def test_a_program_gets_the_same_environment_as_without_ticktree(run_python):
    """Variables that are set or deleted without `os.environ` count, too."""
    program = """
        import os, subprocess, sys, ticktree
        os.environ["SET"] = "1"
        os.putenv("PAST", "2")
        os.unsetenv("GONE")
        if len(sys.argv) == 1:
            ticktree.enable(quiet=True)
            os.execv(sys.executable, [sys.executable, __file__, "quiet"]) if "QUIET" in os.environ else None
        for environment in (None, {"A": "1", "PATH": os.environ["PATH"]}, {b"B": b"2"}, {}):
            done = subprocess.run(["env"], env=environment, stdout=subprocess.PIPE, check=True)
            lines = done.stdout.decode().split("\\n")
            print([line for line in lines if not line.startswith(("TICKTREE_RUN", "TICKTREE_PARENT"))])
        """
    assert run_python(program, GONE="x").stdout == run_python(
        program, GONE="x", TICKTREE_OFF="1"
    ).stdout.replace("'TICKTREE_OFF=1', ", "")


def test_a_program_with_an_environment_of_its_own_is_recorded(start_method, calls):
    profile = start_method(
        """
        def main():
            paths = {"PYTHONPATH": os.pathsep.join(sys.path[1:])}
            with ticktree.section("scrubbed"):
                subprocess.run(program("child", 1), env=paths, check=True)
            with ticktree.section("bytes"):
                encoded = {os.fsencode(name): os.fsencode(value) for name, value in paths.items()}
                subprocess.run(program("child", 1), env=encoded, check=True)
            with ticktree.section("off"):
                subprocess.run(program("child", 1), env={**os.environ, "TICKTREE_OFF": "1"}, check=True)
            with ticktree.section("not here"):
                subprocess.run(program("child", 1), env={**os.environ, "TICKTREE_RUN": ""}, check=True)
        """
    )
    names = ("scrubbed", "bytes", "off", "not here")
    assert calls(profile) == {**dict.fromkeys(names, 1), "scrubbed/child": 1, "bytes/child": 1}


def test_a_program_started_by_an_unrecorded_shell_has_the_shells_parent(start_method, calls):
    profile = start_method(
        """
        def main():
            import shlex
            with ticktree.section("outer"):
                subprocess.run(program("middle", 1, then=f'''
                    with ticktree.section("system"):
                        os.system({shlex.join(program("child", 1))!r})
                '''), check=True)
        """
    )
    assert calls(profile) == {"outer": 1, "outer/middle": 1, "outer/system": 1, "outer/child": 1}


def test_a_program_without_records_leaves_no_file(run_python):
    result = run_python(
        """
        import multiprocessing, subprocess, sys, ticktree
        from ticktree.session import current
        if __name__ == "__main__":
            ticktree.enable(quiet=True)
            subprocess.run([sys.executable, "-c", "import threading"], check=True)
            for method in ("spawn", "forkserver"):
                process = multiprocessing.get_context(method).Process(target=print)
                process.start()
                process.join()
            print(len(current.run.memory_files()))
        """
    )
    assert result.stdout.split() == ["1"]


def test_programs_started_before_and_after_recording_are_not_recorded(run_session, calls):
    profile, result = run_session(
        """
        import os, subprocess, sys
        from subprocess import Popen
        code = "import os, ticktree\\nwith ticktree.section('child'): pass\\nprint('TICKTREE_RUN' in os.environ)"
        child = [sys.executable, "-c", code]
        assert Popen(child).wait() == 0
        before = subprocess.Popen.__init__, os.execv, os.posix_spawn
        ticktree.enable(quiet=True)
        from _posixsubprocess import fork_exec
        with ticktree.section("recording"):
            assert Popen(child).wait() == 0
        ticktree.disable()
        assert (subprocess.Popen.__init__, os.execv, os.posix_spawn) == before
        assert Popen(child).wait() == 0
        """
    )
    assert result.stdout.split() == ["False", "True", "False"]
    assert calls(profile) == {"recording": 1, "recording/child": 1}


def test_programs_started_by_many_threads_are_children_of_their_threads_sections(start_method, calls):
    profile = start_method(
        """
        def thread(number):
            with ticktree.section(f"thread {number}"):
                subprocess.run(program("child", number + 1), check=True)

        def main():
            threads = [threading.Thread(target=thread, args=(number,)) for number in range(6)]
            for thread_ in threads:
                thread_.start()
            for thread_ in threads:
                thread_.join()
        """
    )
    expected = {f"thread {number}": 1 for number in range(6)}
    assert calls(profile) == expected | {f"thread {number}/child": number + 1 for number in range(6)}


@pytest.mark.skipif(sys.platform != "linux", reason="signals of a child are looked at as Linux has them")
def test_a_program_that_is_killed_is_read_back(start_method, calls):
    profile = start_method(
        """
        def main():
            with ticktree.section("killed"):
                done = subprocess.run(program("child", 3, then="os.kill(os.getpid(), 9)"))
            assert done.returncode == -9
            with ticktree.section("fallen"):
                done = subprocess.run(program("child", 2, then="os._exit(7)"))
            assert done.returncode == 7
        """
    )
    assert calls(profile) == {"killed": 1, "killed/child": 3, "fallen": 1, "fallen/child": 2}


def test_a_program_that_outlives_the_run_is_reported_and_not_disturbed(run_session, calls, tmp_path):
    _, result = run_session(
        """
        import os, subprocess, sys, time
        child = [sys.executable, "-c", '''
        import os, subprocess, sys, ticktree
        with ticktree.section("child"):
            pass
        print("ready", flush=True)
        sys.stdin.readline()
        with ticktree.section("child"):
            pass
        late = "import os, ticktree; print('TICKTREE_RUN' in os.environ)"
        late = subprocess.run([sys.executable, "-c", late], capture_output=True, text=True)
        open("late.txt", "w").write(repr((late.returncode, late.stdout, late.stderr)))
        '''.replace("\\n        ", "\\n")]
        ticktree.enable(quiet=True)
        read, write = os.pipe()
        with ticktree.section("start"):
            process = subprocess.Popen(child, stdin=read, stdout=subprocess.PIPE, pass_fds=())
            process.stdout.readline()
        os.set_inheritable(write, True)
        waiter = '''
        import os, sys, time
        parent, write = int(sys.argv[1]), int(sys.argv[2])
        while os.getppid() == parent:
            time.sleep(0.01)
        os.write(write, b"go on")
        '''.replace("\\n        ", "\\n")
        subprocess.Popen([sys.executable, "-c", waiter, str(os.getpid()), str(write)], close_fds=False)
        process.returncode = 0
        """
    )
    assert result.stderr == ""
    import time

    for _ in range(3000):
        late_file = tmp_path / "late.txt"
        if late_file.exists() and late_file.read_text():
            break
        time.sleep(0.01)
    assert late_file.read_text() == repr((0, "False\n", ""))
    from ticktree.run.finishing import RunDirectory

    (run,) = RunDirectory.list(tmp_path / "ticktree-runs")
    assert calls(run.profile()) == {"start": 1, "start/child": 1}
    assert run.profile().losses == {"processes_outlived_run": 1}
    assert os.listdir(tmp_path / "memory") != []  # noqa: PTH208 - the user's own directory stays


def test_a_preexec_function_may_change_the_environment_and_keeps_the_parent(start_method, calls):
    profile = start_method(
        """
        def prepare():
            os.environ["FRUIT"] = "kiwi"
            os.environ.pop("VEGETABLE")

        def main():
            os.environ["VEGETABLE"] = "leek"
            told = "print(os.environ.get('FRUIT'), os.environ.get('VEGETABLE'))"
            with ticktree.section("run"):
                done = subprocess.run(program("child", 2, told), preexec_fn=prepare, capture_output=True, check=True)
            assert done.stdout == b"kiwi None\\n", done.stdout
        """
    )
    assert calls(profile) == {"run": 1, "run/child": 2}


def test_a_preexec_function_may_take_the_program_out_of_the_run(start_method, calls):
    profile = start_method(
        """
        def prepare():
            os.environ.pop("TICKTREE_PARENT", None)
            os.environ["TICKTREE_RUN"] = ""

        def main():
            with ticktree.section("run"):
                subprocess.run(program("child", 2), preexec_fn=prepare, check=True)
        """
    )
    assert calls(profile) == {"run": 1}
