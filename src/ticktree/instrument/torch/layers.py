"""Every layer of a forward pass, on demand: `fc1 (Linear)`, below whatever module calls it."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from functools import partial
from types import ModuleType
from typing import TYPE_CHECKING, Any

from ticktree.instrument.patches import Patches
from ticktree.instrument.torch.forward import site

if TYPE_CHECKING:
    from ticktree.recorder import Recorder, Section

_patches = Patches()


class _Inside(threading.local):
    module: Any = None


def install(recorder: Recorder) -> None:
    """Wraps `nn.Module.__call__` when torch is imported. The outermost module has its row from `torch`."""
    _patches.watch("torch", partial(_wrap, recorder))


def uninstall() -> None:
    """Puts it back."""
    _patches.undo()


def _wrap(recorder: Recorder, torch: ModuleType) -> None:
    is_compiling = torch.compiler.is_compiling
    inside = _Inside()
    layers = _Layers(recorder)

    def make(call: Callable[..., Any]) -> Callable[..., Any]:
        def __call__(self: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: N807 (what it is)
            if is_compiling() or not recorder.recording:
                return call(self, *args, **kwargs)
            around = inside.module
            inside.module = self
            try:
                if around is None:
                    return call(self, *args, **kwargs)
                with layers.section(around, self):
                    return call(self, *args, **kwargs)
            finally:
                inside.module = around

        return __call__

    _patches.wrap(torch.nn.Module, "__call__", make)


class _Layers:
    """Sections by what a module is called in the one around it."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._known: dict[tuple[int, int], tuple[weakref.ref[Any], weakref.ref[Any], Section]] = {}
        self._sections: dict[str, Section] = {}

    def section(self, around: Any, layer: Any) -> Section:
        key = (id(around), id(layer))
        known = self._known.get(key)
        if known is not None and known[0]() is around and known[1]() is layer:
            return known[2]
        name = _name(around, layer)
        if name not in self._sections:
            self._sections[name] = self._recorder.timed_section(name, site(layer))
        section = self._sections[name]

        def forget(_: Any) -> None:
            self._known.pop(key, None)

        self._known[key] = (weakref.ref(around, forget), weakref.ref(layer, forget), section)
        return section


def _name(around: Any, layer: Any) -> str:
    kind = type(layer).__name__
    for path, module in around.named_modules():  # breadth does not matter: each is named once
        if module is layer and path:
            return f"{path} ({kind})"
    return kind
