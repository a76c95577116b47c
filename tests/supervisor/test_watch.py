from __future__ import annotations

import json
import os
import sys

import pytest

from ticktree.machine.readings import NS, Reading, ThreadTimes
from ticktree.profile import Profile
from ticktree.profile.machine import USED_CORES, WAITING
from ticktree.run.finishing import RunDirectory
from ticktree.run.naming import MACHINE
from ticktree.run.observations import read_gauges, write_gauges
from ticktree.run.reading.image import DamagedError
from ticktree.supervisor.watch import Watch


class Scripted:
    """A system with the test's readings."""

    def __init__(self, *readings: Reading, end: Reading | None = None) -> None:
        self.readings, self.end = list(readings), end

    def read(self) -> Reading:
        return self.readings.pop(0)

    def read_at_end(self, used_ns: int) -> Reading:
        return self.end


def at(seconds: float, used_s: float, ran_ns: int = 0, waited_ns: int = 0) -> Reading:
    threads = {(1, 1): ThreadTimes(ran_ns, waited_ns)} if ran_ns else {}
    return Reading(round(seconds * NS), used_ns=round(used_s * NS), threads=threads)


def watched(folder, *readings, end=None):
    watch = Watch(folder, "50-7-1", 0, Scripted(*readings, end=end or readings[-1]))
    for _ in readings:
        watch.sample()
    watch.end(0)
    return read_gauges(folder)


def test_there_is_one_reading_per_second(tmp_path):
    gauges = watched(tmp_path, at(0, 0), at(1, 1.5, NS, NS), at(2, 2.0, 4 * NS, 2 * NS))
    assert (
        gauges[USED_CORES].count,
        gauges[USED_CORES].min,
        gauges[USED_CORES].max,
        gauges[USED_CORES].last,
    ) == (2, 0.5, 1.5, 0.5)
    assert gauges[WAITING].max == 0.5
    assert gauges[WAITING].last == 0.25


def test_a_single_reading_gives_no_gauges(tmp_path):
    assert watched(tmp_path, at(0, 0)) == {}


def test_a_run_of_less_than_a_second_has_one_reading_at_its_end(tmp_path):
    gauges = watched(tmp_path, at(0, 0), end=at(0.05, 0.04))
    assert (gauges[USED_CORES].count, gauges[USED_CORES].last) == (1, 0.8)


def test_a_short_last_interval_does_not_count(tmp_path):
    assert watched(tmp_path, at(0, 0), at(1, 1), end=at(1.01, 1.03))[USED_CORES].count == 1
    assert watched(tmp_path, at(0, 0), at(1, 1), end=at(1.5, 1.5))[USED_CORES].count == 2


def test_readings_are_saved_at_once_and_then_every_few_seconds(tmp_path):
    watch = Watch(tmp_path, "50-7-1", 0, Scripted(*(at(second, second) for second in range(9))))
    counts = []
    for _ in range(9):
        watch.sample()
        counts.append(read_gauges(tmp_path)[USED_CORES].count if read_gauges(tmp_path) else 0)
    assert counts == [0, 1, 1, 1, 1, 1, 6, 6, 6]


def test_readings_that_cannot_be_written_are_written_with_the_next(tmp_path):
    watch = Watch(tmp_path / "later", "50-7-1", 0, Scripted(at(0, 0), at(1, 1), at(2, 2)))
    watch.sample()
    watch.sample()
    (tmp_path / "later").mkdir()
    watch.sample()
    assert read_gauges(tmp_path / "later")[USED_CORES].count == 2


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.setenv("TICKTREE_MEMORY_DIR", str(tmp_path / "memory"))
    (tmp_path / "memory").mkdir()
    directory = RunDirectory.create("x", tmp_path / "runs", supervised=True)
    yield directory
    if not directory.is_finished():
        directory.finish()


def test_a_run_has_readings_before_and_after_it_is_finished(run):
    gauges = watched(run.memory_dir, at(0, 0), at(1, 1.5))
    assert run.profile().gauges == gauges
    assert run.finish().gauges == gauges
    assert Profile.from_json((run.path / "profile.json").read_text()).gauges == gauges
    assert not run.memory_dir.exists()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{",
        '{"format": "ticktree-machine/2", "gauges": {}}',
        '{"format": "ticktree-machine/1", "gauges": {"machine/used": {}}}',
        '{"format": "ticktree-machine/1", "gauges": []}',
        "[" * 100_000,
    ],
)
def test_a_damaged_file_is_only_one_loss(run, text):
    (run.memory_dir / MACHINE).write_text(text)
    with pytest.raises(DamagedError):
        read_gauges(run.memory_dir)
    profile = run.finish()
    assert profile.gauges == {}
    assert profile.losses["machine_readings_damaged"] == 1
    assert not run.memory_dir.exists()


def test_a_file_with_impossible_readings_is_damaged(tmp_path):
    gauges = watched(tmp_path, at(0, 0), at(1, 1.5))
    value = json.loads((tmp_path / MACHINE).read_text())
    value["gauges"][USED_CORES]["count"] = 0
    (tmp_path / MACHINE).write_text(json.dumps(value))
    with pytest.raises(DamagedError):
        read_gauges(tmp_path)
    write_gauges(tmp_path, {"replay size": next(iter(gauges.values()))})
    with pytest.raises(DamagedError):
        read_gauges(tmp_path)


def test_a_link_and_a_pipe_are_not_read(tmp_path):
    (tmp_path / MACHINE).symlink_to("/dev/zero")
    with pytest.raises(DamagedError):
        read_gauges(tmp_path)
    (tmp_path / MACHINE).unlink()
    os.mkfifo(tmp_path / MACHINE)
    with pytest.raises(DamagedError):
        read_gauges(tmp_path)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells")
def test_a_very_short_program_has_a_reading(tmp_path, monkeypatch):
    import subprocess

    monkeypatch.setenv("TICKTREE_MEMORY_DIR", str(tmp_path))
    (tmp_path / "x.py").write_text("import ticktree\nwith ticktree.section('a'): sum(range(10**6))\n")
    command = [sys.executable, "-m", "ticktree", "run", "x.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=500, check=True)
    profile = RunDirectory.newest(tmp_path / "ticktree-runs").profile()
    assert profile.gauges[USED_CORES].count >= 1
    assert profile.gauges[USED_CORES].last > 0
    assert "machine/used" not in done.stderr
