"""What is missing, in words: what was not recorded, and what a timeline was too short for."""

from __future__ import annotations

from ticktree.outputs.view.headline import losses
from ticktree.profile import Profile
from ticktree.profile.timeline import BEFORE_THE_TIMELINE

OVERWRITTEN = Profile(losses={BEFORE_THE_TIMELINE: 734_567}, timeline_calls=1_234_567)


def test_calls_that_a_timeline_overwrote_are_recorded_and_distinguished_from_losses():
    kept = "timeline: kept the last 500,000 of 1,234,567 calls"
    assert losses(OVERWRITTEN) == [kept]
    assert losses(OVERWRITTEN + Profile(losses={"unwound": 3})) == ["Not recorded: 3 unwound", kept]


def test_timelines_of_two_runs_are_summed():
    assert losses(OVERWRITTEN + OVERWRITTEN) == ["timeline: kept the last 1,000,000 of 2,469,134 calls"]


def test_a_timeline_that_kept_all_is_not_mentioned():
    assert losses(Profile(timeline_calls=5)) == []
