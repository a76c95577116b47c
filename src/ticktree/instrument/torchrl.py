"""torchrl: the names that programs give `timeit`, collectors, environments and replay buffers."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from types import ModuleType
from typing import TYPE_CHECKING, Any

from ticktree.instrument.methods import ClassHierarchy, Guard, simply
from ticktree.instrument.patches import Patches
from ticktree.recorder.site import NO_SITE
from ticktree.recorder.timed import timed_generator

if TYPE_CHECKING:
    from ticktree.recorder import Recorder

_patches = Patches()

# Where collectors and their base are, in this version and those before.
_COLLECTORS = {
    "torchrl.collectors._base": "BaseCollector",
    "torchrl.collectors.collectors": "DataCollectorBase",
}
_BUFFERS = ("torchrl.data.replay_buffers.replay_buffers.base", "torchrl.data.replay_buffers.replay_buffers")


def install(recorder: Recorder) -> None:
    """Wraps each part when it is imported."""
    _patches.watch("torchrl._utils", lambda module: _wrap_timers(recorder, module))
    _patches.watch("torchrl.envs.common", lambda module: _wrap_envs(recorder, module))
    for name, base in _COLLECTORS.items():
        _patches.watch(name, partial(_wrap_collectors, recorder, base))
    for name in _BUFFERS:
        _patches.watch(name, partial(_wrap_buffers, recorder))


def uninstall() -> None:
    """Puts everything back."""
    _patches.undo()


def _wrap_timers(recorder: Recorder, module: ModuleType) -> None:
    """As a context and, because its wrapper enters it, as a decorator."""
    is_compiling = module.torch.compiler.is_compiling

    def make_enter(enter: Callable[..., Any]) -> Callable[..., Any]:
        def __enter__(self: Any) -> Any:  # noqa: N807 (what it is)
            if not is_compiling():
                recorder.section(str(self.name)).__enter__()
            return enter(self)

        return __enter__

    def make_exit(leave: Callable[..., Any]) -> Callable[..., Any]:
        def __exit__(self: Any, exc_type: Any, exc_val: Any, exc_tb: Any) -> Any:  # noqa: N807 (what it is)
            try:
                return leave(self, exc_type, exc_val, exc_tb)
            finally:
                if not is_compiling():
                    recorder.section(str(self.name)).__exit__(None, None, None)

        return __exit__

    _patches.wrap(module.timeit, "__enter__", make_enter)
    _patches.wrap(module.timeit, "__exit__", make_exit)


def _wrap_collectors(recorder: Recorder, name: str, module: ModuleType) -> None:
    base = getattr(module, name, None)
    if not isinstance(base, type):
        return
    collecting = recorder.timed_section("collector next", NO_SITE)
    waiting = recorder.timed_section("collector wait", NO_SITE, wait=True)
    collectors = ClassHierarchy(_patches, base)

    def make(method: Callable[..., Any], owner: type) -> Callable[..., Any]:
        # These have processes of their own that collect; the others collect here and now.
        waits = "Multi" in owner.__name__ or "Async" in owner.__name__
        return timed_generator(method, waiting if waits else collecting)

    collectors.wrap_by_owner("iterator", make)
    collectors.wrap("rollout", simply(recorder, "rollout"))
    collectors.wrap("update_policy_weights_", simply(recorder, "update_policy_weights_"))


def _wrap_envs(recorder: Recorder, module: ModuleType) -> None:
    envs, guard = ClassHierarchy(_patches, module.EnvBase), Guard()
    for name in ("reset", "step"):
        envs.wrap(name, simply(recorder, f"env {name}"), guard)


def _wrap_buffers(recorder: Recorder, module: ModuleType) -> None:
    base = getattr(module, "ReplayBuffer", None)
    if not isinstance(base, type):
        return
    buffers, guard = ClassHierarchy(_patches, base), Guard()
    for name in ("add", "extend", "sample"):
        buffers.wrap(name, simply(recorder, f"buffer {name}"), guard)
