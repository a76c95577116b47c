"""torchrl and accelerate with the real libraries: unmodified programs, the shape of their trees."""

from __future__ import annotations

from importlib.util import find_spec

import pytest

from support.training_rows import rows

pytestmark = pytest.mark.slow
needs_torchrl = pytest.mark.skipif(find_spec("torchrl") is None, reason="torchrl is not installed")
needs_accelerate = pytest.mark.skipif(find_spec("accelerate") is None, reason="accelerate is not installed")

TORCHRL = """
import logging, warnings
warnings.filterwarnings("ignore")
import torch
torch.set_num_threads(1)
from torchrl import collectors
from torchrl._utils import timeit
from torchrl.data import LazyTensorStorage, ReplayBuffer
from torchrl.envs import GymEnv

Collector = getattr(collectors, "Collector", None) or collectors.SyncDataCollector

@timeit("decorated")
def work():
    return sum(range(100))

def main():
    torch.manual_seed(0)
    env = GymEnv("CartPole-v1", device="cpu")
    env.set_seed(0)
    collector = Collector(env, None, frames_per_batch=10, total_frames=30)
    buffer = ReplayBuffer(storage=LazyTensorStorage(100), batch_size=8)
    seen = []
    for data in collector:
        with timeit("a/extend"):
            buffer.extend(data)
        with timeit("sample"), timeit("inner"):
            seen.append(buffer.sample()["observation"].sum().item())
        work()
    try:
        with timeit("raises"):
            raise KeyError("mine")
    except KeyError:
        pass
    collector.shutdown()
    print(seen, sorted(timeit.todict()), [timeit._REG[name][2] for name in sorted(timeit._REG)])
"""
ACCELERATE = """
import torch
torch.set_num_threads(1)
from accelerate import Accelerator

def main():
    torch.manual_seed(0)
    accelerator = Accelerator(cpu=True)
    model = torch.nn.Linear(4, 1)
    optimizer = torch.optim.Adam(model.parameters())
    loader = torch.utils.data.DataLoader(torch.randn(16, 4), batch_size=4)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for batch in loader:
        with accelerator.accumulate(model):
            loss = model(batch).square().mean()
            optimizer.zero_grad()
            accelerator.backward(loss)
            accelerator.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
        accelerator.gather_for_metrics(loss)
    accelerator.wait_for_everyone()
    print(model.weight.tolist())
"""


@needs_torchrl
def test_names_given_to_timeit_are_sections_and_its_own_figures_stay(recorded):
    profile = recorded(TORCHRL)
    output = recorded.output.splitlines()[-1]  # before it torchrl logs, with the time of day
    assert profile.loops["iteration"].ticks == 3  # and what follows the last batch
    iteration = profile.root.at("iteration")
    children = iteration.children
    assert children["a/extend"].count == children["sample"].count == children["decorated"].count == 3
    assert children["raises"].count == 1
    assert list(children["a/extend"].children) == ["buffer extend"]
    assert iteration.at("sample/inner/buffer sample").count == 3
    collecting = iteration.at("collector next")
    assert collecting.count == 4  # the last time there is nothing left
    assert collecting.at("rollout").count == 3
    assert collecting.at("rollout/env step").count == 30
    assert not profile.losses
    recorded(TORCHRL, "--no-instrument")
    assert recorded.output.splitlines()[-1] == output


OWN_SCRIPT = """
import torch
from torchrl._utils import timeit
from torchrl.data import LazyTensorStorage, ReplayBuffer
from torchrl.envs import GymEnv

def main():
    torch.manual_seed(0)
    env = GymEnv("CartPole-v1", device="cpu")
    buffer = ReplayBuffer(storage=LazyTensorStorage(100), batch_size=8)
    COLLECT
    for _ in range(3):
        with timeit("collecting"):
            data = take()
            buffer.extend(data)
        for _ in range(60):  # more than the steps of others after which an env is no longer the loop's
            with timeit("sample"):
                buffer.sample()
            with timeit("update"):
                sum(range(100))
"""


@needs_torchrl
def test_the_timeit_around_a_collectors_batch_begins_ticks(recorded):
    """As in torchrl's own implementations of algorithms."""
    collector = "Collector(env, None, frames_per_batch=10, total_frames=30)"
    script = OWN_SCRIPT.replace("COLLECT", f"take = iter({collector}).__next__")
    named = 'Collector = getattr(collectors, "Collector", None) or collectors.SyncDataCollector'
    profile = recorded(f"from torchrl import collectors\n{named}\n{script}")
    assert list(profile.loops) == ["iteration"]
    assert (
        profile.loops["iteration"].ticks == 1
    )  # which name it is, the first batch tells; the last is cut short
    assert profile.root.at("iteration").children["sample"].count == 120


@needs_torchrl
def test_where_nothing_collects_a_buffers_batches_begin_them(recorded):
    profile = recorded(OWN_SCRIPT.replace("COLLECT", "data = env.rollout(5); take = lambda: data"))
    assert list(profile.loops) == ["iteration"]
    assert profile.root.at("iteration").children["sample"].count == 179


@needs_accelerate
def test_an_accelerators_own_work_has_rows_and_what_torch_does_for_it_has_one(recorded):
    profile = recorded(ACCELERATE)
    output = recorded.output
    assert rows(profile) == {
        "Accelerator.prepare": 1,
        "Accelerator.gather_for_metrics": 4,
        "Accelerator.wait_for_everyone": 1,
        "DataLoader start": 1,
        "DataLoader load": 5,
        "forward Linear": 4,
        "backward": 4,
        "clip_grad_norm_": 4,
        "optimizer zero_grad Adam": 4,
        "optimizer step Adam": 4,
    }
    assert profile.root.at("train step/Accelerator.wait_for_everyone").wait
    recorded(ACCELERATE, "--no-instrument")
    assert recorded.output == output
