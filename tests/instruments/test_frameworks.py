"""Frameworks that train, with the real libraries: unmodified programs, the shape of their trees.

They run where these are installed: `make test-libraries` has a venv with them. What is called apart is in no tick.
"""

from __future__ import annotations

from importlib.util import find_spec

import pytest

pytestmark = pytest.mark.slow


def needs(package):
    reason = f"{package} is not installed: scripts/test-libraries.sh has a venv with it"
    return pytest.mark.skipif(find_spec(package) is None, reason=reason)


RSL_RL = """
import torch
torch.set_num_threads(1)
from rsl_rl.env import VecEnv
from rsl_rl.runners import OnPolicyRunner
from tensordict import TensorDict

class Point(VecEnv):
    num_envs, num_actions, max_episode_length, device, cfg = 4, 1, 50, "cpu", {}
    def __init__(self):
        self.state = torch.zeros(4, 3)
        self.episode_length_buf = torch.zeros(4, dtype=torch.long)
    def get_observations(self):
        return TensorDict({"policy": self.state.clone()}, batch_size=[4])
    def step(self, actions):
        self.state = self.state * 0.9 + actions * 0.1
        return self.get_observations(), -self.state.square().sum(1), torch.zeros(4, dtype=torch.long), {}

def main():
    torch.manual_seed(0)
    model = {"class_name": "MLPModel", "hidden_dims": [8], "activation": "elu"}
    noise = {"class_name": "GaussianDistribution", "init_std": 1.0}
    algorithm = {"class_name": "PPO", "num_learning_epochs": 2, "num_mini_batches": 2}
    config = {
        "num_steps_per_env": 8, "save_interval": 100, "obs_groups": {"actor": ["policy"], "critic": ["policy"]},
        "actor": {**model, "distribution_cfg": noise}, "critic": dict(model),
        "algorithm": {**algorithm, "rnd_cfg": None, "symmetry_cfg": None},
    }
    runner = OnPolicyRunner(Point(), config)
    runner.learn(5)
    print(sum(each.sum().item() for each in runner.alg.get_policy().parameters()))
"""
SKRL = """
import gymnasium, torch
torch.set_num_threads(1)
from skrl.agents.torch.ppo import PPO, PPO_CFG
from skrl.agents.torch.sac import SAC, SAC_CFG
from skrl.envs.wrappers.torch import wrap_env
from skrl.memories.torch import RandomMemory
from skrl.models.torch import DeterministicMixin, GaussianMixin, Model
from skrl.trainers.torch import SequentialTrainer, SequentialTrainerCfg, StepTrainer, StepTrainerCfg
from skrl.utils import set_seed

class Policy(GaussianMixin, Model):
    def __init__(self, **spaces):
        Model.__init__(self, device="cpu", **spaces)
        GaussianMixin.__init__(self)
        self.net = torch.nn.Linear(self.num_observations, self.num_actions)
        self.log_std = torch.nn.Parameter(torch.zeros(self.num_actions))
    def compute(self, inputs, role):
        return self.net(inputs["observations"]), {"log_std": self.log_std}

class Value(DeterministicMixin, Model):
    def __init__(self, takes_actions=False, **spaces):
        Model.__init__(self, device="cpu", **spaces)
        DeterministicMixin.__init__(self)
        self.takes_actions = takes_actions
        self.net = torch.nn.Linear(self.num_observations + takes_actions * self.num_actions, 1)
    def compute(self, inputs, role):
        given = [inputs["observations"], *([inputs["taken_actions"]] if self.takes_actions else [])]
        return self.net(torch.cat(given, dim=1)), {}

def ppo(spaces, number):
    config = PPO_CFG(rollouts=8, learning_epochs=2, mini_batches=2)
    config.experiment.write_interval = config.experiment.checkpoint_interval = 0
    memory = RandomMemory(memory_size=8, num_envs=number, device="cpu")
    models = {"policy": Policy(**spaces), "value": Value(**spaces)}
    return PPO(models=models, memory=memory, cfg=config, device="cpu", **spaces)

def sac(spaces, number):
    config = SAC_CFG(batch_size=4, learning_starts=6)
    config.experiment.write_interval = config.experiment.checkpoint_interval = 0
    memory = RandomMemory(memory_size=50, num_envs=number, device="cpu")
    critics = {f"{kind}critic_{n}": Value(True, **spaces) for kind in ("", "target_") for n in (1, 2)}
    return SAC(models={"policy": Policy(**spaces), **critics}, memory=memory, cfg=config, device="cpu", **spaces)

def train(kind, agents, scopes, steps):
    env = wrap_env(gymnasium.make_vec("Pendulum-v1", num_envs=2, vectorization_mode="sync"), verbose=False)
    spaces = {"observation_space": env.observation_space, "action_space": env.action_space}
    agents = [make(spaces, scopes[0]) for make in agents]
    config = dict(timesteps=steps, headless=True, disable_progressbar=True, close_environment_at_exit=False)
    trainer = kind(cfg=config, env=env, agents=agents, scopes=scopes)
    for _ in range(steps if kind is StepTrainer else 1):
        trainer.train()
    print(sum(each.sum().item() for agent in agents for each in agent.policy.parameters()))
    return trainer
"""
SKRL_PPO = f"""{SKRL}
def main():
    set_seed(3)
    trainer = train(SequentialTrainer, [ppo], [2], 36)
    trainer.cfg.timesteps = 10
    trainer.eval()
"""
SKRL_OTHERS = f"""{SKRL}
def main():
    set_seed(3)
    with ticktree.section("sac"):
        train(SequentialTrainer, [sac], [2], 16)
    with ticktree.section("two"):
        train(SequentialTrainer, [ppo, ppo], [1, 1], 24)
"""
SKRL_STEPS = f"""{SKRL}
def main():
    set_seed(3)
    train(StepTrainer, [ppo], [2], 24).eval()
"""
TIANSHOU = """
import gymnasium, numpy, torch
torch.set_num_threads(1)
from tianshou.algorithm import DQN
from tianshou.algorithm.imitation.imitation_base import ImitationPolicy, OfflineImitationLearning
from tianshou.algorithm.modelfree.dqn import DiscreteQLearningPolicy
from tianshou.algorithm.optim import AdamOptimizerFactory
from tianshou.data import Collector, VectorReplayBuffer
from tianshou.env import DummyVectorEnv
from tianshou.trainer import OfflineTrainerParams, OffPolicyTrainerParams
from tianshou.utils.net.common import Net
from tianshou.utils.net.discrete import DiscreteActor

def envs(number):
    return DummyVectorEnv([lambda: gymnasium.make("CartPole-v1") for _ in range(number)])

def main():
    numpy.random.seed(0)
    torch.manual_seed(0)
    train, test, space = envs(2), envs(1), gymnasium.spaces.Discrete(2)
    train.seed(1)
    test.seed(2)
    quiet = {"epoch_num_steps": 40, "batch_size": 8, "show_progress": False, "verbose": False}
    tests = {"test_step_num_episodes": 1, "max_epochs": 2, **quiet}
    net = Net(state_shape=(4,), action_shape=2, hidden_sizes=[8])
    adam = AdamOptimizerFactory(lr=1e-3)
    dqn = DQN(policy=DiscreteQLearningPolicy(model=net, action_space=space), optim=adam, target_update_freq=10)
    collector = Collector(dqn, train, VectorReplayBuffer(200, 2), exploration_noise=True)
    collector.reset()
    collector.collect(n_step=20)
    dqn.run_training(OffPolicyTrainerParams(
        training_collector=collector, test_collector=Collector(dqn, test), collection_step_num_env_steps=10,
        update_step_num_gradient_steps_per_sample=0.2, **tests,
    ))
    print(sum(each.sum().item() for each in net.parameters()))
    with ticktree.section("offline"):
        actor = DiscreteActor(preprocess_net=Net(state_shape=(4,), hidden_sizes=[8]), action_shape=2)
        policy = ImitationPolicy(actor=actor, action_space=space)
        cloning = OfflineImitationLearning(policy=policy, optim=adam)
        cloning.run_training(OfflineTrainerParams(
            buffer=collector.buffer, test_collector=Collector(cloning, test), **tests,
        ))
    print(sum(each.sum().item() for each in actor.parameters()))
"""
TRANSFORMERS = """
import torch, transformers
torch.set_num_threads(1)
from transformers import Trainer, TrainerCallback, TrainingArguments

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(4, 1)
    def forward(self, x, labels=None):
        given = self.layer(x).squeeze(-1)
        return {"loss": (given - labels).square().mean(), "logits": given}

class Data(torch.utils.data.Dataset):
    def __len__(self):
        return 24
    def __getitem__(self, number):
        return {"x": torch.full((4,), number / 24), "labels": torch.tensor(float(number))}

class Mine(TrainerCallback):
    def on_step_end(self, args, state, control, **kwargs):
        self.steps = state.global_step

def main():
    transformers.set_seed(0)
    arguments = TrainingArguments(
        "out", per_device_train_batch_size=4, gradient_accumulation_steps=2, num_train_epochs=2, report_to=[],
        logging_strategy="no", eval_strategy="steps", eval_steps=3, save_strategy="steps", save_steps=3, use_cpu=True,
        disable_tqdm=True,
    )
    model, mine = Net(), Mine()
    sets = {"train_dataset": Data(), "eval_dataset": Data()}
    trainer = Trainer(model=model, args=arguments, callbacks=[mine], **sets)
    trainer.remove_callback(transformers.PrinterCallback)  # prints how long it took
    trainer.train()
    trainer.evaluate()
    print(mine.steps, model.layer.weight.tolist())
"""
OPTUNA = """
import optuna
optuna.logging.set_verbosity(optuna.logging.WARNING)

def objective(trial):
    x = trial.suggest_float("x", -1, 1)
    k = trial.suggest_int("k", 1, 3)
    for step in range(2):
        trial.report(abs(x), step)
        if trial.should_prune():
            raise optuna.TrialPruned
    if x > 0.9:
        raise ValueError("too much")
    return (x * k) ** 2

def study(kind):
    return optuna.create_study(sampler=kind(seed=1), pruner=optuna.pruners.NopPruner())

def main():
    first = study(optuna.samplers.TPESampler)
    first.optimize(objective, n_trials=12, catch=ValueError)
    print(len(first.trials), first.best_params)
    with ticktree.section("threads"):
        second = study(optuna.samplers.RandomSampler)
        second.optimize(objective, n_trials=6, n_jobs=2, catch=ValueError)
    print(len(second.trials))
    asked = first.ask()
    first.tell(asked, 1.0)
    first.optimize(fails, n_trials=1)

def fails(trial):
    raise KeyError("mine")
"""


@pytest.fixture
def told(recorded):
    """A program's profile, if it says the same as without what is recorded of its libraries."""

    def run(program, status=0):
        profile = recorded(program, status=status)
        output = recorded.output
        recorded(program, "--no-instrument", status=status)
        assert recorded.output == output
        assert output
        assert not profile.losses
        return profile

    return run


def counts(node, *names):
    """How often each of these was called in a node; all of its children where none is named."""
    return {
        name: node.children[name].count if name in node.children else 0 for name in names or node.children
    }


def ticks(profile):
    return {path: loop.ticks for path, loop in profile.loops.items()}


@needs("rsl_rl")
def test_rsl_rl_an_iteration_is_a_rollout_and_the_update_that_ends_it(told):
    profile = told(RSL_RL)
    assert ticks(profile) == {"learn/iteration": 5}
    iteration = profile.root.at("learn/iteration")
    names = "VecEnv step", "act", "process_env_step", "compute_returns", "update", "logger log"
    assert counts(iteration, *names) == dict(zip(names, (40, 40, 40, 5, 5, 5)))
    assert {"backward", "optimizer step Adam"} <= set(iteration.at("update").children)


@needs("skrl")
def test_skrl_an_iteration_ends_with_an_update_and_eval_is_in_none(told):
    profile = told(SKRL_PPO)
    assert ticks(profile) == {"train/iteration": 4}
    iteration = profile.root.at("train/iteration")
    names = "act", "env step", "record_transition", "update"
    assert counts(iteration, *names) == dict(zip(names, (36, 36, 36, 4)))
    assert iteration.at("record_transition/memory add").count == 36
    assert iteration.at("update/memory sample").count == 8
    assert iteration.at("env step/envs.step").count == 36
    assert counts(profile.root.at("eval"), *names) == dict(zip(names, (10, 10, 10, 0)))


@needs("skrl")
def test_skrl_agents_that_update_at_each_step_or_in_turn_have_one_tick_each_time(told):
    profile = told(SKRL_OTHERS)
    # What comes before the first update, at timestep 6, is in its tick.
    assert ticks(profile) == {"sac/train/iteration": 10, "two/train/iteration": 3}
    assert profile.root.at("two/train/iteration/update").count == 6


@needs("skrl")
def test_skrl_a_programs_own_loop_has_the_ticks_from_its_first_update_on(told):
    profile = told(SKRL_STEPS)
    assert ticks(profile) == {"iteration": 2}
    assert counts(profile.root, "update", "act") == {"update": 1, "act": 8}
    assert counts(profile.root.at("iteration"), "update", "act") == {"update": 2, "act": 16}


@needs("tianshou")
def test_tianshou_a_training_step_collects_and_updates_and_what_it_evaluates_with_has_its_own_row(told):
    profile = told(TIANSHOU)
    assert ticks(profile) == {"run/training step": 8, "offline/run/training step": 80}
    assert profile.root.at("collect").count == 1  # what the program collects before
    step = profile.root.at("run/training step")
    # Once before the first step, and at the end of both epochs.
    assert profile.root.at("run/evaluate").count == 1
    assert counts(step, "collect", "update", "evaluate") == {"collect": 8, "update": 16, "evaluate": 2}
    assert step.at("collect/VectorEnv step").count == step.at("collect/buffer add").count == 40
    assert step.at("update/buffer sample").count == 16
    offline = profile.root.at("offline/run/training step")
    assert counts(offline, "collect", "update", "evaluate") == {"collect": 0, "update": 80, "evaluate": 2}


@needs("transformers")
def test_transformers_a_step_has_its_batches_and_callbacks_are_called_by_their_class(told):
    profile = told(TRANSFORMERS)
    assert ticks(profile) == {"train/train step": 6}
    step = profile.root.at("train/train step")
    assert counts(
        step, "get_batch_samples", "training_step", "optimizer step AdamW", "evaluate", "save_model"
    ) == {
        "get_batch_samples": 6,
        "training_step": 12,
        "optimizer step AdamW": 6,
        "evaluate": 2,
        "save_model": 2,
    }
    assert step.at("training_step/compute_loss/forward Net").count == 12
    assert step.at("evaluate/prediction_step").count == 6
    assert {"callback Mine", "callback DefaultFlowCallback"} <= set(step.children)
    assert "callback CallbackHandler" not in {node.name for _, _, node in profile.root.walk()}
    assert profile.root.at("evaluate/prediction_step").count == 3


@needs("optuna")
def test_optuna_a_trial_is_a_tick_on_each_thread_also_where_it_fails(told):
    profile = told(OPTUNA, status=1)
    assert ticks(profile)["optimize/trial"] == 12
    trial = profile.root.at("optimize/trial")
    assert counts(trial, "ask", "suggest", "report") == {"ask": 13, "suggest": 24, "report": 24}
    threads = profile.root.at("threads/optimize")
    of_threads = {path: number for path, number in ticks(profile).items() if path.startswith("threads/")}
    assert sum(of_threads.values()) == 6
    assert sum(node.count for _, _, node in threads.walk() if node.name == "suggest") == 12
    assert profile.root.at("tell").count == 1
