"""With the real torch: the rows of an unmodified training loop, and results as without."""

from __future__ import annotations

from importlib.util import find_spec
from types import SimpleNamespace

import pytest

from support.training_rows import rows
from ticktree.instruments.torch.copies import find_conversion

pytestmark = [
    pytest.mark.slow,  # importing torch alone takes seconds, so it is only looked for here
    pytest.mark.skipif(find_spec("torch") is None, reason="torch is not installed"),
]

TRAINING = """
import torch

torch.set_num_threads(1)


class Critic(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.features = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU())
        self.value = torch.nn.Linear(16, 1)

    def forward(self, x):
        return self.value(self.features(x))


class Numbers(torch.utils.data.Dataset):
    def __len__(self):
        return 24

    def __getitem__(self, index):
        return torch.full((8,), float(index)), torch.randn(1)


def main():
    torch.manual_seed(1)
    one, other = Critic(), Critic()
    optimizers = [torch.optim.Adam(one.parameters()), torch.optim.Adam(other.parameters())]
    for workers in (0, 2):
        for x, y in torch.utils.data.DataLoader(Numbers(), batch_size=4, num_workers=workers):
            for critic, optimizer in zip((one, other), optimizers):
                loss = torch.nn.MSELoss()(critic(x), y)
                optimizer.zero_grad()
                loss.backward()
                torch.nn.utils.clip_grad_norm_(critic.parameters(), 1.0)
                optimizer.step()
    gradient, = torch.autograd.grad(one(x).sum(), one.value.weight)
    print([parameter.tolist() for parameter in (*one.parameters(), *other.parameters(), gradient)])
"""


def test_a_training_loop_has_a_row_for_each_part_and_comes_out_as_without(recorded):
    profile = recorded(TRAINING)
    output = recorded.output
    assert rows(profile) == {
        "DataLoader start": 2,
        "DataLoader load": 7,  # the last time there is no batch left
        "DataLoader wait": 7,
        "forward Critic": 13,
        "forward Critic 2": 12,
        "forward MSELoss": 24,  # a new one each time, and one row
        "optimizer zero_grad Adam": 12,
        "optimizer zero_grad Adam 2": 12,
        "backward": 24,
        "autograd.grad": 1,
        "clip_grad_norm_": 24,
        "optimizer step Adam": 12,
        "optimizer step Adam 2": 12,
    }
    ticks = profile.root.at("train step")
    assert ticks.at("forward Critic").children == {}
    assert ticks.at("forward Critic").call_site.function == "Critic.forward"
    assert ticks.at("DataLoader wait").wait
    assert not ticks.at("DataLoader load").wait
    # What the workers do is below what started them.
    assert ticks.at("DataLoader start/fetch batch").count == 6
    recorded(TRAINING, "--no-instrument")
    assert recorded.output == output


def test_on_demand_every_layer_and_its_operations_are_recorded(recorded):
    profile = recorded(TRAINING, "--instrument", "default,torch-layers,torch-flops")
    output = recorded.output
    critic = profile.root.at("train step/forward Critic")
    assert {name: node.count for name, node in critic.children.items()} == {
        "features (Sequential)": 12,
        "value (Linear)": 12,
    }
    assert set(critic.at("features (Sequential)").children) == {"0 (Linear)", "1 (ReLU)"}
    operations = critic.work.flops
    assert operations == 12 * 2 * 4 * (8 * 16 + 16 * 1)
    # A matrix product for the weights, and one for what came in, but of the first layer.
    backward = [profile.root.at(path).work.flops for path in ("backward", "train step/backward")]
    assert sum(backward) == 24 * 2 * 4 * (8 * 16 + 2 * 16 * 1)
    recorded(TRAINING, "--no-instrument")
    assert recorded.output == output


def test_a_module_of_torchs_own_compiler_or_pickler_is_as_ever(recorded):
    recorded(
        """
        import copy, io, pickle, torch
        import torch.fx

        class Net(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.layer = torch.nn.Linear(2, 2)

            def forward(self, x):
                return self.layer(x).relu()

        def main():
            net, x = Net(), torch.ones(1, 2)
            want = net(x)
            ways = {
                "copied": copy.deepcopy(net),
                "pickled": pickle.loads(pickle.dumps(net)),
                "traced": torch.jit.trace(net, x),
                "scripted": torch.jit.script(net),
                "symbolic": torch.fx.symbolic_trace(net),
                "compiled": torch.compile(net, backend="eager", fullgraph=True),
                "exported": torch.export.export(net, (x,)).module(),
            }
            print([way for way, module in ways.items() if not torch.equal(module(x), want)])
        """
    )
    assert recorded.output == "[]\n"


def test_copies_have_rows_with_their_bytes_and_what_copies_nothing_has_none(recorded):
    profile = recorded(
        """
        import pickle, torch
        from torch.overrides import TorchFunctionMode

        class Mode(TorchFunctionMode):
            def __init__(self):
                super().__init__()
                self.seen = []

            def __torch_function__(self, function, types, args=(), kwargs=None):
                self.seen.append(function.__name__)
                return function(*args, **(kwargs or {}))

        class Mine(torch.Tensor):
            MOVES = {torch.Tensor.to}
            moved = 0

            @classmethod
            def __torch_function__(cls, function, types, args=(), kwargs=None):
                cls.moved += function in cls.MOVES
                return super().__torch_function__(function, types, args, kwargs or {})

        def main():
            x = torch.ones(100_000)
            x.to("cpu"), x.cpu(), x.to(torch.float32), x.to(x), x.numpy(), torch.from_numpy(x.numpy())
            x.to("meta"), x.to(device=torch.device("meta")), x.to(torch.ones(1, device="meta"))
            double = x.to(torch.float64)
            double.to(torch.float64), double.to(torch.float64)  # nothing, twice: which is remembered
            x.to("cpu", torch.float64), x[:5].to(torch.float64), x.to(torch.float64)
            Mine([1.0]).to(torch.float64)
            print(torch.eye(300).to_sparse().to(torch.float64).dtype)
            try:
                x.to("no such device")
            except RuntimeError as error:
                print("no such device" in str(error))
            for copy in (x.cuda, lambda: x.to("cuda:0"), lambda: x.to(device=torch.device("cuda"))):
                try:
                    copy()
                except (RuntimeError, AssertionError):  # there is none here
                    pass
            method = torch.Tensor.to
            same = pickle.loads(pickle.dumps(method)) == method == torch._C.TensorBase.to
            print(Mine.moved, method.__name__, same, method in {torch._C.TensorBase.to})
            with Mode() as mode:
                x.to(torch.float64).cpu()
            print(mode.seen)
        """
    )
    assert recorded.output == "torch.float64\nTrue\n1 to True True\n['to', 'cpu']\n"
    rows = {name: (node.count, node.work.bytes) for name, node in profile.root.children.items()}
    assert rows.pop("copy to no such device") == (1, 400_000)  # tried, and refused
    assert rows == {"copy to cuda": (3, 1_200_000), "convert to float64": (4, 1_600_000)}
    pinned = profile.gauges["torch/pinned copies"]
    assert (pinned.count, pinned.zeros) == (3, 3)


def test_a_device_that_is_given_by_its_number_is_of_the_machines_accelerator():
    class Device:
        def __init__(self, number):
            self.type = "xpu"

    tensor = SimpleNamespace(device=SimpleNamespace(type="cpu"))
    torch = SimpleNamespace(device=Device, dtype=str, Tensor=SimpleNamespace)
    for args, kwargs in (((0,), {}), ((), {"device": 1})):
        assert find_conversion(torch, tensor, args, kwargs) == "copy to xpu"


def test_an_optimizer_of_the_scripts_own_is_recorded_and_pickled_by_value_as_ever(recorded):
    pytest.importorskip("cloudpickle")
    profile = recorded(
        """
        import cloudpickle, pickle, torch

        class Halving(torch.optim.Optimizer):
            def __init__(self, parameters):
                super().__init__(parameters, {"lr": 1.0})

            def step(self, closure=None):
                for parameter in self.param_groups[0]["params"]:
                    parameter.data /= 2

        def main():
            weight = torch.ones(1, requires_grad=True)
            optimizer = Halving([weight])
            schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda epoch: 1.0)
            optimizer.step()
            schedule.step()
            packed = cloudpickle.dumps(Halving)
            again = pickle.loads(packed)([weight])
            again.step()
            print(weight.item(), b"ticktree" in packed)
        """
    )
    assert recorded.output == "0.25 False\n"
    assert rows(profile)["optimizer step Halving"] >= 1


def test_everything_is_as_it_was_once_it_is_put_back():
    import torch
    from torch.utils.data import dataloader

    import ticktree
    from ticktree.instruments.torch import INSTRUMENT, flops, forward

    owners = (torch.nn.Module, torch.Tensor, torch.optim.Optimizer, torch.optim.SGD, dataloader.DataLoader)
    torch.optim.SGD([torch.ones(1)])  # has torch put its own wrapper around `step`
    before = [dict(vars(owner)) for owner in owners]
    recorder = ticktree.Recorder()
    for each in (INSTRUMENT, forward.LAYERS, flops.INSTRUMENT):
        each.install(recorder)
    assert flops.counter is not None
    for each in (flops.INSTRUMENT, forward.LAYERS, INSTRUMENT):
        each.uninstall()
    recorder.disable()
    assert flops.counter is None
    assert [dict(vars(owner)) for owner in owners] == before


def test_nothing_is_held_of_an_installation_that_was_taken_back():
    import gc
    import weakref

    import torch

    import ticktree
    from ticktree.instruments.torch import INSTRUMENT
    from ticktree.instruments.torch.gradients import Gradients

    recorder = ticktree.Recorder()
    INSTRUMENT.install(recorder)
    watching = [weakref.ref(each) for each in gc.get_objects() if type(each) is Gradients]
    assert watching
    assert torch.nn.Linear(1, 1)(torch.ones(1, 1)).requires_grad
    INSTRUMENT.uninstall()
    recorder.disable()
    gc.collect()
    assert [each() for each in watching] == [None] * len(watching)


def test_operations_are_counted_of_a_module_whatever_its_arguments_are_called(recorded):
    profile = recorded(
        """
        import torch

        class Net(torch.nn.Module):
            def forward(self, call, module, section, function):
                return call @ module + section + function

        def main():
            ones = torch.ones(4, 4)
            Net()(call=ones, module=ones, section=1, function=2)
        """,
        "--instrument",
        "default,torch-flops",
    )
    assert profile.root.at("forward Net").work.flops == 2 * 4 * 4 * 4


def test_torchs_own_profiler_tells_modules_apart_as_ever(recorded):
    recorded(
        """
        import torch

        def main():
            net = torch.nn.Sequential(torch.nn.Linear(2, 2))
            with torch.profiler.profile(with_stack=True, with_modules=True) as profiler:
                net(torch.ones(1, 2))
            print(any("nn.Module: Linear" in event.name for event in profiler.events()))
        """
    )
    assert recorded.output == "True\n"
