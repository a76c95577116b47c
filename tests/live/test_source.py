"""Reading a run from outside: whatever state it is in, a reading says so."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from ticktree.errors import TicktreeError
from ticktree.live.source import RunSource, SavedSource
from ticktree.run.finishing import RunDirectory

STEPS = """
    import sys, ticktree
    ticktree.enable()
    for line in sys.stdin:
        for _ in range(int(line)):
            with ticktree.section("step"):
                pass
        print("done", flush=True)
"""


class Program:
    """A program that makes as many steps as it is told to."""

    def __init__(self, folder: Path) -> None:
        memory = folder / "memory"
        memory.mkdir(exist_ok=True)
        self.process = subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(STEPS)],
            cwd=folder,
            env={**os.environ, "TICKTREE_MEMORY_DIR": str(memory)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.step(1)
        self.path = RunDirectory.newest(folder / "ticktree-runs").path

    def step(self, times: int) -> None:
        self.process.stdin.write(f"{times}\n")
        self.process.stdin.flush()
        assert self.process.stdout.readline() == "done\n"

    def end(self) -> None:
        self.process.stdin.close()
        self.process.wait()

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()


@pytest.fixture
def program(tmp_path):
    program = Program(tmp_path)
    yield program
    program.kill()
    program.process.stdin.close()
    program.process.stdout.close()


def steps(reading) -> int:
    return reading.profile.root.at("step").count


def test_a_running_program_is_read_again_and_again_until_it_ends(program):
    source = RunSource(program.path)
    first = source.read()
    program.step(41)
    second = source.read()
    assert (first.state, steps(first), second.state, steps(second)) == ("running", 1, "running", 42)
    assert second.at_ns > first.at_ns
    assert 0 <= first.running_ns < second.running_ns
    program.step(8)
    program.end()
    last = source.read()
    assert (last.state, steps(last), last.running_ns) == ("ended", 50, None)
    assert last.is_last


def test_reading_changes_nothing_on_disk_or_in_memory(program):
    def files() -> dict[Path, tuple[int, int]]:
        every = [*program.path.rglob("*"), *RunDirectory.open(program.path).memory_dir.rglob("*")]
        return {path: (path.stat().st_mtime_ns, path.stat().st_size) for path in every}

    files_before = files()
    RunSource(program.path).read()
    assert files() == files_before


def test_a_run_that_had_ended_before_is_a_finished_one(program):
    program.end()
    reading = RunSource(program.path).read()
    assert (reading.state, steps(reading), reading.exit_status) == ("finished", 1, None)


def test_a_killed_program_has_ended_and_its_recording_is_available(program):
    source = RunSource(program.path)
    source.read()
    program.step(9)
    program.kill()
    reading = source.read()
    assert (reading.state, steps(reading)) == ("ended", 10)
    assert "any ticktree command saves" in reading.trouble


def test_the_exit_status_is_in_the_reading(program):
    source = RunSource(program.path)
    source.read()
    program.end()
    manifest = json.loads((program.path / "run.json").read_text())
    manifest["metadata"]["exit_status"] = 7
    (program.path / "run.json").write_text(json.dumps(manifest))
    assert source.read().exit_status == 7


def test_a_run_that_disappears_is_a_reading_and_no_error(program):
    source = RunSource(program.path)
    source.read()
    shutil.rmtree(program.path)
    reading = source.read()
    assert (reading.state, reading.profile) == ("lost", None)
    assert "is not a run" in reading.trouble
    program.end()


def test_a_damaged_memory_file_is_a_reading_and_no_error(program):
    source = RunSource(program.path)
    (file,) = RunDirectory.open(program.path).memory_files()
    program.kill()
    file.write_bytes(b"\0" * 4096)
    reading = source.read()
    assert reading.trouble or reading.profile.losses == {"memory_files_damaged": 1}


def test_a_damaged_manifest_is_a_reading_and_no_error(program):
    (program.path / "run.json").write_text("{")
    assert "damaged" in RunSource(program.path).read().trouble


def test_a_bug_in_ticktree_is_a_reading_and_no_traceback(program, monkeypatch):
    def broken(self):
        raise ZeroDivisionError("of ours")

    monkeypatch.setattr(RunDirectory, "profile", broken)
    assert RunSource(program.path).read().trouble == "ZeroDivisionError: of ours"


def test_a_saved_profile_is_read_once_and_stays(program, tmp_path):
    saved = tmp_path / "saved.json"
    saved.write_text(RunSource(program.path).read().profile.to_json())
    source = SavedSource(saved)
    saved.unlink()
    reading = source.read()
    assert (reading.name, reading.state, steps(reading)) == ("saved.json", "saved", 1)


def test_a_file_that_is_no_profile_is_refused(tmp_path):
    (tmp_path / "no.json").write_text("[]")
    with pytest.raises(TicktreeError):
        SavedSource(tmp_path / "no.json")
