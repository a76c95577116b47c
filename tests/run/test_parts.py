"""Parts of a run that other machines sent: read once with the run, and deleted when it is finished."""

from __future__ import annotations

import pytest

from ticktree.fleet.node_parts import end_part, find_part, join_part, local_run, run_reference
from ticktree.profile import Node, Profile, Stats, Thread
from ticktree.profile.measures import Share
from ticktree.run.finishing import RunDirectory
from ticktree.run.parts import FOLDER, read_parts, write_part


@pytest.fixture
def run(memory_base, tmp_path, monkeypatch):
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "tmp"))
    run = RunDirectory.create("train", tmp_path / "runs")
    yield run
    run.finish()


def fail_if_called():
    raise AssertionError("on the same machine the clock is the same")


def part(count, run="part-of-a-node"):
    step = Node(
        name="step",
        self_ns=count,
        steady=Stats.of([1] * count),
        by_thread={"7-1/1": Share(count, count, count)},
    )
    return Profile(
        root=Node(name="root", children={"step": step}), threads={"7-1/1": Thread(id="7-1/1", run=run)}
    )


def test_only_the_last_profile_of_each_part_counts(run):
    write_part(run, "a", part(2).to_json().encode())
    write_part(run, "a", part(5).to_json().encode())
    write_part(run, "b", part(10, run="of-another-node").to_json().encode())
    profile = run.profile()
    profile.check()
    assert profile.root.children["step"].count == 15
    assert {thread.run for thread in profile.threads.values()} == {run.id}
    assert len(profile.threads) == 2, "processes of the same number on two machines are two"


def test_finishing_includes_the_parts_and_later_parts_are_ignored(run):
    write_part(run, "a", part(2).to_json().encode())
    assert run.finish().root.children["step"].count == 2
    assert not (run.path / FOLDER).exists()
    write_part(run, "a", part(9).to_json().encode())
    assert run.profile().root.children["step"].count == 2


def test_a_part_that_cannot_be_read_is_a_loss(run):
    write_part(run, "a", part(2).to_json().encode())
    write_part(run, "b", b'{"schema": ')
    profile = read_parts(run)
    assert profile.root.children["step"].count == 2
    assert profile.losses == {"parts_damaged": 1}


def test_a_run_is_opened_only_on_the_machine_with_its_memory(run, tmp_path, monkeypatch):
    reference = run_reference(run, "1-1-1:0", {})
    assert local_run(reference).path == run.path
    assert local_run({**reference, "id": "another"}) is None
    assert local_run({**reference, "run": str(tmp_path / "nowhere")}) is None
    (tmp_path / "other").mkdir()
    monkeypatch.setenv("TICKTREE_MEMORY_DIR", str(tmp_path / "other"))
    assert local_run(reference) is None


def test_workers_of_a_node_share_a_part_and_each_node_has_its_own(run):
    reference = run_reference(run, "1-1-1:0", {})
    assert find_part(reference, "a" * 56) is None
    first = join_part(reference, "a" * 56, fail_if_called)
    assert join_part(reference, "a" * 56, fail_if_called).id == first.id
    assert find_part(reference, "a" * 56).id == first.id
    other = join_part(reference, "b" * 56, fail_if_called)
    assert other.id != first.id
    assert first.manifest.began_ns == run.manifest.began_ns
    for node, part in (("a", first), ("b", other)):
        end_part(reference, node * 56, part)
        assert part.is_finished()
        assert find_part(reference, node * 56) is None


def test_a_part_on_another_machine_began_when_the_runs_machine_reports_that_it_did(run, monkeypatch):
    reference = {**run_reference(run, "1-1-1:0", {}), "boot": "of another machine"}
    monkeypatch.setattr("time.clock_gettime_ns", lambda _: 5_000_000_000)
    part = join_part(reference, "c" * 56, lambda: 2_000_000_000)
    assert part.manifest.began_ns == 3_000_000_000
    end_part(reference, "c" * 56, part)


def test_a_directory_that_other_users_can_enter_is_not_used(run, tmp_path):
    import os

    from ticktree.errors import TicktreeError

    (tmp_path / "tmp" / f"ticktree-cluster-{os.geteuid()}").mkdir(mode=0o755)
    with pytest.raises(TicktreeError, match="only this user"):
        join_part(run_reference(run, "1-1-1:0", {}), "d" * 56, fail_if_called)
