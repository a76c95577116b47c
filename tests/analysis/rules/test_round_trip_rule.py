from __future__ import annotations

import time
from dataclasses import replace

import pytest

import ticktree
from support.findings import findings
from support.rule_programs import MS
from ticktree.analysis import server_side
from ticktree.analysis.rules.robot import RoundTripRule
from ticktree.profile import Cpu
from ticktree.recorder import Calling
from ticktree.remote import requests

RULE = RoundTripRule()


def driver(program, wait=True):
    """A driver's loop against a simulator behind a socket, the proportions of one that was measured."""
    for _ in program.ticks(20, "driver"):
        with program.inside("controller"):
            program.spend("forwarder.step", 9.6)
            program.spend("update", 10)
        with program.inside("env"):
            program.spend("execute_and_wait_for_obs", 87, wait=wait)
            program.spend("add derived", 3.2)


def test_the_wait_for_the_other_side_is_reported(program):
    driver(program)
    (finding,) = program.found(RULE)
    assert finding.path == "driver/env/execute_and_wait_for_obs"
    assert finding.severity == "critical"
    assert finding.saving.share == pytest.approx(87 / 109.8)
    assert finding.message == (
        "Request the next observation while this one is processed, and send less: the round trip in "
        "execute_and_wait_for_obs is 79% of the busy time of driver, 87.0 ms of 110 ms (100% of "
        "execute_and_wait_for_obs is waiting)"
    )


def test_where_nothing_tells_that_it_waits_its_name_is_not_enough(program):
    driver(program, wait=False)
    assert program.found(RULE) == []


def test_a_robot_that_is_computed_is_no_trip(program):
    driver(program, wait=False)
    profile = program.profile()
    busy = with_cpu(profile, "driver/env/execute_and_wait_for_obs", Cpu(10, 950, 1000))
    idle = with_cpu(profile, "driver/env/execute_and_wait_for_obs", Cpu(10, 50, 1000))
    assert findings(busy, rules=[RULE]) == []
    (finding,) = findings(idle, rules=[RULE])
    assert finding.facts["waited_share"] == pytest.approx(0.95)


def with_cpu(profile, path, cpu):
    """`profile` as it would be if the CPU time of the node at `path` had been measured."""

    def changed(node, names):
        if not names:
            return replace(node, cpu=cpu)
        below = changed(node.children[names[0]], names[1:])
        return replace(node, children={**node.children, names[0]: below})

    return replace(profile, root=changed(profile.root, path.split("/")))


def test_a_third_of_the_loop_is_not_reported(program):
    for _ in program.ticks(20, "driver"):
        program.spend("get_observation", 10, wait=True)
        program.spend("policy", 20)
    assert program.found(RULE) == []


def test_the_sleep_that_holds_the_rate_is_neither_trip_nor_work(program):
    for _ in program.ticks(20, hz=10, pace=True):
        program.spend("policy", 10)
    assert program.found(RULE) == []
    for tick in program.ticks(20, "other", hz=10, pace=True):
        program.spend("policy", 10)
        program.spend("get_observation", 30, wait=True)
        program.spend("log", 100 if tick == 10 else 0)  # else it holds its rate, and there is nothing to do
    (finding,) = program.found(RULE)
    assert finding.facts["busy_share"] == pytest.approx(0.75 / (1 + 100 / (20 * 40)))


def test_a_section_that_gives_up_its_core_in_every_tick_counts_as_a_wait():
    """Of a program that says nothing about waits, on a real clock: only names and what the system counts."""
    recorder = ticktree.Recorder()
    for _ in recorder.loop("control", range(12), warmup=0):
        with recorder.section("robot"), recorder.section("get_observation"):
            time.sleep(0.002)
    profile = recorder.snapshot()
    recorder.disable()
    if not any("voluntary_switches" in tick.causes for tick in profile.loops["control"].worst):
        pytest.skip("this system does not tell what its threads waited for")
    (finding,) = findings(profile, rules=[RULE])
    assert finding.path == "control/robot/get_observation"


def asked(program, server, rows=(), ms=90, name="POST simulator:8737/step"):
    """A driver whose steps are requests, of which the server said how long it took."""
    for _ in program.ticks(20, "driver"):
        program.spend("policy", 10)
        with program.recorder.section(name, wait=True):
            calling = Calling(program.recorder)
            program.recorder.advance(ms * MS)
            calling.graft("server", server * MS, [(depth, row, took * MS, 0) for depth, row, took in rows])
            calling.rest("network")


def test_a_call_with_server_timing_is_a_round_trip_whatever_its_name_and_names_the_slow_part(program):
    asked(program, 81, [(1, "simulate", 9), (1, "render", 72), (2, "rasterize", 63), (2, "encode", 9)])
    (finding,) = program.found(RULE)
    assert finding.path == "driver/POST simulator:8737\\/step"
    assert finding.message == (
        "Make the server faster, or request the next observation while this one is processed: the round "
        "trip in POST simulator:8737/step is 90% of the busy time of driver, 90.0 ms of 100 ms (100% of "
        "POST simulator:8737/step is waiting); 90% of it is the server's own time, 70% its "
        "rasterize"
    )
    assert finding.facts["server_share"] == pytest.approx(0.9)
    assert finding.facts["server_part_share"] == pytest.approx(0.7)
    assert finding.facts["server_part"] == "rasterize"


def test_where_no_section_of_the_servers_stands_out_none_is_named(program):
    asked(program, 81, [(1, "simulate", 27), (1, "render", 27)])
    (finding,) = program.found(RULE)
    assert finding.message == (
        "Make the server faster, or request the next observation while this one is processed: the round "
        "trip in POST simulator:8737/step is 90% of the busy time of driver, 90.0 ms of 100 ms (100% of "
        "POST simulator:8737/step is waiting); 90% of it is the server's own time"
    )


def test_where_the_way_takes_longer_than_the_server_what_is_sent_is_to_be_smaller(program):
    asked(program, 18, [(1, "render", 18)])
    (finding,) = program.found(RULE)
    assert finding.message == (
        "Request the next observation while this one is processed, and send less: the round trip in POST "
        "simulator:8737/step is 90% of the busy time of driver, 90.0 ms of 100 ms (100% of POST "
        "simulator:8737/step is waiting); 80% of it is the network"
    )


def test_the_words_of_the_far_side_are_those_that_calls_are_recorded_under():
    assert (server_side.SERVER, server_side.NETWORK) == (requests.SERVER, requests.NETWORK)
