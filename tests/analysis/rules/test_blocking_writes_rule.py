from __future__ import annotations

import os

import pytest

import ticktree
from support.rule_programs import MS
from ticktree.analysis.registry import findings
from ticktree.analysis.rules.sections import BlockingWritesRule
from ticktree.instruments import pauses

RULE = BlockingWritesRule()


def logging(program, sync_ms, every=1, ticks=200, **options):
    for tick in program.ticks(ticks, "control" if options else "train", warmup=0, **options):
        program.spend("update", 6)
        with program.inside("log"):
            program.spend("write", 0.1)
            if tick % every == 0:
                program.spend("os.fsync", sync_ms)


def test_a_loop_that_syncs_its_log_in_each_tick_is_reported_with_its_time(program):
    logging(program, 3.9)
    (finding,) = program.found(RULE)
    assert finding.message == (
        "Write to the disk in another thread, or every so many ticks: os.fsync takes 3.90 ms of each tick of train, "
        "in 200 calls of 3.90 ms"
    )
    assert (finding.path, finding.loop, finding.severity) == ("train/log/os.fsync", "train", "critical")
    assert finding.saving.ns == pytest.approx(3.9 * MS)


def test_a_checkpoint_now_and_then_and_a_quick_disk_are_no_reason(program):
    logging(program, 100, every=100)
    assert program.found(RULE) == []
    program.recorder.reset()
    logging(program, 0.05)
    assert program.found(RULE) == []


def test_a_loop_that_holds_its_rate_nevertheless_is_not_reported(program):
    logging(program, 2, hz=100, pace=True)
    assert program.found(RULE) == []


def test_a_loop_that_misses_its_rate_because_of_it_is_reported_with_its_cause(program):
    logging(program, 8, every=4, hz=100, pace=True)
    (finding,) = program.found(RULE)
    assert finding.path == "control/log/os.fsync"
    missed = next(other for other in findings(program.profile()) if other.rule == "missed-deadline")
    assert missed.facts["section"] == finding.path


@pytest.fixture
def recorder():
    recorder = ticktree.Recorder()
    pauses.DISK.install(recorder)
    yield recorder
    pauses.DISK.uninstall()
    recorder.disable()


def test_each_sync_is_a_row_where_it_is_made_and_no_wait(recorder, tmp_path):
    bare = os.fsync.__wrapped__
    with (tmp_path / "log").open("w") as file:
        for _ in recorder.loop("train", range(5)):
            file.write("line\n")
            os.fsync(file)
            os.fdatasync(file.fileno())
    with pytest.raises(OSError):
        os.fsync(1 << 30)
    with pytest.raises(TypeError):
        os.fsync()
    profile = recorder.snapshot()
    profile.check()
    for name in ("os.fsync", "os.fdatasync"):
        node = profile.root.at(f"train/{name}")
        assert (node.count, node.wait) == (5, False)
    pauses.DISK.uninstall()
    assert os.fsync is bare
