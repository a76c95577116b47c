"""Whether results are the same: numbers that a program prints, and its gauges; neither durations nor their width."""

from __future__ import annotations

import pytest

from ticktree.analysis.experiments.results import ProgramOutput, Results, compare_results


def test_numbers_that_differ_between_base_runs_are_not_results() -> None:
    base = [ProgramOutput("loss 0.5 took 1.2 s", {}), ProgramOutput("loss 0.5 took 1.9 s", {})]
    assert compare_results(base, [ProgramOutput("loss 0.5 took 0.7 s", {})]) == Results("unchanged", 1)


@pytest.mark.parametrize(
    ("text", "state"),
    [
        ("loss 0.5", "unchanged"),
        ("loss 0.5004", "within tolerance"),
        ("loss 0.51", "changed"),
        ("loss nan", "changed"),
    ],
)
def test_a_result_may_differ_from_the_base_by_the_tolerance(text: str, state: str) -> None:
    base = [ProgramOutput("loss 0.5", {})] * 2
    assert (
        compare_results(base, [ProgramOutput("loss 0.5", {}), ProgramOutput(text, {})], tolerance=1e-3).state
        == state
    )


def test_the_reason_shows_where_a_result_changed() -> None:
    base = [ProgramOutput("start\nloss 2.5 0.5\n", {"reward": 7.0})] * 2
    of_text = compare_results(base, [ProgramOutput("start\nloss 2.5 0.9\n", {"reward": 7.0})])
    assert of_text == Results("changed", 3, "line 2 of its output: 0.5 became 0.9")
    of_gauge = compare_results(base, [ProgramOutput("start\nloss 2.5 0.5\n", {"reward": 8.0})])
    assert of_gauge.reason == "gauge reward: 7 became 8"


def test_programs_without_numbers_in_their_output_cannot_be_compared() -> None:
    assert (
        "set its seed"
        in compare_results(
            [ProgramOutput("a 1", {}), ProgramOutput("a 2", {})], [ProgramOutput("a 1", {})]
        ).reason
    )
    unlike = compare_results([ProgramOutput("a 1", {}), ProgramOutput("b 1", {})], [ProgramOutput("a 1", {})])
    assert (unlike.state, unlike.numbers) == ("not comparable", 0)
    longer = compare_results(
        [ProgramOutput("a 1", {}), ProgramOutput("a 1\na 2", {})], [ProgramOutput("a 1", {})]
    )
    assert (longer.state, "more lines" in longer.reason) == ("not comparable", True)
    assert compare_results([ProgramOutput("a 1", {})] * 2, [ProgramOutput("b 1", {})]).state == "changed"


# As stable-baselines3 logs: the table is as wide as its widest number.
TABLE = """
{rule}
| rollout/           | {pad}|
|    ep_rew_mean     | 22   {pad}|
| time/              | {pad}|
|    fps             | {fps} {pad}|
|    time_elapsed    | {seconds}    {pad}|
|    total_timesteps | 1024 {pad}|
{rule}
"""


def table(fps: int, seconds: int, more: int = 0) -> ProgramOutput:
    return ProgramOutput(TABLE.format(fps=fps, seconds=seconds, pad=" " * more, rule="-" * (30 + more)), {})


def test_a_table_that_is_wider_because_the_run_was_faster_has_the_same_results() -> None:
    base = [table(862, 1), table(1_240, 1, more=1)]
    assert compare_results(base, [table(2_300, 0, more=1)]) == Results("unchanged", 2)
    other = ProgramOutput(table(2_300, 0).text.replace("22", "23"), {})
    assert compare_results(base, [other]).reason == "line 4 of its output: 22 became 23"


@pytest.mark.parametrize(
    "line",
    ["took {} s", "time: {}", "{:.1f}s", "{} steps/s", "elapsed={}", "fps {}", "{} minutes", "{} ms/step"],
)
def test_whole_durations_and_rates_are_no_results_even_where_base_runs_agree(line: str) -> None:
    base = [ProgramOutput(f"loss 0.5 {line.format(3)}", {})] * 2
    assert compare_results(base, [ProgramOutput(f"loss 0.5 {line.format(2)}", {})]) == Results("unchanged", 1)


def test_a_number_next_to_a_duration_is_a_result() -> None:
    base = [ProgramOutput("epoch 3 time 2.5s loss 0.5, 7 done", {})] * 2
    changed = compare_results(base, [ProgramOutput("epoch 3 time 1.5s loss 0.6, 7 done", {})])
    assert changed == Results("changed", 3, "line 1 of its output: 0.5 became 0.6")


def test_lines_that_differ_without_a_remedy_do_not_count() -> None:
    base = [
        ProgramOutput("worker a is ready\nloss 0.5", {}),
        ProgramOutput("worker b is ready\nloss 0.5", {}),
    ]
    assert compare_results(base, [ProgramOutput("worker c is ready\nloss 0.5", {})]) == Results(
        "unchanged", 1
    )
    worse = compare_results(base, [ProgramOutput("worker c is ready\ndiverged 0.5", {})])
    assert worse == Results("changed", 1, "line 2 of its output has other words")
    shorter = compare_results(base, [ProgramOutput("loss 0.5", {})])
    assert shorter == Results("changed", 1, "lines of its output: 2 became 1")
