"""What of torch waits for a GPU has a row; without one, all is as ever."""

from __future__ import annotations

from importlib.util import find_spec
from types import SimpleNamespace

import pytest

import ticktree
from support.recorder.queries import counts
from ticktree.instruments.patches import Patches
from ticktree.instruments.torch import copies

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(find_spec("torch") is None, reason="torch is not installed"),
]


@pytest.fixture
def torch(monkeypatch):
    """torch as if it were built for GPUs, with its methods wrapped for `torch.recorder`."""
    import torch

    monkeypatch.setattr(torch.version, "cuda", "13.0")
    monkeypatch.setattr(torch.cuda, "synchronize", lambda device=None: None)
    patches, recorder = Patches(), ticktree.Recorder(virtual_clock=True)
    copies.wrap(patches, recorder, torch)
    monkeypatch.setattr(torch, "recorder", recorder, raising=False)
    yield torch
    patches.undo()
    recorder.disable()


def test_the_number_of_a_tensor_that_is_on_the_cpu_is_no_wait(torch) -> None:
    one = torch.ones(())
    for _ in range(3):
        assert (one.item(), float(one), int(one), bool(one), torch.ones(2).tolist()) == (
            1,
            1,
            1,
            True,
            [1, 1],
        )
    with pytest.raises(RuntimeError):
        torch.ones(2).item()
    assert counts(torch.recorder) == {}
    assert torch.Tensor.item == torch._C.TensorBase.item


def test_what_waits_for_all_work_of_a_gpu_has_a_row(torch) -> None:
    torch.cuda.synchronize()
    torch.cuda.empty_cache()
    assert counts(torch.recorder) == {"wait for cuda": 1, "empty_cache": 1}


def test_a_number_that_is_on_a_gpu_is_waited_for() -> None:
    class Tensor:
        is_cuda = True

    class Unseen:
        def __enter__(self):
            return None

        def __exit__(self, *error):
            return None

    recorder = ticktree.Recorder(virtual_clock=True)
    calls = copies.NumberCalls(
        recorder.section(copies.WAIT), (Tensor,), SimpleNamespace(note=lambda *_: None), Unseen
    )
    assert calls.call(lambda tensor: recorder.advance(1000) or 7, Tensor()) == 7
    node = recorder.snapshot().root.at("wait for cuda")
    assert (node.count, node.total_ns, node.work) == (1, 1000, None)


@pytest.mark.gpu
def test_on_a_gpu_the_program_waits_where_it_asks_for_a_number(recorded) -> None:
    if not __import__("torch").cuda.is_available():
        pytest.skip("there is no CUDA device")
    profile = recorded(
        """
        import torch

        def main():
            left = torch.randn(4096, 4096, device="cuda")
            right = left @ left
            torch.cuda.synchronize()
            for ask in (torch.Tensor.item, float, int, bool):
                for _ in range(20):
                    right = left @ left
                print(ask(right.isnan().sum()) == 0)
            right.sum().cpu()
            torch.ones(()).item(), float(torch.ones(()))
            torch.cuda.empty_cache()
        """
    )
    assert recorded.output == "True\n" * 4
    waits = profile.root.at("wait for cuda")
    assert waits.count == 5
    assert waits.stats.max_ns > 20_000_000  # twenty products of 2 ms and more
    assert profile.root.at("empty_cache").count == 1


def test_a_call_with_wrong_arguments_has_torchs_own_error(torch) -> None:
    for _ in range(2):
        with pytest.raises(TypeError, match="item"):
            torch.ones(()).item([1])
    assert torch.ones(()).item() == 1
