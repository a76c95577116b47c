"""Comparing whole profiles."""

from __future__ import annotations

import json

import pytest

import ticktree
from ticktree.analysis.comparison.compare import compare
from ticktree.analysis.comparison.power import looks
from ticktree.errors import TicktreeError
from ticktree.profile import Profile


def verdicts(comparison, kind="node"):
    return {entry.path: entry.verdict for entry in comparison.entries if entry.kind == kind}


def test_a_slower_section_is_found_and_its_hardly_affected_loop_is_not_slower(run):
    compared = compare([run(seed) for seed in range(8)], [run(seed + 50, sample=1.3) for seed in range(8)])
    assert compared.unit == "runs"
    assert verdicts(compared)["train/sample"] == "slower"
    assert verdicts(compared)["train/update"] == "no difference"
    assert verdicts(compared, "loop")["train"] == "no difference"


def test_one_run_per_side_is_compared_by_blocks(run):
    compared = compare([run(1)], [run(2, update=0.8)])
    assert compared.unit == "blocks"
    assert verdicts(compared) == {
        "train": "faster",
        "train/log": "inconclusive",  # another start may be slower by as much
        "train/sample": "inconclusive",
        "train/update": "faster",
    }


def test_pairs_detect_a_shift_that_common_noise_hides(run):
    weather = [1.0, 1.4, 0.8, 1.9, 1.1, 0.7, 1.6, 1.2]
    base = [run(n, update=w) for n, w in enumerate(weather)]
    new = [run(n + 50, update=1.1 * w) for n, w in enumerate(weather)]
    assert verdicts(compare(base, new))["train/update"] == "inconclusive"
    assert verdicts(compare(base, new, paired=True))["train/update"] == "slower"


def test_a_loop_and_its_node_count_as_one_test():
    """Counted as two, what ten pairs say here would not stand out: it would be p = 0.037, where 0.025 is asked for."""

    def looped(tick_ns):
        recorder = ticktree.Recorder(virtual_clock=True)
        for _ in recorder.loop("train", range(8)):
            recorder.advance(tick_ns)
        profile = recorder.snapshot()
        recorder.disable()
        return profile

    slower_percent = [-1, -2, 3, 4, 5, 6, 7, 8, 12, 36]
    base = [looped(1_000_000) for _ in slower_percent]
    new = [looped(1_000_000 + 10_000 * percent) for percent in slower_percent]
    compared = compare(base, new, paired=True)
    assert verdicts(compared) == verdicts(compared, "loop") == {"train": "slower"}


def test_two_runs_per_side_are_inconclusive(run):
    compared = compare([run(1), run(2)], [run(3, update=2), run(4, update=2)])
    assert set(verdicts(compared).values()) == {"inconclusive"}


def test_a_run_too_short_for_blocks_shows_its_means_and_no_interval(run):
    entry = compare([run(1, ticks=2)], [run(2, ticks=2)]).entries[0]
    assert entry.verdict == "inconclusive"
    assert entry.to_dict()["high_percent"] is None
    assert entry.base.mean_ns
    assert entry.new.mean_ns


def test_nodes_of_one_side_are_reported_with_their_likely_new_names(run):
    compared = compare([run(1)], [run(2, log="write", extra=[("render", 5e7)])])
    assert verdicts(compared)["train/log"] == "only in base"
    assert verdicts(compared)["train/write"] == "only in new"
    assert verdicts(compared)["train/render"] == "only in new"
    names = {entry.path: entry.renamed for entry in compared.entries if entry.kind == "node"}
    assert (names["train/log"], names["train/write"], names["train/render"]) == (
        "train/write",
        "train/log",
        "",
    )


def test_of_two_rename_candidates_the_one_with_the_same_duration_is_chosen(run):
    def renamed(**new):
        compared = compare([run(1)], [run(2, **new)])
        return {
            entry.path: entry.renamed for entry in compared.entries if entry.kind == "node" and entry.renamed
        }

    # `log` took 0.5 ms.
    far, near = ("draw", 1.1e6), ("draw", 0.52e6)
    assert renamed(log="write", extra=[far]) == {"train/log": "train/write", "train/write": "train/log"}
    assert renamed(log="write", extra=[near]) == {}


def test_an_empty_side_is_an_error(run):
    with pytest.raises(TicktreeError, match="nothing was measured in new"):
        compare([run(1)], [Profile.empty()])


def test_the_json_has_the_documented_fields(run):
    document = compare([run(1)], [run(2)]).to_dict()
    assert document["schema"] == "ticktree-comparison/1"
    wanted = (
        "path",
        "kind",
        "verdict",
        "shift_percent",
        "low_percent",
        "high_percent",
        "base_mean_ns",
        "new_mean_ns",
    )
    for entry in json.loads(json.dumps(document))["entries"]:
        assert set(wanted) <= entry.keys()
        assert entry["low_percent"] <= entry["shift_percent"] <= entry["high_percent"]


@pytest.mark.slow
def test_many_equal_sections_rarely_cause_an_alarm(run):
    many = [(f"section {number}", 1e6) for number in range(30)]
    alarms = 0
    for trial in range(20):
        base = [run(100 * trial + n, ticks=5, extra=many) for n in range(5)]
        new = [run(100 * trial + 50 + n, ticks=5, extra=many) for n in range(5)]
        alarms += bool({"slower", "faster"} & set(verdicts(compare(base, new)).values()))
    assert alarms <= 4  # one is expected; five would be chance in a few of a thousand


def test_warm_up_is_not_compared():
    def run_with(warm_ns):
        recorder = ticktree.Recorder(virtual_clock=True)
        for tick in recorder.loop("train", range(300), warmup=10):
            recorder.advance(warm_ns if tick < 10 else 10_000_000 + tick % 7)
        return recorder.snapshot()

    compared = compare([run_with(10_000_000)] * 6, [run_with(300_000_000)] * 6)
    assert verdicts(compared, "loop") == {"train": "no difference"}


@pytest.mark.parametrize("pairs", [2, 6, 7, 10, 30, 200])
def test_looks_share_the_error_and_end_with_the_last_pair(pairs):
    plan = looks(pairs)
    assert max(plan) == pairs
    assert sum(1 - confidence for confidence in plan.values()) == pytest.approx(0.05)
