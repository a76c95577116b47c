"""A damaged memory file gives a clear error or a valid profile, and nothing else."""

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
    """Return the result of reading: `damaged`, or `read` if the profile passed every check."""
    errors = []
    try:
        images = [Image(bytes(data))]
    except DamagedError as error:
        return check_message(error)
    profile = read_images(images, "run", errors)
    profile.check()
    if errors:
        return check_message(errors[0])
    assert type(profile).from_json(profile.to_json()).root == profile.root
    return "read"


def check_message(error):
    line = str(error)
    assert line
    assert "\n" not in line
    assert len(line) < 500
    return "damaged"


def flip(image, offset, mask):
    copy = bytearray(image)
    copy[offset] ^= mask
    return copy


def test_a_complete_image_is_read(image):
    assert outcome(image) == "read"
    profile = profile_of(image)
    assert profile.root.at("main/loop").count == 6
    assert profile.losses == {"unmatched_leaves": 1}
    assert len(image) < 64 * 1024


def test_every_truncation_is_detected(image):
    for length in [*range(HEADER_BYTES + 64), *range(HEADER_BYTES, len(image), 13), len(image) - 1]:
        assert outcome(image[:length]) == "damaged", length


def test_bytes_after_the_end_are_ignored(image):
    assert outcome(image + b"\xff" * 1000) == "read"


@pytest.mark.slow
def test_every_byte_of_the_header_may_be_flipped(image):
    seed = random.Random(1)
    for offset in range(layout.Header.losses.offset + layout.Header.losses.size):
        outcome(flip(image, offset, 1 << seed.randrange(8)))
        if offset % 3 == 0:
            outcome(flip(image, offset, 0xFF))


def test_bytes_anywhere_may_be_flipped(image):
    seed = random.Random(2)
    for _ in range(part_of(800)):
        outcome(flip(image, seed.randrange(len(image)), seed.randrange(1, 256)))


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_every_byte_may_be_flipped(image):
    seed = random.Random(3)
    for offset in range(0, len(image), 1 if THOROUGH else 64):
        outcome(flip(image, offset, 0xFF))
        outcome(flip(image, offset, 1 << seed.randrange(8)))


def test_any_word_may_have_any_value(image):
    """A damaged byte mostly stays within bounds: extreme values of whole fields reach farther."""
    seed = random.Random(4)
    extremes = [0, 1, 2**16, 2**31 - 1, 2**31, 2**32 - 1, 2**63 - 1, 2**63, 2**64 - 1]
    for _ in range(part_of(500)):
        offset = seed.randrange(len(image) // 8) * 8
        outcome(changed(image, offset, seed.choice(extremes)))
        outcome(changed(image, offset, seed.choice(extremes) % 2**32, 4))


@pytest.mark.slow
def test_ranges_may_be_zeros_or_noise(image):
    seed = random.Random(5)
    for _ in range(300):
        copy = bytearray(image)
        begin = seed.randrange(len(copy))
        length = seed.choice([8, 64, 512, 4096])
        noise = seed.choice([bytes(length), b"\xff" * length, seed.randbytes(length)])
        copy[begin : begin + length] = noise[: len(copy) - begin]
        outcome(copy)


@pytest.mark.slow
def test_ranges_may_be_exchanged(image):
    seed = random.Random(6)
    lines = [image[at : at + 64] for at in range(0, len(image) - 63, 64)]
    for _ in range(300):
        exchanged = list(lines)
        first, second = seed.randrange(len(lines)), seed.randrange(len(lines))
        exchanged[first], exchanged[second] = exchanged[second], exchanged[first]
        outcome(b"".join(exchanged))


@pytest.mark.parametrize("kind", ["nodes", "frames", "trees", "loops", "gauges", "edges"])
def test_a_chain_that_leads_in_a_circle_is_detected(image, kind):
    view = Image(image)
    ref, record = getattr(view, kind)()[0]
    assert record.next == 0
    newest = getattr(view.header, kind)
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
def test_the_error_names_the_reason(image, field, value, why):
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


def test_a_missing_file_and_a_directory_are_one_clear_error(tmp_path):
    for path in (tmp_path / "missing.tt", tmp_path):
        with pytest.raises(DamagedError) as failure:
            Image.of_file(path)
        check_message(failure.value)
