"""Damaged memory files: an error that says so, or a profile that holds together; never anything else."""

from __future__ import annotations

import random

import pytest

from support.memory_images import busy_image, changed, place, profile_of
from support.thorough import THOROUGH, part_of
from ticktree.run.reading import layout
from ticktree.run.reading.image import DamagedError, Image
from ticktree.run.reading.reader import read_images

HEADER_BYTES = 1024


@pytest.fixture(scope="module")
def image():
    return busy_image()


def outcome(data):
    """What became of it: `damaged`, or `read` where the profile passed every check."""
    errors = []
    try:
        images = [Image(bytes(data))]
    except DamagedError as error:
        return told(error)
    profile = read_images(images, "run", errors)
    profile.check()
    if errors:
        return told(errors[0])
    assert type(profile).from_json(profile.to_json()).root == profile.root
    return "read"


def told(error):
    line = str(error)
    assert line
    assert "\n" not in line
    assert len(line) < 500
    return "damaged"


def flipped(image, offset, mask):
    copy = bytearray(image)
    copy[offset] ^= mask
    return copy


def test_a_whole_image_is_read(image):
    assert outcome(image) == "read"
    profile = profile_of(image)
    assert profile.root.at("main/loop").count == 6
    assert profile.losses == {"unmatched_leaves": 1}
    assert len(image) < 64 * 1024


def test_every_cut_is_noticed(image):
    for length in [*range(HEADER_BYTES + 64), *range(HEADER_BYTES, len(image), 13), len(image) - 1]:
        assert outcome(image[:length]) == "damaged", length


def test_bytes_behind_the_end_do_no_harm(image):
    assert outcome(image + b"\xff" * 1000) == "read"


@pytest.mark.slow
def test_every_byte_of_the_header_may_be_flipped(image):
    seed = random.Random(1)
    for offset in range(layout.Header.losses.offset + layout.Header.losses.size):
        outcome(flipped(image, offset, 1 << seed.randrange(8)))
        if offset % 3 == 0:
            outcome(flipped(image, offset, 0xFF))


def test_bytes_anywhere_may_be_flipped(image):
    seed = random.Random(2)
    for _ in range(part_of(800)):
        outcome(flipped(image, seed.randrange(len(image)), seed.randrange(1, 256)))


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_every_byte_may_be_flipped(image):
    seed = random.Random(3)
    for offset in range(0, len(image), 1 if THOROUGH else 64):
        outcome(flipped(image, offset, 0xFF))
        outcome(flipped(image, offset, 1 << seed.randrange(8)))


def test_whole_words_may_hold_anything(image):
    """Most damage to a byte lies within bounds: the extremes of whole fields reach farther."""
    seed = random.Random(4)
    extremes = [0, 1, 2**16, 2**31 - 1, 2**31, 2**32 - 1, 2**63 - 1, 2**63, 2**64 - 1]
    for _ in range(part_of(500)):
        offset = seed.randrange(len(image) // 8) * 8
        outcome(changed(image, offset, seed.choice(extremes)))
        outcome(changed(image, offset, seed.choice(extremes) % 2**32, 4))


@pytest.mark.slow
def test_stretches_may_be_zeroes_or_noise(image):
    seed = random.Random(5)
    for _ in range(300):
        copy = bytearray(image)
        begin = seed.randrange(len(copy))
        length = seed.choice([8, 64, 512, 4096])
        noise = seed.choice([bytes(length), b"\xff" * length, seed.randbytes(length)])
        copy[begin : begin + length] = noise[: len(copy) - begin]
        outcome(copy)


@pytest.mark.slow
def test_stretches_may_be_in_each_others_place(image):
    seed = random.Random(6)
    lines = [image[at : at + 64] for at in range(0, len(image) - 63, 64)]
    for _ in range(300):
        mixed = list(lines)
        left, right = seed.randrange(len(lines)), seed.randrange(len(lines))
        mixed[left], mixed[right] = mixed[right], mixed[left]
        outcome(b"".join(mixed))


@pytest.mark.parametrize("kind", ["nodes", "frames", "trees", "loops", "gauges", "edges"])
def test_a_chain_that_leads_in_a_circle_is_noticed(image, kind):
    whole = Image(image)
    ref, record = getattr(whole, kind)()[0]
    assert record.next == 0
    newest = getattr(whole.header, kind)
    for target in (ref, newest):
        circle = changed(image, place(type(record), "next", ref), target, 4)
        outcome(circle)
        with pytest.raises(DamagedError, match="circle"):
            getattr(Image(circle), kind)()


@pytest.mark.parametrize(
    ("field", "value", "why"),
    [
        ("magic", 0, "not one"),
        ("format", 5, "format is 5"),
        ("layout", 64, "not of this build"),
        ("used_bytes", 2**40, "cut short"),
        ("clock_kind", 9, "clock"),
        ("ns_per_tick", 0, "clock"),
    ],
)
def test_what_is_wrong_is_said(image, field, value, why):
    size = getattr(layout.Header, field).size
    with pytest.raises(DamagedError, match=why):
        Image(changed(image, place(layout.Header, field), value, size), "a.tt")


def test_the_error_names_the_file(tmp_path):
    path = tmp_path / "broken.tt"
    path.write_bytes(b"TICKTREE" + bytes(2000))
    with pytest.raises(DamagedError, match=r"broken\.tt"):
        Image.of_file(path)


@pytest.mark.parametrize("content", [b"", b"\0", b"TICKTREE", bytes(1024), b"not a memory file" * 100])
def test_other_files_are_not_memory_files(tmp_path, content):
    path = tmp_path / "other.tt"
    path.write_bytes(content)
    with pytest.raises(DamagedError):
        Image.of_file(path)


def test_a_missing_file_and_a_directory_are_one_clear_line(tmp_path):
    for path in (tmp_path / "missing.tt", tmp_path):
        with pytest.raises(DamagedError) as failure:
            Image.of_file(path)
        told(failure.value)
