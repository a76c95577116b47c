from __future__ import annotations

import copy
import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.profile_strategies import any_text, profiles
from ticktree.profile import (
    MAX_DEPTH,
    CriticalNode,
    Node,
    Profile,
    ProfileError,
    Share,
    Stats,
    Waker,
    Wakes,
    Windows,
)
from ticktree.profile.stats import BASE_WIDTH_NS

FIXTURE = Path(__file__).parent / "fixtures" / "profile-1.json"
THREADS = Path(__file__).parent / "fixtures" / "profile-1-threads.json"  # with what was added to it first


@settings(max_examples=60)
@given(profiles())
def test_a_profile_comes_back_from_json_as_it_was(profile):
    text = profile.to_json()
    result = Profile.from_json(text)
    assert result == profile
    assert result.to_json() == text
    assert text.isascii()


@settings(max_examples=30)
@given(profiles(), profiles())
def test_merging_before_or_after_json_is_the_same(a, b):
    merged = (a + b).to_json()
    assert (Profile.from_json(a.to_json()) + Profile.from_json(b.to_json())).to_json() == merged
    assert (b + a).to_json() == merged


def test_the_first_version_of_the_format_is_still_read():
    profile = Profile.from_json(FIXTURE.read_text(encoding="utf-8"))
    loop = profile.loops["control"]
    assert (loop.ticks, loop.missed, loop.budget_ns) == (1200, 9, 10_000_000)
    assert profile.root.at("control/plan").count == 1200
    assert profile.root.at("control").warmup is not None
    assert profile.root.at("helper").concurrent_ns > 0
    assert profile.gauges["queue depth"].last == 4.0
    assert profile.losses == {"unwound": 2}
    assert profile.metadata["threads"] == {1}
    written = json.loads(FIXTURE.read_text(encoding="utf-8"))
    (helper,) = (child for child in written["tree"]["children"] if child["name"] == "helper")
    helper["parallel"] = True  # derived: since then, true of what ran beside others itself as well
    assert json.loads(profile.to_json()) == written


def test_what_was_added_to_the_first_version_is_read():
    text = THREADS.read_text(encoding="utf-8")
    profile = Profile.from_json(text)
    learner, actor, helper = sorted(profile.threads)
    assert profile.threads[actor].role == "actor"
    assert profile.threads[actor].members == 2
    assert profile.threads[helper].last_ns is None
    act, wait = profile.root.at("train/act"), profile.root.at("train/wait")
    assert act.by_thread == {actor: Share(1, 4_000_000, 4_000_000), helper: Share(1, 5_000_000, 5_000_000)}
    assert wait.wakers == {Waker("batch", learner, actor, "train/act"): Wakes(1, 4_500_000, 30_000)}
    assert profile.critical == {
        CriticalNode(actor, "train/act"): 4_470_000,
        CriticalNode(learner, "train/learn"): 2_000_000,
    }
    assert json.loads(profile.to_json()) == json.loads(text)


def test_bytes_are_read_like_text():
    assert Profile.from_json(Profile.empty().to_json().encode()) == Profile.empty()


def test_findings_are_added_for_readers_and_ignored_when_loading():
    finding = {"rule": "unused-gradients", "severity": "high", "path": "train", "message": "x", "metrics": []}
    shown = Profile.empty().to_dict([finding])
    assert shown["findings"] == [finding]
    assert Profile.from_json(json.dumps(shown)) == Profile.empty()
    assert "findings" not in json.loads(Profile.empty().to_json())


def test_fields_that_are_not_known_are_ignored():
    value = Profile.empty().to_dict()
    value["colour"] = value["tree"]["colour"] = [{}]
    assert Profile.from_json(json.dumps(value)) == Profile.empty()


def test_every_field_of_the_contract_is_there():
    value = Profile.from_json(FIXTURE.read_text(encoding="utf-8")).to_dict()
    assert value.keys() >= {"schema", "metadata", "loops", "tree", "gauges", "findings", "losses"}
    times = {"min_ns", "max_ns", "mean_ns", "p50_ns", "p90_ns", "p99_ns"}
    assert (
        value["loops"][0].keys()
        >= {"name", "ticks", "hz", "budget_ns", "missed", "warmup_ticks", "worst"} | times
    )
    accounts = {"count", "total_ns", "self_ns", "concurrent_ns"}
    assert (
        value["tree"].keys()
        >= {"name", "path", "parallel", "wait", "call_site", "children"} | accounts | times
    )


def test_what_was_not_measured_is_null_not_zero():
    tree = Profile.empty().to_dict()["tree"]
    assert [tree[key] for key in ("min_ns", "max_ns", "mean_ns", "p50_ns", "p99_ns", "call_site")] == [
        None
    ] * 6
    assert not tree.keys() & {"cpu", "memory", "work", "open", "device", "warmup", "steady", "windows"}


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "not JSON"),
        ("{", "not JSON"),
        (b"\xff\xfe\xff", "not JSON"),
        ("[]", "should be an object"),
        ("{}", "'schema' should be a string"),
        ('{"schema": "ticktree-profile/2"}', "unknown profile schema 'ticktree-profile/2'"),
        ('{"schema": "ticktree-profile/1"}', "tree: should be an object"),
        ('{"schema": NaN}', "NaN is not a number"),
        ('{"schema": ' + "9" * 5000 + "}", "schema|not JSON"),
        ("[" * 100_000, "not JSON"),
        ("[" * 100_000 + "]" * 100_000, "should be an object"),
    ],
)
def test_a_text_that_is_no_profile_is_refused_in_one_line(text, reason):
    with pytest.raises(ProfileError, match=reason) as error_info:
        Profile.from_json(text)
    assert "\n" not in str(error_info.value)


def sample(fixture: Path = FIXTURE) -> dict:
    return json.loads(fixture.read_text(encoding="utf-8"))


def broken(path: str, value: object, fixture: Path = FIXTURE) -> str:
    """The fixture with one value replaced; its place is written `tree.children.0.count`."""
    document = at = sample(fixture)
    *parents, last = [int(step) if step.isdigit() else step for step in path.split(".")]
    for step in parents:
        at = at[step]
    at[last] = value
    return json.dumps(document)


@pytest.mark.parametrize(
    ("path", "value", "reason"),
    [
        ("tree.total_ns", 1, "the times do not sum"),
        ("tree.children.0.self_ns", 1, "the times do not sum"),
        ("tree.children.0.self_ns", True, "'self_ns' should be a whole number"),
        ("tree.children.0.count", 1200.0, "'count' should be a whole number"),
        ("tree.children.0.count", -1, "warm-up and its steady phase"),
        ("tree.children.1.count", -1, "negative"),
        ("tree.children.1.count", 7, "histogram holds"),
        ("tree.children.1.sum_ns", 10**300, "beyond anything"),
        ("tree.children.1.min_ns", 10**15, "out of order"),
        ("tree.children.1.histogram", [[1, 2], [1, 3]], "same index twice"),
        ("tree.children.1.histogram", [[1, True]], "whole numbers"),
        ("tree.children.1.histogram", ["ab"], "whole numbers"),
        ("tree.children.1.histogram", [[1]], "list of pairs"),
        ("tree.children.1.histogram", [[[], 1]], "list of pairs"),
        ("tree.children.1.histogram", {"1": 2}, "should be a list"),
        ("tree.children.1.histogram", [[-1, 2]], "index that cannot be"),
        ("tree.children.1.histogram", [[1, 0]], "count that cannot be"),
        ("tree.children.1.windows.width_ns", 12_345_678, "10 ms times a power of two"),
        ("tree.children.1.windows.width_ns", None, "'width_ns' should be a whole number"),
        ("tree.children.1.name", "other", "its path is another"),
        ("tree.children.1.name", 7, "'name' should be a string"),
        ("tree.children.1.path", "other", "its path is another"),
        ("tree.children.1.wait", 1, "'wait' should be true or false"),
        ("tree.children.1.children", [None], "should be an object"),
        ("tree.children.1.children", {}, "should be a list"),
        ("tree.children.1.per_run", {"a": [1, 2, 3]}, "two whole numbers per run"),
        ("tree.children.1.call_sites", [{"file": "f", "line": 1, "function": 2, "count": 1}], "'function'"),
        ("tree.children.1.work", {"bytes": -5}, "negative"),
        ("tree.name", "trunk", "root is named"),
        ("loops.0.path", "nowhere", "not the last of its path"),
        ("loops.0.path", "\\", "not a path"),
        ("loops.0.ticks", 5, "5 ticks are not"),
        ("loops.0.hz", "fast", "'hz' should be a finite number"),
        ("loops.0.hz", -100, "not a positive number"),
        ("loops.0.worst", [{}], "'duration_ns' should be a whole number"),
        ("loops", [1], "should be an object"),
        ("gauges.queue depth.last", 1e6, "not within"),
        ("gauges.queue depth.last", None, "'last' should be a finite number"),
        ("gauges.queue depth.last", 10**400, "'last' should be a finite number"),
        ("losses.unwound", -2, "a loss is negative"),
        ("losses", [], "should be an object"),
        ("metadata.threads", {}, "strings, numbers or truths"),
    ],
)
def test_a_value_that_cannot_be_is_refused_by_name(path, value, reason):
    with pytest.raises(ProfileError, match=reason) as error_info:
        Profile.from_json(broken(path, value))
    assert "\n" not in str(error_info.value)


ACT, WAIT = "tree.children.0.children.0", "tree.children.0.children.2"


@pytest.mark.parametrize(
    ("path", "value", "reason"),
    [
        (f"{ACT}.by_thread", [[1, 2, 9_000_000, 9_000_000], [1, 0, 0, 0]], "same thread twice"),
        (f"{ACT}.by_thread", [[3, 2, 9_000_000, 9_000_000]], "a thread that there is not"),
        (f"{ACT}.by_thread", [[-1, 2, 9_000_000, 9_000_000]], "a thread that there is not"),
        (f"{ACT}.by_thread", [[1, 2, 9_000_000]], "4 numbers per row"),
        (f"{ACT}.by_thread", [[1, 2, 9_000_000, 9e6]], "whole numbers"),
        (f"{ACT}.by_thread", [[True, 2, 9_000_000, 9_000_000]], "whole numbers"),
        (f"{ACT}.by_thread", [[1, 2, 2**96, 9_000_000]], "beyond anything"),
        (f"{ACT}.by_thread", ["abcd"], "list of lists"),
        (f"{ACT}.by_thread", {}, "should be a list"),
        (f"{ACT}.by_thread", [[1, 1, 9_000_000, 9_000_000]], "not its own together"),
        (f"{ACT}.by_thread", [[1, 3, 1, 9_000_000], [2, -1, 8_999_999, 0]], "negative"),
        (f"{WAIT}.woken_by", [{}], "'channel' should be a string"),
        (f"{WAIT}.woken_by.0.by", 3, "'by' is the place of none of the 3"),
        (f"{WAIT}.woken_by.0.thread", "7-70/18", "'thread' should be a whole number"),
        (f"{WAIT}.woken_by.0.latency_ns", 4_500_001, "not part of a wait"),
        (f"{WAIT}.woken_by.0.count", 0, "never woke"),
        (f"{WAIT}.woken_by.0.path", "nowhere", "no node 'nowhere'"),
        ("threads.0.id", "9-91/18", "is there twice"),
        ("threads.1.parent", "nowhere", "parent is no node"),
        ("threads.1.parent", None, "'parent' should be a string"),
        ("threads.1.members", 0, "has no members"),
        ("threads.1.is_main", 1, "should be true or false"),
        ("threads.1.last_ns", 5, "cannot be"),
        ("threads.1.last_ns", None, "only one is known"),
        ("threads", [], "a thread that there is not|place of none of the 0"),
        ("critical_path.0.ns", 0, "took no time"),
        ("critical_path.0.thread", -1, "'thread' is the place of none"),
        ("critical_path.0.path", "nowhere", "no node 'nowhere'"),
        ("critical_path", {}, "should be a list"),
    ],
)
def test_a_thread_that_cannot_be_is_refused_by_name(path, value, reason):
    with pytest.raises(ProfileError, match=reason) as error_info:
        Profile.from_json(broken(path, value, THREADS))
    assert "\n" not in str(error_info.value)


@pytest.mark.parametrize("path", ["threads", "critical_path", f"{WAIT}.woken_by"])
def test_the_same_thread_waker_or_critical_place_twice_is_refused(path):
    document = sample(THREADS)
    at = document
    for step in path.split("."):
        at = at[int(step) if step.isdigit() else step]
    at.append(at[0])
    with pytest.raises(ProfileError, match="is there twice"):
        Profile.from_json(json.dumps(document))


def test_the_same_node_loop_or_call_site_twice_is_refused():
    twice = sample()
    twice["tree"]["children"].append(copy.deepcopy(twice["tree"]["children"][0]))
    with pytest.raises(ProfileError, match="two nodes of this name"):
        Profile.from_json(json.dumps(twice))
    twice = sample()
    twice["loops"] *= 2
    with pytest.raises(ProfileError, match="is there twice"):
        Profile.from_json(json.dumps(twice))
    twice = sample()
    twice["tree"]["children"][0]["call_sites"] *= 2
    with pytest.raises(ProfileError, match="same line is there twice"):
        Profile.from_json(json.dumps(twice))


@settings(max_examples=150)
@given(st.data(), st.sampled_from([FIXTURE, THREADS]))
def test_a_file_with_one_value_changed_is_refused_or_holds(data, fixture):
    document = at = sample(fixture)
    while True:
        keys = list(at) if isinstance(at, dict) else list(range(len(at)))
        key = data.draw(st.sampled_from(keys))
        if not (isinstance(at[key], (dict, list)) and at[key] and data.draw(st.booleans())):
            break
        at = at[key]
    at[key] = data.draw(
        st.none() | st.booleans() | st.integers() | st.floats() | any_text | st.lists(st.integers())
    )
    try:
        profile = Profile.from_json(json.dumps(document))
    except ProfileError:
        return
    profile.check()


def test_a_text_cut_anywhere_is_refused():
    text = FIXTURE.read_text(encoding="utf-8").rstrip()
    for length in range(0, len(text), 97):
        with pytest.raises(ProfileError):
            Profile.from_json(text[:length])


def deep(depth: int) -> Profile:
    node = Node(name="f", self_ns=1)
    for _ in range(depth - 1):
        node = Node(name="f", self_ns=1, children={"f": node})
    return Profile(root=Node(name="root", children={"f": node}))


def test_a_tree_as_deep_as_the_model_allows_is_written_and_read():
    profile = deep(MAX_DEPTH)
    assert Profile.from_json(profile.to_json()) == profile


def test_a_deeper_tree_is_refused():
    with pytest.raises(ProfileError, match="nodes deep"):
        Profile.from_json(deep(MAX_DEPTH + 1).to_json())


def test_a_large_profile_goes_through_json_whole():
    stats = Stats.of([1000 * step for step in range(1, 41)])
    windows = Windows(BASE_WIDTH_NS, dict.fromkeys(range(40), 1), dict.fromkeys(range(40), 1000))
    leaves = {f"f{n}": Node(name=f"f{n}", self_ns=n, steady=stats, windows=windows) for n in range(63)}
    tops = {
        f"g{n}": Node(name=f"g{n}", self_ns=n, steady=stats, windows=windows, children=leaves)
        for n in range(64)
    }
    profile = Profile(root=Node(name="root", children=tops))
    assert Profile.from_json(profile.to_json()) == profile
