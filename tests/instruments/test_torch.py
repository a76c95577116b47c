"""With the real torch: a small actor-critic, and what is given to torch.compile."""

from __future__ import annotations

from importlib.util import find_spec

import pytest

from support.findings import findings

pytestmark = [
    pytest.mark.slow,  # importing torch alone takes seconds, so it is only looked for here
    pytest.mark.skipif(find_spec("torch") is None, reason="torch is not installed"),
]

AGENT = """
import torch

torch.set_num_threads(1)


def network(inputs):
    # Wide enough that gradients of weights take a clear part of a pass on a busy machine too.
    between = [torch.nn.Linear(256, 256), torch.nn.ReLU()]
    return torch.nn.Sequential(torch.nn.Linear(inputs, 256), torch.nn.ReLU(), *between, torch.nn.Linear(256, 1))


def descend(loss, optimizer):
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


def train(updates, freeze):
    actor, critic = network(8), network(9)
    actor_optimizer = torch.optim.Adam(actor.parameters())
    critic_optimizer = torch.optim.SGD(critic.parameters(), lr=0.1)
    states = torch.randn(64, 8)
    for _ in ticktree.loop("train", range(updates), warmup=0):
        with ticktree.section("critic"):
            descend(critic(torch.cat([states, actor(states).detach()], 1)).square().mean(), critic_optimizer)
        with ticktree.section("actor"):
            critic.requires_grad_(not freeze)
            descend(-critic(torch.cat([states, actor(states)], 1)).mean(), actor_optimizer)
            critic.requires_grad_(True)
"""


def rules_about(profile):
    return {found.rule: found for found in findings(profile)}


def test_an_actors_step_that_computes_its_critics_gradients_is_found(recorded):
    profile = recorded(AGENT + "\ndef main(): train(40, freeze=False)")
    found = rules_about(profile)["unused-gradients"]
    assert found.path == "train/actor/backward with unused gradients"
    assert 0.4 < found.facts["unused_share"] < 0.6  # 68,609 of the critic's, 68,353 of the actor's
    assert 0 < found.facts["unused_time_share"] < 1
    assert found.saving.share == pytest.approx(found.facts["unused_time_share"] * found.facts["tick_share"])
    assert set(profile.root.at("train/critic").children) == {
        "forward Sequential",
        "forward Sequential 2",
        "optimizer zero_grad SGD",
        "backward",
        "optimizer step SGD",
    }
    assert profile.gauges["torch/compiled"].max == 0


def test_one_with_frozen_critics_is_not(recorded):
    profile = recorded(AGENT + "\ndef main(): train(40, freeze=True)")
    assert "unused-gradients" not in rules_about(profile)
    assert not any("unused gradients" in name for name in profile.gauges)


def test_without_the_instrument_nothing_is_known(recorded):
    profile = recorded(AGENT + "\ndef main(): train(40, freeze=False)", "--no-instrument")
    assert "unused-gradients" not in rules_about(profile)
    assert not any(name.startswith("torch/") for name in profile.gauges)


def test_what_is_given_to_compile_is_counted_and_comes_back_compiled_as_ever(recorded):
    profile = recorded(
        """
        import torch

        def double(x):
            return 2 * x

        def main():
            doubled = torch.compile(double, backend="eager")
            module = torch.nn.Linear(2, 2)
            module.compile(backend="eager")
            print(doubled(torch.ones(2)).tolist(), module(torch.ones(1, 2)).shape)
        """
    )
    assert profile.gauges["torch/compiled"].max == 2
    assert recorded.output == "[2.0, 2.0] torch.Size([1, 2])\n"


def test_a_whole_training_step_can_still_be_compiled(recorded):
    recorded(
        AGENT
        + """

def main():
    model = torch.nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    @torch.compile(backend="eager")
    def update(batch):
        optimizer.zero_grad()
        loss = model(batch).square().mean()
        loss.backward()
        optimizer.step()
        return loss

    losses = [float(update(torch.ones(3, 4))) for _ in range(6)]
    print(losses[-1] < losses[0])
"""
    )
    assert recorded.output == "True\n"


def test_everything_is_as_it_was_once_it_is_put_back():
    import torch

    import ticktree
    from ticktree.instruments.torch import INSTRUMENT

    optimizers = torch.optim.Optimizer
    before = (torch.compile, torch.autograd.backward, optimizers.zero_grad)
    recorder = ticktree.Recorder()
    INSTRUMENT.install(recorder)
    assert torch.autograd.backward is not before[1]
    assert torch.autograd.backward.__wrapped__ is before[1]
    INSTRUMENT.uninstall()
    assert (torch.compile, torch.autograd.backward, optimizers.zero_grad) == before
