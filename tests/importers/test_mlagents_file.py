"""Timers files as the toolkit's releases wrote them, as other programs might, and as nobody should."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ticktree.errors import TicktreeError
from ticktree.importers.mlagents import balance, is_timers_file, profile_of
from ticktree.loading import load
from ticktree.profile import ProfileError
from ticktree.profile.codec import parse_json

S = 1_000_000_000


def timer(total, count=1, children=None, **fields):
    node = {"total": total, "count": count, **fields}
    return node if children is None else {**node, "children": children}


def read(root):
    profile = profile_of(root, "ppo_timers")
    profile.check()
    return profile


def totals(profile):
    return {path: node.total_ns for path, _, node in profile.root.walk()}


def test_children_by_name_in_a_list_or_null_are_the_same():
    by_name = timer(3.0, self=1.0, children={"a": timer(2.0, 4, self=2.0, children=None)})
    listed = timer(3.0, self=1.0, children=[{"name": "a", **timer(2.0, 4, self=2.0)}])
    nulled = timer(3.0, self=1.0, children={"a": {**timer(2.0, 4, self=2.0), "children": None}})
    profile = read(by_name)
    assert profile == read(listed) == read(nulled)
    assert totals(profile) == {"": 3 * S, "a": 2 * S}
    assert (profile.root.self_ns, profile.root.at("a").count) == (S, 4)
    assert profile.losses == {}


def test_of_calls_only_counted_the_mean_is_known_and_nothing_else():
    stats = read(timer(9.0, children={"a": timer(8.0, 4)})).root.at("a").stats
    assert (stats.count, stats.mean_ns) == (4, 2 * S)
    assert (stats.min_ns, stats.max_ns, stats.p50_ns, stats.p99_ns) == (None,) * 4


def test_gauges_in_both_forms_have_their_readings_and_no_percentiles():
    gauge = {"value": 2.0, "min": -1.0, "max": 5.0, "count": 7}
    metadata = {"end_time_seconds": "1700000000"}
    new = read(timer(1.0, gauges={"reward": gauge}, metadata=metadata))
    old = read(timer(1.0, gauges=[{"name": "reward", **gauge}], metadata=metadata))
    assert new == old
    reward = new.gauges["reward"]
    assert (reward.last, reward.min, reward.max, reward.count, reward.p50) == (2, -1, 5, 7, None)
    assert reward.last_wall_ns == 1_700_000_000 * S
    gauge = read(timer(1.0, gauges={"x": {"value": 3}})).gauges["x"]
    assert (gauge.min, gauge.max, gauge.count) == (3, 3, 1)


def test_metadata_is_kept_under_the_names_it_has_here():
    metadata = {"command_line_arguments": "mlagents-learn x.yaml", "mlagents_version": "1.1.0", "none": None}
    facts = read(timer(1.0, metadata=metadata)).metadata
    assert facts["command"] == {"mlagents-learn x.yaml"}
    assert facts["mlagents_version"] == {"1.1.0"}
    assert facts["name"] == {"ppo_timers"}
    assert "none" not in facts


def test_parallel_children_above_their_parent_are_concurrent():
    workers = timer(
        0.5,
        self=0.0,
        children={
            "worker_root": timer(
                30.0,
                9,
                is_parallel=True,
                self=10.0,
                children={"step": timer(20.0, 9, is_parallel=True, self=20.0)},
            )
        },
    )
    profile = read(timer(4.0, self=3.5, children={"workers": workers}))
    root = profile.root
    assert totals(profile) == {
        "": 4 * S,
        "workers": S // 2,
        "workers/worker_root": 30 * S,
        "workers/worker_root/step": 20 * S,
    }
    # Other processes take nothing of their parent's time; that theirs was added up is what made it 0.
    assert root.at("workers").self_ns == S // 2
    assert root.at("workers").parallel
    assert root.at("workers/worker_root").concurrent_ns == 30 * S
    assert root.at("workers/worker_root/step").concurrent_ns == 0
    assert profile.losses == {}


def test_a_timer_that_had_not_ended_took_what_its_children_took():
    """It was written while it was open: nothing of its own is there, and what is around it has its time as its own."""
    profile = read(
        timer(5.0, self=5.0, children={"open": timer(0.0, 0, self=0.0, children={"a": timer(3.0)})})
    )
    assert totals(profile) == {"": 5 * S, "open": 3 * S, "open/a": 3 * S}
    assert (profile.root.self_ns, profile.root.at("open").self_ns) == (2 * S, 0)
    assert not profile.root.parallel
    assert profile.root.at("open").count == 0
    assert profile.losses == {"timers_without_a_call": 1}


def test_what_a_worker_has_from_its_parent_by_a_fork_is_a_place_without_calls():
    """The first steps of a worker that was forked inside a timer hang below it, and it never ends there."""
    inherited = timer(0.0, 0, is_parallel=True, self=0.0, children={"step": timer(1.0, is_parallel=True)})
    root = timer(
        30.0,
        9,
        is_parallel=True,
        self=10.0,
        children={"setup": inherited, "step": timer(20.0, 8, is_parallel=True, self=20.0)},
    )
    profile = read(timer(40.0, self=40.0, children={"worker_root": root}))
    assert profile.root.at("worker_root").self_ns == 9 * S
    assert totals(profile)["worker_root/setup"] == totals(profile)["worker_root/setup/step"] == S
    assert profile.root.at("worker_root").concurrent_ns == 30 * S
    assert profile.losses == {"timers_without_a_call": 1}


def test_a_thread_whose_root_is_not_counted_took_what_its_timers_took():
    thread = timer(0.0, 0, is_parallel=True, self=0.0, children={"advance": timer(3.0, 6, is_parallel=True)})
    profile = read(timer(1.0, self=1.0, children={"thread_root": thread}))
    assert totals(profile) == {"": S, "thread_root": 3 * S, "thread_root/advance": 3 * S}
    assert profile.root.self_ns == S
    assert profile.losses == {"timers_without_a_call": 1}


def test_what_the_toolkits_own_trainer_wrote_is_read_with_all_its_traps():
    """`mlagents` 1.1.0, one worker: the workload mlagents_trainer with its --own-timers."""
    profile = load(Path(__file__).with_name("toolkit_timers.json"))
    profile.check()
    advance = profile.root.at("TrainerController.start_learning/TrainerController.advance")
    workers = advance.at("env_step/workers")
    root = workers.children["worker_root"]
    assert advance.count == workers.count == root.count == 1527
    # 50.5 s of another process in 0.04 s of this one, which took no time from it.
    assert root.total_ns > 1000 * workers.total_ns
    assert (root.concurrent_ns, workers.self_ns) == (root.total_ns, workers.total_ns)
    # The worker's first step hangs below what its parent was in.
    inherited = root.children["run_training.setup"]
    assert (inherited.count, inherited.self_ns) == (0, 0)
    assert inherited.at("UnityEnvironment.step").count + root.at("UnityEnvironment.step").count == root.count
    assert inherited.total_ns == sum(child.total_ns for child in inherited.children.values()) > 0
    assert profile.losses == {"timers_without_a_call": 1}
    assert profile.metadata["mlagents_version"] == {"1.1.0"}
    assert len(profile.gauges) == 24


def test_nested_timers_without_a_call_are_distinguished_and_their_time_is_counted_once():
    inner = timer(0.0, 0, self=0.0, children={"a": timer(2.0)})
    outer = timer(0.0, 0, self=0.0, children={"inner": inner})
    profile = read(timer(3.0, self=3.0, children={"outer": outer}))
    assert (profile.root.self_ns, totals(profile)["outer"]) == (S, 2 * S)
    assert profile.losses == {"timers_without_a_call": 2}


def test_a_negative_self_time_is_put_right_and_counted():
    profile = read(timer(2.0, self=-1.0, children={"a": timer(3.0)}))
    assert (profile.root.self_ns, profile.root.total_ns) == (0, 2 * S)
    assert profile.losses == {"negative_self_times": 1}


@pytest.mark.parametrize("own", [0.25, 9.0])
def test_a_self_time_that_does_not_add_up_is_put_right_and_counted(own):
    profile = read(timer(2.0, self=own, children={"a": timer(1.0)}))
    assert totals(profile) == {"": 2 * S, "a": S}
    assert profile.losses == {"self_times_that_do_not_add_up": 1}


def test_what_differs_by_rounding_differs_by_nothing():
    third = 1 / 3
    profile = read(timer(1.0, self=0.0, children={name: timer(third + 1e-9) for name in "abc"}))
    assert profile.losses == {}
    assert not profile.root.parallel
    assert abs(profile.root.total_ns - S) <= 3


def test_a_file_is_known_by_what_is_in_it(tmp_path):
    path = tmp_path / "profile.json"
    path.write_text(json.dumps(timer(1.0, metadata={"name": "my run"}, children={"a": timer(1.0)})))
    profile = load(path)
    assert profile.root.at("a").total_ns == S
    assert profile.metadata["name"] == {"my run"}
    path.write_text(profile.to_json())
    assert load(path) == profile
    assert not is_timers_file(json.loads(profile.to_json()))


def nested(depth):
    return '{"total":1,"count":1,"children":{"a":' * depth + '{"total":1,"count":1}' + "}}" * depth


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ('{"total": NaN, "count": 1}', "NaN"),
        ('{"total": 1, "count": 1, "self": Infinity}', "Infinity"),
        ('{"total": 1e999, "count": 1}', "total"),
        ('{"total": 1e300, "count": 1}', "total"),
        ('{"total": 1e25, "count": 1}', "beyond"),
        ('{"total": -1, "count": 1}', "negative"),
        ('{"total": 1, "count": -1}', "negative"),
        ('{"total": 1, "count": 1.5}', "count"),
        ('{"total": 1, "count": 1e400}', "count"),
        ('{"total": 1, "count": true}', "count"),
        ('{"total": "1", "count": 1}', "total"),
        ('{"total": 1, "count": 1, "self": "x"}', "self"),
        ('{"total": 1, "count": 1, "children": 3}', "children"),
        ('{"total": 1, "count": 1, "children": {"a": 3}}', "'a'"),
        ('{"total": 1, "count": 1, "children": {"a": {"count": 1}}}', "'a'"),
        ('{"total": 1, "count": 1, "children": [{"total": 1, "count": 1}]}', "name"),
        ('{"total": 1, "count": 1, "children": [3]}', "children"),
        ('{"total": 1, "count": 1, "is_parallel": 3}', "is_parallel"),
        (
            '{"total": 1, "count": 1, "children": {"a": {"total": 1, "count": 1, "is_parallel": 3}}}',
            "is_parallel",
        ),
        ('{"total": 1, "count": 1, "gauges": {"g": {}}}', "g"),
        ('{"total": 1, "count": 1, "gauges": {"g": {"value": 1, "min": 2}}}', "g"),
        ('{"total": 1, "count": 1, "gauges": {"g": {"value": 1, "count": 0}}}', "g"),
        ('{"total": 1, "count": 1, "metadata": {"m": []}}', "m"),
        ('{"total": 1, "count": 1, "metadata": 3}', "metadata"),
        (nested(1001), "deep"),
        (nested(100_000), "deep"),
    ],
)
def test_a_file_that_says_what_cannot_be_is_one_clear_line(tmp_path, text, complaint):
    path = tmp_path / "timers.json"
    path.write_text(text)
    with pytest.raises(TicktreeError) as error:
        load(path)
    message = str(error.value)
    assert "timers.json" in message
    assert complaint in message
    assert "\n" not in message
    assert len(message) < 400


def test_the_same_name_twice_in_a_list_is_refused():
    with pytest.raises(ProfileError, match="twice"):
        read(timer(1.0, children=[{"name": "a", **timer(0.0)}, {"name": "a", **timer(0.0)}]))


def test_a_deep_tree_is_read():
    assert sum(1 for _ in read(parse_json(nested(1000))).root.walk()) == 1001


ns = st.integers(0, 10**12)


@given(
    ns, st.none() | st.integers(-(10**12), 10**12), st.dictionaries(st.sampled_from("abcd"), ns), st.data()
)
def test_balanced_times_sum_to_the_total(total_ns, self_ns, children_ns, data):
    concurrent = data.draw(st.sets(st.sampled_from(sorted(children_ns)))) if children_ns else set()
    times = balance(total_ns, self_ns, children_ns, concurrent, is_trusted=data.draw(st.booleans()))
    assert times.self_ns >= 0
    assert all(0 <= times.concurrent_ns[name] <= children_ns[name] for name in times.concurrent_ns)
    total = times.self_ns + sum(children_ns.values()) - sum(times.concurrent_ns.values())
    assert abs(total - total_ns) <= len(children_ns) + 2


@given(ns, st.dictionaries(st.sampled_from("abcd"), ns))
def test_accounts_that_add_up_already_stay_as_they_are(self_ns, children_ns):
    times = balance(self_ns + sum(children_ns.values()), self_ns, children_ns, ())
    assert (times.self_ns, dict(times.concurrent_ns), times.loss) == (self_ns, {}, None)


@pytest.mark.parametrize(
    ("by", "clock"), [({}, "host"), ({"metadata": {"exported_by": "ticktree"}}, "device")]
)
def test_a_name_that_looks_like_a_clocks_is_one_only_where_ticktree_wrote_it(by, clock):
    timer = {"total": 1.0, "count": 1, "children": {"copies@device": {"total": 0.5, "count": 1}}}
    (node,) = profile_of({**timer, **by}, "run").root.children.values()
    assert node.clock == clock
    assert node.name == ("copies" if by else "copies@device")
