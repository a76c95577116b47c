"""Reading a file that another user may have created."""

from __future__ import annotations

import gzip
import os
import pickle
import tracemalloc
import zlib

import pytest

from ticktree.files.guarded import FileError, MissingFileError, decoding, decompress, parse_json, read_bytes


def test_a_regular_file_is_read_completely(tmp_path):
    (tmp_path / "a").write_bytes(b"x" * 100)
    assert read_bytes(tmp_path / "a", 100) == b"x" * 100
    (tmp_path / "empty").touch()
    assert read_bytes(tmp_path / "empty", 100) == b""


def test_a_file_that_is_not_regular_is_refused_at_once(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("/dev/zero")
    for path in (tmp_path / "pipe", tmp_path / "link", tmp_path):
        with pytest.raises(FileError, match="it is not a regular file"):
            read_bytes(path, 100)


def test_a_link_is_followed_only_on_request(tmp_path):
    (tmp_path / "a").write_text("x")
    (tmp_path / "link").symlink_to("a")
    assert read_bytes(tmp_path / "link", 100) == b"x"
    with pytest.raises(FileError):
        read_bytes(tmp_path / "link", 100, follow=False)


def test_a_file_is_found_from_a_directory(tmp_path):
    (tmp_path / "a").write_text("x")
    fd = os.open(tmp_path, os.O_RDONLY)
    try:
        assert read_bytes((tmp_path / "a").relative_to(tmp_path), 100, dir_fd=fd) == b"x"
    finally:
        os.close(fd)


def test_a_file_that_is_too_large_is_not_read(tmp_path):
    with (tmp_path / "a").open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(FileError, match="it is larger than 1 MiB"):
        read_bytes(tmp_path / "a", 1 << 20)


@pytest.mark.parametrize("name", ["missing", "a/b", "x\0y", "\ud800"])
def test_a_missing_file_raises_one_error(tmp_path, name):
    (tmp_path / "a").touch()
    with pytest.raises(FileError) as raised:
        read_bytes(tmp_path / name, 100)
    assert isinstance(raised.value, MissingFileError) == (name in ("missing", "a/b"))
    assert "\n" not in str(raised.value)


def test_an_error_names_the_file_and_the_reason_wherever_it_is_sent():
    error = pickle.loads(pickle.dumps(FileError("a.json", "it is damaged")))
    assert (str(error), error.path, error.reason) == ("a.json: it is damaged", "a.json", "it is damaged")


@pytest.mark.parametrize("pack", [gzip.compress, zlib.compress])
def test_compressed_data_is_unpacked_up_to_a_limit(pack):
    assert decompress(pack(b"abc"), 3) == b"abc"
    with pytest.raises(ValueError, match="more than 2 bytes"):
        decompress(pack(b"abc"), 2)


def test_several_gzip_streams_are_one_file():
    assert decompress(gzip.compress(b"a") + gzip.compress(b"b") + b"\0\0") == b"ab"


@pytest.mark.parametrize("truncated", [3, 15, -1, -9])
def test_a_compressed_file_cut_short_is_refused(truncated):
    with pytest.raises(ValueError, match="damaged or cut short"):
        decompress(gzip.compress(os.urandom(1000))[:truncated])


def test_a_decompression_bomb_takes_no_more_memory_than_the_limit():
    bomb = gzip.compress(bytes(1 << 26))
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match="more than 4 MiB"):
            decompress(bomb, 1 << 22)
        assert tracemalloc.get_traced_memory()[1] < 1 << 24
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    "text", ["1e400", "-1e400", "NaN", "Infinity", "9" * 5000, "[" * 100_000, "{", b"\xff", ""]
)
def test_json_that_ticktree_did_not_write_raises_one_error(text):
    with pytest.raises(ValueError):
        parse_json(text)


@pytest.mark.parametrize(
    "error", [OverflowError(), KeyError("x"), RecursionError(), zlib.error("bad"), MemoryError()]
)
def test_every_failure_to_decode_a_file_becomes_its_error(error):
    with pytest.raises(FileError, match=r"^a\.npz: it [^\n]+$"), decoding("a.npz"):
        raise error
