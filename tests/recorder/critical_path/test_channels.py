"""The table that the processes of a run share: made once, private, survived by whoever is killed in the middle."""

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

# Of `tt_channels` and `tt_place`, in critical_path/channel.h.
FIRST_PLACE = 64 + 16 * 1024 + 8 * 512
PLACE_BYTES = 49 * 64
PLACES = 512
FILE_BYTES = FIRST_PLACE + PLACES * PLACE_BYTES


def recorder_in(folder, pid=77, **options):
    recorder = Recorder(virtual_clock=True)
    recorder.open(folder / f"{pid}-1.tt", identity=(pid, 1, "boot"), **options)
    recorder.enable()
    return recorder


@pytest.fixture
def pair(tmp_path):
    """Two recorders as two processes would have them, each with its own look at one table."""
    one, two = recorder_in(tmp_path, 77), recorder_in(tmp_path, 78)
    yield one, two
    one.disable()
    two.disable()


def meet(one, two, name="batch", key=None):
    """The second waits for the first for 10 ns."""
    with two.section("wait", wait=True):
        for recorder in (one, two):
            recorder.advance(10)
        with one.section("work"):
            one.wakes(name, key)
        two.woken_by(name, key)


def edges(recorder):
    return [(edge.by.process, edge.waits, edge.waited_ns) for edge in edges_of(Image(recorder.image()))]


def losses(recorder):
    image = Image(recorder.image())
    return image.header.losses[11]


def place_of(path, recorder, name, key=None):
    """The offset of the place that holds a channel's last signal."""
    wanted = Channel(recorder, name).hash(key)
    data = path.read_bytes()
    for offset in range(FIRST_PLACE, len(data), PLACE_BYTES):
        if struct.unpack_from("<Q", data, offset + 16)[0] == wanted:
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
    one, two = pair
    meet(one, two)
    assert edges(two) == [(ProcessKey(77, 1, 1), 1, 10)]
    critical = critical_path(Image(two.image()))
    assert sum(critical.values()) == 10
    assert {place.process.pid for place in critical} == {77}


def test_a_file_that_was_put_there_by_somebody_else_is_not_used(tmp_path):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_bytes(b"precious" * 1000)
    (tmp_path / "channels.ttc").symlink_to(elsewhere)
    one = recorder_in(tmp_path)
    meet(one, one)
    assert edges(one) == [(ProcessKey(77, 1, 1), 1, 20)]
    assert elsewhere.read_bytes() == b"precious" * 1000
    one.disable()


@pytest.mark.parametrize("content", [b"", b"\0" * FILE_BYTES, b"\xff" * 4096, b"\xff" * FILE_BYTES])
def test_a_file_that_is_no_table_is_not_used(tmp_path, content):
    (tmp_path / "channels.ttc").write_bytes(content)
    one = recorder_in(tmp_path)
    meet(one, one)
    assert edges(one) == [(ProcessKey(77, 1, 1), 1, 20)]
    assert (tmp_path / "channels.ttc").read_bytes() == content
    one.disable()


def test_where_there_is_no_room_signals_stay_in_the_process(tmp_path):
    one = recorder_in(tmp_path, file_limit=1024 * 1024)
    meet(one, one)
    assert edges(one) == [(ProcessKey(77, 1, 1), 1, 20)]
    assert not (tmp_path / "channels.ttc").exists()
    one.disable()


def test_in_a_folder_that_is_gone_signals_stay_in_the_process(tmp_path):
    folder = tmp_path / "gone"
    folder.mkdir()
    one = recorder_in(folder)
    (folder / "77-1.tt").unlink()
    folder.rmdir()
    meet(one, one)
    assert edges(one) == [(ProcessKey(77, 1, 1), 1, 20)]
    one.disable()


def test_a_place_held_by_a_process_that_died_is_taken_from_it(pair, tmp_path):
    one, two = pair
    meet(one, two)
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    at = place_of(tmp_path / "channels.ttc", one, "batch")
    write(tmp_path / "channels.ttc", at, struct.pack("<I", dead.pid))
    meet(one, two)
    assert losses(one) == losses(two) == 0
    assert edges(two) == [(ProcessKey(77, 1, 1), 2, 20)]


def test_a_place_held_by_a_living_process_is_given_up_in_bounded_time_and_counted(pair, tmp_path):
    one, two = pair
    meet(one, two)
    at = place_of(tmp_path / "channels.ttc", one, "batch")
    write(tmp_path / "channels.ttc", at, struct.pack("<I", os.getppid()))
    began = time.monotonic()
    meet(one, two)
    assert time.monotonic() - began < 20
    assert (losses(one), losses(two)) == (1, 1)
    assert edges(two) == [(ProcessKey(77, 1, 1), 1, 10)]


def test_a_place_held_for_too_long_is_taken(tmp_path):
    recorder = Recorder()
    recorder.open(tmp_path / "77-1.tt", identity=(77, 1, "boot"), run_began_ns=1)
    recorder.enable()
    recorder.wakes("batch")
    at = place_of(tmp_path / "channels.ttc", recorder, "batch")
    data = (tmp_path / "channels.ttc").read_bytes()
    write(
        tmp_path / "channels.ttc",
        at,
        struct.pack("<I", os.getppid()) + data[at + 4 : at + 8] + struct.pack("<Q", 1),
    )
    recorder.wakes("batch")
    assert losses(recorder) == 0
    recorder.disable()


@pytest.mark.parametrize("count", [0, 1, 96, 97, 2**32 - 1])
def test_of_a_place_that_was_torn_only_who_signalled_is_believed(pair, tmp_path, count):
    one, two = pair
    with two.section("wait", wait=True):
        for recorder in pair:
            recorder.advance(10)
        one.wakes("batch")
        at = place_of(tmp_path / "channels.ttc", one, "batch")
        write(tmp_path / "channels.ttc", at + 4, struct.pack("<I", count))
        write(tmp_path / "channels.ttc", at + 64, b"\xff" * 256)
        two.woken_by("batch")
    assert edges(two) == [(ProcessKey(77, 1, 1), 1, 10)]
    assert {place.process.pid for place in critical_path(Image(two.image()))} <= {78}


def test_any_bytes_in_the_table_do_no_harm(pair, tmp_path):
    import random

    one, two = pair
    meet(one, two)
    noise = random.Random(8)
    for _ in range(200):
        at = place_of(tmp_path / "channels.ttc", one, "batch")
        field = at + noise.choice([*range(24, 64, 8), *range(64, 512, 8)])
        write(tmp_path / "channels.ttc", field, noise.choice([b"\0" * 8, b"\xff" * 8, noise.randbytes(8)]))
        meet(one, two)
        assert sum(critical_path(Image(two.image())).values()) == two.ticks


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
    mine = Recorder()
    mine.open(tmp_path / "1-1.tt", identity=(os.getpid(), 2, "boot"), run_began_ns=1)
    mine.enable()
    context = multiprocessing.get_context("fork")
    for trial in range(trials):
        child = context.Process(target=killed, args=(tmp_path, f"begun {trial}"))
        child.start()
        while not (tmp_path / f"begun {trial}").exists():
            time.sleep(0.001)
        deadline = time.monotonic() + 0.002 + (trial % 10) * 0.001
        while time.monotonic() < deadline:
            mine.wakes("batch")
            mine.woken_by("batch")
        os.kill(child.pid, signal.SIGKILL)
        child.join()
        file = tmp_path / f"{child.pid}-1.tt"
        image = Image.of_file(file)
        critical_path(image)
        edges_of(image)
        file.unlink()
        # Whatever the killed one held is free again, at once.
        before = losses(mine)
        for _ in range(10):
            mine.wakes("batch")
        assert losses(mine) == before
    mine.disable()


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
    found = {
        names[place.process, place.node]: ns for place, ns in critical_path(Image(recorder.image())).items()
    }
    recorder.disable()
    assert found == {"before": 100, "child": 50, "wait": 10}
