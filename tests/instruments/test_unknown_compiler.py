"""A version of torch of which nothing is known: what it compiles still gives what it gives without ticktree."""

from __future__ import annotations

import os
from importlib.util import find_spec

import pytest

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(find_spec("torch") is None, reason="torch is not installed"),
]

PROGRAM = """
import torch, traceback
from ticktree import section, stage

torch.set_num_threads(1)
torch.manual_seed(0)


@torch.compile(backend="eager")
def update(net, optimizer, x):
    loss = net(x).square().mean()
    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    optimizer.step()
    return loss


@ticktree.timed
def scaled(x):
    with ticktree.section("scale"):
        return 3 * x


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(4, 1)

    @ticktree.timed
    def doubled(self, x, *, by=2):
        stage("by")
        return by * x

    @ticktree.timed
    def forward(self, x):
        with section("forward of the program"):
            return self.doubled(self.layer(scaled(x)), by=3)


def main():
    torch.compiler.reset()
    net = Net()
    optimizer = torch.optim.Adam(net.parameters())
    x = torch.arange(8.0).reshape(2, 4)
    print([round(float(update(net, optimizer, x)), 6) for _ in range(6)])
    whole = torch.compile(net, backend="eager", fullgraph=True)
    print(all(torch.equal(whole(x), net(x)) for _ in range(3)))
    print(float(torch.autograd.grad(net(x).sum(), net.layer.bias)[0]))
    try:
        net.doubled(None)
    except TypeError:
        print(traceback.format_exc().count("File "))
    for _ in range(2):
        places = [each.__code__.co_filename for each in (torch.optim.Adam.step, torch.autograd.grad)]
        print([os.path.basename(place) == "sections.py" for place in places])
        ticktree.uninstrument("torch")
"""


@pytest.fixture
def unknown_version(tmp_path, monkeypatch):
    """The version of torch that its metadata has."""
    metadata = tmp_path / "installed" / "torch-99.0.dist-info" / "METADATA"
    metadata.parent.mkdir(parents=True)
    metadata.write_text("Metadata-Version: 2.1\nName: torch\nVersion: 99.0\n")
    paths = [str(metadata.parents[1]), *filter(None, [os.environ.get("PYTHONPATH")])]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(paths))


def test_a_program_with_sections_that_compiles_its_training_comes_out_as_without(recorded, unknown_version):
    profile = recorded(PROGRAM)
    told = recorded.output.splitlines()
    assert told[1:] == ["True", "6.0", "2", "[True, True]", "[False, False]"]
    recorded(PROGRAM, "--no-instrument")
    assert recorded.output.splitlines()[:4] == told[:4]
    assert len(set(told[0].split())) == 6  # it learns
    names = {node.name for _, _, node in profile.root.walk()}
    assert {"optimizer step Adam", "scaled", "Net.doubled", "scale"} <= names
    assert profile.losses["modules_not_instrumented"] >= 1
