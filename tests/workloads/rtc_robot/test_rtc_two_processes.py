from __future__ import annotations

import os
import subprocess
import sys

import pytest
from rtc_robot.remote import parse_client_args, parse_server_args

from support.workloads import WORKLOADS
from ticktree.profile import Profile

SMALL = ["--start_server", "--duration", "5", "--camera_width", "64", "--camera_height", "48"]
RECORDED = """
import sys
import ticktree
from rtc_robot.remote import drive as main
main(sys.argv[1:])
print("PROFILE", ticktree.snapshot().to_json().replace(chr(10), " "))
"""


@pytest.mark.slow  # two processes that each import lerobot
def test_two_processes_have_the_remote_split_of_each_chunk(tmp_path):
    path = os.pathsep.join([str(WORKLOADS / "rtc_robot"), *filter(None, [os.environ.get("PYTHONPATH")])])
    ended = subprocess.run(
        [sys.executable, "-c", RECORDED, *SMALL],
        env={**os.environ, "PYTHONPATH": path},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=500,
    )
    assert ended.returncode == 0, ended.stderr
    told, _, text = ended.stdout.partition("PROFILE ")
    profile = Profile.from_json(text)
    profile.check()
    calls = {path: node for path, _, node in profile.root.walk() if node.name.endswith("/GetActions")}
    assert calls
    remote = {node.name for call in calls.values() for _, _, node in call.walk() if node.clock == "remote"}
    assert {"server", "get_actions", "get_actions.policy_inference", "get_actions.preprocessing"} <= remote
    control = profile.loops["control"]
    assert control.ticks == 150
    assert profile.gauges["action queue depth"].count == 150
    ages = [node for path, _, node in profile.root.walk() if path == "control/sensor to action"]
    assert ages[0].count > 0
    for row in ("robot.send_action", "get_actions.policy_inference", "network"):
        assert row in told
    assert not list(tmp_path.glob("logs"))  # lerobot's, which it keeps elsewhere


def test_the_server_is_reached_from_this_machine_only_unless_told_otherwise():
    assert parse_server_args([]).host == parse_client_args([]).host == "127.0.0.1"


def test_a_threshold_of_more_than_a_chunk_is_refused(capsys):
    with pytest.raises(SystemExit):
        parse_client_args(["--chunk_size_threshold", "1.5"])
    assert "more than 1" in capsys.readouterr().err
