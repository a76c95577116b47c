"""stable-baselines3 and sb3-contrib with the real libraries: unmodified programs, the shape of their trees."""

from __future__ import annotations

import inspect
from importlib.util import find_spec

import pytest

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(find_spec("stable_baselines3") is None, reason="stable-baselines3 is not installed"),
]

BEGIN = """
import warnings
warnings.filterwarnings("ignore")
import torch
torch.set_num_threads(1)
from stable_baselines3.common.callbacks import BaseCallback, CallbackList, EvalCallback

def digest(model):
    return [parameter.detach().double().sum().item() for parameter in model.policy.parameters()]

class Mine(BaseCallback):
    def _on_step(self):
        return True
"""
PPO = """
from stable_baselines3 import PPO

def main():
    model = PPO("MlpPolicy", "CartPole-v1", n_steps=32, batch_size=16, n_epochs=2, seed=1, device="cpu")
    model.learn(96, callback=CallbackList([Mine()]))
    print(digest(model))
"""
SAC = """
from stable_baselines3 import SAC

class Policy(SAC.policy_aliases["MlpPolicy"]):  # defined in the script: pickled by value
    def predict(self, *args, **kwargs):
        return super().predict(*args, **kwargs)

def main():
    model = SAC(
        Policy, "Pendulum-v1", seed=1, learning_starts=10, batch_size=8, device="cpu",
        policy_kwargs={"net_arch": [16]},
    )
    model.learn(30)
    model.save("model.zip")
    again = SAC.load("model.zip")
    print(digest(model) == digest(again), digest(model))
"""
RECURRENT = """
from sb3_contrib import RecurrentPPO

def main():
    model = RecurrentPPO("MlpLstmPolicy", "CartPole-v1", n_steps=16, batch_size=16, n_epochs=1, seed=1, device="cpu")
    model.learn(32)
    print(digest(model))
"""
WORKERS = """
from stable_baselines3 import PPO
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.vec_env import SubprocVecEnv, VecNormalize

def main():
    env = VecNormalize(make_vec_env("CartPole-v1", 2, seed=1, vec_env_cls=SubprocVecEnv))
    model = PPO("MlpPolicy", env, n_steps=16, batch_size=16, n_epochs=1, seed=1, device="cpu")
    model.learn(64)
    env.close()
    print(digest(model))
"""


def of_iteration(profile):
    return profile.root.at("learn/iteration")


def test_ppo_is_rollouts_and_training_and_comes_out_as_without(recorded):
    profile = recorded(BEGIN + PPO)
    output = recorded.output
    assert profile.loops["learn/iteration"].ticks == 3
    rollout, training = of_iteration(profile).at("collect_rollouts"), of_iteration(profile).at("train")
    assert rollout.count == training.count == 3
    assert rollout.at("forward ActorCriticPolicy").count == 96
    assert rollout.at("VecEnv step").count == 96
    assert rollout.at("buffer add").count == 96
    assert rollout.at("callback Mine").count == 96 + 3 + 3  # steps, and the beginnings and ends of rollouts
    assert rollout.at("compute_returns_and_advantage").count == 3
    assert training.at("policy evaluate_actions/forward MlpExtractor").count == 12
    assert training.at("backward").count == training.at("optimizer step Adam").count == 12
    assert training.at("clip_grad_norm_").count == 12
    recorded(BEGIN + PPO, "--no-instrument")
    assert recorded.output == output


def test_sac_saves_a_policy_of_the_scripts_own_and_comes_out_as_without(recorded):
    profile = recorded(BEGIN + SAC)
    output = recorded.output
    assert output.startswith("True ")
    iteration = of_iteration(profile)
    assert profile.loops["learn/iteration"].ticks == 30
    assert iteration.at("collect_rollouts").count == 30
    assert iteration.at("collect_rollouts/policy predict").count == 20
    assert iteration.at("train").count == 20
    assert iteration.at("train/buffer sample").count == 20
    assert iteration.at("train/polyak_update").count == 40
    steps = [name for name in iteration.at("train").children if name.startswith("optimizer step Adam")]
    assert len(steps) == 3  # actor, critics and entropy coefficient
    assert {iteration.at("train").children[name].count for name in steps} == {20}
    recorded(BEGIN + SAC, "--no-instrument")
    assert recorded.output == output


def test_workers_are_told_to_step_and_waited_for_inside_the_outermost_step(recorded):
    profile = recorded(BEGIN + WORKERS)
    step = of_iteration(profile).at("collect_rollouts/VecEnv step")
    assert step.count == 32
    assert "VecEnv step" not in step.children
    assert step.at("VecEnv step_async").count == 32
    assert step.at("VecEnv step_wait").count == 32
    assert step.at("VecEnv step_wait").wait


@pytest.mark.skipif(find_spec("sb3_contrib") is None, reason="sb3-contrib is not installed")
def test_contrib_has_the_same_rows(recorded):
    profile = recorded(BEGIN + RECURRENT)
    output = recorded.output
    assert profile.loops["learn/iteration"].ticks == 2
    rollout = of_iteration(profile).at("collect_rollouts")
    from sb3_contrib import RecurrentPPO

    # Older versions call the policy's `forward` past `nn.Module.__call__`.
    if "self.policy(" in inspect.getsource(RecurrentPPO.collect_rollouts):
        assert rollout.at("forward RecurrentActorCriticPolicy").count == 32
    assert of_iteration(profile).at("train/policy evaluate_actions").count == 2
    assert of_iteration(profile).at("train/buffer get").count >= 2
    recorded(BEGIN + RECURRENT, "--no-instrument")
    assert recorded.output == output


def test_a_program_that_takes_a_part_of_it_has_ticks_of_its_envs_steps(recorded):
    profile = recorded(
        """
        import gymnasium, numpy
        from stable_baselines3.common.buffers import ReplayBuffer
        from stable_baselines3.common.utils import polyak_update

        def main():
            env = gymnasium.make("CartPole-v1")
            buffer = ReplayBuffer(9, env.observation_space, env.action_space)
            env.reset(seed=1)
            for _ in range(5):
                seen, reward, done, _, info = env.step(1)
                buffer.add(seen, seen, numpy.array(1), numpy.array(reward), numpy.array(done), [info])
            polyak_update([], [], 0.5)
        """
    )
    assert profile.loops["env"].ticks == 4
    assert profile.root.at("env/buffer add").count == 5


def test_everything_is_as_it_was_once_it_is_put_back():
    from stable_baselines3 import PPO
    from stable_baselines3.common.base_class import BaseAlgorithm
    from stable_baselines3.common.policies import ActorCriticPolicy
    from stable_baselines3.common.vec_env import SubprocVecEnv, VecEnv

    import ticktree
    from ticktree.instruments import stable_baselines3

    owners = (BaseAlgorithm, PPO, ActorCriticPolicy, VecEnv, SubprocVecEnv)
    before = [dict(vars(owner)) for owner in owners]
    recorder = ticktree.Recorder()
    stable_baselines3.INSTRUMENT.install(recorder)
    assert [dict(vars(owner)) for owner in owners] != before
    stable_baselines3.INSTRUMENT.uninstall()
    recorder.disable()
    assert [dict(vars(owner)) for owner in owners] == before
