"""Event files, as TensorBoard's own EventAccumulator reads them."""

from __future__ import annotations

import struct
import zlib

import pytest

from support.example_profiles import MS, control, node, training
from support.hostile_profiles import hostile, side_by_side, unknown_durations
from ticktree.outputs import EXPORTS
from ticktree.outputs.curves import crc32c, record
from ticktree.outputs.writing.visible import visible
from ticktree.profile import Node, Profile
from ticktree.profile.histogram import bucket_of


def render_events(profile):
    return EXPORTS["tensorboard"].render(profile)


def read(profile, folder):
    reason = "event files were not read by TensorBoard"
    accumulator = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator", reason=reason)
    path = folder / "events.out.tfevents.ticktree"
    path.write_bytes(render_events(profile))
    everything = dict.fromkeys(("scalars", "compressedHistograms", "histograms", "tensors"), 0)
    found = accumulator.EventAccumulator(str(path), size_guidance=everything)
    found.Reload()
    return found


@pytest.mark.parametrize("make", [training, control, side_by_side, hostile])
def test_every_window_of_every_section_is_read_back(make, tmp_path):
    profile = make()
    found = read(profile, tmp_path)
    below = {visible(path): one for path, _, one in profile.root.walk() if path and one.windows.counts}
    assert set(found.Tags()["scalars"]) == {
        f"{kind}/{path}" for path in below for kind in ("mean ms", "calls per s")
    }
    for path, one in below.items():
        width_ms = one.windows.width_ns // MS
        events = found.Scalars(f"mean ms/{path}")
        assert [event.step for event in events] == [(at + 1) * width_ms for at in sorted(one.windows.counts)]
        assert [event.wall_time for event in events] == [event.step / 1000 for event in events]
        for event in events:
            at = event.step // width_ms - 1
            assert event.value == pytest.approx(
                one.windows.totals[at] / one.windows.counts[at] / MS, rel=1e-6
            )
        calls = sum(event.value for event in found.Scalars(f"calls per s/{path}")) * width_ms / 1000
        assert calls == pytest.approx(one.count, rel=1e-5)


@pytest.mark.parametrize("make", [training, control, hostile])
def test_histograms_have_every_call_where_it_was(make, tmp_path):
    profile = make()
    found = read(profile, tmp_path)
    below = {visible(path): one.stats for path, _, one in profile.root.walk() if path and one.count}
    assert set(found.Tags()["histograms"]) == {f"ms per call/{path}" for path in below}
    for path, stats in below.items():
        (event,) = found.Histograms(f"ms per call/{path}")
        value = event.histogram_value
        assert (value.num, value.sum) == (stats.count, pytest.approx(stats.sum_ns / MS))
        assert (value.min, value.max) == (stats.min_ns / MS, stats.max_ns / MS)
        filled = {
            limit: count for limit, count in zip(value.bucket_limit, value.bucket, strict=True) if count
        }
        # Slightly below its limit is in the bucket.
        assert {bucket_of(limit * MS * 0.999): n for limit, n in filled.items()} == stats.histogram.buckets
        assert list(value.bucket_limit) == sorted(set(value.bucket_limit))


def test_buckets_without_calls_are_empty_in_the_histogram(tmp_path):
    one = Profile(root=Node(name="root", children={"x": node("x", [MS, 1000 * MS])}))
    value = read(one, tmp_path).Histograms("ms per call/x")[0].histogram_value
    assert list(value.bucket) == [0, 1, 0, 1]
    assert value.bucket_limit[2] == pytest.approx(1000, rel=0.03)


def test_the_command_and_the_losses_are_text(tmp_path):
    (event,) = read(side_by_side(), tmp_path).Tensors("ticktree")
    (said,) = event.tensor_proto.string_val
    assert b"Not recorded: 3 unwound" in said
    assert read(side_by_side(), tmp_path).summary_metadata["ticktree"].plugin_data.plugin_name == "text"


def test_unknown_values_are_absent(tmp_path):
    tags = read(unknown_durations(), tmp_path).Tags()
    assert tags["histograms"] == []
    assert read(Profile.empty(), tmp_path).Tags()["scalars"] == []


def test_the_checksum_is_the_one_of_the_standard():
    assert crc32c(b"123456789") == 0xE3069283  # the check value of its catalogue
    assert crc32c(b"") == 0
    assert crc32c(b"\x00" * 32) == 0x8A9136AA  # RFC 3720, B.4
    assert crc32c(b"123456789") != zlib.crc32(b"123456789")


def test_a_record_is_framed_by_its_length():
    framed = record(b"abc")
    assert struct.unpack("<Q", framed[:8]) == (3,)
    assert framed[12:15] == b"abc"
    assert len(framed) == 8 + 4 + 3 + 4
