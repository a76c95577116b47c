"""d3rlpy and PufferLib, which are in no environment of the tests: their classes as they are named and called, made up.

Names and signatures were compared with the sources of d3rlpy 2.8.1 and pufferlib-core 3.0.23.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Protocol

from support.made_up_library import counts, ticks
from ticktree.instruments import d3rlpy, pufferlib


class Buffer(ABC):
    @abstractmethod
    def append(self, observation, action, reward):
        """Adds a transition."""

    @abstractmethod
    def sample_transition_batch(self, batch_size):
        """Samples transitions."""

    @abstractmethod
    def sample_trajectory_batch(self, batch_size, length):
        """Samples trajectories."""


class EvaluatorProtocol(Protocol):
    def __call__(self, algo, dataset):
        raise NotImplementedError


class D3RLPyLogger:
    def commit(self, epoch, step):
        return {}

    def save_model(self, epoch, algo):
        return None


class QLearningAlgoBase:
    def fit(self, dataset, n_steps, n_steps_per_epoch=10000, evaluators=None):
        return list(self.fitter(dataset, n_steps, n_steps_per_epoch, evaluators))

    def fitter(self, dataset, n_steps, n_steps_per_epoch=10000, evaluators=None):
        logger = D3RLPyLogger()
        for epoch in range(1, n_steps // n_steps_per_epoch + 1):
            for _ in range(n_steps_per_epoch):
                self.update(dataset.sample_transition_batch(8))
            for evaluator in evaluators or {}:
                evaluators[evaluator](self, dataset)
            yield epoch, logger.commit(epoch, epoch * n_steps_per_epoch)

    def fit_online(self, env, buffer, n_steps, update_interval):
        for step in range(1, n_steps + 1):
            buffer.append(0, self.sample_action(0), 0.0)
            if step % update_interval == 0:
                self.update(buffer.sample_transition_batch(8))

    def collect(self, env):
        return None

    def predict(self, x):
        return x

    def sample_action(self, x):
        return x

    def update(self, batch):
        return {"loss": 0.0}


class TransformerAlgoBase:
    def fit(self, dataset, n_steps, n_steps_per_epoch=10000):
        for _ in range(n_steps):
            self.update(dataset.sample_trajectory_batch(8, length=4))

    def update(self, batch):
        return {"loss": 0.0}


Buffer.__name__ = "ReplayBufferBase"
D3RLPY = {
    "d3rlpy.algos.qlearning.base": [QLearningAlgoBase],
    "d3rlpy.algos.transformer.base": [TransformerAlgoBase],
    "d3rlpy.dataset.replay_buffer": [Buffer],
    "d3rlpy.metrics.evaluators": [EvaluatorProtocol],
    "d3rlpy.logging.logger": [D3RLPyLogger],
}


class FIFO(Buffer):
    def append(self, observation, action, reward):
        return None

    def sample_transition_batch(self, batch_size):
        return [0] * batch_size

    def sample_trajectory_batch(self, batch_size, length):
        return [0] * batch_size


def test_d3rlpy_a_tick_is_a_gradient_step_and_evaluators_have_a_row(install, losses):
    recorder = install(d3rlpy.INSTRUMENT, D3RLPY)

    class CQL(QLearningAlgoBase):
        def update(self, batch):
            return super().update(batch)

    class Evaluator(EvaluatorProtocol):
        def __call__(self, algo, dataset):
            return float(algo.predict(1))

    assert CQL().fit(FIFO(), 6, 3, {"value": Evaluator()}) == [(1, {}), (2, {})]
    TransformerAlgoBase().fit(FIFO(), 4)
    with recorder.section("online"):
        QLearningAlgoBase().fit_online(None, FIFO(), 8, update_interval=2)
    assert ticks(recorder) == {"fit/fitter/step": 6, "fit/step": 4, "online/fit_online/step": 4}
    found = counts(recorder)
    assert found["fit/fitter/step/update"] == found["fit/fitter/step/buffer sample"] == 6
    assert found["fit/fitter/step/evaluate"] == found["fit/fitter/step/evaluate/predict"] == 2
    assert found["fit/fitter/step/logger commit"] == 2
    assert found["fit/step/update"] == found["fit/step/buffer sample"] == 4
    assert found["online/fit_online/step/sample_action"] == found["online/fit_online/step/buffer append"] == 8
    assert losses == []


def test_d3rlpy_what_a_program_does_with_an_epoch_is_in_no_tick(install):
    recorder = install(d3rlpy.INSTRUMENT, D3RLPY)
    algorithm = QLearningAlgoBase()
    for epoch, _ in algorithm.fitter(FIFO(), 9, 3):
        algorithm.predict(epoch)
        if epoch == 2:
            break
    assert ticks(recorder) == {"fitter/step": 6}
    assert counts(recorder)["predict"] == 2


class Serial:
    def async_reset(self, seed=None):
        return None

    def send(self, actions):
        return None

    def recv(self):
        return [0]


class Multiprocessing(Serial):
    async_reset, send, recv = (lambda *_: None), (lambda *_: None), (lambda *_: [0])


class Ray(Serial):
    async_reset, send, recv = (lambda *_: None), (lambda *_: None), (lambda *_: [0])


class PuffeRL:
    def __init__(self, config, vecenv, policy, logger=None):
        self.vecenv = vecenv
        vecenv.async_reset(0)

    def evaluate(self):
        for _ in range(4):
            self.vecenv.recv()
            self.vecenv.send(0)
        return {}

    def train(self):
        self.mean_and_log()
        self.print_dashboard()

    def mean_and_log(self):
        return {}

    def print_dashboard(self, clear=False):
        return None

    def save_checkpoint(self):
        return ""

    def close(self):
        return self.save_checkpoint()


def test_pufferlib_an_epoch_is_a_tick_until_the_trainer_is_closed(install, losses):
    modules = {"pufferlib.vector": [Serial, Multiprocessing, Ray], "pufferlib.pufferl": [PuffeRL]}
    recorder = install(pufferlib.INSTRUMENT, modules)
    for vecenv in (Serial(), Multiprocessing()):
        trainer = PuffeRL({}, vecenv, None)
        for _ in range(3):
            trainer.evaluate()
            trainer.train()
        for _ in range(32):
            trainer.evaluate()
        trainer.close()
        Multiprocessing().send(0)
    assert ticks(recorder) == {"epoch": 4}
    found = counts(recorder)
    assert found["epoch/train"] == found["epoch/train/mean_and_log"] == 4
    # The first rollouts are in no tick, those after the last epoch in one that is not complete.
    assert (found["evaluate"], found["epoch/evaluate"]) == (2, 4 + 2 * 32)
    assert found["vecenv send"] == found["close"] == found["close/save_checkpoint"] == 2
    root = recorder.snapshot().root
    assert root.at("evaluate/vecenv recv").count == 8
    assert losses == []


def test_pufferlib_what_is_received_of_other_processes_is_a_wait(install):
    modules = {"pufferlib.vector": [Serial, Multiprocessing, Ray], "pufferlib.pufferl": [PuffeRL]}
    recorder = install(pufferlib.INSTRUMENT, modules)
    for kind in (Serial, Multiprocessing, Ray):
        with recorder.section(kind.__name__):
            kind().recv()
    root = recorder.snapshot().root
    waits = {kind: root.at(f"{kind}/vecenv recv").wait for kind in ("Serial", "Multiprocessing", "Ray")}
    assert waits == {"Serial": False, "Multiprocessing": True, "Ray": True}
