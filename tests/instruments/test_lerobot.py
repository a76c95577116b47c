"""lerobot: its classes as they are named and called there, made up; with the package itself where it is installed."""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType

import pytest

import ticktree
from ticktree.instruments import lerobot


class Robot(ABC):
    def connect(self, calibrate=True):
        self.is_connected = True

    @abstractmethod
    def get_observation(self):
        """What it senses."""

    @abstractmethod
    def send_action(self, action):
        """Does it, and returns what it did."""


class PreTrainedPolicy(ABC):
    @abstractmethod
    def select_action(self, batch):
        """One action."""

    @abstractmethod
    def predict_action_chunk(self, batch):
        """Several."""


class ActionQueue:
    def __init__(self):
        self.queue = []

    def qsize(self):
        return len(self.queue)

    def get(self):
        return self.queue.pop(0) if self.queue else None

    def merge(self, original_actions, processed_actions, real_delay, action_index_before_inference=0):
        self.queue = list(processed_actions[real_delay:])


class LatencyTracker:
    def __init__(self):
        self.values = []

    def add(self, latency):
        self.values.append(latency)


class CycleTimer:
    def __init__(self, fps, multiplier=1):
        self.fps, self.multiplier, self.sections = fps, multiplier, []

    def tick(self, new_cycle=False):
        return None

    @contextmanager
    def section(self, name):
        yield
        self.sections.append(name)

    def wait(self):
        return None


def precise_sleep(seconds):
    return None


MODULES = {
    "lerobot.robots.robot": [Robot],
    "lerobot.policies.pretrained": [PreTrainedPolicy],
    "lerobot.policies.rtc.action_queue": [ActionQueue],
    "lerobot.policies.rtc.latency_tracker": [LatencyTracker],
    "lerobot.utils.cycle_timer": [CycleTimer],
    "lerobot.utils.robot_utils": [precise_sleep],
}


@pytest.fixture
def recorder(monkeypatch):
    """Records what a made-up lerobot does; `recorder.modules` are its modules."""
    modules = {name: ModuleType(name) for name in MODULES}
    for name, things in MODULES.items():
        monkeypatch.setitem(sys.modules, name, modules[name])
        for thing in things:
            setattr(modules[name], thing.__name__, thing)
    recorder = ticktree.Recorder()
    recorder.enable()
    lerobot.INSTRUMENT.install(recorder)
    yield recorder
    lerobot.INSTRUMENT.uninstall()
    recorder.disable()


def counts(recorder):
    profile = recorder.snapshot()
    profile.check()
    return {path: node.count for path, _, node in profile.root.walk() if path}


def test_a_control_loop_has_a_row_for_each_part(recorder):
    class Arm(Robot):
        def get_observation(self):
            return {"position": 1.0}

        def send_action(self, action):
            return action

    class Policy(PreTrainedPolicy):
        def predict_action_chunk(self, batch):
            return [batch["position"]] * 3

        def select_action(self, batch):
            return self.predict_action_chunk(batch)[0]

    arm, policy = Arm(), Policy()
    for _ in range(2):
        assert arm.send_action(policy.select_action(arm.get_observation())) == 1.0
        sys.modules["lerobot.utils.robot_utils"].precise_sleep(0.0)
    assert counts(recorder) == {
        "robot get_observation": 2,
        "policy select_action": 2,
        "policy select_action/policy predict_action_chunk": 2,
        "robot send_action": 2,
        "sleep": 2,
    }
    assert recorder.snapshot().root.at("sleep").wait


def test_a_class_that_lacks_a_method_cannot_be_made_as_without_ticktree(recorder):
    class Arm(Robot):
        @abstractmethod
        def get_observation(self):
            return {}

        def send_action(self, action):
            return action

    class Whole(Arm):
        def get_observation(self):
            return super().get_observation()

    assert Robot.__abstractmethods__ == {"get_observation", "send_action"}
    assert Arm.__abstractmethods__ == {"get_observation"}
    for kind, lacks in (
        (Robot, "send_action"),
        (Arm, "get_observation"),
        (PreTrainedPolicy, "select_action"),
    ):
        with pytest.raises(TypeError, match=f"abstract class {kind.__name__} .*{lacks}"):
            kind()
    assert Whole().send_action(Whole().get_observation()) == {}
    assert counts(recorder) == {"robot get_observation": 1, "robot send_action": 1}


def test_the_queues_depth_is_read_right_before_an_action_is_taken(recorder):
    queue = ActionQueue()
    assert queue.get() is None
    queue.merge([1, 2, 3], [1, 2, 3], real_delay=1)
    assert [queue.get(), queue.get(), queue.get()] == [2, 3, None]
    assert counts(recorder) == {"ActionQueue.get": 4, "ActionQueue.merge": 1}
    depth = recorder.snapshot().gauges[lerobot.QUEUE_GAUGE]
    assert (depth.count, depth.zeros, depth.max) == (4, 2, 2)


def test_latencies_are_a_gauge(recorder):
    tracker = LatencyTracker()
    for latency in (0.1, 0.3):
        tracker.add(latency)
    assert tracker.values == [0.1, 0.3]
    assert recorder.snapshot().gauges[lerobot.LATENCY_GAUGE].max == pytest.approx(0.3)


def test_a_cycle_timers_ticks_sections_and_waits_are_the_programs(recorder):
    timer = CycleTimer(30, multiplier=2)
    for _ in range(3):
        timer.tick(new_cycle=True)
        with timer.section("observe"):
            pass
        with pytest.raises(OSError, match="unplugged"), timer.section("act"):
            raise OSError("unplugged")
        timer.wait()
    profile = recorder.snapshot()
    loop = profile.loops["control"]
    assert (loop.ticks, set(loop.hz)) == (2, {60.0})
    assert timer.sections == ["observe"] * 3
    node = profile.root.at("control")
    assert {name: child.count for name, child in node.children.items()} == {
        "observe": 3,
        "act": 3,
        "CycleTimer.wait": 3,
    }
    assert node.at("CycleTimer.wait").wait
    assert not profile.losses


@pytest.mark.slow
@pytest.mark.skipif(find_spec("lerobot") is None, reason="lerobot is not installed")
def test_the_package_itself_has_what_is_wrapped():
    recorder = ticktree.Recorder()
    recorder.enable()
    lerobot.INSTRUMENT.install(recorder)
    try:
        torch = pytest.importorskip("torch")
        try:  # it takes a great many others along
            queues = import_module("lerobot.policies.rtc.action_queue")
        except ImportError as error:
            pytest.skip(f"lerobot cannot be imported: {error}")
        settings = import_module("lerobot.policies.rtc.configuration_rtc")
        latencies = import_module("lerobot.policies.rtc.latency_tracker")
        robots = import_module("lerobot.robots.robot")

        class Arm(robots.Robot):
            action_features = observation_features = is_connected = is_calibrated = None
            connect = calibrate = configure = disconnect = None

            def __init__(self):
                pass

            def __del__(self):
                pass

            def get_observation(self):
                return {"joint": 1.0}

            def send_action(self, action):
                return action

        arm = Arm()
        assert arm.send_action(arm.get_observation()) == {"joint": 1.0}
        queue = queues.ActionQueue(settings.RTCConfig(enabled=True))
        queue.merge(torch.ones(4, 2), torch.ones(4, 2), 1, None)
        assert queue.get().tolist() == [1.0, 1.0]
        latencies.LatencyTracker().add(0.1)
        assert counts(recorder) == {
            "robot get_observation": 1,
            "robot send_action": 1,
            "ActionQueue.merge": 1,
            "ActionQueue.get": 1,
        }
        gauges = recorder.snapshot().gauges
        assert gauges[lerobot.QUEUE_GAUGE].max == 3
        assert lerobot.LATENCY_GAUGE in gauges
    finally:
        lerobot.INSTRUMENT.uninstall()
        recorder.disable()
