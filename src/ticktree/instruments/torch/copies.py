"""Copies, and waits for a GPU: what of a tensor's methods takes longer than its call.

`Tensor.to`, `cpu` and `cuda` have a row where they take data to another device, or make much of it another type; what
asks for a tensor's number where the tensor is on a GPU, which first has to come to it; and `torch.cuda.synchronize`.
`numpy` and `from_numpy` share memory and copy nothing; they have no row.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from types import ModuleType
from typing import Any

from ticktree.instruments.patches import Patches, redirected
from ticktree.recorder import IdleCalls, Layer, OutermostFunction, Recorder, Section
from ticktree.recorder.device_time.cuda import is_built
from ticktree.recorder.site import NO_SITE

# Of conversions that stay on their device; below, one costs about what recording it does.
LEAST_BYTES = 1 << 16
# 1 for each copy to a CUDA device from pinned memory, 0 for one from pageable memory; rules/torch.py looks for it.
PINNED_GAUGE = "torch/pinned copies"

# The time in which the program waits for the GPU; rules/torch.py looks for it.
WAIT = "wait for cuda"
# It gives memory back that the next call of the loop asks for again, and waits for the GPU.
EMPTYING = "empty_cache"
# What gives a tensor's number: `bool` is what `if` asks.
_ASKING = ("item", "tolist", "__float__", "__int__", "__bool__")

_TO_CUDA = "copy to cuda"
_Names = Callable[[Any, "tuple[Any, ...]", "dict[str, Any]"], "str | None"]


def wrap(patches: Patches, recorder: Recorder, torch: ModuleType) -> None:
    """Wraps these methods of plain tensors and parameters; those of other subclasses are left alone."""
    kinds = (torch.Tensor, torch.nn.Parameter)
    values = (str, bool, int, type(None), torch.device, torch.dtype)
    # A program's TorchFunctionMode is not to see how a tensor is looked at. Another version of torch may not know how
    # many are on: then it is taken that there are none.
    modes = getattr(torch._C, "_len_torch_function_stack", int)
    own, layer = recorder.timed_section("copy", NO_SITE), Layer()
    methods: dict[str, _Names] = {"to": Targets(torch).of, "cpu": _to_cpu, "cuda": _to_cuda}
    ways: dict[str, tuple[IdleCalls, Callable[..., Any]]] = {}
    for name, names in methods.items():
        idle = IdleCalls(kinds, ("device", "dtype"), values, modes)
        ways[name] = idle, _Copies(recorder, names, kinds, idle, torch._C.DisableTorchFunction).call
    if is_built(torch):  # for GPUs; elsewhere a tensor's number is there
        idle = IdleCalls(kinds, ("is_cuda",), values, modes)
        asking = _Asking(recorder.section(WAIT), kinds, idle, torch._C.DisableTorchFunction).call
        ways |= dict.fromkeys(_ASKING, (idle, asking))
        waiting, waits = recorder.timed_section(WAIT, NO_SITE), Layer()
        for path in ("synchronize", "Event.synchronize", "Stream.synchronize"):
            patches.section(torch.cuda, path, waiting, waits)
        patches.section(torch.cuda, EMPTYING, recorder.timed_section(EMPTYING, NO_SITE))
    for name, (idle, way) in ways.items():
        method = getattr(torch.Tensor, name)
        ours: Any = OutermostFunction(method, own, layer, choice=idle, redirection=redirected(way))
        ours.__name__, ours.__doc__, ours.__objclass__ = method.__name__, method.__doc__, method.__objclass__
        patches.put(torch.Tensor, name, ours)


class _Looks:
    """The calls of methods of plain tensors that are not known to leave nothing to record: `idle` are known to."""

    def __init__(self, kinds: tuple[type, ...], idle: IdleCalls, unseen: Any) -> None:
        self._kinds = kinds
        self._idle = idle
        self._unseen = unseen

    def _concerns(self, args: tuple[Any, ...]) -> bool:
        return bool(args) and type(args[0]) in self._kinds

    def _note_idle(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Remember calls like this one, if they can be told apart."""
        with self._unseen(), suppress(Exception):
            self._idle.note(args, kwargs)


class _Copies(_Looks):
    """The calls of one method that are not known to copy nothing; `names` gives None where there is no copy."""

    def __init__(self, recorder: Recorder, names: _Names, *looks: Any) -> None:
        super().__init__(*looks)
        self._recorder = recorder
        self._names = names

    def call(self, method: Any, /, *args: Any, **kwargs: Any) -> Any:
        """Calls the method, in a section where it copies."""
        if not self._concerns(args):
            return method(*args, **kwargs)
        tensor = args[0]
        with self._unseen():
            name, moved = self._look(tensor, args[1:], kwargs)
        if name is not None:
            with self._recorder.section(name) as section:
                section.work(bytes=moved)
                return method(*args, **kwargs)
        result = method(*args, **kwargs)
        if result is tensor:
            self._note_idle(args, kwargs)
        return result

    def _look(self, tensor: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[str | None, int]:
        """Return what the copy is called, if there is one, and its bytes."""
        try:
            name = self._names(tensor, args, kwargs)
            if name == _TO_CUDA and tensor.device.type == "cpu":
                self._recorder.gauge(PINNED_GAUGE, int(tensor.is_pinned()))
            return name, tensor.nbytes if name is not None else 0
        except Exception:
            # A sparse tensor has no such number; wrong arguments are the method's own errors.
            return None, 0


class _Asking(_Looks):
    """The calls that ask a tensor for its number and are not known to find it on the CPU."""

    def __init__(self, waiting: Section, *looks: Any) -> None:
        super().__init__(*looks)
        self._waiting = waiting

    def call(self, method: Any, /, *args: Any, **kwargs: Any) -> Any:
        """Call the method, in the section where its tensor is on a GPU."""
        if not self._concerns(args):
            return method(*args, **kwargs)
        with self._unseen():
            waits = args[0].is_cuda
        if waits:
            with self._waiting:
                return method(*args, **kwargs)
        result = method(*args, **kwargs)
        self._note_idle(args, kwargs)
        return result


def _to_cpu(tensor: Any, _: tuple[Any, ...], __: dict[str, Any]) -> str | None:
    return None if tensor.device.type == "cpu" else "copy to cpu"


def _to_cuda(tensor: Any, _: tuple[Any, ...], __: dict[str, Any]) -> str | None:
    return None if tensor.device.type == "cuda" else _TO_CUDA


class Targets:
    """The target of `Tensor.to`, in any of its forms."""

    def __init__(self, torch: ModuleType) -> None:
        self._torch = torch

    def of(self, tensor: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str | None:
        """Returns what the copy is called; None where there is none, or of little."""
        device, dtype = kwargs.get("device"), kwargs.get("dtype")
        for each in (*args[:2], kwargs.get("other")):
            if isinstance(each, self._torch.dtype):
                dtype = each
            elif isinstance(each, self._torch.Tensor):
                device, dtype = each.device, each.dtype
            elif isinstance(each, (str, self._torch.device)) or type(each) is int:
                device = each
        if type(device) is int:
            device = self._torch.device(device)
        if device is not None:
            kind = (device if isinstance(device, str) else device.type).partition(":")[0]
            if kind != tensor.device.type:
                return None if kind == "meta" else f"copy to {kind}"  # a tensor there has no data
        if dtype is not None and dtype != tensor.dtype and tensor.nbytes >= LEAST_BYTES:
            return f"convert to {str(dtype).removeprefix('torch.')}"
        return None
