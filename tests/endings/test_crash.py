"""Crashes of the program: ended calls are recorded, and the program ends as without ticktree."""

from __future__ import annotations

import signal
import sys

import pytest

from support.crashing_programs import counts

# Everything that is said before the end; then the end.
BEFORE = """
import ctypes, os, resource, sys, time
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
import ticktree
with ticktree.section("left"):
    with ticktree.section("inner"):
        print("left", flush=True)
def end():
    with ticktree.section("open"):
        time.sleep(0.01)
        with ticktree.section("last"):
            pass
        really_end()
"""

ENDS = {
    "segfault": ("ctypes.string_at(0)", -signal.SIGSEGV),
    "bus error": ("os.kill(os.getpid(), 7)", -signal.SIGBUS),
    "_exit": ("os._exit(7)", 7),
    "abort": ("os.abort()", -signal.SIGABRT),
    "killed": ("os.kill(os.getpid(), 9)", -signal.SIGKILL),
    "terminated": ("os.kill(os.getpid(), 15)", -signal.SIGTERM),
}


@pytest.mark.parametrize("name", ENDS)
def test_calls_that_ended_before_a_crash_are_read_back(sandbox, name):
    ending, status = ENDS[name]
    result = sandbox.both(f"{BEFORE}\ndef really_end():\n    {ending}\nend()\n")
    assert result.returncode == status
    profile = sandbox.profile()
    assert counts(profile) == {"left": 1, "left/inner": 1, "open": 0, "open/last": 1}
    assert profile.root.at("open").open.count == 1
    assert profile.root.at("open").open.age_ns >= 10_000_000
    assert sandbox.left_in_memory() == []


def test_a_section_open_at_a_crash_lasts_until_the_crash(sandbox):
    """The program read the clock for the last time when it entered the section."""
    sandbox.both(f"{BEFORE}\nwith ticktree.section('open'):\n    time.sleep(0.2)\n    os.abort()\n")
    profile = sandbox.profile()
    assert profile.root.at("open").open.age_ns >= 200_000_000
    assert profile.root.total_ns >= profile.root.at("open").open.age_ns


def test_a_crash_in_a_thread_or_child_does_not_affect_other_rows(sandbox):
    sandbox.both(
        BEFORE
        + """
import threading
def child(how):
    pid = os.fork()
    if not pid:
        with ticktree.section("child"):
            with ticktree.section("left in the child"):
                pass
            how()
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
def in_a_thread():
    thread = threading.Thread(target=ctypes.string_at, args=(0,))
    thread.start()
    thread.join()
with ticktree.section("parent"):
    for how in (in_a_thread, lambda: ctypes.string_at(0), os.abort, lambda: os._exit(3)):
        print(child(how), flush=True)
"""
    )
    call_counts = counts(sandbox.profile())
    assert call_counts["parent"] == 1
    assert call_counts["parent/child/left in the child"] == 4
    assert sandbox.profile().root.at("parent/child").open.count == 4


def test_exec_of_another_python_program_continues_the_run(sandbox):
    sandbox.write(
        """
        import ticktree
        with ticktree.section("second program"):
            print("second", flush=True)
        """,
        "second.py",
    )
    sandbox.both(
        BEFORE + "def really_end(): os.execv(sys.executable, [sys.executable, 'second.py'])\nend()\n"
    )
    profile = sandbox.profile()
    call_counts = counts(profile)
    assert (call_counts["left"], call_counts["open"], call_counts["open/last"]) == (1, 0, 1)
    assert sum(node.count for path, _, node in profile.root.walk() if path.endswith("second program")) == 1
    assert profile.root.at("open").open.count == 1
    assert sandbox.left_in_memory() == []


def test_exec_of_a_program_without_python_ends_the_recording(sandbox):
    result = sandbox.both(
        BEFORE + "def really_end(): os.execv('/bin/sh', ['sh', '-c', 'echo shell; exit 9'])\nend()\n"
    )
    assert (result.returncode, result.stdout) == (9, "left\nshell\n")
    assert counts(sandbox.profile()) == {"left": 1, "left/inner": 1, "open": 0, "open/last": 1}
    assert sandbox.left_in_memory() == []


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="addresses are limited on Linux only")
def test_without_memory_the_program_gets_only_its_own_errors(sandbox):
    """As many sections as fit, in a process that may map little more than it has."""
    sandbox.both(
        """
import resource, sys
import ticktree
with ticktree.section("before"):
    pass
pages = int(open("/proc/self/statm").read().split()[0])
limit = pages * resource.getpagesize() + (8 << 20)
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
hoard = []
failed = 0
for number in range(200_000):
    try:
        with ticktree.section("step"):
            with ticktree.section(f"name {number % 3000}"):
                if failed < 3:
                    hoard.append(bytearray(1 << 20))
    except MemoryError:
        failed += 1
        if failed == 3:
            hoard.clear()
print("failed", failed)
with ticktree.section("after"):
    pass
"""
    )
    profile = sandbox.profile(losses=frozenset({"records_without_memory", "calls_over_name_cap"}))
    call_counts = counts(profile)
    assert (call_counts["before"], call_counts["after"]) == (1, 1)
    assert call_counts["step"] == 200_000


def test_failing_allocations_never_make_ticktree_crash_the_program(sandbox):
    """MemoryError from the interpreter's own allocator, at each allocation in turn."""
    pytest.importorskip(
        "_testcapi", reason="this Python has no allocator that fails on purpose: NOT TESTED HERE"
    )
    result = sandbox.run(
        sandbox.command(
            """
import _testcapi
import ticktree
for start in range(1, 60):
    try:
        _testcapi.set_nomemory(start, start + 1)
        with ticktree.section("step"):
            with ticktree.section("inner"):
                ticktree.gauge("gauge", 1.0)
                ticktree.record_duration("record", 1e-6)
    except MemoryError:
        pass
    finally:
        _testcapi.remove_mem_hooks()
with ticktree.section("after"):
    print("alive")
"""
        )
    )
    assert (result.returncode, result.stdout) == (0, "alive\n"), result.stderr
    assert (
        sandbox.profile(losses=frozenset({"unwound_sections", "records_without_memory", "bad_values"}))
        .root.at("after")
        .count
        == 1
    )
