"""Folding moves a run's records without changing its profile: in any order, concurrently, and when killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.process_families import FAMILY, STARTED, WAKERS, family
from support.thorough import thorough
from ticktree.profile import Profile
from ticktree.run import folding
from ticktree.run.finishing import RunDirectory
from ticktree.run.folded import FoldedRecords, read_folded
from ticktree.run.folding import MANY_FILES, fold_finished, fold_if_many
from ticktree.run.naming import FOLDED
from ticktree.run.reading.image import DamagedError, Image
from ticktree.run.reading.reader import read_images

FILES = family()
NAMES = list(FILES)


def unfolded(run, names=NAMES):
    """Return the profile of files without any folding."""
    errors = []
    profile = read_images([Image(FILES[name]) for name in names], run.id, errors)
    assert errors == []
    metadata = {"name": frozenset({"x"}), "started_ns": frozenset({run.manifest.started_ns})}
    return profile.merge(Profile(metadata=metadata))


def put(run, *names):
    for name in names:
        (run.memory_dir / name).write_bytes(FILES[name])


def remaining_files(run):
    return [path.name for path in run.memory_files()]


def test_the_example_processes_have_everything_that_makes_folding_hard(run):
    profile = unfolded(run)
    profile.check()
    assert profile.root.at("spawn/job/part\\/of \\\\ it").count
    assert profile.root.at("spawn/job/part\\/of \\\\ it/open").open.count == 1
    assert profile.losses["unmatched_leaves"] == len(FAMILY)
    assert len(profile.gauges) == 1
    assert profile.loops["spawn/job/loop"].ticks
    wakers = {waker.by.partition("-")[0] for _, _, node in profile.root.walk() for waker in node.wakers}
    assert wakers == {str(pid) for pid in WAKERS.values() if pid in FAMILY}
    assert profile.losses["wakes_by_unknown_processes"] == 1
    assert sum(profile.critical.values()) > 0


def test_folded_files_are_read_as_before_and_their_memory_is_freed(run):
    put(run, *NAMES)
    before = run.profile()
    assert fold_finished(run) == len(NAMES)
    assert remaining_files(run) == []
    assert run.profile() == before == unfolded(run)
    assert fold_finished(run) == 0
    assert run.finish() == before
    assert {file.name for file in run.path.iterdir()} == {"run.json", "profile.json"}
    assert run.profile() == before


def depth(name):
    depth, pid = 0, int(name.split("-")[0])
    while pid in FAMILY and FAMILY[pid][0]:
        depth, pid = depth + 1, FAMILY[pid][0]
    return depth


@pytest.mark.slow
@settings(max_examples=30, deadline=None)
@given(
    steps=st.lists(st.sampled_from(["begin", "end", "fold"]), max_size=40),
    seed=st.randoms(use_true_random=False),
)
def test_any_order_of_begins_ends_and_folds_gives_the_same_profile(steps, seed, tmp_path_factory):
    """Processes begin and end at any time, folds happen at any time, and children may outlive their parents."""
    with pytest.MonkeyPatch.context() as monkeypatch:
        base = tmp_path_factory.mktemp("family")
        monkeypatch.setenv("TICKTREE_MEMORY_DIR", str(base))
        run = RunDirectory.create("x", base / "runs")
        ended = {(899999, STARTED)}
        monkeypatch.setattr(folding, "ended_processes", lambda owner, asked: set(asked) & ended)
        # A parent's file exists when its child begins to record.
        waiting = sorted(NAMES, key=lambda name: (depth(name), seed.random()))
        live = []
        for step in [*steps, *["begin"] * len(NAMES), *["end"] * seed.randrange(len(NAMES)), "fold"]:
            if step == "begin" and waiting:
                live.append(waiting.pop(0))
                put(run, live[-1])
            elif step == "end" and live:
                ended.add((int(live.pop(seed.randrange(len(live))).split("-")[0]), STARTED))
            elif step == "fold":
                fold_finished(run)
        assert remaining_files(run) == sorted(live)
        assert run.profile() == unfolded(run)
        run.finish()
        assert RunDirectory.open(run.path).profile() == unfolded(run)


def test_folded_records_are_read_back_unchanged(run):
    put(run, *NAMES)
    fold_finished(run)
    folded = read_folded(run.path)
    parsed = FoldedRecords.from_text(folded.to_text())
    for name in ("profile", "files", "locations", "unresolved", "longest"):
        assert getattr(parsed, name) == getattr(folded, name)
    assert len(folded.unresolved) == len(FAMILY)
    assert read_folded(run.path, folded) is folded


@pytest.mark.slow
def test_an_additional_worker_of_one_kind_takes_less_than_800_bytes(run):
    sizes = []
    name = NAMES[-1]
    for pid in range(100, 400):
        image = bytearray(FILES[name])
        image[64:72] = pid.to_bytes(8, "little")
        (run.memory_dir / f"{pid}-{STARTED}.tt").write_bytes(image)
        if pid in (100, 399):
            fold_finished(run)
            sizes.append((run.path / FOLDED).stat().st_size)
    assert len(read_folded(run.path).files) == 300
    assert (sizes[1] - sizes[0]) / 299 < 800


def test_files_of_live_processes_are_not_folded(run):
    put(run, *NAMES)
    owner = run.manifest.owner
    path = run.memory_dir / f"{owner.pid}-{owner.started}.tt"
    path.write_bytes(FILES[NAMES[-1]])
    assert fold_finished(run) == len(NAMES)
    assert remaining_files(run) == [path.name]


def test_a_childs_file_is_not_folded_before_its_parents(run, monkeypatch):
    """A parent without space on tmpfs keeps its records in private memory until its end."""
    monkeypatch.setattr(
        folding, "ended_processes", lambda owner, asked: {(p, s) for p, s in asked if p != 900001}
    )
    child, parent = f"900002-{STARTED}.tt", f"900001-{STARTED}.tt"
    put(run, child)
    assert fold_finished(run) == 0
    run.write(parent, FILES[parent])
    monkeypatch.undo()
    assert fold_finished(run) == 2
    assert run.profile() == unfolded(run, [parent, child])


def test_a_damaged_file_stays_and_counts_once(run):
    put(run, *NAMES)
    data = bytearray(FILES[NAMES[0]])
    data[248:252] = (2**31).to_bytes(4, "little")
    (run.memory_dir / "900050-1.tt").write_bytes(data)
    assert fold_finished(run) == len(NAMES)
    assert remaining_files(run) == ["900050-1.tt"]
    for _ in range(2):
        assert run.profile().losses["memory_files_damaged"] == 1
        assert fold_finished(run) == 0


def test_files_without_records_of_ended_processes_are_not_damaged_and_are_deleted(run):
    put(run, NAMES[0])
    (run.memory_dir / "900060-1.tt").write_bytes(b"")
    (run.memory_dir / "900061-1.tt").write_bytes(bytes(32768))
    assert "memory_files_damaged" not in run.profile().losses
    assert fold_finished(run) == 1
    assert remaining_files(run) == []
    assert run.profile() == unfolded(run, NAMES[:1])


def test_a_damaged_folded_json_is_counted_and_not_overwritten(run):
    put(run, *NAMES[:2])
    fold_finished(run)
    (run.path / FOLDED).write_text("{")
    put(run, *NAMES[2:])
    assert run.profile().losses["memory_files_damaged"] == 1
    with pytest.raises(DamagedError, match=r"folded\.json: it is damaged"):
        fold_finished(run)
    assert (run.path / FOLDED).read_text() == "{"


def test_a_folded_json_with_an_invalid_profile_is_counted_as_damaged(run):
    put(run, *NAMES[:2])
    fold_finished(run)
    text = (run.path / FOLDED).read_text()
    assert '\\"root\\"' in text
    (run.path / FOLDED).write_text(text.replace('\\"root\\"', '\\"ront\\"', 1))
    put(run, *NAMES[2:])
    assert run.profile().losses["memory_files_damaged"] == 1


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"format": "ticktree-folded/9"}', '{"format": 1}', "\udcff"]
)
def test_other_texts_are_refused(run, text):
    (run.path / FOLDED).write_bytes(text.encode(errors="surrogateescape"))
    with pytest.raises(DamagedError, match=r"^folded.json: [^\n]+$"):
        read_folded(run.path)


def test_a_link_instead_of_folded_json_is_not_followed(run, tmp_path):
    (tmp_path / "other").write_text("{}")
    (run.path / FOLDED).symlink_to(tmp_path / "other")
    with pytest.raises(DamagedError):
        read_folded(run.path)


def test_few_small_files_are_not_folded(run):
    put(run, *NAMES)
    assert fold_if_many(run) == 0
    assert len(remaining_files(run)) == len(NAMES)


def test_many_files_are_folded(run):
    for pid in range(100, 101 + MANY_FILES):
        (run.memory_dir / f"{pid}-{STARTED}.tt").write_bytes(FILES[NAMES[-1]])
    assert fold_if_many(run) == 1 + MANY_FILES
    assert remaining_files(run) == []


def test_few_large_files_are_folded(run):
    for name in NAMES[:2]:
        (run.memory_dir / name).write_bytes(FILES[name] + bytes(9 << 20))
    assert fold_if_many(run) == 2


def test_only_one_process_folds_at_a_time(run):
    put(run, *NAMES)
    with folding._lock(run.memory_dir) as is_first_locked, folding._lock(run.memory_dir) as is_second_locked:
        assert (is_first_locked, is_second_locked) == (True, False)
        assert fold_finished(run) == 0
    assert fold_finished(run) == len(NAMES)


def test_no_file_is_deleted_if_the_disk_is_full(run, monkeypatch):
    put(run, *NAMES)

    def full(*args, **kwargs):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("ticktree.run.directory.write_atomically", full)
    with pytest.raises(OSError):
        fold_finished(run)
    assert remaining_files(run) == NAMES
    assert run.profile() == unfolded(run)


def test_folded_records_survive_a_stop_of_the_machine(run):
    put(run, *NAMES)
    fold_finished(run)
    for path in run.memory_dir.iterdir():
        path.unlink()
    run.memory_dir.rmdir()
    profile = RunDirectory.open(run.path).profile()
    assert profile.root == unfolded(run).root
    assert profile.metadata["unfinished"] == {True}


def test_a_run_finished_during_a_fold_has_no_folded_json(run, monkeypatch):
    put(run, *NAMES)
    write = RunDirectory.write

    def finish_first(folding, *args, **options):
        monkeypatch.setattr(RunDirectory, "write", write)
        RunDirectory.open(folding.path).finish()
        folding.write(*args, **options)

    monkeypatch.setattr(RunDirectory, "write", finish_first)
    fold_finished(run)
    assert {file.name for file in run.path.iterdir()} == {"run.json", "profile.json"}
    assert run.profile() == unfolded(run)


def test_files_folded_during_a_read_are_read_once(run, monkeypatch):
    put(run, *NAMES)
    of_file = Image.of_file
    reads = []

    def fold_at_third_read(path):
        if len(reads) == 3:
            monkeypatch.setattr(Image, "of_file", of_file)
            assert fold_finished(run) == len(NAMES)
        reads.append(path)
        return of_file(path)

    monkeypatch.setattr(Image, "of_file", fold_at_third_read)
    assert run.profile() == unfolded(run)
    assert remaining_files(run) == []


# Kills itself when it opens, renames, deletes, locks or lists a file for the n-th time.
KILLED_PROGRAM = """
import os, signal, sys
from pathlib import Path
from ticktree.run.finishing import RunDirectory
from ticktree.run import folded, folding
from ticktree.run.reading import image, reader, tree
run, steps = RunDirectory.open(Path(sys.argv[1])), int(sys.argv[2])
def hook(event, arguments):
    global steps
    if event in ("open", "os.rename", "os.remove", "os.listdir", "os.scandir", "fcntl.flock"):
        steps -= 1
        if not steps:
            os.kill(os.getpid(), signal.SIGKILL)
sys.addaudithook(hook)
getattr(folding, sys.argv[3])(run) if sys.argv[3] != "finish" else run.finish()
"""


def run_folder(run, steps, function="fold_finished"):
    arguments = [sys.executable, "-c", KILLED_PROGRAM, run.path, str(steps), function]
    return subprocess.run(arguments, env=os.environ).returncode


def kill_at_every_step(run, function, stride):
    """Kill a folding process at its first step, then at a later step, and so on; the run's profile must not change."""
    steps, profile = 1, unfolded(run)
    while True:
        put(run, *(name for name in NAMES if name not in read_folded(run.path).files))
        status = run_folder(run, steps, function)
        if status == 0:
            return steps
        assert status == -signal.SIGKILL
        assert RunDirectory.open(run.path).profile() == profile
        if run.is_finished():
            return steps
        if steps % 7 == 0:  # begin again, with the remains of the killed processes
            (run.path / FOLDED).unlink(missing_ok=True)
            put(run, *NAMES)
        steps += stride


@pytest.mark.slow
def test_killing_a_folding_process_between_steps_changes_no_profile(run):
    steps = kill_at_every_step(run, "fold_finished", stride=3)
    assert steps > 10
    assert fold_finished(run) in (0, len(NAMES))
    assert run.profile() == unfolded(run)
    run.finish()
    assert {file.name for file in run.path.iterdir()} == {"run.json", "profile.json"}


@thorough
@pytest.mark.slow
@pytest.mark.parametrize("function", ["fold_finished", "finish"])
def test_killing_a_folding_or_finishing_process_at_any_step_changes_no_profile(run, function):
    assert kill_at_every_step(run, function, stride=1) > 10
    assert run.profile() == unfolded(run)


# Folds until no more files will come.
FOLDING_PROGRAM = """
import sys, time
from pathlib import Path
from ticktree.run.finishing import RunDirectory
from ticktree.run.folding import fold_finished
run, folded = RunDirectory.open(Path(sys.argv[1])), 0
while True:
    over = Path(sys.argv[2]).exists()
    folded += fold_finished(run)
    if over:
        break
    time.sleep(0.001)
print(folded)
"""


@pytest.mark.slow
def test_several_processes_that_fold_concurrently_fold_each_file_once(run, tmp_path):
    stop = tmp_path / "over"
    command = [sys.executable, "-c", FOLDING_PROGRAM, run.path, stop]
    folders = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    names = []
    for name in NAMES:
        # A recorder creates its file empty and completes it when its process ends; this one appears complete.
        (run.memory_dir / "coming").write_bytes(FILES[name])
        (run.memory_dir / "coming").rename(run.memory_dir / name)
        names.append(name)
        assert run.profile() == unfolded(run, names)
        time.sleep(0.02)
    stop.touch()
    counts = [int(process.communicate(timeout=500)[0]) for process in folders]
    fold_finished(run)
    assert sum(counts) <= len(NAMES)
    assert remaining_files(run) == []
    assert run.finish() == unfolded(run)


def test_a_finished_run_is_not_folded(run):
    put(run, *NAMES)
    run.finish()
    assert fold_if_many(run) == fold_finished(run) == 0
    assert not (run.path / FOLDED).exists()
