"""tmpfs is given back: what no living process owns is swept by whoever comes next, and nothing else."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import pytest

from ticktree.files.owner import Owner, boot_id, since_boot_s, start_of
from ticktree.run.abandoned import finish_abandoned
from ticktree.run.finishing import RunDirectory
from ticktree.run.folded import FoldedRecords
from ticktree.run.memory import create_memory, mark_homeless
from ticktree.run.naming import FOLDED

LONG_AGO = 25 * 3600


@pytest.fixture
def root(tmp_path, monkeypatch):
    base = tmp_path / "shm"
    base.mkdir()
    monkeypatch.setenv("TICKTREE_MEMORY_DIR", str(base))
    return base / f"ticktree-{os.geteuid()}"


def dead(owner):
    return owner._replace(started=1)


def made_by(owner, directory):
    """The memory directory as if another process had made it."""
    (mark,) = directory.glob("owner-*")
    mark.rename(directory / f"owner-{owner.pid}-{owner.started}-{owner.namespace}-{owner.boot_id}")


def age(path, seconds):
    then = time.time() - seconds
    os.utime(path, (then, then))


def test_a_directory_whose_maker_was_killed_at_once_is_swept(root):
    directory = create_memory("half-made")
    made_by(dead(Owner.current()), directory)
    finish_abandoned()
    assert list(root.iterdir()) == []


def test_a_directory_that_is_just_being_made_is_left(root):
    marked = create_memory("marked")
    empty = root / "empty"
    empty.mkdir(mode=0o700)
    finish_abandoned()
    assert sorted(root.iterdir()) == [empty, marked]
    age(empty, 2 * 3600)
    finish_abandoned()
    assert list(root.iterdir()) == [marked]


@pytest.mark.parametrize("namespace", [0, 1])
def test_a_directory_of_another_pid_namespace_is_left(root, namespace):
    """A container that shares the tmpfs: its processes cannot be seen from here."""
    directory = create_memory("theirs")
    made_by(dead(Owner.current())._replace(namespace=namespace), directory)
    finish_abandoned()
    assert directory.exists()


def test_a_run_of_another_pid_namespace_is_left(root, tmp_path):
    run = RunDirectory.create("x", tmp_path / "runs")
    run.manifest = run.manifest._replace(owner=dead(run.manifest.owner)._replace(namespace=1))
    run._write_manifest()
    (run.memory_dir / "5-1.tt").write_bytes(b"")
    finish_abandoned()
    assert (run.memory_dir / "5-1.tt").exists()


@pytest.fixture
def a_day_passes(monkeypatch):
    def pass_a_day():
        monkeypatch.setattr("ticktree.run.abandoned.since_boot_s", lambda: since_boot_s() + LONG_AGO)

    return pass_a_day


def test_records_that_no_run_is_known_of_are_kept_for_a_day(root, a_day_passes):
    """The tmpfs was full when run.json was to be copied there; the run's own still leads to them."""
    directory = create_memory("nameless")
    made_by(dead(Owner.current()), directory)
    (directory / "5-1.tt").write_bytes(b"recorded")
    finish_abandoned()
    assert (directory / "5-1.tt").exists()
    a_day_passes()
    finish_abandoned()
    assert list(root.iterdir()) == []


def test_a_wall_clock_that_jumps_is_no_day_that_passes(root):
    """One command with the clock two days ahead must not delete what is on a disk that is away for a moment."""
    directory = create_memory("nameless")
    made_by(dead(Owner.current()), directory)
    (directory / "5-1.tt").write_bytes(b"recorded")
    finish_abandoned()
    for path in (directory, *directory.iterdir()):
        age(path, 2 * LONG_AGO)
    finish_abandoned()
    assert (directory / "5-1.tt").exists()


def test_after_a_restart_of_the_machine_the_day_begins_again(root, a_day_passes, monkeypatch):
    """Memory among temporary files survives it; for how long the machine was off nobody knows."""
    directory = create_memory("nameless")
    made_by(dead(Owner.current()), directory)
    (directory / "5-1.tt").write_bytes(b"recorded")
    finish_abandoned()
    monkeypatch.setattr("ticktree.run.abandoned.boot_id", lambda: "another-boot")
    a_day_passes()
    finish_abandoned()
    assert (directory / "5-1.tt").exists()
    assert len(list(directory.glob("homeless-*"))) == 1


def test_records_of_a_living_process_are_never_swept(root, a_day_passes):
    directory = create_memory("nameless")
    made_by(dead(Owner.current()), directory)
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    (directory / f"{child.pid}-{start_of(child.pid)}.tt").write_bytes(b"recorded")
    mark_homeless(directory, int(since_boot_s()), boot_id())
    a_day_passes()
    finish_abandoned()
    assert directory.exists()
    child.communicate(b"\n")
    finish_abandoned()
    assert not directory.exists()


def test_what_a_killed_finisher_left_is_swept_on_both_sides(root, tmp_path):
    run = RunDirectory.create("x", tmp_path / "runs")
    run.finish()
    run.write(FOLDED, FoldedRecords().to_text().encode())
    (run.path / ".profile.json.999999999.tmp").write_bytes(b"half")
    aside = root / (run.id + ".finished")
    aside.mkdir(mode=0o700)
    for name in ("run.json", "folding.lock", "owner-5-1-0-", ".run.json.77.tmp", "5-1.tt"):
        (aside / name).write_bytes((run.path / "run.json").read_bytes())
    finish_abandoned()
    assert list(root.iterdir()) == []
    assert {file.name for file in run.path.iterdir()} == {"run.json", "profile.json"}


def test_files_that_are_not_ours_are_left_with_all_that_is_around_them(root):
    directory = create_memory("x")
    made_by(dead(Owner.current()), directory)
    (directory / "thesis.tex").write_text("important")
    (root / "notes").write_text("important")
    finish_abandoned()
    left = [path.name for path in root.rglob("*") if path.is_file()]
    assert sorted(left) == ["notes", "thesis.tex"]


def test_sweeping_stops_when_its_time_is_up(root, tmp_path):
    for number in range(3):
        run = RunDirectory.create(str(number), tmp_path / "runs")
        run.manifest = run.manifest._replace(owner=dead(run.manifest.owner))
        run._write_manifest()
    assert finish_abandoned(within_s=-1) == []
    assert len(finish_abandoned()) == 3


def test_a_program_that_ends_sweeps_what_a_killed_one_left(run_python, tmp_path):
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


KILLED_WHILE_IT_CREATES_A_RUN = """
import os, signal, sys
from pathlib import Path
from ticktree.run.finishing import RunDirectory
left = int(sys.argv[2])
def count(event, arguments):
    global left
    if event in ("open", "os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.listdir", "os.scandir"):
        left -= 1
        if left < 0:
            os.kill(os.getpid(), signal.SIGKILL)
sys.addaudithook(count)
RunDirectory.create("x", Path(sys.argv[1]))
left = sys.maxsize
"""


@pytest.mark.slow
def test_one_killed_at_any_step_of_creating_a_run_leaves_no_memory_and_no_damaged_run(root, tmp_path):
    command = [sys.executable, "-c", KILLED_WHILE_IT_CREATES_A_RUN]
    steps, created = 0, False
    while not created:
        out = tmp_path / f"runs-{steps}"
        created = subprocess.run([*command, str(out), str(steps)], check=False).returncode == 0
        before = [run.profile() for run in RunDirectory.list(out)]
        finish_abandoned()
        # An empty directory may be left, which does not say whose it is: it goes after an hour.
        assert list(root.glob("*/*")) == []
        for run, profile in zip(RunDirectory.list(out), before, strict=True):
            assert run.is_finished()
            assert run.profile().root == profile.root
        steps += 1
    assert steps > 10
