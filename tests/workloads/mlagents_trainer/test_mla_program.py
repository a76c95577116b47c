"""The script itself: its command line, its processes, and the remedy."""

from __future__ import annotations

import socket
import subprocess
import sys

import pytest
from mlagents_trainer.toolkit import HOST, LoopbackCommunicator, free_ports

from support.workloads import WORKLOADS
from support.workloads.mlagents_trainer import SHORT, run_trainer

pytestmark = pytest.mark.timeout(600)

RUN = ("-m", "ticktree", "run", "--quiet")


def nodes(profile, name):
    return [node for path, _, node in profile.root.walk() if path.split("/")[-1] == name]


def test_a_run_has_the_trainer_its_workers_and_their_players_in_one_tree(tmp_path):
    profile = run_trainer(tmp_path, "--workers", "2", "--steps", "300", "--patient", under=RUN).profile()
    advance = profile.root.at("TrainerController.start_learning/TrainerController.advance")
    assert advance.count >= 150
    exchanged = sum(node.count for node in nodes(profile, "communicator.exchange"))
    assert exchanged >= 300
    # The players: programs that the workers started, and that know of no profiler.
    assert sum(node.count for node in nodes(profile, "env.step")) >= 300
    assert {"train", "worker", "player"} <= {thread.role for thread in profile.threads.values()}


def test_the_remedy_waits_in_a_timer_of_its_own_and_learns_the_same(tmp_path):
    told = []
    for name in ("busy", "patient"):
        folder = tmp_path / name
        folder.mkdir()
        arguments = [argument for argument in SHORT if name == "patient" or argument != "--patient"]
        run = run_trainer(folder, *arguments)
        told.append([gauge["value"] for gauge in run.timers()["gauges"].values()])
        step = run.timers()["children"]["TrainerController.start_learning"]["children"]
        names = step["TrainerController.advance"]["children"]["env_step"]["children"]
        assert ("step_wait" in names) == (name == "patient")
    assert told[0] == pytest.approx(told[1])


def test_continuous_actions_are_played_too(tmp_path):
    run = run_trainer(tmp_path, *SHORT[:2], "--steps", "220", "--patient", "--env", "Pendulum-v1")
    assert run.timers()["gauges"]["Gymnasium.Environment.CumulativeReward.mean"]["value"] < 0


def test_help_is_ordinary_and_nonsense_is_one_line_and_status_2(tmp_path):
    assert "usage: train.py" in run_trainer(tmp_path, "--help").stdout
    assert (
        "usage: player.py"
        in subprocess.run(
            [sys.executable, str(WORKLOADS / "mlagents_trainer" / "player.py"), "--help"],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
    )
    for arguments in (["--workers", "0"], ["--env", "Nothing-v0"], ["--run-id", "../x"], ["--steps", "0"]):
        said = run_trainer(tmp_path, *arguments, status=2).stderr
        assert said.splitlines()[-1].startswith("train.py: error: --")


def test_the_trainer_listens_to_this_machine_alone():
    port = free_ports(2)
    communicator = LoopbackCommunicator(worker_id=1, base_port=port)
    try:
        with socket.create_connection((HOST, port + 1), timeout=5):
            pass
        with socket.socket() as other, pytest.raises(OSError):
            other.bind((HOST, port + 1))
            other.listen()
        with socket.socket() as elsewhere:
            elsewhere.bind(("127.0.0.2", port + 1))  # in use already, if it listened on all interfaces
    finally:
        communicator.close()
