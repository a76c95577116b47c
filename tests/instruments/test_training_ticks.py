"""Ticks of training loops that mark nothing: an optimizer's steps, where nothing else makes ticks."""

from __future__ import annotations

import textwrap
from importlib.util import find_spec

import pytest

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(find_spec("torch") is None, reason="torch is not installed"),
]

TRAINING = """
import torch

def train(steps, around=None):
    nets = [torch.nn.Linear(4, 4) for _ in range(2)]
    optimizers = [torch.optim.SGD(net.parameters(), lr=0.1) for net in nets]
    for step in range(steps):
        if around is not None:
            around()
        for net, optimizer in zip(nets, optimizers):
            optimizer.zero_grad()
            net(torch.ones(2, 4)).sum().backward()
            optimizer.step()
"""


def test_the_steps_of_the_first_optimizer_are_the_ticks(recorded):
    profile = recorded(TRAINING + "\ndef main(): train(120)")
    loop = profile.loops["train step"]
    assert (loop.ticks, loop.incomplete) == (119, 1)
    tick = profile.root.at("train step")
    assert {name: node.stats.count for name, node in tick.children.items()} == {
        "optimizer step SGD": 120,
        "optimizer step SGD 2": 120,
        "optimizer zero_grad SGD": 119,
        "optimizer zero_grad SGD 2": 120,
        "forward Linear": 119,
        "forward Linear 2": 120,
        "backward": 239,
    }


def test_where_an_env_makes_ticks_or_the_program_marks_anything_an_optimizer_makes_none(recorded):
    of_env = """
    import gymnasium

    def main():
        env = gymnasium.make("CartPole-v1")
        env.reset(seed=1)

        def step():
            if env.step(env.action_space.sample())[2]:
                env.reset()

        train(60, step)
    """
    assert set(recorded(TRAINING + textwrap.dedent(of_env)).loops) == {"env"}
    marked = "\ndef main():\n    with ticktree.section('mine'):\n        pass\n    train(60)\n"
    assert set(recorded(TRAINING + marked).loops) == set()
