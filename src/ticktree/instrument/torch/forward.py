"""Forward passes: the outermost call of a module on a thread is a section.

`nn.Module.__call__` itself is wrapped: torch's global hooks would have every module take its slow path, and
torch.compile speak of them. What is being compiled sees nothing of it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ticktree.instrument.torch import flops
from ticktree.instrument.torch.instances import Instances

if TYPE_CHECKING:
    from ticktree.recorder import Recorder


class _Inside(threading.local):
    is_open = False


def recorded(recorder: Recorder, is_compiling: Callable[[], bool]) -> Callable[[Any], Any]:
    """Returns what makes of `nn.Module.__call__` one that is a section."""
    inside = _Inside()
    modules = Instances(lambda name, module: recorder.timed_section(f"forward {name}", site(module)))

    def make(call: Callable[..., Any]) -> Callable[..., Any]:
        def __call__(self: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: N807 (what it is)
            if is_compiling() or inside.is_open or not recorder.recording:
                return call(self, *args, **kwargs)
            inside.is_open = True
            try:
                with modules.of(self) as section:
                    if flops.count is None:
                        return call(self, *args, **kwargs)
                    return flops.count(section, call, self, *args, **kwargs)
            finally:
                inside.is_open = False

        return __call__

    return make


def site(module: Any) -> tuple[str, int, str]:
    """Where a module's `forward` is defined."""
    code = getattr(getattr(type(module), "forward", None), "__code__", None)
    if code is None:
        return ("", 0, "")
    return (code.co_filename, code.co_firstlineno, f"{type(module).__name__}.forward")
