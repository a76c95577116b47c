"""lerobot: a robot's observations and actions, its policy, the queue and the latencies of real-time chunking."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from types import ModuleType
from typing import Any

from ticktree.instruments.patches import Patches
from ticktree.instruments.targets import Instrument, Target, methods
from ticktree.recorder import Recorder, Section
from ticktree.recorder.site import NO_SITE

# Recorded right before an action is taken: at 0 the robot has nothing to do.
QUEUE_GAUGE = "ActionQueue depth"
LATENCY_GAUGE = "LatencyTracker latency s"

_POLICY, _CAMERA = "lerobot.policies.pretrained:PreTrainedPolicy", "lerobot.cameras.camera:Camera"
_TELEOPERATOR = "lerobot.teleoperators.teleoperator:Teleoperator"
_DATASET = "lerobot.datasets.lerobot_dataset:LeRobotDataset"
_TARGETS = [
    *methods("lerobot.robots.robot:Robot", "connect", "get_observation", "send_action", title="robot "),
    *methods(_TELEOPERATOR, "get_action", "send_feedback", title="teleoperator "),
    *methods(_CAMERA, "read", "async_read", title="camera ", wait=True),
    # Only in some versions or subclasses.
    *methods(_CAMERA, "read_latest", title="camera ", required=False),
    # A policy that selects an action may have to predict a chunk first: each has its own row.
    *methods(_POLICY, "select_action", "predict_action_chunk", title="policy "),
    *methods("lerobot.policies.rtc.modeling_rtc:RTCProcessor", "denoise_step", title="RTC "),
    *methods(_DATASET, "add_frame", "save_episode", title="dataset "),
    *methods("lerobot.processor.pipeline:DataProcessorPipeline", "__call__", section="processor"),
    Target("lerobot.policies.rtc.action_queue:ActionQueue.merge", "ActionQueue.merge"),
    # Loops sleep for the rest of their period with one of these; busy_wait is from versions before 0.4.3.
    Target("lerobot.utils.robot_utils:precise_sleep|busy_wait", "sleep", wait=True),
    Target("lerobot.utils.cycle_timer:CycleTimer.wait", "CycleTimer.wait", wait=True),
]


def _wrap_queue(patches: Patches, module: ModuleType, recorder: Recorder) -> None:
    def note_depth(queue: Any) -> None:
        recorder.gauge(QUEUE_GAUGE, queue.qsize())

    section = recorder.timed_section("ActionQueue.get", NO_SITE)
    patches.section(module, "ActionQueue.get", section, before=note_depth)


def _wrap_latencies(patches: Patches, module: ModuleType, recorder: Recorder) -> None:
    def make(add: Callable[..., Any]) -> Callable[..., Any]:
        def wrapper(self: Any, latency: Any, *args: Any, **kwargs: Any) -> Any:
            result = add(self, latency, *args, **kwargs)
            recorder.gauge(LATENCY_GAUGE, latency)
            return result

        return wrapper

    patches.wrap(module, "LatencyTracker.add", make)


def _wrap_cycles(patches: Patches, module: ModuleType, recorder: Recorder) -> None:
    """Record a CycleTimer's ticks and sections."""

    def make_tick(tick: Callable[..., Any]) -> Callable[..., Any]:
        def wrapper(self: Any, *args: Any, **kwargs: Any) -> Any:
            recorder.tick("control", hz=self.fps * self.multiplier)
            return tick(self, *args, **kwargs)

        return wrapper

    def make_section(section: Callable[..., Any]) -> Callable[..., Any]:
        def wrapper(self: Any, name: str) -> Any:
            return _nest(recorder.section(str(name)), section(self, name))

        return wrapper

    patches.wrap(module, "CycleTimer.tick", make_tick)
    patches.wrap(module, "CycleTimer.section", make_section)


@contextmanager
def _nest(section: Section, context: AbstractContextManager[Any]) -> Iterator[Any]:
    """Put a section around the library's own context."""
    with section, context as value:
        yield value


INSTRUMENT = Instrument(
    "lerobot",
    tested=">=0.4.4,<0.5",
    targets=_TARGETS,
    hooks={
        "lerobot.policies.rtc.action_queue": _wrap_queue,
        "lerobot.policies.rtc.latency_tracker": _wrap_latencies,
        "lerobot.utils.cycle_timer": _wrap_cycles,
    },
)
