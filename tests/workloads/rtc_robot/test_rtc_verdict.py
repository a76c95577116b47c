from __future__ import annotations

import pytest
from rtc_robot.comparison import answers, judge, parse_args
from rtc_robot.evaluation import row, table

import ticktree
from ticktree.profile import Stats

MS = 1_000_000


def _spread(mean_ms, spread_ms, number):
    return Stats.of(round((mean_ms + spread_ms * (2 * i / (number - 1) - 1)) * MS) for i in range(number))


def test_what_takes_longer_beyond_its_noise_is_slower():
    verdict = judge(_spread(58, 3, 50), _spread(87, 3, 50))
    assert verdict.word == "slower"
    assert verdict.ratio == pytest.approx(1.5, rel=0.03)
    assert "slower with real-time chunking: 1." in str(verdict)


def test_what_takes_less_beyond_its_noise_is_faster():
    assert judge(_spread(87, 3, 50), _spread(58, 3, 50)).word == "faster"


def test_within_the_noise_nobody_can_tell():
    verdict = judge(_spread(58, 30, 10), _spread(63, 30, 10))
    assert verdict.word == "cannot tell"
    assert "more iterations" in str(verdict)


def test_of_one_iteration_nobody_can_tell():
    assert judge(Stats.of([MS]), Stats.of([5 * MS])).word == "cannot tell"


def test_of_nothing_there_is_no_verdict():
    assert judge(Stats(), Stats.of([MS])) is None


def _compared(merge_ms=0.1, warmup=2):
    recorder = ticktree.Recorder(virtual_clock=True)
    for number in recorder.loop("iteration", range(warmup + 10), warmup=warmup):
        for way, ms in (("without RTC", 58), ("with RTC", 87)):
            with recorder.section(way):
                with recorder.section("get_actions.policy_inference"):
                    recorder.advance((10 if number < warmup else 1) * ms * MS)
                with recorder.section("get_actions.action_queue_merge"):
                    recorder.advance(round(merge_ms * MS))
    return recorder.snapshot()


def _answers(profile, *arguments):
    inference = [
        profile.root.at(f"iteration/{way}/get_actions.policy_inference").steady
        for way in ("without RTC", "with RTC")
    ]
    return answers(profile, parse_args(list(arguments)), judge(*inference), ("without RTC", "with RTC"))


def test_the_checklist_is_answered_in_its_order():
    found = _answers(_compared(), "--num_iterations=10", "--warmup=2")
    assert [answer.is_well for answer in found] == [False, True, True, False, True, True]
    assert "1.5" in found[0].text
    assert found[2].text == "yes: 10 after 2; those took 870 ms, the others 87 ms"


def test_the_checklist_names_what_is_to_be_done():
    found = _answers(_compared(merge_ms=9), "--num_iterations=5", "--warmup=0", "--execution_horizon=4")
    assert [answer.is_well for answer in found] == [False, False, False, False, False, True]
    assert found[1].text.startswith("yes: 9.00 ms, 10.34%")
    assert "--use_torch_compile" in found[3].text


def test_a_row_adds_up_what_the_tree_keeps_apart():
    profile = _compared()
    both = row(profile, "get_actions.policy_inference", steady=True)
    assert (both.calls, both.mean, both.min, both.max) == (20, 72.5, 58.0, 87.0)
    guided = row(profile, "get_actions.policy_inference", "with RTC")
    assert (guided.calls, guided.max) == (12, 870.0)
    assert row(profile, "robot.get_observation") is None
    assert len(table(profile)) == 3  # the head, and what there is
