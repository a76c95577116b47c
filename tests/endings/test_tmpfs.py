"""tmpfs full, filling up, small, or missing; a read-only working directory.

Each test has its own mount namespace, where a real tmpfs of some size replaces /dev/shm.
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


def run_with_mounts(sandbox, mount_commands, program, supervised=True):
    """Run a program after some mount commands; memory files are in the default directory."""
    del sandbox.environment["TICKTREE_MEMORY_DIR"]
    command = shlex.join(sandbox.command(program, supervised=supervised))
    return sandbox.run(["unshare", "-m", "sh", "-ec", f"{mount_commands}\nexec {command}"])


def shm(size):
    return f"mount -t tmpfs -o size={size},mode=1777 tmpfs /dev/shm"


FILL = "dd if=/dev/zero of=/dev/shm/full bs=4k count=1000000 2>/dev/null || true"


def test_a_tmpfs_full_at_the_start_is_reported_once_and_the_run_saved_at_the_end(sandbox):
    result = run_with_mounts(
        sandbox, f"{shm('8m')}\n{FILL}", WORK + "work(0, 50)\nprint('done')\nsys.exit(3)"
    )
    assert (result.returncode, result.stdout) == (3, "done\n")
    assert result.stderr.startswith(NO_ROOM)
    assert result.stderr.count("\n") == 1
    call_counts = counts(sandbox.profile())
    assert all(
        call_counts[f"section {number}"] == call_counts[f"section {number}/inner"] == 1
        for number in range(50)
    )


def test_without_a_supervisor_a_full_tmpfs_is_reported_once_and_the_run_saved(sandbox):
    program = WORK + "ticktree.enable(quiet=True)\nwork(0, 50)\nprint('done')"
    result = run_with_mounts(sandbox, f"{shm('8m')}\n{FILL}", program, supervised=False)
    assert (result.returncode, result.stdout) == (0, "done\n")
    assert result.stderr.startswith(NO_ROOM)
    assert result.stderr.count("\n") == 1
    assert len(counts(sandbox.profile())) == 100


def test_a_tmpfs_that_fills_up_later_loses_new_records_and_counts_them(sandbox):
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
    result = run_with_mounts(sandbox, shm("32m"), program)
    assert (result.returncode, result.stdout, result.stderr) == (0, "done\n", "")
    profile = sandbox.profile(losses=frozenset({"records_without_memory"}))
    call_counts = counts(profile)
    # A call whose histogram could not grow is not counted, but as a loss.
    assert all(1 <= call_counts[f"section {number}"] <= 4 for number in range(10))
    top = [path for path in call_counts if "/" not in path]
    assert len(top) < 1400
    # Two sections a number: what was entered is either counted or lost, and nothing is both.
    assert sum(call_counts.values()) + profile.losses["records_without_memory"] >= 2 * (10 + 3000 + 401)
    assert "section 5399" in call_counts, "where there is room again, what is new is recorded again"


def test_samples_that_do_not_fit_are_reported_in_one_line(sandbox):
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
    result = run_with_mounts(sandbox, shm("8m"), program)
    assert (result.returncode, result.stdout) == (0, "done\n")
    assert result.stderr == "ticktree: samples of the program are missing: No space left on device\n"


def test_data_loaders_have_enough_memory_in_a_container_of_64_megabytes(sandbox):
    """All processes together use a quarter of the free memory; each uses little."""
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
    result = run_with_mounts(sandbox, shm("64m"), program)
    assert (result.returncode, result.stdout, result.stderr) == (0, "used True\nloaded\n", "")
    call_counts = counts(sandbox.profile())
    assert all(call_counts[f"start/section {number}/inner"] == 60 for number in range(10))


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
    """Return the data of a page, which is compressed if it is long."""
    (data,) = re.findall(r'id="ticktree-data"[^>]*>([^<]*)<', page)
    return data if data.startswith("{") else gzip.decompress(base64.b64decode(data)).decode()


@pytest.mark.parametrize(
    ("supervised", "spawn"),
    [
        pytest.param(False, False, id="enable-forked"),
        pytest.param(False, True, id="enable-spawned", marks=pytest.mark.slow),
        pytest.param(True, False, id="run-forked", marks=pytest.mark.slow),
        pytest.param(True, True, id="run-spawned", marks=pytest.mark.slow),
    ],
)
def test_children_whose_files_do_not_fit_are_counted_and_reported_once(sandbox, supervised, spawn):
    program = CHILDREN.format(enable=not supervised, spawn=spawn)
    result = run_with_mounts(sandbox, shm("2m" if spawn else "3m"), program, supervised=supervised)
    assert (result.returncode, result.stdout) == (0, "done\n")
    profile = sandbox.profile(losses=frozenset({"processes_without_room"}))
    lost_processes = profile.losses["processes_without_room"]
    assert lost_processes + counts(profile)["child"] == (30 if spawn else 200)
    assert (
        result.stderr
        == f"ticktree: {lost_processes} processes found no room in /dev/shm and are not recorded\n"
    )
    for form in ("json", "terminal", "markdown", "text", "html"):
        report = sandbox.run([sys.executable, "-m", "ticktree", "report", "--format", form])
        text = report.stdout if form != "html" else data_of(report.stdout)
        assert "processes_without_room" in text or "processes without room" in text
    run = RunDirectory.newest(sandbox.path / "ticktree-runs")
    assert {path.name for path in run.path.iterdir()} == {"run.json", "profile.json"}


@pytest.mark.parametrize("names", [2, 3, 4, 5])
@pytest.mark.parametrize("supervised", [True, False], ids=["run", "enable"])
def test_without_a_free_inode_everything_is_saved_at_the_end(sandbox, supervised, names):
    """A tmpfs has a limited number of inodes, and may have none left while it has free memory."""
    program = WORK + ("" if supervised else "ticktree.enable(quiet=True)\n") + "work(0, 50)\nprint('done')"
    options = f"size=8m,nr_inodes={names},mode=1777"
    mount_commands = f"mount -t tmpfs -o {options} tmpfs /dev/shm\nexport TMPDIR={sandbox.memory}"
    result = run_with_mounts(sandbox, mount_commands, program, supervised=supervised)
    assert (result.returncode, result.stdout) == (0, "done\n")
    assert result.stderr.count("\n") <= 1
    assert not result.stderr or result.stderr.startswith(NO_ROOM)
    assert len(counts(sandbox.profile())) == 100


NO_SHM = """
mount -t tmpfs tmpfs /mnt
for device in "null 1 3" "zero 1 5" "random 1 8" "urandom 1 9"; do
  set -- $device; mknod -m 666 /mnt/$1 c $2 $3
done
mount --bind /mnt /dev
test ! -e /dev/shm
"""


def test_without_dev_shm_memory_files_are_temporary_files(sandbox):
    sandbox.environment["TMPDIR"] = str(sandbox.memory)
    result = run_with_mounts(
        sandbox, NO_SHM, WORK + "work(0, 5)\nprint('done')\nprint(os.listdir('memory'), file=sys.stderr)"
    )
    assert (result.returncode, result.stdout) == (0, "done\n")
    assert "ticktree-" in result.stderr
    assert len(counts(sandbox.profile())) == 10
    assert list(sandbox.memory.glob("*/*")) == []


def test_with_a_read_only_dev_shm_memory_files_are_temporary_files(sandbox):
    sandbox.environment["TMPDIR"] = str(sandbox.memory)
    result = run_with_mounts(
        sandbox, "mount -t tmpfs -o ro tmpfs /dev/shm", WORK + "work(0, 5)\nprint('done')"
    )
    assert (result.returncode, result.stdout, result.stderr) == (0, "done\n", "")
    assert len(counts(sandbox.profile())) == 10


READ_ONLY = "mount --bind {0} {0}\nmount -o remount,ro,bind {0}\ncd {0}"


def test_in_a_read_only_directory_the_program_continues_with_one_message(sandbox):
    program = (
        WORK
        + "ticktree.enable(quiet=True)\nwork(0, 5)\nprint(ticktree.snapshot().root.at('section 3').count)\nsys.exit(4)"
    )
    result = run_with_mounts(
        sandbox, READ_ONLY.format(shlex.quote(str(sandbox.path))), program, supervised=False
    )
    assert (result.returncode, result.stdout) == (4, "1\n")
    assert result.stderr.count("\n") == 1
    assert "Read-only file system; recording in private memory, nothing will be saved" in result.stderr


def test_ticktree_run_in_a_read_only_directory_says_so_before_the_program_starts(sandbox):
    mount_commands = READ_ONLY.format(shlex.quote(str(sandbox.path)))
    result = run_with_mounts(sandbox, mount_commands, WORK + "print('never')")
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr.count("\n") == 1
    assert "cannot keep a run in ticktree-runs: Read-only file system" in result.stderr


def test_a_run_may_be_saved_elsewhere(sandbox, tmp_path):
    elsewhere = tmp_path / "memory" / "runs"
    program = sandbox.write(WORK + "work(0, 5)\nprint('done')")
    command = [sys.executable, "-m", "ticktree", "run", "--quiet", "--out", elsewhere, program]
    folder = tmp_path / "read-only"
    folder.mkdir()
    mount_commands = READ_ONLY.format(shlex.quote(str(folder)))
    script = f"{mount_commands}\nexec {shlex.join(map(str, command))}"
    result = sandbox.run(["unshare", "-m", "sh", "-ec", script])
    assert (result.returncode, result.stdout, result.stderr) == (0, "done\n", "")
    assert list(elsewhere.glob("*/profile.json"))
