"""What another user of the machine does to the places where runs are kept, while a program is recorded."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from support.crashing_programs import TIMEOUT_S, Place, counts
from ticktree.run.abandoned import finish_abandoned
from ticktree.run.finishing import RunDirectory

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root can be two users: NOT TESTED HERE")

NOBODY = 65534
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
def theirs(tmp_path):
    """A place of another user's, in which runs are kept."""
    with tempfile.TemporaryDirectory() as name:
        path = Path(name)
        path.chmod(0o777)
        os.chown(path, NOBODY, NOBODY)
        as_nobody(lambda: (path / "ticktree-runs").mkdir())
        (path / "ticktree-runs").chmod(0o777)
        (tmp_path / "memory").mkdir()
        yield Place(path, tmp_path / "memory")


@pytest.fixture
def precious(tmp_path):
    """Files of ours that are called like a run's, in which nobody else may even look."""
    folder = tmp_path / "precious"
    for inner in (folder, folder / "parts", folder / "timeline", folder / "job"):
        inner.mkdir(mode=0o700)
        for name in PRECIOUS:
            (inner / name).write_text("precious")
    return folder


def contents(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def as_nobody(act):
    pid = os.fork()
    if pid == 0:
        try:
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)
            act()
        except BaseException as error:
            os.write(2, f"{error!r}\n".encode())
            os._exit(1)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


def recorded_while(place, supervised, act):
    """Runs a program, and does something while it runs; returns what it printed on standard error."""
    command = place.command(PROGRAM.format(enable=not supervised), supervised=supervised)
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    with subprocess.Popen(command, cwd=place.path, env=place.environment, text=True, **pipes) as program:
        assert program.stdout.readline() == "begun\n"
        act()
        printed, said = program.communicate("go on\n", timeout=TIMEOUT_S)
    assert (program.returncode, printed) == (3, "done\n")
    return said


def run_in(place):
    (run,) = (place.path / "ticktree-runs").glob("2*")
    return run


@BOTH
@pytest.mark.parametrize("by", ["link", "directory"])
def test_a_run_replaced_by_another_directory_is_not_touched_and_reported(
    theirs, precious, monkeypatch, supervised, by
):
    before = contents(precious)
    moved = theirs.path / "ticktree-runs" / "moved"

    def swap():
        run = run_in(theirs)

        def act():
            run.rename(moved)
            run.symlink_to(precious) if by == "link" else run.mkdir(mode=0o777)

        as_nobody(act)

    said = recorded_while(theirs, supervised, swap)
    assert said.count("\n") == 1
    assert "a link of another user's; it is not followed" in said or "belongs to another user" in said
    assert contents(precious) == before
    assert by == "link" or list(run_in(theirs).iterdir()) == []
    theirs.sweep(monkeypatch)
    assert contents(precious) == before
    run = run_in(theirs)
    run.unlink() if by == "link" else run.rmdir()
    moved.rename(run)
    theirs.sweep(monkeypatch)
    assert counts(theirs.profile()) == {"before": 1, "after": 1}
    assert theirs.left_in_memory() == []


@BOTH
def test_a_run_replaced_by_another_run_of_ours_does_not_overwrite_it(theirs, monkeypatch, supervised):
    recorded_while(theirs, supervised, lambda: None)
    first = run_in(theirs)
    before = contents(first)

    def swap():
        (second,) = set((theirs.path / "ticktree-runs").glob("2*")) - {first}

        def act():
            second.rename(second.with_name("moved"))
            first.rename(second)

        as_nobody(act)

    said = recorded_while(theirs, supervised, swap)
    assert said.count("\n") == 1
    assert "is another run's by now; nothing is changed there" in said
    theirs.sweep(monkeypatch)
    assert sorted(contents(run_in(theirs)).values()) == sorted(before.values())


@BOTH
@pytest.mark.parametrize("has_a_file_like_a_runs", [True, False])
def test_a_run_replaced_by_a_folder_of_ours_does_not_overwrite_it(
    theirs, precious, supervised, has_a_file_like_a_runs
):
    """Whoever owns the place may also move there what is ours and no run."""
    if not has_a_file_like_a_runs:
        (precious / "run.json").unlink()
    precious = precious.rename(theirs.path / "ticktree-runs" / "precious")
    before = sorted(contents(precious).values())

    def swap():
        run = run_in(theirs)
        as_nobody(lambda: (run.rename(run.with_name("moved")), precious.rename(run)))

    said = recorded_while(theirs, supervised, swap)
    assert said.count("\n") == 1
    assert "is another run's by now; nothing is changed there" in said
    assert sorted(contents(run_in(theirs)).values()) == before


@pytest.mark.parametrize("folder", ["parts", "timeline", "job"])
def test_a_link_that_replaces_a_folder_of_the_run_is_not_followed(theirs, precious, folder):
    """Whoever may write to the run itself, as a group may where the umask lets it."""
    before = contents(precious)
    said = recorded_while(theirs, False, lambda: (run_in(theirs) / folder).symlink_to(precious / folder))
    assert said.count("\n") <= 1
    assert contents(precious) == before


@BOTH
def test_another_users_link_as_directory_for_runs_is_refused_and_the_program_runs(
    theirs, precious, supervised
):
    runs = theirs.path / "ticktree-runs"
    runs.rmdir()
    as_nobody(lambda: runs.symlink_to(precious))
    before = sorted(precious.rglob("*"))
    said = recorded_while(theirs, supervised, lambda: None)
    assert said.count("\n") == 1
    assert f"{runs} is a link of another user's; it is not followed" in said
    assert sorted(precious.rglob("*")) == before


def test_gitignore_is_not_written_through_a_link(theirs, precious):
    runs = theirs.path / "ticktree-runs"
    (runs).rmdir()
    script = f"""
import os, pathlib
from ticktree.run.finishing import RunDirectory
runs = pathlib.Path({str(runs)!r})
mkdir = os.mkdir
def slow(name, *args, **kwargs):
    mkdir(name, *args, **kwargs)
    if str(name).endswith("ticktree-runs"):
        (runs / ".gitignore").symlink_to({str(precious / "run.json")!r})
os.mkdir = slow
RunDirectory.create("x", runs)
"""
    done = theirs.run([sys.executable, "-c", script])
    assert done.returncode == 0, done.stderr
    assert (precious / "run.json").read_text() == "precious"


def test_a_run_that_names_another_directory_as_its_memory_deletes_nothing_there(
    theirs, precious, monkeypatch
):
    """What `run.json` says, anybody may have written."""
    monkeypatch.setenv("TICKTREE_MEMORY_DIR", str(theirs.memory))
    run = RunDirectory.create("x", theirs.path / "ticktree-runs")
    run.manifest = run.manifest._replace(memory=str(precious))
    run._write_manifest()
    before = contents(precious)
    with pytest.raises(Exception, match="not a place of this user's memory files"):
        RunDirectory.open(run.path).finish()
    finish_abandoned()
    assert contents(precious) == before
