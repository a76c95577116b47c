"""Grafts: another program's report goes below the call, and the accounting is exact whatever it reports."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ticktree import Recorder
from ticktree.recorder import Calling, Watch
from ticktree.recorder._native import tick_unmarked
from ticktree.remote.server_timing import make_report


def profile_of_call(elapsed_ns, *reports, network=True):
    recorder = Recorder(virtual_clock=True)
    with recorder.section("train"), recorder.section("call", wait=True):
        calling = Calling(recorder)
        recorder.advance(elapsed_ns)
        fits = [calling.graft("server", total_ns, rows) for total_ns, rows in reports]
        if network:
            calling.rest("network")
    profile = recorder.snapshot()
    profile.check()
    return profile.root.at("train/call"), fits


def test_a_call_splits_into_the_servers_work_and_the_network():
    rows = [(1, "queue", 10, 0), (1, "simulate", 50, 0), (2, "collide", 20, 0), (1, "render", 15, 0)]
    call, fits = profile_of_call(100, (80, rows))
    assert fits == [True]
    server, network = call.children["server@remote"], call.children["network@remote"]
    assert (call.total_ns, call.self_ns) == (100, 0)
    assert (server.total_ns, server.self_ns, server.concurrent_ns, server.clock) == (80, 5, 0, "remote")
    assert (network.total_ns, network.concurrent_ns, network.clock) == (20, 0, "remote")
    assert {child.name: (child.total_ns, child.self_ns) for child in server.children.values()} == {
        "queue": (10, 10),
        "simulate": (50, 30),
        "render": (15, 15),
    }
    assert not server.parallel


def test_a_server_that_says_more_than_the_call_took_takes_nothing_that_is_not_there():
    call, fits = profile_of_call(100, (250, [(1, "work", 200, 0)]), network=False)
    server = call.children["server@remote"]
    assert fits == [False]
    assert (call.total_ns, call.self_ns) == (100, 0)
    assert (server.total_ns, server.concurrent_ns) == (250, 150)


def test_rows_that_say_more_than_the_row_around_them_are_partly_concurrent():
    call, _ = profile_of_call(100, (50, [(1, "a", 40, 0), (1, "b", 40, 0)]))
    server = call.children["server@remote"]
    assert (server.total_ns, server.self_ns) == (50, 0)
    assert sum(child.concurrent_ns for child in server.children.values()) == 30


def test_what_a_call_covers_itself_is_not_the_networks():
    recorder = Recorder(virtual_clock=True)
    with recorder.section("call"):
        calling = Calling(recorder)
        with recorder.section("callback"):
            recorder.advance(30)
        recorder.advance(100)
        assert calling.graft("server", 60)
        calling.rest("network")
    profile = recorder.snapshot()
    profile.check()
    call = profile.root.at("call")
    assert {child.name: child.total_ns for child in call.children.values()} == {
        "callback": 30,
        "server": 60,
        "network": 40,
    }
    assert call.self_ns == 0


def test_what_is_only_known_to_have_been_is_beside_the_call():
    recorder = Recorder(virtual_clock=True)
    with recorder.section("call"):
        calling = Calling(recorder)
        recorder.advance(10)
        assert calling.graft("db", 7, concurrent=True)
    recorder.snapshot().check()
    call = recorder.snapshot().root.at("call")
    assert (call.self_ns, call.children["db@remote"].concurrent_ns) == (10, 7)


def test_a_graft_of_a_call_that_is_over_is_nothing():
    recorder = Recorder(virtual_clock=True)
    with recorder.section("call"):
        calling = Calling(recorder)
        recorder.advance(10)
    assert not calling.graft("server", 5)
    calling.rest("network")
    assert recorder.snapshot().root.at("call").children == {}


ROWS = st.lists(
    st.tuples(st.integers(1, 5), st.sampled_from("abcde"), st.integers(0, 1000), st.integers(0, 1000)),
    max_size=20,
)


@given(st.integers(0, 1000), st.lists(st.tuples(st.integers(0, 1000), ROWS), max_size=3))
def test_the_accounts_add_up_whatever_servers_say(elapsed_ns, reports):
    call, fits = profile_of_call(elapsed_ns, *reports)
    assert call.total_ns == elapsed_ns
    assert all(node.self_ns >= 0 for _, _, node in call.walk())
    if all(fits):
        assert call.self_ns == 0
        assert sum(child.total_ns for child in call.children.values()) == elapsed_ns


def test_a_server_that_makes_up_names_does_not_take_the_programs_nodes():
    recorder = Recorder(virtual_clock=True)
    for at in range(3000):
        with recorder.section("call"):
            calling = Calling(recorder)
            recorder.advance(10)
            calling.graft("server", 5, [(1, f"made up {at}", 3, 0)])
    with recorder.section("own"):
        recorder.advance(1)
    profile = recorder.snapshot()
    profile.check()
    assert profile.root.at("own").count == 1
    server = profile.root.at("call/server@remote")
    assert (server.total_ns, len(server.children)) == (15_000, 1023)
    assert profile.losses["calls_over_node_cap"] > 0


def test_grafts_are_in_the_report_of_the_request_that_they_were_made_in():
    """A server reports its calls to another server."""
    recorder = Recorder(virtual_clock=True)
    with recorder.section("request"):
        watch = Watch(recorder)
        watch.begin()
        with recorder.section("call"):
            calling = Calling(recorder)
            recorder.advance(10)
            calling.graft("server", 6, [(1, "work", 4, 0)])
            calling.rest("network")
    assert [
        (row.depth, row.name, row.total_ns, row.concurrent_ns) for row in make_report("", watch).rows
    ] == [
        (1, "call", 10, 0),
        (2, "server", 6, 0),
        (3, "work", 4, 0),
        (2, "network", 4, 0),
    ]


def test_a_request_served_under_the_very_call_that_asks_says_so():
    recorder = Recorder(virtual_clock=True)
    with recorder.section("call"):
        Calling(recorder)
        with recorder.section("request"):
            watch = Watch(recorder)
            watch.begin()
            assert watch.in_call
    with recorder.section("request"):
        watch = Watch(recorder)
        watch.begin()
        assert not watch.in_call


def test_the_worst_ticks_break_down_to_the_far_side():
    recorder = Recorder(virtual_clock=True)
    for tick in recorder.loop("drive", range(5)):
        with recorder.section("call"):
            calling = Calling(recorder)
            recorder.advance(100 + tick)
            calling.graft("server", 60 + tick)
            calling.rest("network")
    profile = recorder.snapshot()
    worst = max(profile.loops["drive"].worst, key=lambda tick: tick.duration_ns)
    assert {path.rpartition("/")[2]: ns for path, ns in worst.breakdown.items()} == {
        "call": 104,
        "server@remote": 64,
        "network@remote": 40,
    }


def test_what_another_program_says_is_no_mark_of_this_ones():
    recorder = Recorder(virtual_clock=True)
    step, call = (recorder.timed_section(name, ("library.py", 1, name)) for name in ("step", "call"))
    for _ in range(2):
        with call:
            calling = Calling(recorder)
            recorder.advance(10)
            calling.graft("server", 5)
            calling.rest("network")
        assert tick_unmarked(step)  # only without marks of the program
