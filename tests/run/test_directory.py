"""Run directories: create, find, read, fold and finish them, also those of other processes.

The content of memory files does not matter here: a replacement for the reader counts them.
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
from ticktree.files.owner import Owner, process_start, uptime_s
from ticktree.loading import find_run, load
from ticktree.profile import Profile
from ticktree.run.finishing import RunDirectory
from ticktree.run.memory import memory_files
from ticktree.run.sweep import finish_abandoned


def run_metadata(run: RunDirectory) -> dict[str, set[str | int]]:
    """Return the metadata of every run."""
    return {"name": {"x"}, "started_ns": {run.manifest.started_ns}}


@pytest.fixture(autouse=True)
def memory_root(memory_base: Path) -> Path:
    return memory_base / f"ticktree-{os.geteuid()}"


@pytest.fixture(autouse=True)
def counting_reader(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """Replace the reader: the profile contains only the number of memory files."""

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
    """Return the run as it is after its owner died."""
    dead = run.manifest.owner._replace(started=1)
    run.manifest = run.manifest._replace(owner=dead)
    run._write_manifest()
    return RunDirectory.open(run.path)


def test_a_runs_directory_is_named_after_time_and_program(out: Path) -> None:
    run = RunDirectory.create("train", out)
    assert run.path.parent == out
    assert run.path.name.endswith("-train")
    assert len(run.path.name) == len("20261121-104312-train")


def test_two_runs_of_one_second_do_not_collide(out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "strftime", lambda form: "20261121-104312")
    names = [RunDirectory.create("train", out).path.name for _ in range(3)]
    assert names == ["20261121-104312-train", "20261121-104312-train-2", "20261121-104312-train-3"]


def test_runs_with_one_name_in_two_places_share_neither_id_nor_memory(tmp_path: Path) -> None:
    first, second = (RunDirectory.create("train", tmp_path / folder) for folder in "ab")
    assert first.id != second.id
    assert first.memory_dir != second.memory_dir


@pytest.mark.parametrize("name", ["../../etc", "a b/c", "\x1b[31m", "", ".", "\udcff", "é" * 300, "x" * 300])
def test_any_name_gives_a_short_ascii_directory_name(out: Path, name: str) -> None:
    run = RunDirectory.create(name, out)
    assert run.path.parent == out
    assert run.path.name.isascii()
    assert len(run.path.name) <= 80


def test_a_manifest_is_read_back_unchanged(out: Path) -> None:
    run = RunDirectory.create("x", out, argv=["x.py", "-v", "\udcff"], supervised=True)
    run.describe({"host": "here", "cores": 2, "git.dirty": True})
    opened = RunDirectory.open(run.path)
    assert opened.manifest == run.manifest
    assert opened.manifest.argv == ("x.py", "-v", "\udcff")
    assert opened.manifest.owner == Owner.current()
    metadata = {"name": "x", "started_ns": opened.manifest.started_ns}
    assert opened.manifest.metadata == {**metadata, "host": "here", "cores": 2, "git.dirty": True}


def test_a_new_directory_of_runs_is_ignored_by_git(out: Path) -> None:
    RunDirectory.create("x", out)
    assert (out / ".gitignore").read_text() == "*\n"


def test_an_existing_directory_gets_no_gitignore(tmp_path: Path) -> None:
    RunDirectory.create("x", tmp_path)
    assert not (tmp_path / ".gitignore").exists()


def test_only_this_user_can_enter_the_memory_directories(out: Path, memory_root: Path) -> None:
    run = RunDirectory.create("x", out)
    for directory in (memory_root, run.memory_dir):
        assert stat.S_IMODE(directory.stat().st_mode) == 0o700


@pytest.mark.parametrize("kind", ["open", "link"])
def test_a_memory_root_that_is_a_link_or_open_to_other_users_is_not_used(
    out: Path, memory_root: Path, tmp_path: Path, kind: str
) -> None:
    (tmp_path / "elsewhere").mkdir(mode=0o700)
    memory_root.mkdir(mode=0o755) if kind == "open" else memory_root.symlink_to(tmp_path / "elsewhere")
    run = RunDirectory.create("x", out)
    assert run.memory_dir.parent != memory_root
    assert stat.S_IMODE(run.memory_dir.parent.stat().st_mode) == 0o700
    assert [*memory_root.iterdir(), *(tmp_path / "elsewhere").iterdir()] == []
    run.finish()
    assert not run.memory_dir.exists()


def test_without_memory_no_run_directory_remains(
    out: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TICKTREE_MEMORY_DIR", str(tmp_path / "missing"))
    with pytest.raises(TicktreeError, match="there is no such directory"):
        RunDirectory.create("x", out)
    assert RunDirectory.list(out) == []
    assert [path.name for path in out.iterdir()] == [".gitignore"]


def test_a_directory_that_cannot_be_written_is_one_clear_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(TicktreeError, match=r"^cannot keep a run in .*file.*: Not a directory$"):
        RunDirectory.create("x", tmp_path / "file" / "runs")


def test_runs_are_listed_oldest_first_and_other_directories_are_ignored(out: Path) -> None:
    runs = [RunDirectory.create(name, out) for name in ("b", "a", "c")]
    (out / "notes").mkdir()
    (out / "damaged").mkdir()
    (out / "damaged" / "run.json").write_text("{")
    assert [run.path for run in RunDirectory.list(out)] == [run.path for run in runs]
    assert RunDirectory.newest(out).path == runs[-1].path


def test_a_directory_without_runs_is_one_clear_error(out: Path) -> None:
    message = r"^no run in .*runs yet, which is no directory; `ticktree run SCRIPT` makes one$"
    with pytest.raises(TicktreeError, match=message):
        RunDirectory.newest(out)


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "null", '{"format": "ticktree-run/9"}', "[" * 100_000, "\x00", '{"format": 1}']
)
def test_a_damaged_manifest_is_one_clear_error(out: Path, text: str) -> None:
    run = RunDirectory.create("x", out)
    (run.path / "run.json").write_text(text)
    with pytest.raises(TicktreeError, match=r"run.json: [^\n]+$"):
        RunDirectory.open(run.path)


def test_a_manifest_with_any_field_missing_or_of_another_type_is_refused(out: Path) -> None:
    run = RunDirectory.create("x", out)
    fields = json.loads((run.path / "run.json").read_text())
    optional = {"program_ended_ns"}  # older runs have none
    for field in fields.keys() - {"format"} - optional:
        for damaged in (
            {key: value for key, value in fields.items() if key != field},
            {**fields, field: None},
        ):
            (run.path / "run.json").write_text(json.dumps(damaged))
            with pytest.raises(TicktreeError, match=field):
                RunDirectory.open(run.path)


def test_an_older_manifest_has_no_end_of_the_program(out: Path) -> None:
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


def test_a_live_run_is_read_from_memory_with_its_metadata(out: Path) -> None:
    run = RunDirectory.create("x", out)
    run.describe({"host": "here"})
    write_memory(run)
    assert load(run.path).metadata == {**run_metadata(run), "files": {1}, "host": {"here"}}


def test_finishing_saves_the_profile_and_frees_the_memory(out: Path, memory_root: Path) -> None:
    run = RunDirectory.create("x", out)
    write_memory(run)
    profile = run.finish()
    assert run.is_finished()
    assert not run.is_live()
    assert list(memory_root.iterdir()) == []
    assert RunDirectory.open(run.path).profile() == profile
    assert profile.metadata == {**run_metadata(run), "files": {1}}


def test_finishing_twice_changes_nothing(out: Path) -> None:
    run = RunDirectory.create("x", out)
    write_memory(run)
    assert run.finish() == run.finish()


def test_a_fold_marks_the_profile_as_unfinished_and_keeps_the_memory(out: Path) -> None:
    run = RunDirectory.create("x", out)
    write_memory(run)
    run.fold()
    folded = Profile.from_json((run.path / "profile.json").read_text())
    assert folded.metadata == {**run_metadata(run), "files": {1}, "unfinished": {True}}
    assert run.finish().metadata == {**run_metadata(run), "files": {1}}


def test_the_last_fold_survives_a_stop_of_the_machine(out: Path) -> None:
    run = RunDirectory.create("x", out)
    write_memory(run)
    run.fold()
    lose_memory(run)
    assert RunDirectory.open(run.path).profile().metadata == {
        **run_metadata(run),
        "files": {1},
        "unfinished": {True},
    }


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_the_last_fold_is_read_if_the_memory_belongs_to_another_user(out: Path, memory_root: Path) -> None:
    run = RunDirectory.create("x", out)
    write_memory(run)
    run.fold()
    memory_root.chmod(0)
    assert run.profile().metadata == {**run_metadata(run), "files": {1}, "unfinished": {True}}
    assert [listed.path for listed in RunDirectory.list(out)] == [run.path]
    memory_root.chmod(0o700)


def test_a_run_without_any_records_is_one_clear_error(out: Path) -> None:
    run = RunDirectory.create("x", out)
    lose_memory(run)
    with pytest.raises(TicktreeError, match=r"^nothing is left of [^\n]+$"):
        run.profile()


def test_a_run_finished_during_a_read_is_read_completely(out: Path, counting_reader: SimpleNamespace) -> None:
    run = RunDirectory.create("x", out)
    write_memory(run)
    read_run = counting_reader.read_run

    def slow_reader(run_to_read: RunDirectory) -> Profile:
        counting_reader.read_run = read_run
        RunDirectory.open(run.path).finish()
        return read_run(run_to_read)

    counting_reader.read_run = slow_reader
    assert run.profile().metadata == {**run_metadata(run), "files": {1}}


def test_processes_that_outlive_the_run_are_counted_as_a_loss(out: Path) -> None:
    run = RunDirectory.create("x", out)
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    write_memory(run, Owner.current().with_process(process.pid, process_start(process.pid)))
    write_memory(run)
    assert run.finish().losses == {"processes_outlived_run": 1}
    process.communicate(b"\n")


def test_only_memory_files_are_deleted(out: Path) -> None:
    """A damaged manifest may name any directory as its memory."""
    run = RunDirectory.create("x", out)
    (run.memory_dir / "thesis.tex").write_text("important")
    (run.memory_dir / "notes.tt").write_text("important")
    run.finish()
    folder = run.memory_dir.with_name(run.memory_dir.name + ".finished")
    assert sorted(path.name for path in folder.iterdir()) == ["notes.tt", "thesis.tex"]


def test_runs_whose_processes_all_died_are_finished_in_any_directory(tmp_path: Path) -> None:
    dead_runs = [kill_owner(RunDirectory.create("dead", tmp_path / folder)) for folder in "ab"]
    for run in dead_runs:
        write_memory(run, run.manifest.owner)
    live_run = RunDirectory.create("live", tmp_path / "a")
    assert {run.path for run in finish_abandoned()} == {run.path for run in dead_runs}
    assert all(run.is_finished() for run in dead_runs)
    assert not live_run.is_finished()
    assert finish_abandoned() == []


def test_a_run_that_cannot_be_finished_does_not_block_other_runs(
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


def test_the_memory_of_a_deleted_run_is_freed_a_day_later(
    out: Path, memory_root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = kill_owner(RunDirectory.create("x", out))
    write_memory(run, run.manifest.owner)
    (run.path / "run.json").unlink()
    finish_abandoned()
    assert len(memory_files(run.memory_dir)) == 1
    monkeypatch.setattr("ticktree.run.sweep.uptime_s", lambda: uptime_s() + 25 * 3600)
    finish_abandoned()
    assert list(memory_root.iterdir()) == []


def test_the_memory_of_a_deleted_run_stays_while_a_process_records(out: Path) -> None:
    run = kill_owner(RunDirectory.create("x", out))
    write_memory(run)
    (run.path / "run.json").unlink()
    finish_abandoned()
    assert not list(run.memory_dir.glob("homeless*"))


def test_partly_removed_memory_is_removed(out: Path, memory_root: Path) -> None:
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
def test_a_file_that_is_not_a_profile_is_one_clear_error(
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
