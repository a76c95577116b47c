"""The table that the processes of a run share: created once, private, and intact after a process is killed in it."""

from __future__ import annotations

import multiprocessing
import os
import signal
import stat
import struct
import subprocess
import sys
import time

import pytest

from ticktree.recorder import Channel, Recorder
from ticktree.run.memory import ProcessKey
from ticktree.run.reading.image import Image
from ticktree.run.reading.signals import critical_path, edges_of

# Of `tt_channels` and `tt_channel_slot`, in critical_path/channel.h.
FIRST_SLOT = 64 + 16 * 1024 + 8 * 512
SLOT_BYTES = 49 * 64
SLOTS = 512
FILE_BYTES = FIRST_SLOT + SLOTS * SLOT_BYTES


def recorder_in(folder, pid=77, **options):
    recorder = Recorder(virtual_clock=True)
    recorder.open(folder / f"{pid}-1.tt", identity=(pid, 1, "boot"), **options)
    recorder.enable()
    return recorder


@pytest.fixture
def pair(tmp_path):
    """Two recorders as two processes would have them, each with its own look at one table."""
    waker, waiter = recorder_in(tmp_path, 77), recorder_in(tmp_path, 78)
    yield waker, waiter
    waker.disable()
    waiter.disable()


def meet(waker, waiter, name="batch", key=None):
    """The second waits for the first for 10 ns."""
    with waiter.section("wait", wait=True):
        for recorder in (waker, waiter):
            recorder.advance(10)
        with waker.section("work"):
            waker.wakes(name, key)
        waiter.woken_by(name, key)


def edges(recorder):
    return [(edge.waker.process, edge.waits, edge.waited_ns) for edge in edges_of(Image(recorder.image()))]


def losses(recorder):
    image = Image(recorder.image())
    return image.header.losses[11]


def slot_offset(path, recorder, name, key=None):
    """The offset of the place that holds a channel's last signal."""
    key_hash = Channel(recorder, name).hash(key)
    data = path.read_bytes()
    for offset in range(FIRST_SLOT, len(data), SLOT_BYTES):
        if struct.unpack_from("<Q", data, offset + 16)[0] == key_hash:
            return offset
    raise AssertionError("there is no such place")


def write(path, offset, data):
    with path.open("r+b") as file:
        file.seek(offset)
        file.write(data)


def test_the_file_is_made_at_the_first_signal_whole_and_private(tmp_path):
    recorder = recorder_in(tmp_path)
    assert not (tmp_path / "channels.ttc").exists()
    recorder.wakes("batch")
    status = (tmp_path / "channels.ttc").stat()
    assert stat.S_IMODE(status.st_mode) == 0o600
    assert status.st_size == FILE_BYTES
    assert status.st_blocks * 512 >= FILE_BYTES  # reserved: writing there cannot fail
    assert {path.name for path in tmp_path.iterdir()} == {"77-1.tt", "channels.ttc"}
    recorder.disable()


def test_a_signal_of_one_process_unblocks_another(pair):
    waker, waiter = pair
    meet(waker, waiter)
    assert edges(waiter) == [(ProcessKey(77, 1, 1), 1, 10)]
    critical = critical_path(Image(waiter.image()))
    assert sum(critical.values()) == 10
    assert {place.process.pid for place in critical} == {77}


def test_a_file_that_was_put_there_by_somebody_else_is_not_used(tmp_path):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_bytes(b"precious" * 1000)
    (tmp_path / "channels.ttc").symlink_to(elsewhere)
    waker = recorder_in(tmp_path)
    meet(waker, waker)
    assert edges(waker) == [(ProcessKey(77, 1, 1), 1, 20)]
    assert elsewhere.read_bytes() == b"precious" * 1000
    waker.disable()


@pytest.mark.parametrize("content", [b"", b"\0" * FILE_BYTES, b"\xff" * 4096, b"\xff" * FILE_BYTES])
def test_a_file_that_is_no_table_is_not_used(tmp_path, content):
    (tmp_path / "channels.ttc").write_bytes(content)
    waker = recorder_in(tmp_path)
    meet(waker, waker)
    assert edges(waker) == [(ProcessKey(77, 1, 1), 1, 20)]
    assert (tmp_path / "channels.ttc").read_bytes() == content
    waker.disable()


def test_where_there_is_no_room_signals_stay_in_the_process(tmp_path):
    waker = recorder_in(tmp_path, file_limit=1024 * 1024)
    meet(waker, waker)
    assert edges(waker) == [(ProcessKey(77, 1, 1), 1, 20)]
    assert not (tmp_path / "channels.ttc").exists()
    waker.disable()


def test_in_a_folder_that_is_gone_signals_stay_in_the_process(tmp_path):
    folder = tmp_path / "gone"
    folder.mkdir()
    waker = recorder_in(folder)
    (folder / "77-1.tt").unlink()
    folder.rmdir()
    meet(waker, waker)
    assert edges(waker) == [(ProcessKey(77, 1, 1), 1, 20)]
    waker.disable()


def test_a_place_held_by_a_process_that_died_is_taken_from_it(pair, tmp_path):
    waker, waiter = pair
    meet(waker, waiter)
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    slot_at = slot_offset(tmp_path / "channels.ttc", waker, "batch")
    write(tmp_path / "channels.ttc", slot_at, struct.pack("<I", dead.pid))
    meet(waker, waiter)
    assert losses(waker) == losses(waiter) == 0
    assert edges(waiter) == [(ProcessKey(77, 1, 1), 2, 20)]


def test_a_place_held_by_a_living_process_is_given_up_in_bounded_time_and_counted(pair, tmp_path):
    waker, waiter = pair
    meet(waker, waiter)
    slot_at = slot_offset(tmp_path / "channels.ttc", waker, "batch")
    write(tmp_path / "channels.ttc", slot_at, struct.pack("<I", os.getppid()))
    began = time.monotonic()
    meet(waker, waiter)
    assert time.monotonic() - began < 20
    assert (losses(waker), losses(waiter)) == (1, 1)
    assert edges(waiter) == [(ProcessKey(77, 1, 1), 1, 10)]


def test_a_place_held_for_too_long_is_taken(tmp_path):
    recorder = Recorder()
    recorder.open(tmp_path / "77-1.tt", identity=(77, 1, "boot"), run_began_ns=1)
    recorder.enable()
    recorder.wakes("batch")
    slot_at = slot_offset(tmp_path / "channels.ttc", recorder, "batch")
    data = (tmp_path / "channels.ttc").read_bytes()
    write(
        tmp_path / "channels.ttc",
        slot_at,
        struct.pack("<I", os.getppid()) + data[slot_at + 4 : slot_at + 8] + struct.pack("<Q", 1),
    )
    recorder.wakes("batch")
    assert losses(recorder) == 0
    recorder.disable()


@pytest.mark.parametrize("count", [0, 1, 96, 97, 2**32 - 1])
def test_of_a_place_that_was_torn_only_who_signalled_is_believed(pair, tmp_path, count):
    waker, waiter = pair
    with waiter.section("wait", wait=True):
        for recorder in pair:
            recorder.advance(10)
        waker.wakes("batch")
        slot_at = slot_offset(tmp_path / "channels.ttc", waker, "batch")
        write(tmp_path / "channels.ttc", slot_at + 4, struct.pack("<I", count))
        write(tmp_path / "channels.ttc", slot_at + 64, b"\xff" * 256)
        waiter.woken_by("batch")
    assert edges(waiter) == [(ProcessKey(77, 1, 1), 1, 10)]
    assert {place.process.pid for place in critical_path(Image(waiter.image()))} <= {78}


def test_any_bytes_in_the_table_do_no_harm(pair, tmp_path):
    import random

    waker, waiter = pair
    meet(waker, waiter)
    noise = random.Random(8)
    for _ in range(200):
        slot_at = slot_offset(tmp_path / "channels.ttc", waker, "batch")
        field = slot_at + noise.choice([*range(24, 64, 8), *range(64, 512, 8)])
        write(tmp_path / "channels.ttc", field, noise.choice([b"\0" * 8, b"\xff" * 8, noise.randbytes(8)]))
        meet(waker, waiter)
        assert sum(critical_path(Image(waiter.image())).values()) == waiter.ticks


def killed(folder, name):
    """Signals for ever, until it is killed."""
    recorder = Recorder()
    recorder.open(folder / f"{os.getpid()}-1.tt", identity=(os.getpid(), 1, "boot"), run_began_ns=1)
    recorder.enable()
    section, wait = recorder.section("work"), recorder.section("wait", wait=True)
    (folder / name).touch()
    while True:
        with section:
            recorder.wakes("batch")
        with wait:
            recorder.woken_by("batch")


@pytest.mark.parametrize("trials", [12, pytest.param(150, marks=pytest.mark.slow)])
def test_processes_killed_in_the_middle_of_signals_leave_a_table_that_others_go_on_with(tmp_path, trials):
    own_recorder = Recorder()
    own_recorder.open(tmp_path / "1-1.tt", identity=(os.getpid(), 2, "boot"), run_began_ns=1)
    own_recorder.enable()
    context = multiprocessing.get_context("fork")
    for trial in range(trials):
        child = context.Process(target=killed, args=(tmp_path, f"begun {trial}"))
        child.start()
        while not (tmp_path / f"begun {trial}").exists():
            time.sleep(0.001)
        deadline = time.monotonic() + 0.002 + (trial % 10) * 0.001
        while time.monotonic() < deadline:
            own_recorder.wakes("batch")
            own_recorder.woken_by("batch")
        os.kill(child.pid, signal.SIGKILL)
        child.join()
        file = tmp_path / f"{child.pid}-1.tt"
        image = Image.of_file(file)
        critical_path(image)
        edges_of(image)
        file.unlink()
        # Whatever the killed one held is free again, at once.
        before = losses(own_recorder)
        for _ in range(10):
            own_recorder.wakes("batch")
        assert losses(own_recorder) == before
    own_recorder.disable()


def test_a_forked_child_goes_on_from_its_parents_path(tmp_path):
    recorder = recorder_in(tmp_path)
    recorder.child_file = lambda: (tmp_path / "78-1.tt", 1 << 40, (78, 1, "boot", 1))
    with recorder.section("before"):
        recorder.advance(100)
        pid = os.fork()
        if not pid:
            with recorder.section("child"):
                recorder.advance(50)
                recorder.wakes("done")
            os._exit(0)
        assert os.waitpid(pid, 0)[1] == 0
        with recorder.section("wait", wait=True):
            recorder.advance(60)
            recorder.woken_by("done")
    images = [Image.of_file(tmp_path / name) for name in ("77-1.tt", "78-1.tt")]
    names = {
        (image.writer, ref): image.text(node.name)
        for image in images
        for ref, node in image.nodes()
        if node.name
    }
    shares = {
        names[place.process, place.node]: ns for place, ns in critical_path(Image(recorder.image())).items()
    }
    recorder.disable()
    assert shares == {"before": 100, "child": 50, "wait": 10}
