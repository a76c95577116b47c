from __future__ import annotations

import pytest

from ticktree.machine.readings import NS, Core, Reading, ThreadTimes, between, gauge_of
from ticktree.profile.machine import (
    FAULTS,
    FREQUENCY,
    GROWTH,
    HUGE_PAGES,
    OTHER_CORES,
    RESIDENT,
    STEAL,
    SYSTEM,
    THROTTLED,
    USED_CORES,
    WAITING,
)

START = Reading(0, used_ns=0, cores={0: Core(0, 0, 0), 1: Core(0, 0, 0)}, throttles=3)


def reading_after(at_ns=NS, **fields):
    return Reading(at_ns, **fields)


def test_used_cores_are_cpu_time_per_time():
    assert between(START, reading_after(2 * NS, used_ns=3 * NS))[USED_CORES] == 1.5


def test_other_programs_use_the_busy_time_of_neither_the_run_nor_the_reader():
    cores = {0: Core(100, 0, 0), 1: Core(100, 40, 0)}
    values = between(START, reading_after(used_ns=NS, self_ns=NS // 10, cores=cores))
    assert values[OTHER_CORES] == pytest.approx(1.6 - 1.0 - 0.1)
    assert values[STEAL] == 0


def test_stolen_time_is_no_programs_use():
    cores = {0: Core(100, 0, 30), 1: Core(100, 100, 0)}
    values = between(START, reading_after(used_ns=7 * NS // 10, cores=cores))
    assert values[STEAL] == pytest.approx(0.15)
    assert values[OTHER_CORES] == pytest.approx(0.0)


def test_waiting_is_a_share_of_the_time_in_which_threads_were_runnable():
    earlier = reading_after(0, threads={(1, 1): ThreadTimes(NS, NS)})
    later = reading_after(
        threads={(1, 1): ThreadTimes(NS + 600, NS + 400_000_000), (1, 2): ThreadTimes(599_999_400, 0)}
    )
    assert between(earlier, later)[WAITING] == pytest.approx(0.4)


def test_threads_that_were_rarely_runnable_give_no_share_of_waiting():
    values = between(reading_after(0), reading_after(threads={(1, 1): ThreadTimes(1000, 9000)}))
    assert WAITING not in values


def test_without_counters_of_threads_there_is_no_share_of_waiting():
    assert WAITING not in between(reading_after(0), reading_after(threads={(1, 1): ThreadTimes(0, 0)}))


def test_the_frequency_is_that_of_the_busy_cores():
    cores = {0: Core(100, 10, 0), 1: Core(100, 90, 0)}
    assert between(START, reading_after(cores=cores, mhz={0: 2000.0, 1: 800.0}))[FREQUENCY] == 2000.0
    idle = {0: Core(100, 90, 0), 1: Core(100, 90, 0)}
    assert FREQUENCY not in between(START, reading_after(cores=idle, mhz={0: 2000.0, 1: 800.0}))


def test_throttling_is_counted_per_second():
    assert between(START, reading_after(2 * NS, throttles=7))[THROTTLED] == 2.0


def test_memory_growth_counts_only_processes_in_both_readings():
    earlier = reading_after(0, resident={(60, 1): 400, (61, 2): 300, (62, 3): 900})
    later = reading_after(2 * NS, resident={(60, 1): 500, (61, 2): 260, (62, 9): 5000})
    values = between(earlier, later)
    assert (values[RESIDENT], values[GROWTH]) == (5760, 30)
    assert GROWTH not in between(earlier, reading_after(resident={(70, 1): 5}))
    shrunk = gauge_of(GROWTH, -30.0, NS, 1, "60-7-1")
    assert (shrunk.negative.count, shrunk.positive.count, shrunk.zeros, shrunk.p50) == (1, 0, 0, -30)


def test_page_faults_and_kernel_time_count_only_processes_in_both_readings():
    earlier = reading_after(0, faults={(60, 1): 400, (61, 2): 10}, system_ns={(60, 1): NS, (61, 2): 0})
    later = reading_after(
        2 * NS, faults={(60, 1): 1400, (62, 3): 9000}, system_ns={(60, 1): 2 * NS, (62, 3): NS}
    )
    values = between(earlier, later)
    assert (values[FAULTS], values[SYSTEM]) == (500, 0.5)
    assert between(reading_after(0, huge_pages=10), reading_after(2 * NS, huge_pages=30))[HUGE_PAGES] == 10


def test_counters_that_decreased_give_no_value():
    values = between(reading_after(0, used_ns=NS, throttles=3), reading_after(used_ns=NS // 2, throttles=1))
    assert values == {}


def test_a_very_short_interval_has_no_values_of_cores_but_the_programs():
    cores = {0: Core(1, 0, 0), 1: Core(1, 0, 0)}
    assert between(START, reading_after(NS // 100, used_ns=NS // 200, cores=cores)) == {USED_CORES: 0.5}
    assert between(START, reading_after(0, used_ns=1)) == {}


def test_decreasing_idle_time_makes_no_core_more_than_fully_busy():
    earlier = reading_after(0, used_ns=0, cores={0: Core(100, 50)})
    assert between(earlier, reading_after(used_ns=0, cores={0: Core(200, 40)}))[OTHER_CORES] == 1.0
    assert STEAL not in between(earlier, reading_after(used_ns=0, cores={0: Core(200, 40)}))


@pytest.mark.parametrize("value", [0.0, 0.004, 1.9, 2400.0])
def test_gauges_of_readings_can_be_merged(value):
    gauge = gauge_of(USED_CORES, value, NS, 5, "50-7-1")
    merged = gauge + gauge_of(USED_CORES, 3.0, 2 * NS, 6, "50-7-1")
    assert list(gauge.problems()) == list(merged.problems()) == []
    assert (merged.count, merged.last, merged.filed) == (2, 3.0, 2)
