from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

from ticktree.files.owner import Owner, process_start


def test_this_process_is_alive() -> None:
    assert Owner.current().is_alive()


def test_an_ended_process_is_not_alive() -> None:
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    owner = Owner.current().with_process(process.pid, process_start(process.pid))
    assert owner.is_alive()
    process.communicate(b"\n")
    assert not owner.is_alive()


def test_a_zombie_is_not_alive() -> None:
    pid = os.fork()
    if pid == 0:
        signal.pause()
        os._exit(0)
    owner = Owner.current().with_process(pid, process_start(pid))
    assert owner.is_alive()
    os.kill(pid, signal.SIGKILL)
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    assert not owner.is_alive()
    os.waitpid(pid, 0)


def test_a_process_with_the_pid_of_an_ended_one_is_another_process() -> None:
    owner = Owner.current()
    assert not owner._replace(started=owner.started - 1).is_alive()


def test_a_process_of_another_boot_is_not_alive() -> None:
    assert not Owner.current()._replace(boot_id="another").is_alive()


def test_a_process_in_an_invisible_namespace_counts_as_alive() -> None:
    owner = Owner.current()
    assert owner._replace(namespace=owner.namespace + 1, pid=2**22 + 1).is_alive()


def test_names_with_spaces_and_parentheses_do_not_confuse_the_start_time(tmp_path: object) -> None:
    """The process's name is in the middle of its `stat`."""
    code = (
        "import sys\nopen('/proc/self/comm', 'w').write(') S 1 (x')\n"
        "print('ready', flush=True)\nsys.stdin.read()"
    )
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-c", code], stdin=pipe, stdout=pipe) as process:
        start = process_start(process.pid)
        process.stdout.readline()
        assert process_start(process.pid) == start
        process.stdin.close()


def test_processes_started_one_after_another_have_different_start_times() -> None:
    first_process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    time.sleep(0.05)  # The kernel counts hundredths of a second.
    second_process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    assert process_start(first_process.pid) < process_start(second_process.pid)
    for process in (first_process, second_process):
        process.communicate(b"\n")
