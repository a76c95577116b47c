"""Copies, and waits for a GPU: the calls of tensors' methods that take longer than a call.

`Tensor.to`, `cpu` and `cuda` have a row if they move data to another device, or convert much of it to another type; so
have methods that read a tensor's number, if it is on a GPU, which first has to compute it; and
`torch.cuda.synchronize`. `numpy` and `from_numpy` share memory and copy nothing; they have no row.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from types import ModuleType
from typing import Any

from ticktree.instruments.patches import Patches, redirect_to
from ticktree.recorder import IdleCalls, Layer, OutermostFunction, Recorder, Section
from ticktree.recorder.device_time.cuda import is_built
from ticktree.recorder.site import NO_SITE

# For conversions that stay on their device; below, a conversion costs about as much as recording it.
MIN_BYTES = 1 << 16
# 1 for each copy to a CUDA device from pinned memory, 0 for one from pageable memory; rules/torch.py reads it.
PINNED_GAUGE = "torch/pinned copies"

# The time in which the program waits for the GPU; rules/torch.py reads it.
WAIT = "wait for cuda"
# It frees memory that the loop's next call allocates again, and waits for the GPU.
EMPTY_CACHE = "empty_cache"
# Methods that return a tensor's number; `if` calls `__bool__`.
_NUMBER_METHODS = ("item", "tolist", "__float__", "__int__", "__bool__")

_TO_CUDA = "copy to cuda"
# Returns the name of a method's copy; None if it does not copy.
_FindName = Callable[[Any, "tuple[Any, ...]", "dict[str, Any]"], "str | None"]


def wrap(patches: Patches, recorder: Recorder, torch: ModuleType) -> None:
    """Wrap these methods of plain tensors and parameters, but not of other subclasses."""
    kinds = (torch.Tensor, torch.nn.Parameter)
    values = (str, bool, int, type(None), torch.device, torch.dtype)
    # A program's TorchFunctionMode must not see our reads of a tensor. Another version of torch may not tell how many
    # modes are active: then we assume none.
    modes = getattr(torch._C, "_len_torch_function_stack", int)
    default, layer = recorder.timed_section("copy", NO_SITE), Layer()
    find_names: dict[str, _FindName] = {
        "to": partial(find_conversion, torch),
        "cpu": partial(_find_copy, "cpu"),
        "cuda": partial(_find_copy, "cuda"),
    }
    calls: dict[str, tuple[IdleCalls, Callable[..., Any]]] = {}
    for name, find_name in find_names.items():
        idle = IdleCalls(kinds, ("device", "dtype"), values, modes)
        calls[name] = idle, CopyCalls(recorder, find_name, kinds, idle, torch._C.DisableTorchFunction).call
    if is_built(torch):  # for GPUs; otherwise a tensor's number is in main memory
        idle = IdleCalls(kinds, ("is_cuda",), values, modes)
        read_number = NumberCalls(recorder.section(WAIT), kinds, idle, torch._C.DisableTorchFunction).call
        calls |= dict.fromkeys(_NUMBER_METHODS, (idle, read_number))
        wait, wait_layer = recorder.timed_section(WAIT, NO_SITE), Layer()
        for path in ("synchronize", "Event.synchronize", "Stream.synchronize"):
            patches.section(torch.cuda, path, wait, wait_layer)
        patches.section(torch.cuda, EMPTY_CACHE, recorder.timed_section(EMPTY_CACHE, NO_SITE))
    for name, (idle, call) in calls.items():
        method = getattr(torch.Tensor, name)
        wrapper: Any = OutermostFunction(method, default, layer, choice=idle, redirection=redirect_to(call))
        for attribute in ("__name__", "__doc__", "__objclass__"):
            setattr(wrapper, attribute, getattr(method, attribute))
        patches.put(torch.Tensor, name, wrapper)


class _TensorCalls:
    """Calls of methods of plain tensors that may need a section; `idle` are the calls that need none."""

    def __init__(self, kinds: tuple[type, ...], idle: IdleCalls, hide: Any) -> None:
        self._kinds = kinds
        self._idle = idle
        self._hide = hide

    def _is_plain(self, args: tuple[Any, ...]) -> bool:
        return bool(args) and type(args[0]) in self._kinds

    def _note_idle(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Remember calls like this one, if they can be distinguished."""
        with self._hide(), suppress(Exception):
            self._idle.note(args, kwargs)


class CopyCalls(_TensorCalls):
    """Calls of one method that may copy."""

    def __init__(self, recorder: Recorder, find_name: _FindName, *options: Any) -> None:
        super().__init__(*options)
        self._recorder = recorder
        self._find_name = find_name

    def call(self, method: Any, /, *args: Any, **kwargs: Any) -> Any:
        """Call the method, in a section if it copies."""
        if not self._is_plain(args):
            return method(*args, **kwargs)
        tensor = args[0]
        with self._hide():
            name, nbytes = self._find_copy(tensor, args[1:], kwargs)
        if name is not None:
            with self._recorder.section(name) as section:
                section.work(bytes=nbytes)
                return method(*args, **kwargs)
        result = method(*args, **kwargs)
        if result is tensor:
            self._note_idle(args, kwargs)
        return result

    def _find_copy(
        self, tensor: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[str | None, int]:
        """Return the copy's name, or None if there is no copy, and its bytes."""
        try:
            name = self._find_name(tensor, args, kwargs)
            if name == _TO_CUDA and tensor.device.type == "cpu":
                self._recorder.gauge(PINNED_GAUGE, int(tensor.is_pinned()))
            return name, tensor.nbytes if name is not None else 0
        except Exception:
            # A sparse tensor has no number of bytes; the method itself reports wrong arguments.
            return None, 0


class NumberCalls(_TensorCalls):
    """Calls that read a tensor's number, which may be on a GPU."""

    def __init__(self, wait: Section, *options: Any) -> None:
        super().__init__(*options)
        self._wait = wait

    def call(self, method: Any, /, *args: Any, **kwargs: Any) -> Any:
        """Call the method, in the section if its tensor is on a GPU."""
        if not self._is_plain(args):
            return method(*args, **kwargs)
        with self._hide():
            is_cuda = args[0].is_cuda
        if is_cuda:
            with self._wait:
                return method(*args, **kwargs)
        result = method(*args, **kwargs)
        self._note_idle(args, kwargs)
        return result


def _find_copy(device: str, tensor: Any, _: tuple[Any, ...], __: dict[str, Any]) -> str | None:
    return None if tensor.device.type == device else f"copy to {device}"


def find_conversion(
    torch: ModuleType, tensor: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> str | None:
    """Return the name of a copy by `Tensor.to`, in any of its forms; None if it makes no copy, or a small one."""
    device, dtype = kwargs.get("device"), kwargs.get("dtype")
    for target in (*args[:2], kwargs.get("other")):
        if isinstance(target, torch.dtype):
            dtype = target
        elif isinstance(target, torch.Tensor):
            device, dtype = target.device, target.dtype
        elif isinstance(target, (str, torch.device)) or type(target) is int:
            device = target
    if type(device) is int:
        device = torch.device(device)
    if device is not None:
        kind = (device if isinstance(device, str) else device.type).partition(":")[0]
        if kind != tensor.device.type:
            return None if kind == "meta" else f"copy to {kind}"  # a tensor there has no data
    if dtype is not None and dtype != tensor.dtype and tensor.nbytes >= MIN_BYTES:
        return f"convert to {str(dtype).removeprefix('torch.')}"
    return None
