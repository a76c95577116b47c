"""Peaks of resident memory, with real allocations in separate processes."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="resident memory is read from /proc"
)

MB = 1_000_000
# Beside what a test maps: what the interpreter does itself, and what the kernel's counters hold back.
SLACK = 12 * MB
BEGIN = """
import json, mmap, os, sys, threading, ticktree
recorder = ticktree.Recorder()

def held(megabytes):
    memory = mmap.mmap(-1, megabytes * 1_000_000)
    for page in range(0, len(memory), mmap.PAGESIZE):
        memory[page] = 1
    return memory

def touch(megabytes):
    held(megabytes).close()

def measured(name):
    return recorder.section(name, memory=True)
"""
END = """
print(json.dumps(recorder.snapshot().to_dict()["tree"]))
"""


def measure(program: str, end: str = END):
    """Return the memory of each node of a program that prints its tree at the end."""
    result = subprocess.run([sys.executable, "-c", BEGIN + program + end], check=True, capture_output=True)
    tree = json.loads(result.stdout.splitlines()[-1])
    memory, waiting = {}, [tree]
    while waiting:
        node = waiting.pop()
        memory[node["path"]] = node.get("memory")
        waiting.extend(node["children"])
    return memory


def assert_growth(memory, megabytes):
    assert memory["exact"]
    assert megabytes * MB - SLACK < memory["growth_bytes"] < megabytes * MB + SLACK
    assert memory["peak_bytes"] > memory["growth_bytes"]


def test_memory_freed_inside_a_section_is_in_its_peak():
    memory = measure("with measured('x'):\n    touch(200)\n")["x"]
    assert_growth(memory, 200)
    assert abs(memory["change_bytes"]) < SLACK


def test_inner_and_outer_sections_have_their_own_peaks():
    memory = measure(
        """
with measured("outer"):
    touch(200)
    with measured("small"):
        touch(40)
    kept = held(30)
    with measured("large"):
        touch(300)
"""
    )
    assert_growth(memory["outer"], 330)
    assert_growth(memory["outer/small"], 40)
    assert_growth(memory["outer/large"], 300)
    assert memory["outer"]["peak_bytes"] >= memory["outer/large"]["peak_bytes"]
    assert 30 * MB - SLACK < memory["outer"]["change_bytes"] < 30 * MB + SLACK


def test_a_peak_of_an_earlier_section_does_not_count_for_a_later_one():
    memory = measure("touch(250)\nwith measured('x'):\n    touch(20)\n")
    assert_growth(memory["x"], 20)


def test_a_peak_in_another_thread_counts_for_all_open_sections():
    memory = measure(
        """
begun, done = threading.Event(), threading.Event()
def other():
    with measured("other"):
        begun.set()
        done.wait()
thread = threading.Thread(target=other)
thread.start()
begun.wait()
with measured("work"):
    touch(150)
with measured("after"):
    touch(10)
done.set()
thread.join()
"""
    )
    assert_growth(memory["work"], 150)
    assert_growth(memory["other"], 150)
    assert_growth(memory["after"], 10)


def test_sections_of_tasks_and_generators_end_in_any_order():
    memory = measure(
        """
import asyncio
async def task(name, megabytes, pauses):
    with measured(name):
        for _ in range(pauses):
            await asyncio.sleep(0)
        touch(megabytes)
async def main():
    await asyncio.gather(task("long", 20, 5), task("short", 120, 1))
asyncio.run(main())
def generate():
    with measured("generator"):
        yield 1
        yield 2
numbers = generate()
next(numbers)
with measured("meanwhile"):
    touch(90)
list(numbers)
"""
    )
    assert_growth(memory["short"], 120)
    assert_growth(memory["long"], 120)
    assert_growth(memory["meanwhile"], 90)
    assert_growth(memory["generator"], 90)


def test_a_forked_child_measures_only_its_own_calls():
    memory = measure(
        """
with measured("open"):
    read, write = os.pipe()
    pid = os.fork()
    if not pid:
        with measured("child"):
            touch(60)
        os.write(write, b"x")
        recorder.disable()
        print(json.dumps(recorder.snapshot().to_dict()["tree"]), flush=True)
        os._exit(0)
    os.waitpid(pid, 0)
""",
        end="",
    )
    assert_growth(memory["open/child"], 60)
    assert memory["open"] is None  # cut short by the child's disable(): its memory was the parent's


def test_the_parent_of_a_fork_continues_to_measure():
    memory = measure(
        """
with measured("open"):
    pid = os.fork()
    if not pid:
        touch(200)
        os._exit(0)
    os.waitpid(pid, 0)
    touch(50)
"""
    )
    assert_growth(memory["open"], 50)


def test_a_section_ended_by_another_does_not_change_other_peaks():
    memory = measure(
        """
with measured("outer"):
    abandoned = measured("abandoned").__enter__()
    touch(80)
with measured("next"):
    touch(10)
"""
    )
    assert_growth(memory["outer"], 80)
    assert_growth(memory["next"], 10)


def test_the_number_of_samples_is_recorded():
    memory = measure("for _ in range(64 + 32):\n    with measured('x'):\n        pass\n")["x"]
    assert memory["samples"] == 64 + 2


def test_without_a_reset_a_peak_is_exact_only_if_it_is_the_highest_ever():
    memory = measure(
        """
with measured("before"):
    touch(10)
from ticktree.recorder import _native
_native.keep_high_water_mark(True)
with measured("first"):
    touch(100)
with measured("less"):
    touch(30)
with measured("more"):
    touch(150)
kept = held(20)
with measured("most at its end"):
    kept_too = held(190)
"""
    )
    assert_growth(memory["before"], 10)
    assert_growth(memory["first"], 100)
    assert not memory["less"]["exact"]
    assert memory["less"]["growth_bytes"] < 30 * MB
    assert_growth(memory["more"], 150)
    assert_growth(memory["most at its end"], 190)


def test_without_a_request_the_programs_high_water_mark_is_not_reset():
    program = """
import resource
touch(150)
with recorder.section("x"):
    pass
assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss > 140_000
"""
    assert measure(program)["x"] is None
