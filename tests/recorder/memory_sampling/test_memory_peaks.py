"""Peaks of resident memory, by real allocations in processes of their own."""

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


def told(program: str, end: str = END):
    """The memory of each node of a program that ends by printing its tree."""
    ran = subprocess.run([sys.executable, "-c", BEGIN + program + end], check=True, capture_output=True)
    tree = json.loads(ran.stdout.splitlines()[-1])
    found, waiting = {}, [tree]
    while waiting:
        node = waiting.pop()
        found[node["path"]] = node.get("memory")
        waiting.extend(node["children"])
    return found


def assert_growth(memory, megabytes):
    assert memory["exact"]
    assert megabytes * MB - SLACK < memory["growth_bytes"] < megabytes * MB + SLACK
    assert memory["peak_bytes"] > memory["growth_bytes"]


def test_memory_freed_inside_a_section_is_in_its_peak():
    memory = told("with measured('x'):\n    touch(200)\n")["x"]
    assert_growth(memory, 200)
    assert abs(memory["change_bytes"]) < SLACK


def test_inner_and_outer_sections_have_their_own_peaks():
    found = told(
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
    assert_growth(found["outer"], 330)
    assert_growth(found["outer/small"], 40)
    assert_growth(found["outer/large"], 300)
    assert found["outer"]["peak_bytes"] >= found["outer/large"]["peak_bytes"]
    assert 30 * MB - SLACK < found["outer"]["change_bytes"] < 30 * MB + SLACK


def test_a_peak_of_an_earlier_section_does_not_count_for_a_later_one():
    found = told("touch(250)\nwith measured('x'):\n    touch(20)\n")
    assert_growth(found["x"], 20)


def test_a_peak_in_another_thread_counts_for_all_open_sections():
    found = told(
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
    assert_growth(found["work"], 150)
    assert_growth(found["other"], 150)
    assert_growth(found["after"], 10)


def test_sections_of_tasks_and_generators_end_in_any_order():
    found = told(
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
    assert_growth(found["short"], 120)
    assert_growth(found["long"], 120)
    assert_growth(found["meanwhile"], 90)
    assert_growth(found["generator"], 90)


def test_a_forked_child_measures_only_its_own_calls():
    found = told(
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
    assert_growth(found["open/child"], 60)
    assert found["open"] is None  # cut short by the child's disable(): its memory was the parent's


def test_the_parent_of_a_fork_continues_to_measure():
    found = told(
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
    assert_growth(found["open"], 50)


def test_a_section_ended_by_another_does_not_change_other_peaks():
    found = told(
        """
with measured("outer"):
    abandoned = measured("abandoned").__enter__()
    touch(80)
with measured("next"):
    touch(10)
"""
    )
    assert_growth(found["outer"], 80)
    assert_growth(found["next"], 10)


def test_the_number_of_samples_is_recorded():
    memory = told("for _ in range(64 + 32):\n    with measured('x'):\n        pass\n")["x"]
    assert memory["samples"] == 64 + 2


def test_without_a_reset_a_peak_is_exact_only_if_it_is_the_highest_ever():
    found = told(
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
    assert_growth(found["before"], 10)
    assert_growth(found["first"], 100)
    assert not found["less"]["exact"]
    assert found["less"]["growth_bytes"] < 30 * MB
    assert_growth(found["more"], 150)
    assert_growth(found["most at its end"], 190)


def test_without_a_request_the_programs_high_water_mark_is_not_reset():
    program = """
import resource
touch(150)
with recorder.section("x"):
    pass
assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss > 140_000
"""
    assert told(program)["x"] is None
