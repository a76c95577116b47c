"""`ticktree attach`: a program that was not started by ticktree is sampled, and does not notice."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.sampled_runs import BEFORE, of_root, share_of
from ticktree.cli.attach import require_readable
from ticktree.errors import TicktreeError
from ticktree.profile import Profile

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux lets one process read another")
can_be_installed = pytest.mark.skipif(not hasattr(sys, "remote_exec"), reason="it takes Python 3.14")

PROGRAM = """
def inner(): work(0.05)
def outer():
    inner()
print("begun", flush=True)
try:
    while True: outer()
except KeyboardInterrupt:
    print("interrupted")
"""


# It says what has changed about it between its beginning and its end, seen from inside.
WATCHED = """
import atexit, gc, multiprocessing.util, queue, select
def state():
    return {
        "path": list(sys.path), "finders": [repr(finder) for finder in sys.meta_path], "gc": list(gc.callbacks),
        "environment": dict(os.environ), "threads": threading.active_count(), "exit": atexit._ncallbacks(),
        "functions": [time.sleep, threading.Thread.start, os.execve, queue.Queue.get, select.select],
    }
before = state()
items = queue.Queue()
def feed():
    while True:
        time.sleep(0.02)
        items.put(1)
def turn():
    items.get()
    work(0.01)
threading.Thread(target=feed, daemon=True).start()
before["threads"] += 1
print("begun", flush=True)
try:
    while True: turn()
except KeyboardInterrupt:
    after = state()
    print([name for name in before if before[name] != after[name]])
"""


@pytest.fixture
def program(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    yield from running(tmp_path, PROGRAM)


@pytest.fixture
def watched(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    yield from running(tmp_path, WATCHED)


def running(folder: Path, source: str) -> Iterator[subprocess.Popen[str]]:
    (folder / "program.py").write_text(BEFORE + source)
    with subprocess.Popen(
        [sys.executable, "program.py"],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "begun\n"
        yield process
        process.kill()


def attach(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "ticktree", "attach", *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300)
    print(done.stderr)
    return done


def last_profile(folder: Path) -> Profile:
    run = max(path for path in (folder / "ticktree-runs").iterdir() if path.is_dir())
    return Profile.from_json((run / "profile.json").read_bytes())


def kept_by(pid: int) -> list[str]:
    """The descriptors and the threads of a process."""
    return sorted(path.name for folder in ("fd", "task") for path in Path(f"/proc/{pid}/{folder}").iterdir())


@pytest.mark.slow
def test_a_running_program_is_sampled_and_goes_on(program: subprocess.Popen[str], tmp_path: Path) -> None:
    before = kept_by(program.pid)
    done = attach(tmp_path, "--only-sample", "--seconds", "2", str(program.pid))
    assert "Where the run goes [sampled]" in done.stderr
    profile = last_profile(tmp_path)
    assert share_of(of_root(profile), ["inner"]) > 0.8
    assert profile.root.total_ns == profile.root.self_ns > 1.5e9
    # Nothing was put into it, and nothing is left behind.
    assert program.poll() is None
    assert kept_by(program.pid) == before
    program.send_signal(signal.SIGINT)
    assert program.communicate(timeout=60) == ("interrupted\n", "")


@can_be_installed
def test_a_running_program_is_recorded_and_left_as_it_was(
    watched: subprocess.Popen[str], tmp_path: Path
) -> None:
    before = kept_by(watched.pid)
    for _ in range(2):  # what one leaves behind would be in the way of the next
        done = attach(tmp_path, "--seconds", "2", str(watched.pid))
        assert done.returncode == 0
        assert "installing the recorder stopped the program for" in done.stderr
        profile = last_profile(tmp_path)
        profile.check()
        waits = profile.root.find("Queue.get")
        assert waits is not None
        assert waits.count > 10
        assert "processes_outlived_run" not in profile.losses
        assert 1e9 < profile.root.total_ns < 60e9
        assert share_of(of_root(profile), ["turn"]) > 0.8
        assert kept_by(watched.pid) == before
    watched.send_signal(signal.SIGINT)
    assert watched.communicate(timeout=60) == ("[]\n", "")


@can_be_installed
def test_a_program_that_runs_no_python_code_is_sampled_only(tmp_path: Path) -> None:
    source = """
print("begun", flush=True)
lock = threading.Lock()
lock.acquire()
lock.acquire(True, 15)
print("went on")
"""
    for process in running(tmp_path, source):
        done = attach(tmp_path, "--seconds", "2", str(process.pid))
        assert "sampled only, without the recorder: its main thread ran no Python code" in done.stderr
        assert of_root(last_profile(tmp_path)).states()["lock"] > 0.9
        assert process.communicate(timeout=60) == ("went on\n", "")


@can_be_installed
def test_a_program_that_is_recorded_already_is_sampled_only(tmp_path: Path) -> None:
    for process in running(tmp_path, "import ticktree; ticktree.enable(quiet=True)\n" + PROGRAM):
        done = attach(tmp_path, "--seconds", "1", str(process.pid))
        assert "sampled only, without the recorder: it already records" in done.stderr


def test_it_ends_with_the_program(program: subprocess.Popen[str], tmp_path: Path) -> None:
    command = [sys.executable, "-m", "ticktree", "attach", str(program.pid)]
    with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True) as watcher:
        assert watcher.stderr is not None
        assert any(f"ing process {program.pid}" in line for line in iter(watcher.stderr.readline, ""))
        program.kill()
        program.wait()
        _, said = watcher.communicate(timeout=60)
    assert watcher.returncode == 0
    assert "Run ticktree-runs/" in said


def test_ctrl_c_ends_the_sampling_alone(program: subprocess.Popen[str], tmp_path: Path) -> None:
    command = [sys.executable, "-m", "ticktree", "attach", str(program.pid)]
    with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True) as watcher:
        assert watcher.stderr is not None
        assert any(f"ing process {program.pid}" in line for line in iter(watcher.stderr.readline, ""))
        watcher.send_signal(signal.SIGINT)
        _, said = watcher.communicate(timeout=60)
    assert watcher.returncode == 0, said
    assert program.poll() is None


def test_what_cannot_be_sampled_is_one_line_and_leaves_no_run(tmp_path: Path) -> None:
    with subprocess.Popen(["sleep", "60"]) as other:
        try:
            done = attach(tmp_path, str(other.pid))
        finally:
            other.kill()
    assert done.returncode == 2
    assert done.stderr.startswith(
        f"ticktree: process {other.pid} does not run the Python that runs this ticktree"
    )
    gone = attach(tmp_path, str(other.pid))
    assert (gone.returncode, gone.stderr) == (2, f"ticktree: there is no process {other.pid}\n")
    assert not (tmp_path / "ticktree-runs").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_another_users_program_is_refused_in_one_line(program: subprocess.Popen[str]) -> None:
    reader, writer = os.pipe()
    pid = os.fork()
    if not pid:
        try:
            os.setgroups([])
            os.setgid(65534)
            os.setuid(65534)
            require_readable(program.pid)
        except TicktreeError as error:
            os.write(writer, str(error).encode())
        finally:
            os._exit(0)
    os.waitpid(pid, 0)
    os.close(writer)
    said = os.read(reader, 4096).decode()
    os.close(reader)
    assert said.startswith(f"the system does not let ticktree read the memory of process {program.pid} (")
