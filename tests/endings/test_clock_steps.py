"""The wall clock jumps while a program runs; durations and windows do not change."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys

import pytest

SHIM = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <time.h>
#include <sys/time.h>
/* Each reading of the wall clock is an hour before or after the one before it, or four. */
static long long step(void)
{
    static long long calls, hours[] = {1, -1, 4, -4, 0, -2, 3};
    return 3600 * hours[__atomic_fetch_add(&calls, 1, __ATOMIC_RELAXED) % 7];
}
int clock_gettime(clockid_t clock, struct timespec *now)
{
    static int (*real)(clockid_t, struct timespec *);
    if (!real) real = dlsym(RTLD_NEXT, "clock_gettime");
    int result = real(clock, now);
    if (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE) now->tv_sec += step();
    return result;
}
int gettimeofday(struct timeval *now, void *zone)
{
    struct timespec precise;
    (void)zone;
    clock_gettime(CLOCK_REALTIME, &precise);
    now->tv_sec = precise.tv_sec;
    now->tv_usec = precise.tv_nsec / 1000;
    return 0;
}
"""

PROGRAM = """
import json, sys, time
import ticktree
began = time.monotonic_ns()
readings = []
with ticktree.section("outer"):
    for tick in ticktree.loop("loop", range(20), hz=100):
        readings.append(time.time())
        with ticktree.section("step"):
            time.sleep(0.01)
        ticktree.gauge("gauge", tick)
lived_ns = time.monotonic_ns() - began
backwards = sum(later < earlier for earlier, later in zip(readings, readings[1:]))
print(json.dumps([lived_ns, backwards]))
"""

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="LD_PRELOAD: NOT TESTED HERE"),
    pytest.mark.skipif(
        shutil.which("gcc") is None, reason="no gcc to make a clock that jumps: NOT TESTED HERE"
    ),
]


@pytest.fixture
def stepping_clock(sandbox):
    library = sandbox.path / "jumping.so"
    source = sandbox.path / "jumping.c"
    source.write_text(SHIM)
    subprocess.run(["gcc", "-shared", "-fPIC", "-O1", "-o", library, source, "-ldl"], check=True)
    sandbox.environment["LD_PRELOAD"] = str(library)
    return sandbox


@pytest.mark.parametrize("supervised", [True, False], ids=["supervised", "alone"])
def test_durations_and_windows_do_not_change_when_the_wall_clock_jumps(stepping_clock, supervised):
    program = PROGRAM if supervised else PROGRAM.replace("began =", "ticktree.enable(quiet=True)\nbegan =", 1)
    result = stepping_clock.run(stepping_clock.command(program, supervised=supervised))
    assert (result.returncode, result.stderr) == (0, "")
    lived_ns, backwards = json.loads(result.stdout)
    assert backwards > 3, "the wall clock did not jump"
    profile = stepping_clock.profile()
    step, loop = profile.root.at("outer/loop/step"), profile.loops["outer/loop"]
    assert (step.count, loop.ticks) == (20, 20)
    assert step.stats.min_ns >= 9_000_000
    assert step.stats.sum_ns <= profile.root.at("outer").stats.sum_ns <= lived_ns
    assert loop.stats.sum_ns <= lived_ns
    windows = profile.root.at("outer").windows
    # The run began before the program, which took its time to start; minutes, perhaps, but no hour.
    assert all(at * windows.width_ns < lived_ns + 600 * 10**9 for at in windows.counts)
    assert all(0 <= tick.started_ns < lived_ns + 600 * 10**9 for tick in loop.worst)
    assert profile.gauges["gauge"].count == 20
    assert stepping_clock.left_in_memory() == []


def test_the_programs_output_is_the_same_when_the_wall_clock_jumps(stepping_clock):
    stepping_clock.both(PROGRAM.rpartition("print")[0] + "print('done')")
