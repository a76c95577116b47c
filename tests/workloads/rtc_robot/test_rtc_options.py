from __future__ import annotations

import subprocess
import sys

import pytest
from rtc_robot import comparison, evaluation

from support.workloads import WORKLOADS


def test_the_robots_options_have_the_names_that_the_guide_has():
    options = evaluation.parse_args(
        [
            "--policy.device=cpu",
            "--rtc.enabled=false",
            "--rtc.execution_horizon=30",
            "--duration=2",
            "--task=hold",
        ]
    )
    assert (options.device, options.rtc_enabled, options.execution_horizon) == ("cpu", False, 30)
    assert (options.duration, options.task, options.ticks) == (2.0, "hold", 60)


def test_the_comparisons_options_have_the_names_that_the_guide_has():
    switches = ["--enable_detailed_profiling", "--use_torch_compile"]
    options = comparison.parse_args(
        ["--device=cpu", "--num_iterations=100", "--warmup=7", "--execution_horizon=10", *switches]
    )
    assert (options.num_iterations, options.warmup, options.execution_horizon) == (100, 7, 10)
    assert options.enable_detailed_profiling
    assert options.use_torch_compile


def test_quick_gives_way_to_what_is_said():
    assert evaluation.parse_args(["--quick"]).duration == evaluation.QUICK_SECONDS
    assert evaluation.parse_args(["--quick", "--duration", "3"]).duration == 3.0
    quick = comparison.parse_args(["--quick", "--warmup", "9"])
    assert (quick.num_iterations, quick.warmup) == (comparison.QUICK_ITERATIONS, 9)


@pytest.mark.parametrize(
    ("parse", "arguments", "complaint"),
    [
        (evaluation.parse_args, ["--rtc.enabled", "maybe"], "neither true nor false"),
        (evaluation.parse_args, ["--fps", "0"], "not above 0"),
        (evaluation.parse_args, ["--duration", "long"], "invalid positive value"),
        (evaluation.parse_args, ["--rtc.execution_horizon", "51"], "not from 1 to 50"),
        (evaluation.parse_args, ["--action_queue_size_to_get_new_actions", "50"], "not from 0 to 49"),
        (evaluation.parse_args, ["--device", "toaster"], "no such device"),
        (comparison.parse_args, ["--num_iterations", "0"], "less than 1"),
        (comparison.parse_args, ["--execution_horizon", "51"], "not from 1 to 50"),
    ],
)
def test_what_makes_no_sense_is_refused_with_one_line(parse, arguments, complaint, capsys):
    with pytest.raises(SystemExit) as ended:
        parse(arguments)
    assert ended.value.code == 2
    assert complaint in capsys.readouterr().err


@pytest.mark.parametrize("script", ["eval_with_robot.py", "compare_rtc.py"])
def test_each_script_says_what_can_be_asked_of_it(script):
    ended = subprocess.run(
        [sys.executable, WORKLOADS / "rtc_robot" / script, "--help"],
        capture_output=True,
        text=True,
        timeout=500,
    )
    assert ended.returncode == 0, ended.stderr
    assert "ticktree run" in ended.stdout
