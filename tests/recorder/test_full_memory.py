"""Without room on tmpfs the program continues; what could not be recorded is counted."""

from __future__ import annotations

import mmap
import os

import pytest

from support.memory_images import read_file
from ticktree.recorder import Recorder
from ticktree.run.reading.image import Image
from ticktree.run.reading.reader import read_images

CHUNK = max(32 * 1024, mmap.PAGESIZE)
LIMIT = 16 * CHUNK


def recorder_in(path, file_limit):
    recorder = Recorder(virtual_clock=True)
    recorder.open(path, file_limit=file_limit, node_cap=100_000)
    recorder.enable()
    return recorder


def fill(recorder, names=1000, rounds=3):
    for _ in range(rounds):
        with recorder.section("outer"):
            for number in range(names):
                with recorder.section(f"section {number}"):
                    recorder.advance(10)


def test_a_file_that_may_not_grow_keeps_what_it_has_and_counts_the_rest(tmp_path):
    path = tmp_path / "memory.tt"
    recorder = recorder_in(path, LIMIT)
    fill(recorder)
    assert path.stat().st_size == LIMIT
    profile = read_file(path)
    profile.check()
    outer = profile.root.at("outer")
    assert 10 < len(outer.children) < 1000
    # What had no memory stays in the parent's self time.
    assert outer.total_ns == 30_000
    assert outer.self_ns == 30_000 - sum(child.total_ns for child in outer.children.values())
    counted = sum(child.count for child in outer.children.values())
    assert counted + sum(profile.losses.values()) >= 3000
    assert profile.losses["records_without_memory"] >= 1000
    recorder.disable()


def test_existing_sections_are_still_recorded_once_the_file_is_full(tmp_path):
    path = tmp_path / "memory.tt"
    recorder = recorder_in(path, LIMIT)
    with recorder.section("known"):
        recorder.advance(10)
    fill(recorder)
    for _ in range(5):
        with recorder.section("known"):
            recorder.advance(10)
    known_node = read_file(path).root.at("known")
    assert (known_node.count, known_node.total_ns) == (6, 60)
    recorder.disable()


def test_loops_and_gauges_without_memory_are_counted(tmp_path):
    path = tmp_path / "memory.tt"
    recorder = recorder_in(path, LIMIT)
    fill(recorder)
    before = sum(read_file(path).losses.values())
    assert list(recorder.loop("new loop", range(3), hz=10)) == [0, 1, 2]
    recorder.gauge("new gauge", 1)
    recorder.record_duration("new record", 1e-9)
    recorder.tick("new tick")
    recorder.stage("new stage")
    assert sum(read_file(path).losses.values()) > before
    recorder.disable()
    read_file(path).check()


@pytest.mark.parametrize("limit", [0, CHUNK // 2, CHUNK - 1])
def test_where_not_even_the_first_chunk_can_be_had_memory_is_private(tmp_path, limit):
    path = tmp_path / "memory.tt"
    recorder = recorder_in(path, limit)
    with recorder.section("x"):
        recorder.advance(3)
    assert recorder.is_private
    assert not path.exists()
    profile = read_images([Image(recorder.image())], "test", [])
    assert profile.root.at("x").total_ns == 3
    recorder.disable()


def test_a_small_process_takes_little_memory_and_a_large_one_what_it_needs(tmp_path):
    """An environment's worker of ten sections, a trainer of 150; before any, the first chunk."""
    sizes = {}
    for names in (0, 10, 150):
        path = tmp_path / f"{names}.tt"
        recorder = recorder_in(path, 1 << 40)
        fill(recorder, names, rounds=2)
        recorder.disable()
        image = Image.of_file(path)
        assert image.header.used_bytes <= image.header.backed_bytes == path.stat().st_size
        sizes[names] = path.stat().st_size
    assert sizes[0] == CHUNK
    assert sizes[10] <= max(64 * 1024, CHUNK)
    assert sizes[150] <= 1024 * 1024


def test_a_file_grows_by_whole_chunks_as_far_as_it_may_and_no_further(tmp_path):
    for limit in (CHUNK, CHUNK + 1, 5 * CHUNK - 1, 37 * CHUNK):
        path = tmp_path / f"{limit}.tt"
        recorder = recorder_in(path, limit)
        fill(recorder, names=2000, rounds=1)
        recorder.disable()
        assert path.stat().st_size == limit // CHUNK * CHUNK
        read_file(path).check()


def test_a_full_tmpfs_never_kills_the_program(run_python, tmp_path):
    """A real limit: the file may not grow past what the process is allowed to write."""
    run_python(
        f"""
        import resource, signal
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        from ticktree.recorder import Recorder
        from ticktree.run.reading.image import Image
        from ticktree.run.reading.reader import read_images
        from pathlib import Path
        resource.setrlimit(resource.RLIMIT_FSIZE, (600_000, 600_000))
        path = Path({str(tmp_path / "memory.tt")!r})
        recorder = Recorder(virtual_clock=True)
        recorder.open(path, node_cap=100_000)
        recorder.enable()
        for number in range(3000):
            with recorder.section(f"section {{number}}"):
                recorder.advance(1)
        recorder.disable()
        profile = read_images([Image.of_file(path)], "test", errors := [])
        assert errors == []
        profile.check()
        assert 0 < len(profile.root.children) < 3000
        assert profile.root.total_ns == 3000
        assert path.stat().st_size <= 600_000
        """
    )


def test_a_file_that_exists_is_never_overwritten(tmp_path):
    path = tmp_path / "memory.tt"
    path.write_bytes(b"mine")
    with pytest.raises(OSError):
        recorder_in(path, 1 << 30)
    assert path.read_bytes() == b"mine"


def test_a_link_is_not_followed(tmp_path):
    target = tmp_path / "target"
    path = tmp_path / "memory.tt"
    path.symlink_to(target)
    with pytest.raises(OSError):
        recorder_in(path, 1 << 30)
    assert not target.exists()


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is unwritable to root")
def test_an_unwritable_directory_is_an_error_that_names_the_file(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(OSError, match=r"memory\.tt"):
        recorder_in(tmp_path / "memory.tt", 1 << 30)


def test_a_recorder_that_could_not_be_opened_may_be_opened_elsewhere(tmp_path):
    recorder = Recorder(virtual_clock=True)
    with pytest.raises(OSError):
        recorder.open(tmp_path / "missing" / "memory.tt")
    recorder.open(tmp_path / "memory.tt")
    recorder.enable()
    with recorder.section("x"):
        recorder.advance(1)
    assert read_file(tmp_path / "memory.tt").root.at("x").count == 1
    recorder.disable()
    assert (tmp_path / "memory.tt").stat().st_mode & 0o777 == 0o600
