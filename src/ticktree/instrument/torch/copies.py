"""Copies: `Tensor.to`, `cpu` and `cuda` where they take data to another device, or make much of it another type.

`numpy` and `from_numpy` share memory and copy nothing; they have no row.
"""

from __future__ import annotations

from collections.abc import Callable
from types import MethodType, ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ticktree.instrument.patches import Patches
    from ticktree.recorder import Recorder

# Of conversions that stay on their device; below, one costs about what recording it does.
LEAST_BYTES = 1 << 16

_Names = Callable[[Any, "tuple[Any, ...]", "dict[str, Any]"], "str | None"]


class Copying:
    """A tensor's method that is a section where it copies.

    Equal to the method that it calls: subclasses of Tensor keep sets of methods and look for those they are called by.
    """

    def __init__(self, recorder: Recorder, method: Any, names: _Names, kinds: tuple[type, ...]) -> None:
        self._recorder = recorder
        self._method = method
        self._name = names
        self._kinds = kinds
        self.__wrapped__ = method
        self.__name__, self.__doc__ = method.__name__, method.__doc__

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else MethodType(self, instance)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Calls it."""
        tensor: Any = args[0] if args else None
        if type(tensor) not in self._kinds or not self._recorder.recording:
            return self._method(*args, **kwargs)
        try:
            name = self._name(tensor, args[1:], kwargs)
            moved = tensor.nbytes if name is not None else 0
        except (
            Exception
        ):  # a sparse tensor has no such number; what is asked for wrongly the method says itself
            name = None
        if name is None:
            return self._method(*args, **kwargs)
        with self._recorder.section(name) as section:
            section.work(bytes=moved)
            return self._method(*args, **kwargs)

    def __eq__(self, other: object) -> bool:
        return bool(self._method == (other._method if isinstance(other, Copying) else other))

    def __hash__(self) -> int:
        return hash(self._method)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._method, name)  # whatever else is asked of a method

    def __repr__(self) -> str:
        return repr(self._method)

    def __reduce__(self) -> Any:
        return getattr, (self._method.__objclass__, self.__name__)


def wrap(patches: Patches, recorder: Recorder, torch: ModuleType) -> None:
    """Wraps the three methods of plain tensors and parameters; those of other subclasses are left alone."""
    kinds = (torch.Tensor, torch.nn.Parameter)
    for name, names in (("to", _Targets(torch).of), ("cpu", _to_cpu), ("cuda", _to_cuda)):
        patches.put(torch.Tensor, name, Copying(recorder, getattr(torch.Tensor, name), names, kinds))


def _to_cpu(tensor: Any, _: tuple[Any, ...], __: dict[str, Any]) -> str | None:
    return None if tensor.device.type == "cpu" else "copy to cpu"


def _to_cuda(tensor: Any, _: tuple[Any, ...], __: dict[str, Any]) -> str | None:
    return None if tensor.device.type == "cuda" else "copy to cuda"


class _Targets:
    """What `Tensor.to` is asked for, in any of its forms."""

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
            elif isinstance(each, (str, self._torch.device)):
                device = each
        if device is not None:
            kind = (device if isinstance(device, str) else device.type).partition(":")[0]
            if kind != tensor.device.type:
                return None if kind == "meta" else f"copy to {kind}"  # a tensor there has no data
        if dtype is not None and dtype != tensor.dtype and tensor.nbytes >= LEAST_BYTES:
            return f"convert to {str(dtype).removeprefix('torch.')}"
        return None
