"""Forward passes: the outermost call of a module on a thread is a section; on demand, every layer is.

`nn.Module.__call__` itself is wrapped: torch's global hooks would have every module take its slow path, and
torch.compile print warnings about them. The compiler does not see our wrapper (sections.py).
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from types import ModuleType
from typing import Any

from ticktree.instruments.patches import Patches
from ticktree.instruments.targets import Instrument
from ticktree.instruments.torch import flops
from ticktree.instruments.torch.instances import Instances
from ticktree.instruments.torch.sections import TESTED
from ticktree.recorder import Flag, Layer, OutermostFunction, Recorder, Redirection, Section, SectionsByObject
from ticktree.recorder.site import NO_SITE, Site


def recorded(recorder: Recorder, is_compiling: Flag) -> Callable[[Any], Any]:
    """Returns what makes of `nn.Module.__call__` one that is a section."""
    modules = Instances(lambda name, module: recorder.timed_section(f"forward {name}", site(module)))
    redirection = Redirection()

    def counted(call: Any, module: Any, /, *args: Any, **kwargs: Any) -> Any:
        with modules.of(module) as section:
            return flops.counted(section, call, module, *args, **kwargs)

    def make(call: Any) -> Any:
        wrapper: Any = OutermostFunction(
            call,
            recorder.timed_section("forward", NO_SITE),
            Layer(),
            choice=SectionsByObject(modules.of),
            unless=is_compiling,
            redirection=redirection,
        )
        wrapper.__code__ = call.__code__  # torch's profiler knows calls of modules by it
        return wrapper

    flops.listen(lambda: setattr(redirection, "way", counted if flops.count else None))
    return make


def site(module: Any) -> Site:
    """Where a module's `forward` is defined."""
    code = getattr(getattr(type(module), "forward", None), "__code__", None)
    if code is None:
        return NO_SITE
    return (code.co_filename, code.co_firstlineno, f"{type(module).__name__}.forward")


class _Inside(threading.local):
    module: Any = None


def _wrap_layers(patches: Patches, torch: ModuleType, recorder: Recorder) -> None:
    """A row is called `fc1 (Linear)`, below whatever module calls it; the outermost has its row from `torch`."""
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

    patches.wrap(torch.nn.Module, "__call__", make)


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


LAYERS = Instrument("torch", tested=TESTED, hooks={"torch": _wrap_layers})
