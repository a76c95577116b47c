from __future__ import annotations

import os
from pathlib import Path

import pytest

from support.fake_system import SUPERVISOR, TICKS_PER_SECOND, InventedSystem
from ticktree.machine.readings import Core, ThreadTimes
from ticktree.machine.system import System

TICK_NS = 1_000_000_000 // TICKS_PER_SECOND


@pytest.fixture
def invented(tmp_path):
    return InventedSystem(tmp_path)


@pytest.fixture
def system(invented):
    return System(str(invented.proc), str(invented.sys), SUPERVISOR, {0, 1}, TICKS_PER_SECOND)


def test_the_run_is_the_supervisors_descendants(invented, system):
    invented.process(SUPERVISOR, 1, 1000)
    invented.process(60, SUPERVISOR, 40)
    invented.process(61, 60, 8)
    invented.process(70, 1, 4000)
    assert system.read().used_ns == 48 * TICK_NS


def test_the_memory_of_every_process_of_the_run_is_read(invented, system):
    invented.process(60, SUPERVISOR, 40, started=7, pages=1000)
    invented.process(61, 60, 8, started=9, pages=20)
    invented.process(62, 60, 8, started=9, pages=0)  # it has ended, and its parent has not looked yet
    invented.process(70, 1, 4000, pages=5000)
    page = os.sysconf("SC_PAGE_SIZE")
    assert system.read().resident == {(60, 7): 1000 * page, (61, 9): 20 * page}


def test_page_faults_and_kernel_time_of_every_process_of_the_run_are_read(invented, system):
    invented.process(60, SUPERVISOR, 40, started=7, faults=300)
    invented.process(70, 1, 4000, faults=900)
    (invented.proc / "vmstat").write_text("nr_free_pages 12\nthp_fault_alloc 183867\nthp_fault_fallback 0\n")
    reading = system.read()
    assert reading.huge_pages == 183867
    assert (reading.faults, reading.system_ns) == ({(60, 7): 300}, {(60, 7): 10 * TICK_NS})


def test_an_orphan_in_the_programs_group_belongs_to_the_run(invented, system):
    invented.process(60, SUPERVISOR, 40)
    invented.process(65, 1, 8, group=60)
    assert system.read().used_ns == 48 * TICK_NS


def test_a_process_of_the_run_stays_so_when_its_parent_ends(invented, system):
    invented.process(60, SUPERVISOR, 40)
    invented.process(61, 60, 8, group=61)
    system.read()
    invented.end(60)
    invented.process(61, 1, 12, group=61)
    assert system.read().used_ns == 12 * TICK_NS


def test_a_child_with_a_lower_pid_than_its_parent_is_found(invented, system):
    invented.process(900, SUPERVISOR, 40)
    invented.process(30, 900, 8, group=30)
    assert system.read().used_ns == 48 * TICK_NS


def test_another_process_with_the_pid_of_an_ended_one_is_not_the_runs(invented, system):
    invented.process(60, SUPERVISOR, 40)
    invented.process(61, 60, 8, group=61)
    system.read()
    invented.process(61, 1, 4000, group=61, started=2000)
    assert system.read().used_ns == 40 * TICK_NS


def test_a_name_with_spaces_and_parentheses_is_skipped(invented, system):
    invented.process(60, SUPERVISOR, 40, name="a) R 1 (b")
    assert system.read().used_ns == 40 * TICK_NS


def test_the_run_and_wait_time_of_every_thread_is_read(invented, system):
    invented.process(60, SUPERVISOR)
    invented.thread(60, 60, 1000, 200)
    invented.thread(60, 62, 500, 700)
    assert system.read().threads == {(60, 60): ThreadTimes(1000, 200), (60, 62): ThreadTimes(500, 700)}


def test_only_cores_that_the_run_may_use_count(invented, system):
    invented.cores((100, 50, 3), (10, 140, 0), (77, 77, 0))
    assert system.read().cores == {0: Core(153, 50, 3), 1: Core(150, 140, 0)}


def test_frequencies_are_in_megahertz_and_throttling_counts_once_per_package(invented, system):
    for number in (0, 1):
        invented.core(number, "cpufreq/scaling_cur_freq", 2_400_000 + number)
        invented.core(number, "thermal_throttle/core_throttle_count", 2)
        invented.core(number, "thermal_throttle/package_throttle_count", 5)
    reading = system.read()
    assert reading.mhz == {0: 2400.0, 1: 2400.001}
    assert reading.throttles == 2 + 2 + 5


def test_a_system_without_counters_has_no_readings(tmp_path):
    reading = System(str(tmp_path / "none"), str(tmp_path / "none"), SUPERVISOR, {0}, TICKS_PER_SECOND).read()
    assert (reading.used_ns, reading.cores, reading.threads) == (None, {}, {})
    assert (reading.mhz, reading.throttles) == ({}, None)


@pytest.mark.parametrize("text", ["", "12 (x", "12 (x) R a b", "\x00\xff" * 50])
def test_malformed_counters_are_ignored(invented, system, text):
    invented.process(60, SUPERVISOR, 40)
    (invented.proc / "60" / "stat").write_text(text)
    (invented.proc / "stat").write_text("cpu0 x y\ncpu1 1\n" + text)
    invented.core(0, "cpufreq/scaling_cur_freq", "<unknown>")
    reading = system.read()
    assert (reading.used_ns, reading.cores, reading.mhz) == (None, {}, {})


def test_at_the_end_the_programs_cpu_time_is_the_systems(invented, system):
    invented.cores((100, 50, 3), (10, 140, 0))
    reading = system.read_at_end(123)
    assert (reading.used_ns, reading.threads, set(reading.cores)) == (123, {}, {0, 1})


@pytest.mark.skipif(not Path("/proc/self/schedstat").exists(), reason="no /proc here")
def test_the_real_system_is_read():
    reading = System(supervisor=os.getppid()).read()
    assert reading.used_ns is not None
    assert any(process == os.getpid() for process, _ in reading.threads)
    assert reading.cores
