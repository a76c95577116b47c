"""`ticktree run`, through the command line: transparent, recorded, and finished whatever happens."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time

import pytest

import ticktree
from support.command_line import CommandLine, assert_one_clear_line

WAITS = """
import ticktree
with ticktree.section("x"):
    pass
print("go", flush=True)
input()
"""
STRAGGLES = """
import threading, time, ticktree

def work(number):
    for _ in range(12):
        with ticktree.section("step"):
            time.sleep(0.1 if number == 2 else 0.001)

threads = [threading.Thread(target=work, args=[n], name=f"worker-{n}") for n in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
"""
PROGRAMS = {
    "ends well": "print('done')",
    "ends with a status": "import sys; sys.exit(3)",
    "ends with a message": "import sys; sys.exit('no good')",
    "ends at once": "import atexit, os; atexit.register(print, 'never'); print('x', flush=True); os._exit(7)",
    "raises": "def f():\n    raise ValueError('bad')\nf()",
    "raises inside a section": "import ticktree\nwith ticktree.section('x'):\n    raise ValueError('bad')",
    "raises out of a timed function": "import ticktree\n@ticktree.timed\ndef f():\n    1 / 0\nf()",
    "is a syntax error": "def f(:",
    "is not Python": "MZ\x90\x00",
    "cleans up": "import atexit; atexit.register(print, 'bye'); print('hi')",
    "kills itself": "import os; os.kill(os.getpid(), 9)",
    "knows what it is": "import sys; print(sys.argv, __name__, __file__, sys.path, sys.flags)",
    "is the main module": "import sys; print(*sys.modules['__main__'].__dict__, __spec__, __builtins__)",
    "can be pickled": "import pickle\nclass A: pass\nprint(pickle.dumps(A()))",
    "reads": "import sys; print(sys.stdin.read())",
    "has threads": "import threading\nt = threading.Thread(target=print, args=['x'])\nt.start(); t.join()",
    "starts no thread": "import threading; print(len(threading.enumerate()))",
    "forks": "import os\npid = os.fork()\nprint('c' if pid == 0 else os.waitpid(pid, 0)[1], flush=True)",
    "spawns": (
        "import multiprocessing as m\ndef f(x):\n    print(x, flush=True)\nif __name__ == '__main__':\n"
        "    p = m.get_context('spawn').Process(target=f, args=['y'])\n"
        "    p.start(); p.join(); print(p.exitcode)"
    ),
}


@pytest.mark.parametrize("source", PROGRAMS.values(), ids=PROGRAMS.keys())
def test_a_recorded_program_cannot_be_told_from_a_plain_one(here: CommandLine, source: str) -> None:
    here.write("script.py", source + "\n")
    words = ["script.py", "-m", "--name", "--", "a b"]
    plain = here.python(*words, input="a line\n")
    quiet = here.ticktree("run", "--quiet", *words, input="a line\n")
    assert (quiet.returncode, quiet.stdout, quiet.stderr) == (plain.returncode, plain.stdout, plain.stderr)
    loud = here.ticktree("run", *words, input="a line\n")
    assert (loud.returncode, loud.stdout) == (plain.returncode, plain.stdout)
    assert loud.stderr.startswith(plain.stderr)


def test_the_interpreters_own_flags_reach_the_program(here: CommandLine) -> None:
    here.write(
        "script.py", "import sys; print(sys.flags, sys._xoptions, sys.warnoptions, sys.stdout.write_through)"
    )
    flags = ["-u", "-OO", "-X", "dev", "-Werror::UserWarning", "-W", "ignore", "-s", "-B"]
    plain = here.python(*flags, "script.py")
    ours = here.python(*flags, "-m", "ticktree", "run", "--quiet", "script.py")
    assert (ours.stdout, ours.stderr, ours.returncode) == (plain.stdout, plain.stderr, 0)


@pytest.mark.parametrize("name", ["sysconfig", "shutil", "bz2"])
def test_a_program_finds_its_own_module_of_a_name_that_python_has_too(here: CommandLine, name: str) -> None:
    here.write("main.py", f"import {name}\nprint({name}.whose)")
    here.write(f"{name}.py", "whose = 'my own'")
    assert here.python("main.py").stdout == "my own\n"
    assert here.ticktree("run", "--quiet", "main.py").stdout == "my own\n"


def test_a_module_runs_as_python_runs_it(here: CommandLine) -> None:
    here.write("package/__init__.py", "")
    here.write("package/other.py", "VALUE = 5")
    here.write(
        "package/__main__.py", "from .other import VALUE\nimport sys\nprint(VALUE, sys.argv, __spec__.name)"
    )
    words = ["-m", "package", "-m", "x"]
    assert here.ticktree("run", "--quiet", *words).stdout == here.python(*words).stdout != ""
    assert here.runs()[0].name.endswith("-package")


def test_a_directory_with_a_main_module_runs_as_python_runs_it(here: CommandLine) -> None:
    here.write("app/__main__.py", "import sys; print(sys.path[0], __name__)")
    assert here.ticktree("run", "--quiet", "app").stdout == here.python("app").stdout != ""


def test_a_program_from_standard_input_runs(here: CommandLine) -> None:
    assert (
        here.ticktree("run", "--quiet", "-", "x", input="import sys; print(sys.argv)").stdout
        == "['-', 'x']\n"
    )


def test_what_was_recorded_is_printed_on_standard_error_and_kept(here: CommandLine) -> None:
    here.write("train.py")
    done = here.ticktree("run", "train.py", "--epochs", "3")
    assert done.stdout == "done --epochs 3\n"
    for word in (
        "train",
        "sample",
        "train [self]",
        "ticktree report -o",
        f"Run ticktree-runs/{here.runs()[0].name}\n",
    ):
        assert word in done.stderr
    assert "\x1b" not in done.stderr
    profile = ticktree.load(here.runs()[0])
    profile.check()
    assert profile.root.at("train").count == 5
    assert profile.root.at("train/sample").count == 5
    assert here.memory() == []


def test_what_a_repository_names_as_programs_of_its_own_is_not_run(here: CommandLine) -> None:
    """A folder that was unpacked may hold any `.git/config`; to ask whether it has changes runs nothing of it."""
    for name in ("watch", "hooks/post-index-change"):
        here.write(name, "#!/bin/sh\necho ran >> ran\n").chmod(0o755)
    subprocess.run(
        "git init -q && git config user.email a@b && git config user.name a && git add watch && git commit -qm one"
        " && git config core.fsmonitor ./watch && git config core.hooksPath hooks",
        shell=True,
        cwd=here.directory,
        check=True,
    )
    subprocess.run(["git", "status", "-s"], cwd=here.directory, check=True, capture_output=True)
    assert (here.directory / "ran").exists(), "this git runs it, so the test tells something"
    (here.directory / "ran").unlink()
    here.write("train.py")
    here.ticktree("run", "--quiet", "train.py")
    assert not (here.directory / "ran").exists()
    (run,) = here.runs()
    assert "git.commit" in ticktree.load(run).metadata


def test_what_is_known_of_the_program_is_kept_with_it(here: CommandLine) -> None:
    here.env["OMP_NUM_THREADS"] = "1"
    subprocess.run(
        "git init -q && git config user.email a@b && git config user.name a", shell=True, cwd=here.directory
    )
    here.write("train.py")
    subprocess.run("git add train.py && git commit -qm one", shell=True, cwd=here.directory, check=True)
    here.ticktree("run", "--quiet", "train.py", "a b")
    here.write("train.py", "pass\n")
    here.ticktree("run", "--quiet", "train.py")
    clean, dirty = (ticktree.load(run).metadata for run in here.runs())
    assert clean["command"] == {"train.py 'a b'"}
    assert clean["name"] == {"train"}
    assert clean["env.OMP_NUM_THREADS"] == {"1"}
    assert clean["git.commit"] == dirty["git.commit"] != set()
    assert (clean["git.dirty"], dirty["git.dirty"]) == ({False}, {True})
    for key in ("host", "system", "cpu", "cores", "python", "version.numpy", "clock"):
        assert clean[key]


def test_memory_of_every_section_is_sampled_on_demand_in_every_process(here: CommandLine) -> None:
    source = """
import os, subprocess, sys, ticktree
child = "import ticktree\\nwith ticktree.section('child'): pass"
bare = {"PYTHONPATH": os.environ.get("PYTHONPATH", "")}
with ticktree.section("parent"):
    ticktree.stage("prepare")
    subprocess.run([sys.executable, "-c", child], check=True, env=bare)
"""
    here.write("script.py", source)
    here.ticktree("run", "--quiet", "--memory", "script.py")
    tree = ticktree.load(here.runs()[0]).root
    stage = tree.at("parent/prepare")
    assert tree.at("parent").memory.samples == stage.memory.samples == 1
    assert stage.children["child"].memory.is_exact
    here.ticktree("run", "--quiet", "script.py")
    assert ticktree.load(here.runs()[-1]).root.at("parent").memory is None


def test_whatever_is_asked_of_a_run_is_asked_of_a_child_with_an_environment_of_its_own(
    here: CommandLine,
) -> None:
    source = """
import json, os, subprocess, sys
child = "import json, os; print(json.dumps({k: v for k, v in os.environ.items() if k.startswith('TICKTREE_')}))"
bare = {"PYTHONPATH": os.environ.get("PYTHONPATH", "")}
for given in (None, bare):
    subprocess.run([sys.executable, "-c", child], check=True, env=given)
"""
    here.write("script.py", source)
    asked = ["--memory", "--device-sync", "--timeline", "--instrument", "waits,trace-context"]
    asked += ["--focus", "nobody.step", "--depth", "2", "--focus-c"]
    done = here.ticktree("run", "--quiet", *asked, "script.py")
    inherited, led = (json.loads(line) for line in done.stdout.splitlines())
    # Where memory files are kept is this test's own word, and no option's.
    inherited.pop("TICKTREE_MEMORY_DIR", None)
    assert set(led) >= {"TICKTREE_DEVICE_SYNC", "TICKTREE_TRACE", "TICKTREE_FOCUS_C", "TICKTREE_TIMELINE"}
    assert led == inherited


def test_a_run_can_be_named_and_kept_elsewhere(here: CommandLine) -> None:
    here.write("train.py")
    here.ticktree("run", "--name", "first try", "--out", "kept/here", "train.py")
    (run,) = (here.directory / "kept" / "here").glob("*-*")
    assert run.name.endswith("-first-try")
    assert here.runs() == []


def test_ctrl_c_prints_what_was_recorded(here: CommandLine) -> None:
    here.write(
        "train.py",
        "import time, ticktree\nwith ticktree.section('x'): pass\nprint('go', flush=True)\ntime.sleep(1000)",
    )
    with here.start("run", "train.py") as process:
        process.stdout.readline()
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=500)
    assert process.returncode == -signal.SIGINT
    assert err.index("KeyboardInterrupt") < err.index("\nx ") < err.index("Run ticktree-runs")


@pytest.mark.parametrize("death", ["os._exit(9)", "os.kill(os.getpid(), 9)", "os.abort()"])
def test_nothing_is_lost_when_the_program_dies_at_once(here: CommandLine, death: str) -> None:
    limit = "import resource; resource.setrlimit(resource.RLIMIT_CORE, (0, 0))"
    here.write(
        "train.py",
        f"import os, ticktree\n{limit}\nfor _ in range(7):\n    with ticktree.section('x'): pass\n{death}",
    )
    here.ticktree("run", "train.py")
    assert ticktree.load(here.runs()[0]).root.at("x").count == 7


def test_a_section_that_was_open_when_the_program_died_is_reported_as_open(here: CommandLine) -> None:
    here.write("train.py", "import os, ticktree\nwith ticktree.section('x'): os._exit(1)")
    here.ticktree("run", "train.py")
    node = ticktree.load(here.runs()[0]).root.at("x")
    assert node.count == 0
    assert node.open.count == 1


def test_a_run_whose_supervisor_was_killed_is_finished_by_the_next_command(here: CommandLine) -> None:
    here.write(
        "train.py",
        "import time, ticktree\nwith ticktree.section('x'): pass\nprint('go', flush=True)\ntime.sleep(1000)",
    )
    with here.start("run", "train.py") as process:
        process.stdout.readline()
        process.kill()
    assert here.memory() != []
    deadline = time.monotonic() + 60
    while (
        here.memory() != [] and time.monotonic() < deadline
    ):  # The kernel takes a moment to end the program too.
        done = here.ticktree("list")
    assert here.memory() == []
    assert "finished" in done.stdout
    assert ticktree.load(here.runs()[0]).root.at("x").count == 1


def test_a_running_program_can_be_looked_at(here: CommandLine) -> None:
    here.write(
        "train.py", "import ticktree\nwith ticktree.section('x'): pass\nprint('go', flush=True)\ninput()"
    )
    with here.start("run", "--quiet", "train.py") as process:
        process.stdout.readline()
        assert "running" in here.ticktree("list").stdout
        live = json.loads(here.ticktree("report", "--format", "json").stdout)
        process.communicate("\n", timeout=500)
    assert [child["name"] for child in live["tree"]["children"]] == ["x"]
    assert "finished" in here.ticktree("list").stdout


def test_children_are_part_of_the_run_and_those_that_outlive_it_are_not_waited_for(here: CommandLine) -> None:
    here.write(
        "train.py",
        """
import os, sys, time, ticktree
if os.fork() == 0:
    with ticktree.section("child"):
        pass
    os.close(1); os.close(2)
    print(os.getpid(), file=open("pid", "w"))
    os.rename("pid", "pid of the child")
    time.sleep(1000)
while not os.path.exists("pid of the child"):
    time.sleep(0.01)
""",
    )
    done = here.ticktree("run", "train.py")
    os.kill(int((here.directory / "pid of the child").read_text()), signal.SIGKILL)
    profile = ticktree.load(here.runs()[0])
    assert profile.root.at("child").count == 1
    assert profile.losses["processes_outlived_run"] == 1
    assert "1 process outlived run" in done.stderr


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["missing.py"], "missing.py: there is no such script"),
        (["folder"], "folder: is a directory without a __main__.py"),
        (["--out", "a file", "train.py"], "cannot keep a run in"),
        (["--out", "/proc/nowhere", "train.py"], "cannot keep a run in /proc/nowhere"),
    ],
)
def test_bad_input_is_one_clear_line_and_leaves_nothing_behind(
    here: CommandLine, words: list[str], complaint: str
) -> None:
    here.write("train.py")
    here.write("a file")
    (here.directory / "folder").mkdir()
    assert_one_clear_line(here.ticktree("run", *words), complaint)
    assert here.runs() == []
    assert here.memory() == []


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read and write everything")
def test_what_may_not_be_read_or_written_is_one_clear_line(here: CommandLine) -> None:
    here.write("secret.py").chmod(0)
    assert_one_clear_line(here.ticktree("run", "secret.py"), "secret.py: may not be read")
    here.write("train.py")
    here.directory.chmod(0o500)
    assert_one_clear_line(here.ticktree("run", "train.py"), "cannot keep a run in", "Permission denied")
    here.directory.chmod(0o700)


def test_a_missing_module_is_pythons_own_line(here: CommandLine) -> None:
    done = here.ticktree("run", "-m", "no_such_module")
    assert done.returncode == 1
    assert "No module named no_such_module" in done.stderr


@pytest.mark.parametrize(
    ("source", "flags", "env", "reason"),
    [
        ("pass", [], {}, "no section was reached"),
        ("import ticktree; ticktree.disable()", [], {}, "no section was reached"),
        ("pass", ["-S"], {}, "no process recorded anything"),
        ("pass", [], {"TICKTREE_OFF": "1"}, "TICKTREE_OFF is set"),
    ],
)
def test_when_nothing_was_recorded_it_is_said_why(
    here: CommandLine, source: str, flags: list[str], env: dict[str, str], reason: str
) -> None:
    here.write("train.py", source)
    here.env.update(env)
    if "-S" in flags:
        here.env["PYTHONPATH"] = os.pathsep.join(path for path in sys.path if path)
    done = here.python(*flags, "-m", "ticktree", "run", "train.py")
    assert done.returncode == 0
    assert f"Nothing was recorded: {reason}" in done.stderr


def test_a_directory_that_disappears_does_not_stop_the_program(here: CommandLine) -> None:
    """What was recorded stays in memory where the directory cannot be made again, and it is said where."""
    remove = "import shutil; shutil.rmtree('ticktree-runs'); open('ticktree-runs', 'w').close()"
    here.write("train.py", f"import ticktree\nwith ticktree.section('x'): pass\n{remove}\nprint('done')")
    done = here.ticktree("run", "train.py")
    assert (done.returncode, done.stdout) == (0, "done\n")
    assert "what was recorded is kept in" in done.stderr
    assert len(here.memory()) == 1


def test_a_program_may_be_run_from_a_script_that_runs_it_from_another_place(here: CommandLine) -> None:
    """The run is found by its absolute path, wherever the program goes."""
    here.write("train.py", "import os; os.chdir('/')\nimport ticktree\nwith ticktree.section('x'): pass")
    here.ticktree("run", "train.py")
    assert ticktree.load(here.runs()[0]).root.at("x").count == 1


def test_nested_runs_are_two_runs(here: CommandLine) -> None:
    here.write("inner.py", "import ticktree\nwith ticktree.section('inner'): pass")
    here.write(
        "outer.py",
        "import subprocess, sys, ticktree\nwith ticktree.section('outer'): pass\n"
        "subprocess.run([sys.executable, '-m', 'ticktree', 'run', '--quiet', '--out', 'inside', 'inner.py'])",
    )
    here.ticktree("run", "outer.py")
    (inside,) = (here.directory / "inside").glob("*-*")
    assert set(ticktree.load(inside).root.children) == {"inner"}
    assert "outer" in ticktree.load(here.runs()[0]).root.children


@pytest.mark.parametrize("status", [0, 3])
def test_pythoninspect_is_the_programs_affair_alone(status: int, here: CommandLine) -> None:
    here.env["PYTHONINSPECT"] = "1"
    here.write("train.py", f"import os\nprint('done', flush=True)\nos._exit({status})")
    done = here.ticktree("run", "--quiet", "train.py")
    assert (done.returncode, done.stdout, done.stderr) == (status, "done\n", "")
    assert here.ticktree("list").stderr == ""


def test_what_to_do_is_printed_first(here: CommandLine) -> None:
    here.write("train.py", STRAGGLES)
    done = here.ticktree("run", "train.py")
    worth_doing = done.stderr.partition("\nRecommendations\n")[2]
    assert re.search(r"^ \d  (?:\S+  .+  )?worker 2 takes", worth_doing, re.MULTILINE)
    assert "straggler" in done.stderr


def test_the_help_of_run_has_its_options_in_groups(here: CommandLine) -> None:
    told = here.ticktree("run", "--help").stdout
    titles = [line for line in told.splitlines() if line.endswith(":") and not line.startswith(" ")]
    assert titles[:2] == ["Program and run:", "Recording:"]
    assert titles[-2:] == ["Libraries instrumented by default:", "Libraries on demand:"]
