"""A supervised program prints, receives and leaves behind the same as a plain one."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from support.supervised import PLAIN, SUPERVISED

PROGRAMS = {
    "ends well": "print('done')",
    "ends with a status": "import sys; sys.exit(3)",
    "ends with a message": "import sys; sys.exit('no good')",
    "ends at once": "import atexit, os; atexit.register(print, 'never'); print('x', flush=True); os._exit(7)",
    "raises": "def f():\n    raise ValueError('bad')\nf()",
    "is interrupted": "raise KeyboardInterrupt",
    "is not Python": "a list of words",
    "cleans up": "import atexit; atexit.register(print, 'bye'); print('hi')",
    "kills itself": "import os; os.kill(os.getpid(), 9)",
    "terminates itself": "import os; os.kill(os.getpid(), 15)",
    "aborts": "import os, resource; resource.setrlimit(resource.RLIMIT_CORE, (0, 0)); os.abort()",
    "knows what it is": "import sys; print(sys.argv, __name__, __file__, sys.path[0], sys.executable)",
    "reads": "import sys; print(sys.stdin.buffer.read())",
    "reads nothing": "pass",
    "closes its output": "import os; os.close(1); os.close(2)",
    "sees its environment": "import os; print(sorted(os.environ.items()))",
    "sees its dispositions": "import signal\nfor s in signal.valid_signals(): print(s, signal.getsignal(s))",
    "sees its signal mask": "import signal; print(signal.pthread_sigmask(signal.SIG_BLOCK, []))",
    "forks": "import os\npid = os.fork()\nprint('c' if pid == 0 else os.waitpid(pid, 0)[1], flush=True)",
}


def run(launcher: list[str], *command: str, **options: object) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run([*launcher, sys.executable, *command], capture_output=True, timeout=500, **options)


@pytest.mark.parametrize("source", PROGRAMS.values(), ids=PROGRAMS.keys())
def test_a_supervised_program_behaves_like_a_plain_one(source: str, tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(source + "\n")
    plain, supervised = (
        run(launcher, "script.py", "-x", "--", "a b", input=b"some \xff bytes\n", cwd=tmp_path)
        for launcher in (PLAIN, SUPERVISED)
    )
    assert supervised.stdout == plain.stdout
    assert supervised.stderr == plain.stderr
    assert supervised.returncode == plain.returncode


def test_a_module_with_relative_imports_runs_as_plain(tmp_path: Path) -> None:
    package = tmp_path / "package"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "other.py").write_text("VALUE = 5\n")
    (package / "__main__.py").write_text("from .other import VALUE\nimport sys\nprint(VALUE, sys.argv)\n")
    plain, supervised = (
        run(launcher, "-m", "package", "x", cwd=tmp_path) for launcher in (PLAIN, SUPERVISED)
    )
    assert (supervised.returncode, supervised.stdout, supervised.stderr) == (0, plain.stdout, b"")
    assert plain.stdout.startswith(b"5 [")


@pytest.mark.parametrize("inherited", [signal.SIG_DFL, signal.SIG_IGN], ids=["default", "ignored"])
@pytest.mark.parametrize("launcher", [PLAIN, SUPERVISED], ids=["plain", "supervised"])
def test_ignored_signals_stay_ignored(launcher: list[str], inherited: signal.Handlers) -> None:
    """Signals are ignored under nohup, and in the background of a script."""
    source = "import signal; print(*(signal.getsignal(s) == signal.SIG_IGN for s in (1, 2, 3, 20)))"
    ignored = [signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTSTP]
    result = run(launcher, "-c", source, preexec_fn=lambda: [signal.signal(s, inherited) for s in ignored])
    assert result.stdout.split() == [str(inherited is signal.SIG_IGN).encode()] * 4


@pytest.mark.parametrize("launcher", [PLAIN, SUPERVISED], ids=["plain", "supervised"])
@pytest.mark.parametrize(
    "name", ["SIGTERM", "SIGINT", "SIGHUP", "SIGUSR1", "SIGUSR2", "SIGWINCH", "SIGRTMAX"]
)
def test_a_signal_sent_to_us_reaches_the_program(launcher: list[str], name: str) -> None:
    source = f"""
import signal, sys, time
def got(number, frame):
    print("got", signal.Signals(number).name, flush=True)
    sys.exit(4)
signal.signal(signal.{name}, got)
print("ready", flush=True)
while True:  # not one long sleep: 3.14 may begin it with a signal pending, and handle that after it
    time.sleep(0.01)
"""
    with start(launcher, source) as process:
        process.send_signal(getattr(signal, name))
        out, _ = process.communicate(timeout=500)
    assert out == f"got {name}\n"
    assert process.returncode == 4


@pytest.mark.parametrize("launcher", [PLAIN, SUPERVISED], ids=["plain", "supervised"])
def test_a_program_that_ignores_a_signal_outlives_it(launcher: list[str]) -> None:
    source = """
import signal
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print("ready", flush=True)
print("read", input())
"""
    with start(launcher, source) as process:
        process.terminate()
        out, _ = process.communicate("a line\n", timeout=500)
    assert (out, process.returncode) == ("read a line\n", 0)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL, signal.SIGSEGV])
def test_we_end_by_the_same_signal_as_the_program(number: signal.Signals) -> None:
    source = "import os, time\nprint(os.getpid(), flush=True)\ntime.sleep(1000)"
    with start(SUPERVISED, source, read=False) as process:
        os.kill(int(process.stdout.readline()), number)
        assert process.wait(timeout=500) == -number


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux has parent death signals")
def test_sigkill_for_us_kills_the_program() -> None:
    with start(SUPERVISED, "import time\nprint('ready', flush=True)\ntime.sleep(1000)") as process:
        process.kill()
        # The program holds the other end of its output until it is dead.
        assert process.communicate(timeout=500)[0] == ""


def test_children_that_outlive_the_program_are_not_waited_for() -> None:
    source = """
from subprocess import DEVNULL, Popen
print(Popen(['sleep', '60'], stdout=DEVNULL, stderr=DEVNULL).pid)
"""
    result = run(SUPERVISED, "-c", source, stdin=subprocess.DEVNULL)
    child = int(result.stdout)
    os.kill(child, signal.SIGKILL)  # It was alive, or this would raise.


def test_a_reader_of_the_output_waits_only_for_the_program() -> None:
    """A program may close its output and continue."""
    source = "import os, sys\nprint('all', flush=True)\nos.close(1)\nsys.stdin.read()"
    with start(SUPERVISED, source, read=False) as process:
        assert process.stdout.read() == "all\n"
        assert process.poll() is None
        process.stdin.close()
        assert process.wait(timeout=500) == 0


def test_inherited_descriptors_reach_the_program() -> None:
    read_fd, write_fd = os.pipe()
    result = run(SUPERVISED, "-c", f"import os; os.write({write_fd}, b'through')", pass_fds=[write_fd])
    os.close(write_fd)
    assert os.read(read_fd, 100) == b"through"
    os.close(read_fd)
    assert result.returncode == 0


def test_a_program_stopped_and_continued_by_signals_continues() -> None:
    source = "import os\nprint(os.getpid(), flush=True)\nprint('read', input())"
    with start(SUPERVISED, source, read=False) as process:
        pid = int(process.stdout.readline())
        os.kill(pid, signal.SIGSTOP)
        os.kill(pid, signal.SIGCONT)
        assert process.communicate("x\n", timeout=500)[0] == "read x\n"


def test_tasks_run_at_the_start_and_whenever_they_are_due(tmp_path: Path) -> None:
    source = """
import os, sys
from pathlib import Path
from ticktree.supervisor.supervisor import end_with_status, supervise
times = 0
def task():
    global times
    times += 1
    if times == 3:
        Path("done").touch()
    return 0.01
waits = "import os, time\\nwhile not os.path.exists('done'): time.sleep(0.01)"
end_with_status(supervise([sys.executable, "-c", waits], os.environ, task))
"""
    assert run(PLAIN, "-c", source, cwd=tmp_path).returncode == 0


def test_a_command_that_cannot_be_started_gives_one_clear_line() -> None:
    source = """
import os, sys
from ticktree.errors import TicktreeError
from ticktree.supervisor.supervisor import supervise
try:
    supervise(["/nowhere/python"], os.environ)
except TicktreeError as error:
    print(error)
"""
    assert run(PLAIN, "-c", source).stdout == b"cannot start /nowhere/python: No such file or directory\n"


def start(launcher: list[str], source: str, read: bool = True) -> subprocess.Popen[str]:
    """Start a program that runs `source`; with `read`, wait until it reports that it is ready."""
    pipe = subprocess.PIPE
    process = subprocess.Popen([*launcher, sys.executable, "-c", source], stdin=pipe, stdout=pipe, text=True)
    if read:
        assert process.stdout.readline() == "ready\n"
    return process
