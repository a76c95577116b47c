"""Another user of the machine changes the directories of runs while a program is recorded."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from support.crashing_programs import TIMEOUT_S, Sandbox, counts
from support.other_user import NOBODY, as_nobody
from ticktree.run.finishing import RunDirectory
from ticktree.run.sweep import finish_abandoned

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root can be two users: NOT TESTED HERE")

PRECIOUS = ("profile.json", "run.json", "folded.json", "1-2.tt", "x.json", f".profile.json.{2**30}.tmp")
PROGRAM = """
import sys, ticktree
if {enable}: ticktree.enable(timeline=True)
with ticktree.section("before"): pass
print("begun", flush=True)
sys.stdin.readline()
with ticktree.section("after"): pass
print("done")
sys.exit(3)
"""
BOTH = pytest.mark.parametrize("supervised", [True, False], ids=["run", "enable"])


@pytest.fixture
def shared_sandbox(tmp_path):
    """A directory of another user, which contains the runs."""
    with tempfile.TemporaryDirectory() as name:
        path = Path(name)
        path.chmod(0o777)
        os.chown(path, NOBODY, NOBODY)
        as_nobody(lambda: (path / "ticktree-runs").mkdir())
        (path / "ticktree-runs").chmod(0o777)
        (tmp_path / "memory").mkdir()
        yield Sandbox(path, tmp_path / "memory")


@pytest.fixture
def private_files(tmp_path):
    """Files of ours with the names of a run's files, which no other user may read."""
    folder = tmp_path / "precious"
    for inner in (folder, folder / "parts", folder / "timeline", folder / "job"):
        inner.mkdir(mode=0o700)
        for name in PRECIOUS:
            (inner / name).write_text("precious")
    return folder


def contents(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def record_during(sandbox, supervised, action):
    """Run a program and an action while it runs; return the program's standard error."""
    command = sandbox.command(PROGRAM.format(enable=not supervised), supervised=supervised)
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    with subprocess.Popen(command, cwd=sandbox.path, env=sandbox.environment, text=True, **pipes) as program:
        assert program.stdout.readline() == "begun\n"
        action()
        output, message = program.communicate("go on\n", timeout=TIMEOUT_S)
    assert (program.returncode, output) == (3, "done\n")
    return message


def run_in(sandbox):
    (run,) = (sandbox.path / "ticktree-runs").glob("2*")
    return run


@BOTH
@pytest.mark.parametrize("user", ["link", "directory"])
def test_a_run_replaced_by_another_directory_is_not_touched_and_reported(
    shared_sandbox, private_files, monkeypatch, supervised, user
):
    old_contents = contents(private_files)
    moved_run = shared_sandbox.path / "ticktree-runs" / "moved"

    def swap():
        run = run_in(shared_sandbox)

        def action():
            run.rename(moved_run)
            run.symlink_to(private_files) if user == "link" else run.mkdir(mode=0o777)

        as_nobody(action)

    message = record_during(shared_sandbox, supervised, swap)
    assert message.count("\n") == 1
    assert "a link of another user's; it is not followed" in message or "belongs to another user" in message
    assert contents(private_files) == old_contents
    assert user == "link" or list(run_in(shared_sandbox).iterdir()) == []
    shared_sandbox.sweep(monkeypatch)
    assert contents(private_files) == old_contents
    run = run_in(shared_sandbox)
    run.unlink() if user == "link" else run.rmdir()
    moved_run.rename(run)
    shared_sandbox.sweep(monkeypatch)
    assert counts(shared_sandbox.profile()) == {"before": 1, "after": 1}
    assert shared_sandbox.left_in_memory() == []


@BOTH
def test_a_run_replaced_by_another_run_of_ours_does_not_overwrite_it(shared_sandbox, monkeypatch, supervised):
    record_during(shared_sandbox, supervised, lambda: None)
    first_run = run_in(shared_sandbox)
    old_contents = contents(first_run)

    def swap():
        (second_run,) = set((shared_sandbox.path / "ticktree-runs").glob("2*")) - {first_run}

        def action():
            second_run.rename(second_run.with_name("moved"))
            first_run.rename(second_run)

        as_nobody(action)

    message = record_during(shared_sandbox, supervised, swap)
    assert message.count("\n") == 1
    assert "is another run's by now; nothing is changed there" in message
    shared_sandbox.sweep(monkeypatch)
    assert sorted(contents(run_in(shared_sandbox)).values()) == sorted(old_contents.values())


@BOTH
@pytest.mark.parametrize("has_a_file_like_a_runs", [True, False])
def test_a_run_replaced_by_a_folder_of_ours_does_not_overwrite_it(
    shared_sandbox, private_files, supervised, has_a_file_like_a_runs
):
    """The owner of the directory may also move files of ours there that are not a run."""
    if not has_a_file_like_a_runs:
        (private_files / "run.json").unlink()
    private_files = private_files.rename(shared_sandbox.path / "ticktree-runs" / "precious")
    old_contents = sorted(contents(private_files).values())

    def swap():
        run = run_in(shared_sandbox)
        as_nobody(lambda: (run.rename(run.with_name("moved")), private_files.rename(run)))

    message = record_during(shared_sandbox, supervised, swap)
    assert message.count("\n") == 1
    assert "is another run's by now; nothing is changed there" in message
    assert sorted(contents(run_in(shared_sandbox)).values()) == old_contents


@pytest.mark.parametrize("folder", ["parts", "timeline", "job"])
def test_a_link_that_replaces_a_folder_of_the_run_is_not_followed(shared_sandbox, private_files, folder):
    """Another user may write to the run itself, if the umask allows it for a group."""
    old_contents = contents(private_files)
    message = record_during(
        shared_sandbox, False, lambda: (run_in(shared_sandbox) / folder).symlink_to(private_files / folder)
    )
    assert message.count("\n") <= 1
    assert contents(private_files) == old_contents


@BOTH
def test_another_users_link_as_directory_for_runs_is_refused_and_the_program_runs(
    shared_sandbox, private_files, supervised
):
    runs = shared_sandbox.path / "ticktree-runs"
    runs.rmdir()
    as_nobody(lambda: runs.symlink_to(private_files))
    old_contents = sorted(private_files.rglob("*"))
    message = record_during(shared_sandbox, supervised, lambda: None)
    assert message.count("\n") == 1
    assert f"{runs} is a link of another user's; it is not followed" in message
    assert sorted(private_files.rglob("*")) == old_contents


def test_gitignore_is_not_written_through_a_link(shared_sandbox, private_files):
    runs = shared_sandbox.path / "ticktree-runs"
    (runs).rmdir()
    script = f"""
import os, pathlib
from ticktree.run.finishing import RunDirectory
runs = pathlib.Path({str(runs)!r})
mkdir = os.mkdir
def slow(name, *args, **kwargs):
    mkdir(name, *args, **kwargs)
    if str(name).endswith("ticktree-runs"):
        (runs / ".gitignore").symlink_to({str(private_files / "run.json")!r})
os.mkdir = slow
RunDirectory.create("x", runs)
"""
    done = shared_sandbox.run([sys.executable, "-c", script])
    assert done.returncode == 0, done.stderr
    assert (private_files / "run.json").read_text() == "precious"


def test_a_run_that_names_another_directory_as_its_memory_deletes_nothing_there(
    shared_sandbox, private_files, monkeypatch
):
    """Anyone may have written `run.json`."""
    monkeypatch.setenv("TICKTREE_MEMORY_DIR", str(shared_sandbox.memory))
    run = RunDirectory.create("x", shared_sandbox.path / "ticktree-runs")
    run.manifest = run.manifest._replace(memory=str(private_files))
    run._write_manifest()
    old_contents = contents(private_files)
    with pytest.raises(Exception, match="not a place of this user's memory files"):
        RunDirectory.open(run.path).finish()
    finish_abandoned()
    assert contents(private_files) == old_contents
