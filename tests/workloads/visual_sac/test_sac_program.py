from __future__ import annotations

import os
import subprocess
import sys

import pytest

from support.workloads import WORKLOADS
from ticktree.profile import Profile

SMALL = ["--updates", "4", "--fill", "8", "--batch", "4"]
PROGRAM = """
import sys
import ticktree
from visual_sac.train import main
ticktree.enable()
main(sys.argv[1:])
print("PROFILE", ticktree.snapshot().to_json().replace(chr(10), " "))
"""
CONVOLUTIONS = ("conv1", "conv2", "conv3", "fc")
PIPELINE = {
    "simulate": (
        "physics",
        "render/road",
        "render/indicators",
        "resize",
        "read pixels",
        "transpose",
        "reward",
    ),
    "grayscale": (),
    "stack": (),
}
DESCENT = ("loss", "zero grad", "backward", "step")
PHASES = {
    "target": (
        "actor/draw",
        *(f"{net}/{conv}" for net in ("actor", "critic 1", "critic 2") for conv in CONVOLUTIONS),
    ),
    "critic 1": (*(f"forward/{conv}" for conv in CONVOLUTIONS), *DESCENT),
    "critic 2": (*(f"forward/{conv}" for conv in CONVOLUTIONS), *DESCENT),
    "actor": ("forward/draw", *(f"critic 2/{conv}" for conv in CONVOLUTIONS), *DESCENT),
    "alpha": DESCENT,
    "soft update": (),
}
SAMPLE = {
    "list": ("select", "unzip", *(f"states/{step}" for step in ("np.array", "FloatTensor", "to device"))),
    "uint8": ("select", *(f"states/{step}" for step in ("gather", "to device", "float", "divide"))),
    "ring": ("select", *(f"states/{step}" for step in ("gather", "to device", "scale"))),
}


def _run(arguments, folder, **environment):
    environment = {**os.environ, "PYTHONPATH": _path(), **environment}
    return subprocess.run(
        [sys.executable, *arguments], cwd=folder, env=environment, capture_output=True, text=True, timeout=500
    )


def _path():
    return os.pathsep.join([str(WORKLOADS / "visual_sac"), *filter(None, [os.environ.get("PYTHONPATH")])])


@pytest.mark.slow
@pytest.mark.parametrize("buffer", SAMPLE)
def test_every_part_of_the_loop_is_in_the_tree_and_the_accounts_add_up(buffer, tmp_path):
    process = _run(["-c", PROGRAM, "--buffer", buffer, *SMALL], tmp_path)
    assert process.returncode == 0, process.stderr
    profile = Profile.from_json(process.stdout.partition("PROFILE ")[2])
    profile.check()
    root = profile.root
    update = root.at("train/update")
    assert update.count == root.at("train").count == 4
    assert profile.loops["train"].warmup_ticks == 3
    for phase, steps in {**PHASES, "sample": SAMPLE[buffer]}.items():
        for path in (phase, *(f"{phase}/{step}" for step in steps)):
            assert update.at(path).count > 0
    for loop, ticks in (("fill", 8), ("train", 4)):
        step = root.at(f"{loop}/env step")
        for stage, parts in PIPELINE.items():
            assert all(
                step.at(path).count == ticks for path in (stage, *(f"{stage}/{part}" for part in parts))
            )
    # Four updates of four transitions: two float32 states, two actions, a reward and an end each.
    assert update.at("sample").work.bytes == 4 * 4 * 4 * (2 * 4 * 96 * 96 + 2 + 1 + 1)
    assert root.at("memcpy/onto used memory").work.bytes > 0


SCRIPT = (str(WORKLOADS / "visual_sac" / "train.py"), "--verbose-every", "2", "--save", "weights.pt", *SMALL)


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """The script, run to its end: its folder, and what it printed."""
    folder = tmp_path_factory.mktemp("recorded")
    process = _run(SCRIPT, folder)
    assert process.returncode == 0, process.stderr
    return folder, process.stdout


@pytest.mark.slow
def test_the_script_prints_the_budget_that_it_is_asked_for(recorded):
    _, output = recorded
    budgets = [line for line in output.splitlines() if line.startswith("update ") and "mean of 2" in line]
    assert [line.split(",")[0] for line in budgets] == ["update 2", "update 4"]
    for row in ("np.array", "soft update", "conv3", "[self]"):
        assert row in output


@pytest.mark.slow
def test_with_ticktree_off_the_program_does_the_same_and_records_nothing(recorded, tmp_path):
    outputs = [recorded[1], _run(SCRIPT, tmp_path, TICKTREE_OFF="1").stdout]
    losses = [[line for line in output.splitlines() if "critics" in line] for output in outputs]
    assert losses[0] == losses[1]
    assert len(losses[0]) == 1
    assert "not recording" in outputs[1]
    assert "not recording" not in outputs[0]


@pytest.mark.slow
def test_weights_are_saved_where_they_are_wanted(recorded):
    import torch

    folder, _ = recorded
    weights = torch.load(folder / "weights.pt")
    assert set(weights) == {"actor", "critic_1", "critic_2"}
    assert weights["actor"]["mean.weight"].shape == (2, 512)
