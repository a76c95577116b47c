"""Run directories: made, found, read, folded, finished, and finished for others.

What is in a memory file does not matter here: a stand-in for the reader counts them.
"""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from ticktree.errors import TicktreeError
from ticktree.files.owner import Owner, since_boot_s, start_of
from ticktree.loading import find_run, load
from ticktree.profile import Profile
from ticktree.run.abandoned import finish_abandoned
from ticktree.run.finishing import RunDirectory
from ticktree.run.memory import memory_files


def named(run: RunDirectory) -> dict[str, set[str | int]]:
    """What every run knows of itself."""
    return {"name": {"x"}, "started_ns": {run.manifest.started_ns}}


@pytest.fixture(autouse=True)
def memory_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = tmp_path / "shm"
    root.mkdir()
    monkeypatch.setenv("TICKTREE_MEMORY_DIR", str(root))
    return root / f"ticktree-{os.geteuid()}"


@pytest.fixture(autouse=True)
def counting_reader(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """Reads the number of memory files."""

    def read_run(run: RunDirectory) -> Profile:
        return Profile(metadata={"files": frozenset([len(run.memory_files())])})

    reader = SimpleNamespace(read_run=read_run)
    monkeypatch.setitem(sys.modules, "ticktree.run.reading.reader", reader)
    return reader


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "runs"


def write_memory(run: RunDirectory, owner: Owner | None = None) -> Path:
    owner = owner or Owner.current()
    path = run.memory_dir / f"{owner.pid}-{owner.started}.tt"
    path.write_bytes(b"recorded")
    return path


def kill_owner(run: RunDirectory) -> RunDirectory:
    """The run as it is after its owner died."""
    dead = run.manifest.owner._replace(started=1)
    run.manifest = run.manifest._replace(owner=dead)
    run._write_manifest()
    return RunDirectory.open(run.path)


def test_a_run_is_named_after_when_and_what(out: Path) -> None:
    run = RunDirectory.create("train", out)
    assert run.path.parent == out
    assert run.path.name.endswith("-train")
    assert len(run.path.name) == len("20261121-104312-train")


def test_two_runs_of_one_second_do_not_collide(out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "strftime", lambda form: "20261121-104312")
    names = [RunDirectory.create("train", out).path.name for _ in range(3)]
    assert names == ["20261121-104312-train", "20261121-104312-train-2", "20261121-104312-train-3"]


def test_runs_with_one_name_in_two_places_share_neither_id_nor_memory(tmp_path: Path) -> None:
    first, second = (RunDirectory.create("train", tmp_path / where) for where in "ab")
    assert first.id != second.id
    assert first.memory_dir != second.memory_dir


@pytest.mark.parametrize("name", ["../../etc", "a b/c", "\x1b[31m", "", ".", "\udcff", "é" * 300, "x" * 300])
def test_any_name_makes_a_decent_directory(out: Path, name: str) -> None:
    run = RunDirectory.create(name, out)
    assert run.path.parent == out
    assert run.path.name.isascii()
    assert len(run.path.name) <= 80


def test_what_is_written_is_read_back(out: Path) -> None:
    made = RunDirectory.create("x", out, argv=["x.py", "-v", "\udcff"], supervised=True)
    made.describe({"host": "here", "cores": 2, "git.dirty": True})
    found = RunDirectory.open(made.path)
    assert found.manifest == made.manifest
    assert found.manifest.argv == ("x.py", "-v", "\udcff")
    assert found.manifest.owner == Owner.current()
    known = {"name": "x", "started_ns": found.manifest.started_ns}
    assert found.manifest.metadata == {**known, "host": "here", "cores": 2, "git.dirty": True}


def test_a_new_directory_of_runs_is_not_versioned(out: Path) -> None:
    RunDirectory.create("x", out)
    assert (out / ".gitignore").read_text() == "*\n"


def test_somebody_elses_directory_is_left_as_it_is(tmp_path: Path) -> None:
    RunDirectory.create("x", tmp_path)
    assert not (tmp_path / ".gitignore").exists()


def test_memory_is_for_this_user_alone(out: Path, memory_root: Path) -> None:
    run = RunDirectory.create("x", out)
    for directory in (memory_root, run.memory_dir):
        assert stat.S_IMODE(directory.stat().st_mode) == 0o700


@pytest.mark.parametrize("what", ["open", "link"])
def test_a_memory_root_that_others_can_enter_or_that_is_a_link_is_passed_by(
    out: Path, memory_root: Path, tmp_path: Path, what: str
) -> None:
    (tmp_path / "elsewhere").mkdir(mode=0o700)
    memory_root.mkdir(mode=0o755) if what == "open" else memory_root.symlink_to(tmp_path / "elsewhere")
    run = RunDirectory.create("x", out)
    assert run.memory_dir.parent != memory_root
    assert stat.S_IMODE(run.memory_dir.parent.stat().st_mode) == 0o700
    assert [*memory_root.iterdir(), *(tmp_path / "elsewhere").iterdir()] == []
    run.finish()
    assert not run.memory_dir.exists()


def test_without_a_place_for_memory_no_run_is_left(
    out: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TICKTREE_MEMORY_DIR", str(tmp_path / "missing"))
    with pytest.raises(TicktreeError, match="there is no such directory"):
        RunDirectory.create("x", out)
    assert RunDirectory.list(out) == []
    assert [path.name for path in out.iterdir()] == [".gitignore"]


def test_a_directory_that_cannot_be_written_is_one_clear_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(TicktreeError, match=r"^cannot keep a run in .*file.*: Not a directory$"):
        RunDirectory.create("x", tmp_path / "file" / "runs")


def test_runs_are_listed_oldest_first_and_what_is_none_is_passed_over(out: Path) -> None:
    runs = [RunDirectory.create(name, out) for name in ("b", "a", "c")]
    (out / "notes").mkdir()
    (out / "damaged").mkdir()
    (out / "damaged" / "run.json").write_text("{")
    assert [run.path for run in RunDirectory.list(out)] == [run.path for run in runs]
    assert RunDirectory.newest(out).path == runs[-1].path


def test_no_run_yet_is_one_clear_line(out: Path) -> None:
    said = r"^no run in .*runs yet, which is no directory; `ticktree run SCRIPT` makes one$"
    with pytest.raises(TicktreeError, match=said):
        RunDirectory.newest(out)


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "null", '{"format": "ticktree-run/9"}', "[" * 100_000, "\x00", '{"format": 1}']
)
def test_a_damaged_manifest_is_one_clear_line(out: Path, text: str) -> None:
    run = RunDirectory.create("x", out)
    (run.path / "run.json").write_text(text)
    with pytest.raises(TicktreeError, match=r"run.json: [^\n]+$"):
        RunDirectory.open(run.path)


def test_a_manifest_with_any_field_missing_or_of_another_type_is_refused(out: Path) -> None:
    run = RunDirectory.create("x", out)
    good = json.loads((run.path / "run.json").read_text())
    optional = {"program_ended_ns"}  # came later: runs of before have none
    for field in good.keys() - {"format"} - optional:
        for bad in ({k: v for k, v in good.items() if k != field}, {**good, field: None}):
            (run.path / "run.json").write_text(json.dumps(bad))
            with pytest.raises(TicktreeError, match=field):
                RunDirectory.open(run.path)


def test_a_manifest_of_before_says_nothing_of_the_programs_end(out: Path) -> None:
    run = RunDirectory.create("x", out, supervised=True)
    run.note_end(0)
    assert RunDirectory.open(run.path).manifest.program_ended_ns >= run.manifest.began_ns
    fields = json.loads((run.path / "run.json").read_text())
    (run.path / "run.json").write_text(json.dumps({**fields, "program_ended_ns": "soon"}))
    with pytest.raises(TicktreeError, match="program_ended_ns"):
        RunDirectory.open(run.path)
    del fields["program_ended_ns"]
    (run.path / "run.json").write_text(json.dumps(fields))
    assert RunDirectory.open(run.path).manifest.program_ended_ns == 0


def test_a_run_is_live_while_its_owner_lives(out: Path) -> None:
    run = RunDirectory.create("x", out)
    assert run.is_live()
    assert not kill_owner(run).is_live()


def test_a_run_is_live_while_a_recorded_process_lives(out: Path) -> None:
    run = kill_owner(RunDirectory.create("x", out))
    write_memory(run)
    assert run.is_live()


def test_a_live_run_is_read_from_memory_and_carries_what_is_known_of_the_machine(out: Path) -> None:
    run = RunDirectory.create("x", out)
    run.describe({"host": "here"})
    write_memory(run)
    assert load(run.path).metadata == {**named(run), "files": {1}, "host": {"here"}}


def test_finishing_saves_the_profile_and_gives_the_memory_back(out: Path, memory_root: Path) -> None:
    run = RunDirectory.create("x", out)
    write_memory(run)
    whole = run.finish()
    assert run.is_finished()
    assert not run.is_live()
    assert list(memory_root.iterdir()) == []
    assert RunDirectory.open(run.path).profile() == whole
    assert whole.metadata == {**named(run), "files": {1}}


def test_finishing_twice_changes_nothing(out: Path) -> None:
    run = RunDirectory.create("x", out)
    write_memory(run)
    assert run.finish() == run.finish()


def test_a_fold_says_that_more_may_follow_and_leaves_the_memory(out: Path) -> None:
    run = RunDirectory.create("x", out)
    write_memory(run)
    run.fold()
    folded = Profile.from_json((run.path / "profile.json").read_text())
    assert folded.metadata == {**named(run), "files": {1}, "unfinished": {True}}
    assert run.finish().metadata == {**named(run), "files": {1}}


def test_after_the_machine_stopped_the_last_fold_is_what_is_left(out: Path) -> None:
    run = RunDirectory.create("x", out)
    write_memory(run)
    run.fold()
    lose_memory(run)
    assert RunDirectory.open(run.path).profile().metadata == {
        **named(run),
        "files": {1},
        "unfinished": {True},
    }


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_of_somebody_elses_running_program_the_last_fold_is_shown(out: Path, memory_root: Path) -> None:
    run = RunDirectory.create("x", out)
    write_memory(run)
    run.fold()
    memory_root.chmod(0)
    assert run.profile().metadata == {**named(run), "files": {1}, "unfinished": {True}}
    assert [found.path for found in RunDirectory.list(out)] == [run.path]
    memory_root.chmod(0o700)


def test_nothing_left_at_all_is_one_clear_line(out: Path) -> None:
    run = RunDirectory.create("x", out)
    lose_memory(run)
    with pytest.raises(TicktreeError, match=r"^nothing is left of [^\n]+$"):
        run.profile()


def test_a_run_finished_while_it_is_being_read_is_read_whole(
    out: Path, counting_reader: SimpleNamespace
) -> None:
    run = RunDirectory.create("x", out)
    write_memory(run)
    read_run = counting_reader.read_run

    def slow_reader(same: RunDirectory) -> Profile:
        counting_reader.read_run = read_run
        RunDirectory.open(run.path).finish()
        return read_run(same)

    counting_reader.read_run = slow_reader
    assert run.profile().metadata == {**named(run), "files": {1}}


def test_processes_that_go_on_after_the_end_are_a_counted_loss(out: Path) -> None:
    run = RunDirectory.create("x", out)
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    write_memory(run, Owner.current().with_process(process.pid, start_of(process.pid)))
    write_memory(run)
    assert run.finish().losses == {"processes_outlived_run": 1}
    process.communicate(b"\n")


def test_only_memory_files_are_deleted(out: Path) -> None:
    """A damaged manifest may name any directory as its memory."""
    run = RunDirectory.create("x", out)
    (run.memory_dir / "thesis.tex").write_text("important")
    (run.memory_dir / "notes.tt").write_text("important")
    run.finish()
    left = run.memory_dir.with_name(run.memory_dir.name + ".finished")
    assert sorted(path.name for path in left.iterdir()) == ["notes.tt", "thesis.tex"]


def test_runs_whose_processes_all_died_are_finished_wherever_they_are(tmp_path: Path) -> None:
    dead = [kill_owner(RunDirectory.create("dead", tmp_path / where)) for where in "ab"]
    for run in dead:
        write_memory(run, run.manifest.owner)
    live = RunDirectory.create("live", tmp_path / "a")
    assert {run.path for run in finish_abandoned()} == {run.path for run in dead}
    assert all(run.is_finished() for run in dead)
    assert not live.is_finished()
    assert finish_abandoned() == []


def test_a_run_that_cannot_be_finished_does_not_stand_in_the_way_of_others(
    out: Path, counting_reader: SimpleNamespace
) -> None:
    runs = [kill_owner(RunDirectory.create(name, out)) for name in ("bad", "good")]
    read_run = counting_reader.read_run

    def reader(run: RunDirectory) -> Profile:
        if run.path == runs[0].path:
            raise TicktreeError("damaged")
        return read_run(run)

    counting_reader.read_run = reader
    assert [run.path for run in finish_abandoned()] == [runs[1].path]
    assert not runs[0].is_finished()


def test_the_memory_of_a_run_that_was_deleted_is_given_back_a_day_later(
    out: Path, memory_root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = kill_owner(RunDirectory.create("x", out))
    write_memory(run, run.manifest.owner)
    (run.path / "run.json").unlink()
    finish_abandoned()
    assert len(memory_files(run.memory_dir)) == 1
    monkeypatch.setattr("ticktree.run.abandoned.since_boot_s", lambda: since_boot_s() + 25 * 3600)
    finish_abandoned()
    assert list(memory_root.iterdir()) == []


def test_the_memory_of_a_deleted_run_that_still_goes_on_is_left_alone(out: Path) -> None:
    run = kill_owner(RunDirectory.create("x", out))
    write_memory(run)
    (run.path / "run.json").unlink()
    finish_abandoned()
    assert not list(run.memory_dir.glob("homeless*"))


def test_what_was_half_removed_is_removed(out: Path, memory_root: Path) -> None:
    run = RunDirectory.create("x", out)
    write_memory(run)
    run.memory_dir.rename(run.memory_dir.with_name(run.memory_dir.name + ".finished"))
    finish_abandoned()
    assert list(memory_root.iterdir()) == []


def test_a_run_is_found_by_its_directory_its_folder_or_its_profile(
    out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    older, newer = (RunDirectory.create(name, out) for name in ("older", "newer"))
    older.finish()
    assert find_run(older.path).path == older.path
    assert find_run(out).path == newer.path
    assert load(older.path / "profile.json") == load(older.path)
    monkeypatch.chdir(out.parent)
    out.rename(out.parent / "ticktree-runs")
    assert find_run(None).path.name == newer.path.name


@pytest.mark.parametrize(
    ("name", "text", "complaint"),
    [("missing", None, "there is no such file or run"), ("a.json", "{", "not"), ("b.json", "\udcff", "not")],
)
def test_what_is_no_profile_is_one_clear_line(
    tmp_path: Path, name: str, text: str | None, complaint: str
) -> None:
    path = tmp_path / name
    if text is not None:
        path.write_bytes(text.encode(errors="surrogateescape"))
    with pytest.raises(TicktreeError, match=f"^[^\n]*{name}: [^\n]*{complaint}[^\n]*$"):
        load(path)


def test_the_directory_imports_nothing_slow() -> None:
    """A profiled program imports it when it starts."""
    code = (
        "import sys, ticktree; before = set(sys.modules)\n"
        "import ticktree.run.directory, ticktree.files.owner; print(*set(sys.modules) - before)"
    )
    slow = {"numpy", "click", "rich", "psutil", "dataclasses", "subprocess", "tempfile", "ticktree.profile"}
    modules = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert slow & set(modules.split()) == set()


def lose_memory(run: RunDirectory) -> None:
    for path in run.memory_dir.iterdir():
        path.unlink()
    run.memory_dir.rmdir()
