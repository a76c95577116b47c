"""The published breakdown's times, declared as a user would, and what ticktree says of them unasked."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
from visual_sac.networks import Encoder
from visual_sac.timing import CLAIMED_NODE, record_claimed_times
from visual_sac.train import parse_args

import ticktree
from support.findings import findings
from ticktree.profile import Profile

OBS_SHAPE = (4, 96, 96)


@pytest.fixture
def declared(monkeypatch: pytest.MonkeyPatch) -> Iterator[Profile]:
    recorder = ticktree.Recorder(virtual_clock=True)
    monkeypatch.setattr(ticktree, "section", recorder.section)
    monkeypatch.setattr(ticktree, "record_duration", recorder.record_duration)
    record_claimed_times(Encoder(4, 96), OBS_SHAPE)
    yield recorder.snapshot()
    recorder.disable()


def with_metadata(profile: Profile, **facts: str | float) -> Profile:
    metadata = {key.replace("__", "."): frozenset({value}) for key, value in facts.items()}
    return replace(profile, metadata={**profile.metadata, **metadata})


def test_the_claims_are_recorded_with_the_work_of_this_program_and_take_no_time_of_its_own(declared):
    declared.check()
    claims = declared.root.at(CLAIMED_NODE)
    assert claims.total_ns == declared.root.total_ns == 0
    assert set(claims.children) == {"sample", "conv1", "conv2", "conv3"}
    conv1 = claims.at("conv1")
    assert (conv1.total_ns, conv1.concurrent_ns) == (50_000, 50_000)
    assert (conv1.work.flops, conv1.work.items) == (256 * 2 * 4 * 8 * 8 * 32 * 23 * 23, 256)
    assert claims.at("sample").work.bytes == 2 * 256 * 4 * 96 * 96 * 4


@pytest.mark.parametrize(
    "facts",
    [
        {"ceiling__source": "measured", "ceiling__flops_per_s": 187e9, "ceiling__memcpy_bytes_per_s": 10e9},
        {"ceiling__source": "reckoned", "ceiling__flops_per_s": 1.25e12, "ceiling__low_precision_factor": 2},
    ],
    ids=["measured", "reckoned"],
)
def test_the_claimed_time_of_the_first_convolution_is_called_impossible_unasked(declared, facts):
    first, *rest = findings(with_metadata(declared, cores_usable=2, **facts))
    assert (first.rule, first.path) == ("impossible-rate", f"{CLAIMED_NODE}/conv1")
    assert first.message.startswith(
        "conv1 is faster than this machine can be: 2.22 GFLOP in 50.0 µs is 44.4 TFLOP/s"
    )
    assert first.message.endswith("the same holds for conv2, conv3")
    assert all(finding.rule != "impossible-rate" for finding in rest), "20 ms for the batch may be true"


def test_nothing_is_declared_unless_that_is_asked_for():
    assert not parse_args([]).declare_breakdown
    assert parse_args(["--declare-breakdown"]).declare_breakdown
