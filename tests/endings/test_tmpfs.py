"""tmpfs full, filling up, small, or not there; a working directory that takes nothing.

Each in a mount namespace of its own, where a real tmpfs of the size wanted is put in the place of /dev/shm.
"""

from __future__ import annotations

import base64
import gzip
import re
import shlex
import subprocess
import sys

import pytest

from support.crashing_programs import counts
from ticktree.run.finishing import RunDirectory


def _may_mount() -> bool:
    try:
        return subprocess.run(["unshare", "-m", "true"], capture_output=True).returncode == 0
    except OSError:
        return False


pytestmark = pytest.mark.skipif(not _may_mount(), reason="no mount namespaces for this user: NOT TESTED HERE")

WORK = """
import os, sys
import ticktree
def work(first, count):
    for number in range(first, first + count):
        with ticktree.section(f"section {number}"):
            with ticktree.section("inner"):
                pass
"""
NO_ROOM = "ticktree: no room in "


def within(place, prepare, program, supervised=True):
    """Runs a program where some commands have prepared the mounts; memory lies where it lies by default."""
    del place.environment["TICKTREE_MEMORY_DIR"]
    command = shlex.join(place.command(program, supervised=supervised))
    return place.run(["unshare", "-m", "sh", "-ec", f"{prepare}\nexec {command}"])


def shm(size):
    return f"mount -t tmpfs -o size={size},mode=1777 tmpfs /dev/shm"


FILL = "dd if=/dev/zero of=/dev/shm/full bs=4k count=1000000 2>/dev/null || true"


def test_a_tmpfs_full_at_the_start_is_reported_once_and_the_run_saved_at_the_end(place):
    done = within(place, f"{shm('8m')}\n{FILL}", WORK + "work(0, 50)\nprint('done')\nsys.exit(3)")
    assert (done.returncode, done.stdout) == (3, "done\n")
    assert done.stderr.startswith(NO_ROOM)
    assert done.stderr.count("\n") == 1
    found = counts(place.profile())
    assert all(found[f"section {number}"] == found[f"section {number}/inner"] == 1 for number in range(50))


def test_without_a_supervisor_a_full_tmpfs_is_reported_once_and_the_run_saved(place):
    program = WORK + "ticktree.enable(quiet=True)\nwork(0, 50)\nprint('done')"
    done = within(place, f"{shm('8m')}\n{FILL}", program, supervised=False)
    assert (done.returncode, done.stdout) == (0, "done\n")
    assert done.stderr.startswith(NO_ROOM)
    assert done.stderr.count("\n") == 1
    assert len(counts(place.profile())) == 100


def test_a_tmpfs_that_fills_up_later_loses_new_records_and_counts_them(place):
    program = (
        WORK
        + """
work(0, 10)
with open("/dev/shm/full", "wb", buffering=0) as file:
    try:
        while True:
            file.write(bytes(1 << 16))
    except OSError:
        pass
for again in range(3):
    work(0, 1000)
os.unlink("/dev/shm/full")
work(5000, 400)
work(5000, 1)
print("done")
"""
    )
    done = within(place, shm("32m"), program)
    assert (done.returncode, done.stdout, done.stderr) == (0, "done\n", "")
    profile = place.profile(losses=frozenset({"records_without_memory"}))
    found = counts(profile)
    # A call whose histogram could not grow is not counted, but as a loss.
    assert all(1 <= found[f"section {number}"] <= 4 for number in range(10))
    top = [path for path in found if "/" not in path]
    assert len(top) < 1400
    # Two sections a number: what was entered is either counted or lost, and nothing is both.
    assert sum(found.values()) + profile.losses["records_without_memory"] >= 2 * (10 + 3000 + 401)
    assert "section 5399" in found, "where there is room again, what is new is recorded again"


def test_samples_that_do_not_fit_are_reported_in_one_line(place):
    program = """
import time
def spin(seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        sum(range(1000))
with open("/dev/shm/full", "wb", buffering=0) as file:
    try:
        while True:
            file.write(bytes(1 << 12))
    except OSError:
        pass
spin(1)
print("done")
"""
    done = within(place, shm("8m"), program)
    assert (done.returncode, done.stdout) == (0, "done\n")
    assert done.stderr == "ticktree: samples of the program are missing: No space left on device\n"


def test_data_loaders_have_enough_memory_in_a_container_of_64_megabytes(place):
    """A quarter of what is free, whatever the number of processes; each takes little."""
    program = (
        WORK
        + """
read, write = os.pipe()
with ticktree.section("start"):
    for number in range(60):
        if not os.fork():
            work(0, 10)
            os.write(write, b"x")
            os.read(0, 1)  # until the program's end
            os._exit(0)
for number in range(60):
    assert os.read(read, 1)
space = os.statvfs("/dev/shm")
print("used", (space.f_blocks - space.f_bfree) * space.f_frsize <= 16 << 20)
with open("/dev/shm/loader", "wb") as file:
    os.posix_fallocate(file.fileno(), 0, 40 << 20)
print("loaded")
"""
    )
    done = within(place, shm("64m"), program)
    assert (done.returncode, done.stdout, done.stderr) == (0, "used True\nloaded\n", "")
    found = counts(place.profile())
    assert all(found[f"start/section {number}/inner"] == 60 for number in range(10))


CHILDREN = """
import os, subprocess, sys, ticktree
if {enable}: ticktree.enable(quiet=True)
for number in range(200):
    if {spawn}:
        if number < 30:
            code = "import os, ticktree\\nwith ticktree.section('child'): pass\\nos._exit(0)"
            subprocess.run([sys.executable, "-c", code], check=True)
        continue
    pid = os.fork()
    if not pid:
        with ticktree.section("child"): pass
        os._exit(0)
    os.waitpid(pid, 0)
print("done")
"""


def data_of(page):
    """The data of a page, which is packed where it is long."""
    (found,) = re.findall(r'id="ticktree-data"[^>]*>([^<]*)<', page)
    return found if found.startswith("{") else gzip.decompress(base64.b64decode(found)).decode()


@pytest.mark.parametrize(
    ("supervised", "spawn"),
    [
        pytest.param(False, False, id="enable-forked"),
        pytest.param(False, True, id="enable-spawned", marks=pytest.mark.slow),
        pytest.param(True, False, id="run-forked", marks=pytest.mark.slow),
        pytest.param(True, True, id="run-spawned", marks=pytest.mark.slow),
    ],
)
def test_children_whose_files_do_not_fit_are_counted_and_reported_once(place, supervised, spawn):
    program = CHILDREN.format(enable=not supervised, spawn=spawn)
    done = within(place, shm("2m" if spawn else "3m"), program, supervised=supervised)
    assert (done.returncode, done.stdout) == (0, "done\n")
    profile = place.profile(losses=frozenset({"processes_without_room"}))
    lost = profile.losses["processes_without_room"]
    assert lost + counts(profile)["child"] == (30 if spawn else 200)
    assert done.stderr == f"ticktree: {lost} processes found no room in /dev/shm and are not recorded\n"
    for form in ("json", "terminal", "markdown", "text", "html"):
        shown = place.run([sys.executable, "-m", "ticktree", "report", "--format", form])
        text = shown.stdout if form != "html" else data_of(shown.stdout)
        assert "processes_without_room" in text or "processes without room" in text
    run = RunDirectory.newest(place.path / "ticktree-runs")
    assert {path.name for path in run.path.iterdir()} == {"run.json", "profile.json"}


@pytest.mark.parametrize("names", [2, 3, 4, 5])
@pytest.mark.parametrize("supervised", [True, False], ids=["run", "enable"])
def test_without_a_free_inode_everything_is_saved_at_the_end(place, supervised, names):
    """A tmpfs has a number of files that it takes, and may have none left though it has much room."""
    program = WORK + ("" if supervised else "ticktree.enable(quiet=True)\n") + "work(0, 50)\nprint('done')"
    prepare = (
        f"mount -t tmpfs -o size=8m,nr_inodes={names},mode=1777 tmpfs /dev/shm\nexport TMPDIR={place.memory}"
    )
    done = within(place, prepare, program, supervised=supervised)
    assert (done.returncode, done.stdout) == (0, "done\n")
    assert done.stderr.count("\n") <= 1
    assert not done.stderr or done.stderr.startswith(NO_ROOM)
    assert len(counts(place.profile())) == 100


NO_SHM = """
mount -t tmpfs tmpfs /mnt
for device in "null 1 3" "zero 1 5" "random 1 8" "urandom 1 9"; do
  set -- $device; mknod -m 666 /mnt/$1 c $2 $3
done
mount --bind /mnt /dev
test ! -e /dev/shm
"""


def test_without_dev_shm_memory_files_are_temporary_files(place):
    place.environment["TMPDIR"] = str(place.memory)
    done = within(
        place, NO_SHM, WORK + "work(0, 5)\nprint('done')\nprint(os.listdir('memory'), file=sys.stderr)"
    )
    assert (done.returncode, done.stdout) == (0, "done\n")
    assert "ticktree-" in done.stderr
    assert len(counts(place.profile())) == 10
    assert list(place.memory.glob("*/*")) == []


def test_with_a_read_only_dev_shm_memory_files_are_temporary_files(place):
    place.environment["TMPDIR"] = str(place.memory)
    done = within(place, "mount -t tmpfs -o ro tmpfs /dev/shm", WORK + "work(0, 5)\nprint('done')")
    assert (done.returncode, done.stdout, done.stderr) == (0, "done\n", "")
    assert len(counts(place.profile())) == 10


READ_ONLY = "mount --bind {0} {0}\nmount -o remount,ro,bind {0}\ncd {0}"


def test_in_a_read_only_directory_the_program_continues_with_one_message(place):
    program = (
        WORK
        + "ticktree.enable(quiet=True)\nwork(0, 5)\nprint(ticktree.snapshot().root.at('section 3').count)\nsys.exit(4)"
    )
    done = within(place, READ_ONLY.format(shlex.quote(str(place.path))), program, supervised=False)
    assert (done.returncode, done.stdout) == (4, "1\n")
    assert done.stderr.count("\n") == 1
    assert "Read-only file system; recording in private memory, nothing will be saved" in done.stderr


def test_ticktree_run_in_a_read_only_directory_says_so_before_the_program_starts(place):
    prepare = READ_ONLY.format(shlex.quote(str(place.path)))
    done = within(place, prepare, WORK + "print('never')")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1
    assert "cannot keep a run in ticktree-runs: Read-only file system" in done.stderr


def test_a_run_may_be_saved_elsewhere(place, tmp_path):
    elsewhere = tmp_path / "memory" / "runs"
    program = place.write(WORK + "work(0, 5)\nprint('done')")
    command = [sys.executable, "-m", "ticktree", "run", "--quiet", "--out", elsewhere, program]
    folder = tmp_path / "read-only"
    folder.mkdir()
    prepare = READ_ONLY.format(shlex.quote(str(folder)))
    script = f"{prepare}\nexec {shlex.join(map(str, command))}"
    done = place.run(["unshare", "-m", "sh", "-ec", script])
    assert (done.returncode, done.stdout, done.stderr) == (0, "done\n", "")
    assert list(elsewhere.glob("*/profile.json"))
