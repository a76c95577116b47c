from __future__ import annotations

from dataclasses import replace

import pytest

from support.findings import findings
from support.sampled_runs import run_sampled
from support.steady_loops import watched
from support.virtual_programs import Program
from ticktree.analysis.rules.torch import SlowLoaderRule
from ticktree.profile import Profile

pytest.importorskip("torch")


def loading(load_ms: float, ticks: int = 50, batches: int = 1, name: str = "DataLoader load") -> Profile:
    """A loop with 8 ms of other work in each tick."""
    program = Program()
    for _ in program.loop("train", range(ticks)):
        for _ in range(batches):
            program.work(name, load_ms)
        program.work("step", 8)
    return program.profile()


def findings_of(profile: Profile):
    return findings(profile, rules=[SlowLoaderRule()])


def test_a_loop_that_loads_its_batches_itself_is_reported_with_the_saving_of_workers():
    (finding,) = findings_of(loading(8))
    assert finding.message == (
        "Load batches in other processes, DataLoader(..., num_workers=2, persistent_workers=True): train loads them "
        "itself, for 8.00 ms per tick, 50% of it"
    )
    assert (finding.path, finding.severity) == ("train/DataLoader load", "critical")
    assert finding.saving.share == pytest.approx((8 - 1.5) / 16)


def test_each_batch_has_to_be_received():
    assert findings_of(loading(1.4)) == []
    assert findings_of(loading(1.4, batches=4)) == []
    (finding,) = findings_of(loading(4, batches=2))
    assert finding.saving.share == pytest.approx((8 - 3) / 16)


def test_free_cores_bound_the_saving():
    readings = {"used": [1.0] * 9, "others": [0.6] * 9, "waiting": [0.0] * 9}
    (finding,) = findings_of(watched(loading(8), cores=2, **readings))
    assert finding.saving.share == pytest.approx(1 - 1 / 1.4, abs=0.02)
    assert findings_of(watched(loading(8), cores=1, **{**readings, "others": [0.0] * 9})) == []


def test_there_are_as_many_workers_as_the_loop_consumes_and_cores_allow():
    readings = {"used": [1.0] * 9, "others": [0.0] * 9, "waiting": [0.0] * 9}
    (many,) = findings_of(watched(loading(24), cores=16, **readings))
    assert "DataLoader(..., num_workers=3, " in many.message
    assert many.saving.share == pytest.approx((24 - 1.5) / 32)
    (few,) = findings_of(watched(loading(24), cores=2, **readings))
    assert "DataLoader(..., num_workers=2, " in few.message
    assert few.saving.share == pytest.approx(0.5, abs=0.01)  # three processes on two cores
    (unknown,) = findings_of(loading(24))
    assert unknown.saving.share == pytest.approx((32 - 24 / 2 - 1.5) / 32)  # each of two loads half


@pytest.mark.parametrize(
    "profile", [loading(8, ticks=9), loading(8, name="load")], ids=["few", "another name"]
)
def test_other_sections_are_left_alone(profile):
    assert findings_of(profile) == []


def epochs(count: int, start_ms: float, first_ms: float, batches: int = 10) -> Profile:
    """A loop of epochs, each of which starts the loader's workers and waits for their first batch."""
    program = Program()
    for tick in program.loop("train", range(count * batches)):
        if tick % batches == 0:
            program.work("DataLoader start", start_ms)
        program.work("DataLoader wait", first_ms if tick % batches == 0 else 0.1, wait=True)
        program.work("step", 2)
    return program.profile()


def test_workers_that_are_started_for_each_epoch_are_to_stay():
    (finding,) = findings_of(epochs(30, 20, 15))
    assert finding.message == (
        "Keep the loader's workers between epochs, DataLoader(..., persistent_workers=True), or load without "
        "(num_workers=0): they are started 29 times, for 20.0 ms each, and with the wait for their first batches that "
        "is 62% of a tick of train"
    )
    assert (finding.path, finding.severity) == ("train/DataLoader start", "critical")
    assert finding.saving.share == pytest.approx((20 + 15 - 0.1) / 10 / (2.1 + 3.49), abs=0.02)


@pytest.mark.parametrize(
    "profile", [epochs(3, 20, 15), epochs(30, 0.2, 0.5)], ids=["two loaders and a half", "long epochs"]
)
def test_workers_whose_start_costs_little_are_left_alone(profile):
    assert findings_of(profile) == []


PROGRAM = """
import time
import torch

class Items(torch.utils.data.Dataset):
    def __len__(self):
        return 400

    def __getitem__(self, index):
        time.sleep(0.02)  # so long that a step is short beside it on a machine that runs other tests too
        return torch.zeros(8), 0

model = torch.nn.Linear(8, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x, y in torch.utils.data.DataLoader(Items(), batch_size=8):
    loss = torch.nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


@pytest.mark.slow
def test_a_real_loader_without_workers(tmp_path):
    profile, _ = run_sampled(tmp_path, PROGRAM, "--quiet", before="")
    profile = replace(profile, gauges={})  # not what else ran on this machine meanwhile
    profile = watched(profile, cores=2, used=[0.5] * 9, others=[0.0] * 9, waiting=[0.0] * 9)
    assert [finding.path for finding in findings_of(profile)] == ["train step/DataLoader load"]
