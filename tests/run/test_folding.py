"""Folding changes where a run's records lie and nothing of what is read: in any order, by many at once, killed."""

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


@pytest.fixture
def run(tmp_path, monkeypatch):
    (tmp_path / "shm").mkdir(exist_ok=True)
    monkeypatch.setenv("TICKTREE_MEMORY_DIR", str(tmp_path / "shm"))
    return RunDirectory.create("x", tmp_path / "runs")


def unfolded(run, names=NAMES):
    """The profile of files as it would be without any folding."""
    errors = []
    whole = read_images([Image(FILES[name]) for name in names], run.id, errors)
    assert errors == []
    known = {"name": frozenset({"x"}), "started_ns": frozenset({run.manifest.started_ns})}
    return whole.merge(Profile(metadata=known))


def put(run, *names):
    for name in names:
        (run.memory_dir / name).write_bytes(FILES[name])


def left(run):
    return [path.name for path in run.memory_files()]


def test_the_family_has_what_makes_folding_hard(run):
    whole = unfolded(run)
    whole.check()
    assert whole.root.at("spawn/job/part\\/of \\\\ it").count
    assert whole.root.at("spawn/job/part\\/of \\\\ it/open").open.count == 1
    assert whole.losses["unmatched_leaves"] == len(FAMILY)
    assert len(whole.gauges) == 1
    assert whole.loops["spawn/job/loop"].ticks
    wakers = {waker.by.partition("-")[0] for _, _, node in whole.root.walk() for waker in node.wakers}
    assert wakers == {str(pid) for pid in WAKERS.values() if pid in FAMILY}
    assert whole.losses["wakes_by_unknown_processes"] == 1
    assert sum(whole.critical.values()) > 0


def test_what_was_folded_is_read_as_before_and_its_memory_is_given_back(run):
    put(run, *NAMES)
    before = run.profile()
    assert fold_finished(run) == len(NAMES)
    assert left(run) == []
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
def test_any_order_of_beginnings_endings_and_folds_gives_the_same_profile(steps, seed, tmp_path_factory):
    """Processes begin and end at any time; folds come at any time; children outlive their parents or do not."""
    with pytest.MonkeyPatch.context() as monkeypatch:
        base = tmp_path_factory.mktemp("family")
        monkeypatch.setenv("TICKTREE_MEMORY_DIR", str(base))
        run = RunDirectory.create("x", base / "runs")
        ended = {(899999, STARTED)}
        monkeypatch.setattr(folding, "dead_among", lambda owner, asked: set(asked) & ended)
        # A parent's file lies there when its child begins to record.
        waiting = sorted(NAMES, key=lambda name: (depth(name), seed.random()))
        alive = []
        for step in [*steps, *["begin"] * len(NAMES), *["end"] * seed.randrange(len(NAMES)), "fold"]:
            if step == "begin" and waiting:
                alive.append(waiting.pop(0))
                put(run, alive[-1])
            elif step == "end" and alive:
                ended.add((int(alive.pop(seed.randrange(len(alive))).split("-")[0]), STARTED))
            elif step == "fold":
                fold_finished(run)
        assert left(run) == sorted(alive)
        assert run.profile() == unfolded(run)
        run.finish()
        assert RunDirectory.open(run.path).profile() == unfolded(run)


def test_what_is_written_is_read_back(run):
    put(run, *NAMES)
    fold_finished(run)
    folded = read_folded(run.path)
    again = FoldedRecords.from_text(folded.to_text())
    for part in ("profile", "files", "locations", "unresolved", "longest"):
        assert getattr(again, part) == getattr(folded, part)
    assert len(folded.unresolved) == len(FAMILY)
    assert read_folded(run.path, folded) is folded


@pytest.mark.slow
def test_workers_of_one_kind_cost_hardly_more_than_one(run):
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


def test_files_of_living_processes_are_left(run):
    put(run, *NAMES)
    me = run.manifest.owner
    mine = run.memory_dir / f"{me.pid}-{me.started}.tt"
    mine.write_bytes(FILES[NAMES[-1]])
    assert fold_finished(run) == len(NAMES)
    assert left(run) == [mine.name]


def test_a_child_waits_for_a_parent_whose_own_file_is_still_to_come(run, monkeypatch):
    """A parent that found no room on tmpfs keeps its records until its end."""
    monkeypatch.setattr(folding, "dead_among", lambda owner, asked: {(p, s) for p, s in asked if p != 900001})
    child, parent = f"900002-{STARTED}.tt", f"900001-{STARTED}.tt"
    put(run, child)
    assert fold_finished(run) == 0
    run.write(parent, FILES[parent])
    monkeypatch.undo()
    assert fold_finished(run) == 2
    assert run.profile() == unfolded(run, [parent, child])


def test_a_damaged_file_is_left_where_it_is_and_counted_once(run):
    put(run, *NAMES)
    broken = bytearray(FILES[NAMES[0]])
    broken[248:252] = (2**31).to_bytes(4, "little")
    (run.memory_dir / "900050-1.tt").write_bytes(broken)
    assert fold_finished(run) == len(NAMES)
    assert left(run) == ["900050-1.tt"]
    for _ in range(2):
        assert run.profile().losses["memory_files_damaged"] == 1
        assert fold_finished(run) == 0


def test_files_of_processes_that_ended_before_they_began_to_record_are_no_damage(run):
    put(run, NAMES[0])
    (run.memory_dir / "900060-1.tt").write_bytes(b"")
    (run.memory_dir / "900061-1.tt").write_bytes(bytes(32768))
    assert "memory_files_damaged" not in run.profile().losses
    assert fold_finished(run) == 1
    assert left(run) == []
    assert run.profile() == unfolded(run, NAMES[:1])


def test_a_damaged_fold_is_counted_and_never_overwritten(run):
    put(run, *NAMES[:2])
    fold_finished(run)
    (run.path / FOLDED).write_text("{")
    put(run, *NAMES[2:])
    assert run.profile().losses["memory_files_damaged"] == 1
    with pytest.raises(DamagedError, match=r"folded\.json: it is damaged"):
        fold_finished(run)
    assert (run.path / FOLDED).read_text() == "{"


def test_a_fold_whose_profile_cannot_be_is_counted_as_damaged(run):
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
def test_no_text_but_a_fold_is_one(run, text):
    (run.path / FOLDED).write_bytes(text.encode(errors="surrogateescape"))
    with pytest.raises(DamagedError, match=r"^folded.json: [^\n]+$"):
        read_folded(run.path)


def test_a_link_in_the_place_of_the_fold_is_not_followed(run, tmp_path):
    (tmp_path / "other").write_text("{}")
    (run.path / FOLDED).symlink_to(tmp_path / "other")
    with pytest.raises(DamagedError):
        read_folded(run.path)


def test_few_small_files_are_left_to_lie(run):
    put(run, *NAMES)
    assert fold_if_many(run) == 0
    assert len(left(run)) == len(NAMES)


def test_many_files_are_folded(run):
    for pid in range(100, 101 + MANY_FILES):
        (run.memory_dir / f"{pid}-{STARTED}.tt").write_bytes(FILES[NAMES[-1]])
    assert fold_if_many(run) == 1 + MANY_FILES
    assert left(run) == []


def test_few_large_files_are_folded(run):
    for name in NAMES[:2]:
        (run.memory_dir / name).write_bytes(FILES[name] + bytes(9 << 20))
    assert fold_if_many(run) == 2


def test_while_one_folds_another_does_nothing(run):
    put(run, *NAMES)
    with folding._lock(run.memory_dir) as ours, folding._lock(run.memory_dir) as others:
        assert (ours, others) == (True, False)
        assert fold_finished(run) == 0
    assert fold_finished(run) == len(NAMES)


def test_where_the_disk_takes_nothing_the_files_stay(run, monkeypatch):
    put(run, *NAMES)

    def full(*args, **options):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("ticktree.run.directory.write_atomically", full)
    with pytest.raises(OSError):
        fold_finished(run)
    assert left(run) == NAMES
    assert run.profile() == unfolded(run)


def test_after_the_machine_stopped_the_fold_is_what_is_left(run):
    put(run, *NAMES)
    fold_finished(run)
    for path in run.memory_dir.iterdir():
        path.unlink()
    run.memory_dir.rmdir()
    profile = RunDirectory.open(run.path).profile()
    assert profile.root == unfolded(run).root
    assert profile.metadata["unfinished"] == {True}


def test_a_run_finished_while_it_is_folded_keeps_no_fold(run, monkeypatch):
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


def test_files_folded_while_a_reader_is_at_them_are_read_once(run, monkeypatch):
    put(run, *NAMES)
    of_file = Image.of_file
    reads = []

    def slowly(path):
        if len(reads) == 3:
            monkeypatch.setattr(Image, "of_file", of_file)
            assert fold_finished(run) == len(NAMES)
        reads.append(path)
        return of_file(path)

    monkeypatch.setattr(Image, "of_file", slowly)
    assert run.profile() == unfolded(run)
    assert left(run) == []


# Kills itself at the n-th time that it opens, renames, deletes, locks or lists anything.
KILLED_FOLDER = """
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


def folder(run, steps, what="fold_finished"):
    arguments = [sys.executable, "-c", KILLED_FOLDER, run.path, str(steps), what]
    return subprocess.run(arguments, env=os.environ).returncode


def killed_everywhere(run, what, stride):
    """Kills a folder at its first step, then at its next, ...; after each, the run must read the same."""
    steps, whole = 1, unfolded(run)
    while True:
        put(run, *(name for name in NAMES if name not in read_folded(run.path).files))
        status = folder(run, steps, what)
        if status == 0:
            return steps
        assert status == -signal.SIGKILL
        assert RunDirectory.open(run.path).profile() == whole
        if run.is_finished():
            return steps
        if steps % 7 == 0:  # from the beginning again, with whatever the killed have left
            (run.path / FOLDED).unlink(missing_ok=True)
            put(run, *NAMES)
        steps += stride


@pytest.mark.slow
def test_a_folder_killed_between_any_two_steps_changes_nothing(run):
    steps = killed_everywhere(run, "fold_finished", stride=3)
    assert steps > 10
    assert fold_finished(run) in (0, len(NAMES))
    assert run.profile() == unfolded(run)
    run.finish()
    assert {file.name for file in run.path.iterdir()} == {"run.json", "profile.json"}


@thorough
@pytest.mark.slow
@pytest.mark.parametrize("what", ["fold_finished", "finish"])
def test_a_folder_or_a_finisher_killed_at_every_single_step_changes_nothing(run, what):
    assert killed_everywhere(run, what, stride=1) > 10
    assert run.profile() == unfolded(run)


# Folds until there is nothing more to come.
BUSY_FOLDER = """
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
def test_several_folders_at_once_fold_every_file_once_while_it_is_read(run, tmp_path):
    over = tmp_path / "over"
    command = [sys.executable, "-c", BUSY_FOLDER, run.path, over]
    folders = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    names = []
    for name in NAMES:
        # A file is begun under its name and is there whole only when its process ends; here all at once.
        (run.memory_dir / "coming").write_bytes(FILES[name])
        (run.memory_dir / "coming").rename(run.memory_dir / name)
        names.append(name)
        assert run.profile() == unfolded(run, names)
        time.sleep(0.02)
    over.touch()
    counts = [int(process.communicate(timeout=500)[0]) for process in folders]
    fold_finished(run)
    assert sum(counts) <= len(NAMES)
    assert left(run) == []
    assert run.finish() == unfolded(run)


def test_nothing_is_folded_of_a_run_that_is_over(run):
    put(run, *NAMES)
    run.finish()
    assert fold_if_many(run) == fold_finished(run) == 0
    assert not (run.path / FOLDED).exists()
