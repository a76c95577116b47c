"""Memory that no live process owns is removed by the next command or ending program, and no other memory is."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import pytest

from ticktree.files.owner import Owner, boot_id, process_start, uptime_s
from ticktree.run.finishing import RunDirectory
from ticktree.run.folded import FoldedRecords
from ticktree.run.memory import create_memory, mark_homeless
from ticktree.run.naming import FOLDED
from ticktree.run.sweep import finish_abandoned

LONG_AGO = 25 * 3600


@pytest.fixture
def root(memory_base):
    return memory_base / f"ticktree-{os.geteuid()}"


def dead_owner(owner):
    return owner._replace(started=1)


def set_creator(owner, directory):
    """Change the memory directory as if another process had created it."""
    (mark,) = directory.glob("owner-*")
    mark.rename(directory / f"owner-{owner.pid}-{owner.started}-{owner.namespace}-{owner.boot_id}")


def age(path, seconds):
    time_s = time.time() - seconds
    os.utime(path, (time_s, time_s))


def test_a_directory_whose_creator_was_killed_immediately_is_removed(root):
    directory = create_memory("half-made")
    set_creator(dead_owner(Owner.current()), directory)
    finish_abandoned()
    assert list(root.iterdir()) == []


def test_a_directory_that_is_being_created_stays(root):
    marked = create_memory("marked")
    empty = root / "empty"
    empty.mkdir(mode=0o700)
    finish_abandoned()
    assert sorted(root.iterdir()) == [empty, marked]
    age(empty, 2 * 3600)
    finish_abandoned()
    assert list(root.iterdir()) == [marked]


@pytest.mark.parametrize("namespace", [0, 1])
def test_a_directory_of_another_pid_namespace_stays(root, namespace):
    """A container that shares the tmpfs: its processes are not visible to this one."""
    directory = create_memory("theirs")
    set_creator(dead_owner(Owner.current())._replace(namespace=namespace), directory)
    finish_abandoned()
    assert directory.exists()


def test_a_run_of_another_pid_namespace_stays(root, tmp_path):
    run = RunDirectory.create("x", tmp_path / "runs")
    run.manifest = run.manifest._replace(owner=dead_owner(run.manifest.owner)._replace(namespace=1))
    run._write_manifest()
    (run.memory_dir / "5-1.tt").write_bytes(b"")
    finish_abandoned()
    assert (run.memory_dir / "5-1.tt").exists()


@pytest.fixture
def pass_a_day(monkeypatch):
    def advance():
        monkeypatch.setattr("ticktree.run.sweep.uptime_s", lambda: uptime_s() + LONG_AGO)

    return advance


def test_records_without_a_run_are_kept_for_a_day(root, pass_a_day):
    """The tmpfs was too full for a copy of run.json; the run.json in the run's directory still leads to them."""
    directory = create_memory("nameless")
    set_creator(dead_owner(Owner.current()), directory)
    (directory / "5-1.tt").write_bytes(b"recorded")
    finish_abandoned()
    assert (directory / "5-1.tt").exists()
    pass_a_day()
    finish_abandoned()
    assert list(root.iterdir()) == []


def test_a_jump_of_the_wall_clock_does_not_count_as_a_day(root):
    """A command with the clock two days ahead must not delete the memory of a run whose disk is not mounted."""
    directory = create_memory("nameless")
    set_creator(dead_owner(Owner.current()), directory)
    (directory / "5-1.tt").write_bytes(b"recorded")
    finish_abandoned()
    for path in (directory, *directory.iterdir()):
        age(path, 2 * LONG_AGO)
    finish_abandoned()
    assert (directory / "5-1.tt").exists()


def test_the_day_begins_again_after_a_restart_of_the_machine(root, pass_a_day, monkeypatch):
    """Memory in the temporary directory survives a restart; how long the machine was off is unknown."""
    directory = create_memory("nameless")
    set_creator(dead_owner(Owner.current()), directory)
    (directory / "5-1.tt").write_bytes(b"recorded")
    finish_abandoned()
    monkeypatch.setattr("ticktree.run.sweep.boot_id", lambda: "another-boot")
    pass_a_day()
    finish_abandoned()
    assert (directory / "5-1.tt").exists()
    assert len(list(directory.glob("homeless-*"))) == 1


def test_records_of_a_live_process_are_never_removed(root, pass_a_day):
    directory = create_memory("nameless")
    set_creator(dead_owner(Owner.current()), directory)
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    (directory / f"{child.pid}-{process_start(child.pid)}.tt").write_bytes(b"recorded")
    mark_homeless(directory, int(uptime_s()), boot_id())
    pass_a_day()
    finish_abandoned()
    assert directory.exists()
    child.communicate(b"\n")
    finish_abandoned()
    assert not directory.exists()


def test_the_remains_of_a_killed_finishing_process_are_removed_from_memory_and_disk(root, tmp_path):
    run = RunDirectory.create("x", tmp_path / "runs")
    run.finish()
    run.write(FOLDED, FoldedRecords().to_text().encode())
    (run.path / ".profile.json.999999999.tmp").write_bytes(b"half")
    removed_dir = root / (run.id + ".finished")
    removed_dir.mkdir(mode=0o700)
    for name in ("run.json", "folding.lock", "owner-5-1-0-", ".run.json.77.tmp", "5-1.tt"):
        (removed_dir / name).write_bytes((run.path / "run.json").read_bytes())
    finish_abandoned()
    assert list(root.iterdir()) == []
    assert {file.name for file in run.path.iterdir()} == {"run.json", "profile.json"}


def test_files_of_other_programs_and_their_directories_stay(root):
    directory = create_memory("x")
    set_creator(dead_owner(Owner.current()), directory)
    (directory / "thesis.tex").write_text("important")
    (root / "notes").write_text("important")
    finish_abandoned()
    names = [path.name for path in root.rglob("*") if path.is_file()]
    assert sorted(names) == ["notes", "thesis.tex"]


def test_sweeping_stops_when_its_time_is_up(root, tmp_path):
    for number in range(3):
        run = RunDirectory.create(str(number), tmp_path / "runs")
        run.manifest = run.manifest._replace(owner=dead_owner(run.manifest.owner))
        run._write_manifest()
    assert finish_abandoned(within_s=-1) == []
    assert len(finish_abandoned()) == 3


def test_a_program_that_ends_finishes_the_run_of_a_killed_program(run_python, tmp_path):
    killed = """
        import os, signal, ticktree
        ticktree.enable()
        with ticktree.section("x"): pass
        os.kill(os.getpid(), signal.SIGKILL)
    """
    run_python(killed, status=-9)
    assert list((tmp_path / "memory").rglob("*.tt"))
    run_python("import ticktree; ticktree.enable()")
    assert list((tmp_path / "memory").glob("*/*")) == []
    first, second = RunDirectory.list(tmp_path / "ticktree-runs")
    assert first.profile().root.at("x").count == 1
    assert second.is_finished()


KILLED_PROGRAM = """
import os, signal, sys
from pathlib import Path
from ticktree.run.finishing import RunDirectory
steps = int(sys.argv[2])
def count(event, arguments):
    global steps
    if event in ("open", "os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.listdir", "os.scandir"):
        steps -= 1
        if steps < 0:
            os.kill(os.getpid(), signal.SIGKILL)
sys.addaudithook(count)
RunDirectory.create("x", Path(sys.argv[1]))
steps = sys.maxsize
"""


@pytest.mark.slow
def test_killing_a_process_at_any_step_of_creating_a_run_leaves_no_memory_and_no_damaged_run(root, tmp_path):
    command = [sys.executable, "-c", KILLED_PROGRAM]
    steps, created = 0, False
    while not created:
        out = tmp_path / f"runs-{steps}"
        created = subprocess.run([*command, str(out), str(steps)], check=False).returncode == 0
        before = [run.profile() for run in RunDirectory.list(out)]
        finish_abandoned()
        # An empty directory without an owner's mark may remain: it is removed after an hour.
        assert list(root.glob("*/*")) == []
        for run, profile in zip(RunDirectory.list(out), before, strict=True):
            assert run.is_finished()
            assert run.profile().root == profile.root
        steps += 1
    assert steps > 10
