"""Parts of a job merge in any order and grouping, and travel between processes."""

from __future__ import annotations

import pickle
from dataclasses import replace
from functools import reduce
from itertools import permutations

import pytest

from ticktree.fleet.merging import ENGINES
from ticktree.loading import load
from ticktree.profile import MAX_DEPTH, Node, Profile, Share, Stats, Thread
from ticktree.run.merging import Job, Part, merge_parts, read_part


def profile_of(run, took_ns, program="train.py"):
    thread = Thread(id="7-9/16", run=run, process_name="train", is_main=True, started_ns=0, last_ns=took_ns)
    node = Node(
        name="update",
        self_ns=took_ns,
        steady=Stats.of([took_ns]),
        per_run={run: (1, took_ns)},
        by_thread={thread.id: Share(1, took_ns, took_ns)},
    )
    root = Node(name="root", children={"update": node}, by_thread={thread.id: Share(0, took_ns, 0)})
    metadata = {"host": frozenset({f"host of {run}"}), "command": frozenset({f"here/{program} --rank {run}"})}
    return Profile(root=root, threads={thread.id: thread}, metadata=metadata)


@pytest.fixture
def sources(tmp_path):
    paths = [tmp_path / f"{run}.json" for run in ("a", "b", "c")]
    for number, path in enumerate(paths):
        path.write_text(profile_of(path.stem, 10 + number).to_json())
    (tmp_path / "bad.json").write_text("{")
    return [*paths, tmp_path / "bad.json", tmp_path / "a.json"]


def test_parts_combine_in_any_order_and_grouping(sources):
    job = Job("job-1")
    parts = [read_part(source, job, load) for source in sources]
    merged = merge_parts(parts)
    merged.profile.check()
    for order in permutations(parts):
        assert merge_parts(order) == merged
        assert reduce(lambda left, right: merge_parts([left, right]), order) == merged
        assert merge_parts([merge_parts(order[:2]), merge_parts(order[2:])]) == merged


def test_an_empty_join_is_the_identity(sources):
    part = read_part(sources[0], Job("job-1"), load)
    assert merge_parts([]) == Part()
    assert merge_parts([Part(), part, Part()]) == part


def test_a_duplicate_run_and_an_unreadable_file_are_reported(sources):
    merged = ENGINES["process"](sources, Job("job-1"))
    assert merged.again == {(str(sources[0]), str(sources[0]))}
    assert [source for source, _ in merged.failed] == [str(sources[3])]
    assert merged.programs == {"train.py": 4}


def test_runs_of_one_job_become_one_run_with_distinct_processes(sources):
    merged = ENGINES["process"](sources[:3], Job("job-1")).profile
    assert {thread.run for thread in merged.threads.values()} == {"job-1"}
    assert merged.root.at("update").per_run == {"job-1": (3, 33)}
    assert sorted(thread.host for thread in merged.threads.values()) == [f"host of {run}" for run in "abc"]


def test_a_part_travels_however_deep_its_tree_is():
    node = Node(name="leaf", self_ns=1)
    for depth in range(MAX_DEPTH - 1):
        node = Node(name=f"n{depth}", children={node.key: node})
    part = Part(profile=Profile(root=Node(name="root", children={node.key: node})), sources=1)
    assert pickle.loads(pickle.dumps(part)) == part


def test_the_order_of_sources_does_not_change_the_name_of_a_job(sources):
    assert Job.of(sources) == Job.of(sources[::-1])
    assert Job.of(sources) != Job.of(sources[:2])


def test_a_run_without_a_program_name_fits_any_job(tmp_path):
    path = tmp_path / "unsaid.json"
    path.write_text(replace(profile_of("d", 5), metadata={}).to_json())
    assert read_part(path, Job("job-1"), load).programs == {}


def test_a_run_may_have_any_name_that_json_can_hold(tmp_path):
    path = tmp_path / "odd.json"
    path.write_text(profile_of("\ud800", 5).to_json())
    merged = ENGINES["process"]([path], Job("job-1"))
    assert (merged.sources, merged.profile.root.at("update").count) == (1, 1)
