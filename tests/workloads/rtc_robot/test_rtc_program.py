from __future__ import annotations

import os
import subprocess
import sys

import pytest
from rtc_robot.evaluation import ROWS

from support.workloads import WORKLOADS
from ticktree.profile import Profile

RECORDED = """
import sys
import ticktree
from rtc_robot.{program} import main
main(sys.argv[1:])
print("PROFILE", ticktree.snapshot().to_json().replace(chr(10), " "))
"""
SMALL = ["--duration", "3", "--camera_width", "64", "--camera_height", "48"]
FEW = ["--num_iterations", "4", "--warmup", "1"]


def _run(arguments, **environment):
    path = os.pathsep.join([str(WORKLOADS / "rtc_robot"), *filter(None, [os.environ.get("PYTHONPATH")])])
    environment = {**os.environ, "PYTHONPATH": path, **environment}
    return subprocess.run(
        [sys.executable, *arguments], env=environment, capture_output=True, text=True, timeout=500
    )


def _profile(program, *arguments):
    ended = _run(["-c", RECORDED.format(program=program), *arguments])
    assert ended.returncode == 0, ended.stderr
    told, _, profile = ended.stdout.partition("PROFILE ")
    profile = Profile.from_json(profile)
    profile.check()
    return told, profile


def _calls(profile, name):
    return sum(node.count for _, _, node in profile.root.walk() if node.name == name)


def test_a_robot_with_chunking_has_every_row_of_the_guide_and_tells_its_deadlines():
    told, profile = _profile("evaluation", *SMALL)
    for name in ROWS:
        assert _calls(profile, name) > 0, name
        assert name in told
    control = profile.loops["control"]
    assert control.ticks == 90
    assert control.hz == {30.0}
    depth = profile.gauges["ActionQueue depth"]
    assert depth.count == 90
    assert _calls(profile, "sensor to action") == _calls(profile, "robot.send_action") > 0
    for line in ("starved ticks", "queue depth", "chunk latency", "delay, actions", "age when acted on"):
        assert line in told
    assert _calls(profile, "physics") > 0
    # The only deadline: findings about chunks rest on knowing which loop executes them.
    assert [path for path, loop in profile.loops.items() if loop.hz] == ["control"]


def test_without_chunking_nothing_is_guided_and_the_queue_runs_dry_before_it_is_filled():
    told, profile = _profile("evaluation", "--rtc.enabled=false", *SMALL)
    assert _calls(profile, "rtc.guidance_computation") == 0
    assert _calls(profile, "get_actions.policy_inference") > 1
    assert profile.gauges["ActionQueue depth"].zeros > 0
    assert "rtc.guidance_computation" not in told


def test_the_comparison_sets_both_ways_side_by_side_and_answers_the_checklist():
    told, profile = _profile("comparison", "--enable_detailed_profiling", *FEW)
    for way, guided in (("without RTC", 0), ("with RTC", 4)):
        inference = profile.root.at(f"iteration/{way}/get_actions.policy_inference")
        assert inference.steady.count == 4
        steps = [node for _, _, node in inference.walk() if node.name == "rtc.guidance_computation"]
        assert sum(node.steady.count for node in steps) == 10 * guided
    assert "verdict" in told
    assert told.count("chunks a second") == 2
    assert sum(line.startswith(("[x]", "[ ]", "[?]")) for line in told.splitlines()) == 6
    for method in ("VLAFlowMatching.denoise_step", "SmolVLMWithExpertModel.embed_image"):
        assert told.count(method) == 2


@pytest.mark.parametrize("script", ["eval_with_robot.py", "compare_rtc.py"])
def test_with_ticktree_off_the_program_runs_and_has_nothing_to_tell(script):
    small = SMALL if script == "eval_with_robot.py" else FEW
    ended = _run([str(WORKLOADS / "rtc_robot" / script), *small], TICKTREE_OFF="1")
    assert ended.returncode == 0, ended.stderr
    assert "get_actions.policy_inference" not in ended.stdout


def test_what_goes_wrong_in_the_inference_thread_ends_the_program():
    breaking = RECORDED.replace("main(sys", "import rtc_robot.control as c; c.predict = None; main(sys")
    ended = _run(["-c", breaking.format(program="evaluation"), *SMALL])
    assert ended.returncode == 1
    assert "inference failed" in ended.stderr
    assert "TypeError" in ended.stderr
