"""Forward passes: the outermost call of a module on a thread is a section; on demand, every layer is.

This wraps `nn.Module.__call__` itself: torch's global hooks would make every module take its slow path, and
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


def section_maker(recorder: Recorder, is_compiling: Flag) -> Callable[[Any], Any]:
    """Return a function that makes `nn.Module.__call__` a section."""
    sections = Instances(lambda name, module: recorder.timed_section(f"forward {name}", forward_site(module)))
    redirection = Redirection()

    def count_flops(call: Any, module: Any, /, *args: Any, **kwargs: Any) -> Any:
        with sections.get(module) as section:
            return flops.call(section, call, module, *args, **kwargs)

    def make(call: Any) -> Any:
        wrapper: Any = OutermostFunction(
            call,
            recorder.timed_section("forward", NO_SITE),
            Layer(),
            choice=SectionsByObject(sections.get),
            unless=is_compiling,
            redirection=redirection,
        )
        wrapper.__code__ = call.__code__  # torch's profiler recognizes calls of modules by it
        return wrapper

    flops.add_listener(lambda: setattr(redirection, "way", count_flops if flops.counter else None))
    return make


def forward_site(module: Any) -> Site:
    """Return where a module's `forward` is defined."""
    code = getattr(getattr(type(module), "forward", None), "__code__", None)
    if code is None:
        return NO_SITE
    return (code.co_filename, code.co_firstlineno, f"{type(module).__name__}.forward")


class _OpenModule(threading.local):
    module: Any = None


def _wrap_layers(patches: Patches, torch: ModuleType, recorder: Recorder) -> None:
    """Make layers rows such as `fc1 (Linear)`, below the calling module's; the outermost has its row from `torch`."""
    is_compiling = torch.compiler.is_compiling
    innermost = _OpenModule()
    layers = _LayerSections(recorder)

    def make(call: Callable[..., Any]) -> Callable[..., Any]:
        def __call__(self: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: N807 (its wrapper)
            if is_compiling() or not recorder.recording:
                return call(self, *args, **kwargs)
            caller, innermost.module = innermost.module, self
            try:
                if caller is None:
                    return call(self, *args, **kwargs)
                with layers.get(caller, self):
                    return call(self, *args, **kwargs)
            finally:
                innermost.module = caller

        return __call__

    patches.wrap(torch.nn.Module, "__call__", make)


class _LayerSections:
    """Sections by the name of a module in the module that calls it."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._cache: dict[tuple[int, int], tuple[weakref.ref[Any], weakref.ref[Any], Section]] = {}
        self._sections: dict[str, Section] = {}

    def get(self, caller: Any, layer: Any) -> Section:
        key = (id(caller), id(layer))
        entry = self._cache.get(key)
        if entry is not None and entry[0]() is caller and entry[1]() is layer:
            return entry[2]
        name = _layer_name(caller, layer)
        if name not in self._sections:
            self._sections[name] = self._recorder.timed_section(name, forward_site(layer))
        section = self._sections[name]

        def forget(_: Any) -> None:
            self._cache.pop(key, None)

        self._cache[key] = (weakref.ref(caller, forget), weakref.ref(layer, forget), section)
        return section


def _layer_name(caller: Any, layer: Any) -> str:
    kind = type(layer).__name__
    for path, module in caller.named_modules():  # breadth does not matter: each has one name
        if module is layer and path:
            return f"{path} ({kind})"
    return kind


LAYERS = Instrument("torch", tested=TESTED, hooks={"torch": _wrap_layers})
