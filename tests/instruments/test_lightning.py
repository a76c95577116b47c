"""Lightning's phases: what its Trainer tells a profiler, made up; and (slow) the fit of a real Trainer."""

from __future__ import annotations

from contextlib import contextmanager
from importlib.util import find_spec
from types import ModuleType

import pytest

import ticktree
from support.thorough import thorough
from ticktree.instruments import lightning
from ticktree.instruments.patches import Patches

needs_lightning = pytest.mark.skipif(find_spec("lightning") is None, reason="lightning is not installed")

FIT = """
import logging, warnings
warnings.filterwarnings("ignore")
logging.disable(logging.INFO)
import torch
import {package} as pl

torch.set_num_threads(1)

class Net(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(4, 1)

    def training_step(self, batch, index):
        return self.layer(batch).square().mean()

    def validation_step(self, batch, index):
        self.log("loss", self.layer(batch).mean())

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1)

def main():
    pl.seed_everything(1)
    net = Net()
    trainer = pl.Trainer(
        max_epochs=2, accelerator="cpu", logger=False, enable_checkpointing=False,
        enable_progress_bar=False, enable_model_summary=False, {more}
    )
    loader = torch.utils.data.DataLoader(torch.randn(20, 4), batch_size=4)
    trainer.fit(net, loader, loader)
    print(net.layer.weight.tolist(), net.layer.bias.tolist())
"""


@pytest.fixture
def trainer():
    """A Trainer's profiler that does nothing, as Lightning has it, wrapped for a recorder; and that recorder."""

    class PassThroughProfiler:
        def start(self, action_name):
            pass

        def stop(self, action_name):
            pass

        @contextmanager
        def profile(self, action_name):
            try:
                self.start(action_name)
                yield action_name
            finally:
                self.stop(action_name)

    module = ModuleType("lightning.pytorch.profilers.base")
    module.PassThroughProfiler = PassThroughProfiler
    recorder = ticktree.Recorder(virtual_clock=True)
    recorder.enable()
    patches = Patches()
    lightning._wrap(patches, module, recorder)
    yield recorder, PassThroughProfiler()
    patches.undo()
    recorder.disable()


def test_phases_nest_as_the_trainer_tells_them(trainer):
    recorder, profiler = trainer
    with profiler.profile("run_training_batch"), profiler.profile("[LightningModule]Net.optimizer_step"):
        recorder.advance(5)
    node = recorder.snapshot().root.at("run_training_batch/[LightningModule]Net.optimizer_step")
    assert (node.count, node.total_ns) == (1, 5)


def test_what_a_callback_is_set_to_is_no_part_of_its_name(trainer):
    recorder, profiler = trainer
    with profiler.profile("[Callback]ModelCheckpoint{'monitor': None, 'mode': 'min'}.on_train_end"):
        pass
    assert list(recorder.snapshot().root.children) == ["[Callback]ModelCheckpoint.on_train_end"]


def test_ticks_are_batches_with_what_was_waited_for_them(trainer):
    recorder, profiler = trainer
    with profiler.profile("run_training_epoch"):
        for _ in range(3):
            with profiler.profile("[_TrainingEpochLoop].train_dataloader_next"):
                recorder.advance(2)
            with profiler.profile("run_training_batch"):
                recorder.advance(3)
        recorder.advance(100)
    profile = recorder.snapshot()
    profile.check()
    assert profile.loops["run_training_epoch/training batch"].ticks == 3


def test_a_phase_that_raises_ends_with_it(trainer):
    recorder, profiler = trainer
    with pytest.raises(ValueError, match="loss"), profiler.profile("run_training_batch"):
        raise ValueError("loss")
    with profiler.profile("after"):
        pass
    profile = recorder.snapshot()
    assert set(profile.root.children) == {"run_training_batch", "after"}
    assert not profile.losses


def test_without_lightning_its_profiler_says_what_it_needs(monkeypatch):
    monkeypatch.setattr(lightning, "PACKAGES", ("no_such_lightning.pytorch",))
    with pytest.raises(ImportError, match="needs lightning or pytorch-lightning"):
        lightning.TicktreeProfiler  # noqa: B018
    with pytest.raises(AttributeError, match="no attribute 'other'"):
        lightning.other  # noqa: B018


@needs_lightning
@pytest.mark.slow
@pytest.mark.parametrize("package", ["lightning", pytest.param("pytorch_lightning", marks=thorough)])
def test_a_fit_is_recorded_and_comes_out_as_without(recorded, package):
    if find_spec(package) is None:
        pytest.skip(f"{package} is not installed")
    program = FIT.format(package=package, more="")
    profile = recorded(program)
    output = recorded.output
    batch = profile.root.at("run_training_epoch/training batch")
    assert profile.loops["run_training_epoch/training batch"].ticks == 10
    step = batch.at("run_training_batch/[LightningModule]Net.optimizer_step/optimizer step SGD")
    assert step.count == 10
    assert step.at("[Strategy]SingleDeviceStrategy.training_step/forward Linear").count == 10
    assert step.at("[Strategy]SingleDeviceStrategy.backward/backward").count == 10
    assert batch.at("[_TrainingEpochLoop].train_dataloader_next/DataLoader load").count == 10
    assert batch.at("[Strategy]SingleDeviceStrategy.validation_step/forward Linear").count == 10
    recorded(program, "--no-instrument")
    assert recorded.output == output


@needs_lightning
@pytest.mark.slow
def test_a_trainer_takes_our_profiler_and_its_phases_are_recorded_once(recorded):
    program = "from ticktree.instruments.lightning import TicktreeProfiler\n"
    program += FIT.format(package="lightning", more="profiler=TicktreeProfiler()")
    with_all = recorded(program)
    assert with_all.root.at("run_training_epoch/training batch/run_training_batch").count == 10
    alone = recorded(program, "--no-instrument")
    assert alone.root.at("run_training_epoch/training batch/run_training_batch").count == 10
    assert "DataLoader load" not in alone.root.at("run_training_epoch").children
