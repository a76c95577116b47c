"""Which paths from the environment and from run.json are trusted, and two users on one machine."""

from __future__ import annotations

import os
import pwd
import re
import stat
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path

import pytest

from support.other_user import NOBODY, as_nobody
from ticktree.cli import machine_checks
from ticktree.errors import TicktreeError
from ticktree.files.atomic import write_atomically
from ticktree.files.trust import require_base, require_own
from ticktree.run.finishing import RunDirectory
from ticktree.run.memory import all_memory, create_memory, explain_other_root, require_memory

TWO_USERS = pytest.mark.skipif(os.geteuid() != 0, reason="only root can be two users: NOT TESTED HERE")


@pytest.fixture
def shared():
    """A directory that every user can write to, like /tmp: pytest's directories are closed to others."""
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        directory.chmod(0o1777)
        yield directory


@pytest.fixture
def run(tmp_path, monkeypatch):
    (tmp_path / "shm").mkdir()
    monkeypatch.setenv("TICKTREE_MEMORY_DIR", str(tmp_path / "shm"))
    return RunDirectory.create("x", tmp_path / "runs")


# The interpreter may lie where the other user cannot read: all is imported before we become him.
BECOME = """
import codecs, importlib, os, pkgutil, subprocess, tempfile, numpy, ticktree
for module in pkgutil.walk_packages(ticktree.__path__, "ticktree."):
    if module.name.split(".")[1] in ("recorder", "run", "profile", "session"):
        importlib.import_module(module.name)
codecs.lookup("ascii"), codecs.lookup("idna")
os.setgroups([]), os.setgid({user}), os.setuid({user})
"""


def python(program, user=None, **variables):
    become = "" if user is None else BECOME.format(user=user)
    result = subprocess.run(
        [sys.executable, "-c", become + textwrap.dedent(program)],
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        timeout=500,
        cwd=variables.get("CWD"),
    )
    assert result.returncode == 0, result.stderr
    return result


def run_armed(path, user=None, **variables):
    """Run a program whose environment arms it for the run at a path; return its standard error."""
    # Said in the program itself: where ticktree is installed, an interpreter told at its start is armed at once.
    program = f"""
        import os
        os.environ["TICKTREE_RUN"] = {str(path)!r}
        from ticktree import session
        session.arm()
        import ticktree
        with ticktree.section("x"): pass
        print("program")
    """
    result = python(program, user, **variables)
    assert result.stdout == "program\n"
    return result.stderr


def test_a_run_of_ours_is_joined(run):
    assert run_armed(run.path) == ""
    assert run.profile().root.at("x").count == 1
    (file,) = run.memory_files()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_a_run_of_ours_is_joined_through_a_link_of_ours(run, tmp_path):
    (tmp_path / "link").symlink_to(run.path.parent)
    assert run_armed(tmp_path / "link" / run.path.name) == ""
    assert len(run.memory_files()) == 1


def test_a_finished_run_is_not_joined_and_no_message_printed(run):
    run.finish()
    assert run_armed(run.path) == ""


@TWO_USERS
def test_a_run_of_another_user_is_not_joined_and_reported_once(run):
    for path in (run.path, run.path / "run.json"):
        os.chown(path, NOBODY, NOBODY)
        message = run_armed(run.path)
        assert message.count("\n") == 1
        assert "belongs to another user" in message
        assert run.memory_files() == []
        os.chown(path, 0, 0)
    assert run_armed(run.path) == ""


@TWO_USERS
def test_another_user_cannot_be_made_to_record_into_our_run(run, shared):
    message = run_armed(run.path, user=NOBODY)
    assert message.count("\n") == 1
    assert "another user" in message or "cannot be read" in message
    assert run.memory_files() == []


@TWO_USERS
def test_a_link_of_another_user_is_not_followed(run, shared):
    as_nobody(lambda: (shared / "link").symlink_to(run.path))
    message = run_armed(shared / "link")
    assert message.count("\n") == 1
    assert "is a link of another user's; it is not followed" in message
    as_nobody(lambda: (shared / "folder").symlink_to(run.path.parent))
    assert "not followed" in run_armed(shared / "folder" / run.path.name)
    assert run.memory_files() == []


@pytest.mark.parametrize("path_pattern", ["elsewhere", "ticktree-{uid}/elsewhere"])
def test_a_run_whose_memory_directory_is_not_ours_is_not_joined(run, tmp_path, path_pattern):
    """A run.json may name any directory as its memory directory."""
    directory = tmp_path / "base" / path_pattern.format(uid=os.geteuid())
    directory.mkdir(parents=True)
    run.manifest = run.manifest._replace(memory=str(directory))
    run._write_manifest()
    message = run_armed(run.path)
    assert message.count("\n") == 1
    assert "cannot record" in message
    assert not list(directory.glob("*.tt"))


def test_a_run_that_every_user_can_change_is_joined_only_if_its_memory_knows_it(run):
    """On file systems without users, every user can change every directory."""
    run.path.chmod(0o777)
    assert run_armed(run.path) == ""
    other_run = RunDirectory.create("other", run.path.parent)
    (run.path / "run.json").write_bytes((other_run.path / "run.json").read_bytes())
    assert "can be changed by every user" in run_armed(run.path)
    assert other_run.memory_files() == []


@TWO_USERS
def test_a_memory_directory_of_another_user_is_refused_and_the_program_continues(shared, tmp_path):
    as_nobody(lambda: (shared / "theirs").mkdir(mode=0o777))
    message = python(
        "import ticktree; ticktree.enable(quiet=True); print('program')",
        TICKTREE_MEMORY_DIR=str(shared / "theirs"),
        CWD=str(tmp_path),
    )
    assert message.stdout == "program\n"
    assert message.stderr.count("\n") == 1
    assert "belongs to another user" in message.stderr
    assert list((shared / "theirs").iterdir()) == []


@TWO_USERS
@pytest.mark.parametrize("obstacle", ["directory", "link", "file"])
def test_a_directory_that_another_user_created_in_our_name_is_avoided(
    shared, monkeypatch, tmp_path, obstacle
):
    monkeypatch.setenv("TICKTREE_MEMORY_DIR", str(shared))
    directory_of_other = shared / "ticktree-0"
    make = {
        "directory": lambda: directory_of_other.mkdir(mode=0o777),
        "link": lambda: directory_of_other.symlink_to(tmp_path),
        "file": lambda: directory_of_other.write_text("theirs"),
    }
    as_nobody(make[obstacle])
    directory = create_memory("x")
    assert re.fullmatch("ticktree-0-[0-9a-f]{8}", directory.parent.name)
    assert [stat.S_IMODE(path.stat().st_mode) for path in (directory, directory.parent)] == [0o700, 0o700]
    require_memory(directory)
    as_nobody(lambda: (shared / "ticktree-0-00000000").mkdir())
    assert create_memory("y").parent == directory.parent, "the next run takes the same"
    assert {path.name for path in all_memory()} >= {"x", "y"}
    assert "not a directory that only this user can enter" in (explain_other_root(directory) or "")


@TWO_USERS
def test_another_user_who_creates_our_directory_first_stops_neither_run_nor_enable(
    shared, tmp_path, monkeypatch
):
    as_nobody(lambda: (shared / "ticktree-0").mkdir(mode=0o777))
    (tmp_path / "p.py").write_text(
        "import sys, ticktree\nif sys.argv[1:]: ticktree.enable(quiet=True)\n"
        "with ticktree.section('x'): pass\nprint('program')\nsys.exit(3)"
    )
    for command in (["-m", "ticktree", "run", "--quiet", "p.py"], ["p.py", "enable"]):
        result = subprocess.run(
            [sys.executable, *command],
            cwd=tmp_path,
            env={**os.environ, "TICKTREE_MEMORY_DIR": str(shared)},
            capture_output=True,
            text=True,
            timeout=100,
        )
        assert (result.returncode, result.stdout) == (3, "program\n")
        assert result.stderr.count("\n") == 1
        assert "memory files go to" in result.stderr
        assert RunDirectory.newest(tmp_path / "ticktree-runs").profile().root.at("x").count == 1
    monkeypatch.setenv("TICKTREE_MEMORY_DIR", str(shared))
    assert any("memory files go to a directory of another name" in line for line in machine_checks.memory())
    assert list((shared / "ticktree-0").iterdir()) == []


@pytest.mark.slow
@TWO_USERS
def test_two_users_of_a_machine_do_not_see_each_others_runs(shared, tmp_path):
    """Both record into one tmpfs; neither reads, folds, finishes or sweeps the other's runs."""
    program = """
        import os, ticktree
        ticktree.enable(quiet=True)
        with ticktree.section("mine"): pass
        os._exit(0)
    """
    for user in (NOBODY, 0):
        (shared / str(user)).mkdir()
        os.chown(shared / str(user), user, user)
        result = python(program, user, TICKTREE_MEMORY_DIR=str(shared), CWD=str(shared / str(user)))
        assert result.stderr == ""
    other_directory = shared / f"ticktree-{NOBODY}"
    old_names = sorted(path.name for path in other_directory.rglob("*"))
    assert [stat.S_IMODE(path.stat().st_mode) for path in other_directory.rglob("*.tt")] == [0o600]
    sweep = "from ticktree.run.sweep import finish_abandoned; print(len(finish_abandoned()))"
    assert python(sweep, 0, TICKTREE_MEMORY_DIR=str(shared)).stdout.strip() != "0"
    assert sorted(path.name for path in other_directory.rglob("*")) == old_names
    assert list((shared / "ticktree-0").iterdir()) == []
    python(sweep, NOBODY, TICKTREE_MEMORY_DIR=str(shared))
    assert list(other_directory.iterdir()) == []


@pytest.mark.parametrize(
    ("mode", "reason"), [(0o777, "can be changed by every user"), (None, "there is no such directory")]
)
def test_a_directory_that_others_can_write_to_is_refused(tmp_path, mode, reason):
    directory = tmp_path / "place"
    if mode is not None:
        directory.mkdir()
        directory.chmod(mode)
    with pytest.raises(TicktreeError, match=reason):
        require_base(directory)


def test_the_systems_directories_are_accepted(tmp_path):
    for directory in (Path("/tmp"), tmp_path):
        require_base(directory)


def test_circular_links_give_one_clear_line(tmp_path):
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    with pytest.raises(TicktreeError, match="through too many links"):
        require_own(tmp_path / "a" / "x")


def test_links_lead_to_the_same_file_as_the_systems(tmp_path):
    (tmp_path / "real" / "deep").mkdir(parents=True)
    (tmp_path / "link").symlink_to("real/deep")
    (tmp_path / "up").symlink_to("link/../..")
    require_own(tmp_path / "up" / "link" / ".." / "deep")
    require_own(tmp_path / "missing" / "file")


def test_links_on_the_way_are_not_written_through(tmp_path):
    target = tmp_path / "victim"
    target.write_text("precious")
    (tmp_path / f".profile.json.{os.getpid()}.tmp").symlink_to(target)
    write_atomically(tmp_path / "profile.json", b"new")
    (tmp_path / "folded.json").symlink_to(target)
    write_atomically(tmp_path / "folded.json", b"new", follow=False)
    assert target.read_text() == "precious"
    assert not (tmp_path / "folded.json").is_symlink()


def test_the_user_nobody_exists():
    if os.geteuid() == 0:
        assert pwd.getpwuid(NOBODY).pw_uid == NOBODY
