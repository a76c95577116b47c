"""What `ticktree try` changes in a program does what the finding advises, and nothing else."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import ticktree
from ticktree.instruments.remedies import APPLIED_GAUGE, REMEDIES_VARIABLE


def run(tmp_path: Path, source: str, remedy: str = "", is_applied: bool = True) -> str:
    """Return what a program prints under `ticktree run` with a remedy, which notes whether it changed something."""
    script = tmp_path / "program.py"
    script.write_text(source)
    environment = {**os.environ, "TICKTREE_MEMORY_DIR": str(tmp_path), REMEDIES_VARIABLE: remedy}
    done = subprocess.run(
        [sys.executable, "-m", "ticktree", "run", "--quiet", str(script)],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    *_, newest = sorted((tmp_path / "ticktree-runs").glob("2*"))
    gauges = ticktree.load(newest).gauges
    assert [name for name in gauges if name.startswith(APPLIED_GAUGE)] == (
        [APPLIED_GAUGE + remedy.partition("=")[0]] if remedy and is_applied else []
    )
    return done.stdout


ACTOR_CRITIC = """
import torch
torch.manual_seed(0)
torch.set_num_threads(1)
actor, critic = torch.nn.Linear(3, 2), torch.nn.Linear(5, 1)
of_actor = torch.optim.Adam(actor.parameters())
of_critic = torch.optim.Adam(critic.parameters())
def update():
    states = torch.randn(8, 3)
    loss = critic(torch.cat([states, torch.randn(8, 2)], 1)).pow(2).mean()
    of_critic.zero_grad()
    loss.backward()
    of_critic.step()
    of_critic.zero_grad()
    loss_of_actor = -critic(torch.cat([states, actor(states)], 1)).mean() EXTRA
    of_actor.zero_grad()
    loss_of_actor.backward()
    of_actor.step()
    return critic.weight.grad is not None
written = [update() for _ in range(30)]
print([parameter.tolist() for parameter in [*actor.parameters(), *critic.parameters()]])
"""
WRITTEN = "print(written.count(True))\n"


@pytest.fixture(scope="module")
def torch() -> None:
    pytest.importorskip("torch")


@pytest.mark.slow
@pytest.mark.usefixtures("torch")
def test_gradients_that_no_optimizer_steps_with_are_no_longer_computed(tmp_path: Path) -> None:
    source = ACTOR_CRITIC.replace("EXTRA", "") + WRITTEN
    *base, of_base = run(tmp_path, source).splitlines()
    *new, of_new = run(tmp_path, source, "unused-gradients").splitlines()
    assert new == base  # each parameter, to the last digit
    assert int(of_base) == 30
    assert int(of_new) < 15  # those passes by which it was found out


@pytest.mark.slow
@pytest.mark.usefixtures("torch")
def test_a_pass_whose_graph_has_leaves_that_no_optimizer_knows_is_left_alone(tmp_path: Path) -> None:
    source = ACTOR_CRITIC.replace("EXTRA", "* scale").replace(
        "def update", "scale = torch.ones(1, requires_grad=True)\ndef update"
    )
    source += WRITTEN + "print(scale.grad is not None)\n"
    untouched = run(tmp_path, source, "unused-gradients", is_applied=False)
    assert untouched.splitlines() == run(tmp_path, source).splitlines()


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.usefixtures("torch")
def test_modules_that_the_program_calls_are_compiled_and_no_others(tmp_path: Path) -> None:
    source = """
import torch
torch.manual_seed(0)
layers = [torch.nn.Linear(4, 4) for _ in range(2)]
policy, unused = torch.nn.Sequential(*layers), torch.nn.Linear(4, 4)
with torch.no_grad():
    mean = [float(policy(torch.ones(2, 4)).mean()) for _ in range(3)][-1]
is_compiled = [each._compiled_call_impl is not None for each in (policy, *layers, unused)]
print(is_compiled.count(True), is_compiled[0], round(mean, 4))
"""
    base, new = run(tmp_path, source).split(), run(tmp_path, source, "compile").split()
    assert base[:2] == ["0", "False"]
    assert new[:2] == ["1", "True"]
    assert new[2] == base[2]


def test_what_is_alive_after_the_first_full_collection_is_set_aside(tmp_path: Path) -> None:
    source = (
        "import gc\nkept = [[] for _ in range(1000)]\ngc.collect()\nprint(gc.get_freeze_count() > 1000)\n"
    )
    assert run(tmp_path, source).strip() == "False"
    assert run(tmp_path, source, "gc-freeze").strip() == "True"


@pytest.mark.slow
def test_vector_environments_are_made_in_the_process_itself(tmp_path: Path) -> None:
    pytest.importorskip("gymnasium")
    source = """
import gymnasium
def make(): return gymnasium.make("CartPole-v1")
if __name__ == "__main__":
    envs = gymnasium.vector.AsyncVectorEnv([make, make])
    print(type(envs).__name__, envs.reset(seed=[1, 2])[0].tolist())
    envs.close()
"""
    base, new = run(tmp_path, source).split(" ", 1), run(tmp_path, source, "sync-vector-env").split(" ", 1)
    assert (base[0], new[0]) == ("AsyncVectorEnv", "SyncVectorEnv")
    assert new[1] == base[1]


@pytest.mark.slow
def test_vector_environments_of_stable_baselines3_are_made_in_the_process_itself(tmp_path: Path) -> None:
    pytest.importorskip("stable_baselines3")
    source = """
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.vec_env import SubprocVecEnv
if __name__ == "__main__":
    envs = make_vec_env("CartPole-v1", 2, seed=1, vec_env_cls=SubprocVecEnv, vec_env_kwargs={"start_method": "fork"})
    print(hasattr(envs, "processes"), isinstance(envs, SubprocVecEnv), envs.reset().tolist())
    envs.close()
"""
    base, new = run(tmp_path, source), run(tmp_path, source, "sync-vector-env")
    assert base.startswith("True True ")
    assert new == base.replace("True", "False", 1)


LOADERS = """
import torch.utils.data
if __name__ == "__main__":
    torch.manual_seed(0)
    for workers in (0, 1):
        loader = torch.utils.data.DataLoader(range(8), batch_size=4, shuffle=True, num_workers=workers)
        epochs = [[batch.tolist() for batch in loader] for _ in range(3)]
        print(epochs, torch.rand(1).item(), loader.num_workers, loader.persistent_workers)
"""


@pytest.mark.slow
@pytest.mark.usefixtures("torch")
@pytest.mark.parametrize(
    ("remedy", "loaders"),
    [
        ("loader-workers=1", ["1 True", "1 False"]),
        ("persistent-workers", ["0 False", "1 True"]),
    ],
)
def test_loaders_get_workers_or_keep_them_and_shuffle_as_before(
    remedy: str, loaders: list[str], tmp_path: Path
) -> None:
    base, new = run(tmp_path, LOADERS).splitlines(), run(tmp_path, LOADERS, remedy).splitlines()
    assert [line.rpartition("] ")[2].partition(" ")[2] for line in base] == ["0 False", "1 False"]
    assert new == [f"{line.rsplit(' ', 2)[0]} {loader}" for line, loader in zip(base, loaders, strict=True)]
