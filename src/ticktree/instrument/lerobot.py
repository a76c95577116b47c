"""lerobot: a robot's observations and actions, its policy, the queue and the latencies of real-time chunking."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial
from types import ModuleType, TracebackType
from typing import TYPE_CHECKING, Any

from ticktree.instrument.methods import ClassHierarchy, Guard, simply
from ticktree.instrument.patches import Patches

if TYPE_CHECKING:
    from ticktree.recorder import Recorder, Section

# Read right before an action is taken: at 0 the robot has nothing to do.
QUEUE_GAUGE = "ActionQueue depth"
LATENCY_GAUGE = "LatencyTracker latency s"

_patches = Patches()

# Classes whose subclasses do the work, by module: what the rows are called by method, and which of them wait.
_FAMILIES: dict[tuple[str, str], dict[str, tuple[str, bool]]] = {
    ("lerobot.robots.robot", "Robot"): {
        "connect": ("robot connect", False),
        "get_observation": ("robot get_observation", False),
        "send_action": ("robot send_action", False),
    },
    ("lerobot.teleoperators.teleoperator", "Teleoperator"): {
        "get_action": ("teleoperator get_action", False),
        "send_feedback": ("teleoperator send_feedback", False),
    },
    ("lerobot.cameras.camera", "Camera"): {
        "read": ("camera read", True),
        "async_read": ("camera async_read", True),
        "read_latest": ("camera read_latest", False),
    },
    ("lerobot.policies.pretrained", "PreTrainedPolicy"): {
        "select_action": ("policy select_action", False),
        "predict_action_chunk": ("policy predict_action_chunk", False),
    },
    ("lerobot.policies.rtc.modeling_rtc", "RTCProcessor"): {"denoise_step": ("RTC denoise_step", False)},
    ("lerobot.processor.pipeline", "DataProcessorPipeline"): {"__call__": ("processor", False)},
    ("lerobot.datasets.lerobot_dataset", "LeRobotDataset"): {
        "add_frame": ("dataset add_frame", False),
        "save_episode": ("dataset save_episode", False),
    },
}


def install(recorder: Recorder) -> None:
    """Wraps each part when it is imported."""
    for (name, base), methods in _FAMILIES.items():
        _patches.watch(name, partial(_wrap_family, recorder, base, methods))
    _patches.watch("lerobot.policies.rtc.action_queue", partial(_wrap_queue, recorder))
    _patches.watch("lerobot.policies.rtc.latency_tracker", partial(_wrap_latencies, recorder))
    _patches.watch("lerobot.utils.robot_utils", partial(_wrap_sleep, recorder))
    _patches.watch("lerobot.utils.cycle_timer", partial(_wrap_cycles, recorder))


def uninstall() -> None:
    """Puts everything back."""
    _patches.undo()


def _wrap_family(
    recorder: Recorder, base: str, methods: dict[str, tuple[str, bool]], module: ModuleType
) -> None:
    kind = getattr(module, base, None)
    if not isinstance(kind, type):
        return
    family = ClassHierarchy(_patches, kind)
    for method, (name, waits) in methods.items():
        # A policy that selects an action may have to predict a chunk first: each has its own row.
        family.wrap(method, simply(recorder, name, wait=waits), Guard())


def _wrap_queue(recorder: Recorder, module: ModuleType) -> None:
    taking, merging = recorder.section("ActionQueue.get"), recorder.section("ActionQueue.merge")

    def make_get(get: Callable[..., Any]) -> Callable[..., Any]:
        def wrapper(self: Any, *args: Any, **kwargs: Any) -> Any:
            if recorder.recording:
                recorder.gauge(QUEUE_GAUGE, self.qsize())
            with taking:
                return get(self, *args, **kwargs)

        return wrapper

    def make_merge(merge: Callable[..., Any]) -> Callable[..., Any]:
        def wrapper(self: Any, *args: Any, **kwargs: Any) -> Any:
            with merging:
                return merge(self, *args, **kwargs)

        return wrapper

    _patches.wrap_at(module, "ActionQueue.get", make_get)
    _patches.wrap_at(module, "ActionQueue.merge", make_merge)


def _wrap_latencies(recorder: Recorder, module: ModuleType) -> None:
    def make(add: Callable[..., Any]) -> Callable[..., Any]:
        def wrapper(self: Any, latency: Any, *args: Any, **kwargs: Any) -> Any:
            result = add(self, latency, *args, **kwargs)
            recorder.gauge(LATENCY_GAUGE, latency)
            return result

        return wrapper

    _patches.wrap_at(module, "LatencyTracker.add", make)


def _wrap_sleep(recorder: Recorder, module: ModuleType) -> None:
    """Loops sleep what is left of their period by one of these: the former is of versions before 0.4.3."""
    for name in ("busy_wait", "precise_sleep"):
        _patches.wrap(module, name, partial(_waiting, recorder.section("sleep", wait=True)))


def _waiting(section: Section, function: Callable[..., Any]) -> Callable[..., Any]:
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        with section:
            return function(*args, **kwargs)

    return wrapper


def _wrap_cycles(recorder: Recorder, module: ModuleType) -> None:
    """A CycleTimer's ticks, its sections and its sleep, where it exists."""

    def make_tick(tick: Callable[..., Any]) -> Callable[..., Any]:
        def wrapper(self: Any, *args: Any, **kwargs: Any) -> Any:
            recorder.tick("control", hz=self.fps * self.multiplier)
            return tick(self, *args, **kwargs)

        return wrapper

    def make_section(section: Callable[..., Any]) -> Callable[..., Any]:
        def wrapper(self: Any, name: str) -> Any:
            return _Both(recorder.section(str(name)), section(self, name))

        return wrapper

    _patches.wrap_at(module, "CycleTimer.tick", make_tick)
    _patches.wrap_at(module, "CycleTimer.section", make_section)
    _patches.wrap_at(
        module, "CycleTimer.wait", partial(_waiting, recorder.section("CycleTimer.wait", wait=True))
    )


class _Both:
    """A section around the library's own."""

    def __init__(self, section: Section, own: AbstractContextManager[Any]) -> None:
        self._section = section
        self._own = own

    def __enter__(self) -> Any:
        self._section.__enter__()
        return self._own.__enter__()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> Any:
        try:
            return self._own.__exit__(kind, error, trace)
        finally:
            self._section.__exit__(None, None, None)
