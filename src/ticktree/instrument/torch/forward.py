"""Forward passes: the outermost call of a module on a thread is a section.

`nn.Module.__call__` itself is wrapped: torch's global hooks would have every module take its slow path, and
torch.compile speak of them. What is being compiled sees nothing of it (sections.py).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ticktree.instrument.torch import flops
from ticktree.instrument.torch.instances import Instances
from ticktree.recorder import Layer, OutermostFunction, Redirection
from ticktree.recorder.site import NO_SITE, Site

if TYPE_CHECKING:
    from ticktree.recorder import Recorder


def recorded(recorder: Recorder, is_compiling: Callable[[], bool]) -> Callable[[Any], Any]:
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
            unless=is_compiling,
            sections=modules.of,
            redirection=redirection,
        )
        wrapper.__code__ = call.__code__  # torch's profiler knows calls of modules by it
        return wrapper

    flops.tell(lambda: setattr(redirection, "way", counted if flops.count else None))
    return make


def site(module: Any) -> Site:
    """Where a module's `forward` is defined."""
    code = getattr(getattr(type(module), "forward", None), "__code__", None)
    if code is None:
        return NO_SITE
    return (code.co_filename, code.co_firstlineno, f"{type(module).__name__}.forward")
