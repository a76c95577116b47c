"""rclpy: executors, timers and subscriptions as they are named and called there, made up; see support/fake_ros."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import textwrap
from importlib import import_module
from pathlib import Path

import pytest

import ticktree
from ticktree.analysis.loop_views import loop_views
from ticktree.instruments import rclpy as instrument
from ticktree.outputs.view import currency
from ticktree.run.finishing import RunDirectory

FAKE = Path(__file__).parents[1] / "support" / "fake_ros"
MS = 1_000_000


class VirtualTime:
    """The recorder's own: it moves where an executor waits, and where a callback says that it works."""

    def __init__(self, recorder):
        self.recorder = recorder

    def now_ns(self):
        return 1_000_000_000_000 + self.recorder.ticks

    def wait_ns(self, gate, ns):
        assert ns is not None, "nothing would ever happen"
        self.recorder.advance(ns)


@pytest.fixture(params=["humble", "jazzy", "rolling"])
def distribution(request):
    """Each distribution in turn."""
    return request.param


@pytest.fixture
def ros(monkeypatch, distribution):
    """A recorded rclpy on a virtual clock: `ros.rclpy`, `ros.recorder`, `ros.works(ms)`."""
    monkeypatch.setenv("FAKE_ROS_DISTRO", distribution)
    monkeypatch.syspath_prepend(str(FAKE))
    recorder = ticktree.Recorder(virtual_clock=True)
    recorder.enable()
    instrument.INSTRUMENT.install(recorder)
    world = Ros(recorder)
    yield world
    instrument.INSTRUMENT.uninstall()
    recorder.disable()
    for name in [name for name in sys.modules if name.partition(".")[0] == "rclpy"]:
        del sys.modules[name]


class Ros:
    """A process with one node, `arm`."""

    def __init__(self, recorder):
        self.recorder = recorder
        self.rclpy = import_module("rclpy")
        self.executors, self.clock = import_module("rclpy.executors"), import_module("rclpy.clock")
        import_module("rclpy.middleware").clock = VirtualTime(recorder)
        self.rclpy.init()
        self.node = self.rclpy.create_node("arm")

    def works(self, ms):
        self.recorder.advance(round(ms * MS))

    def message(self, age_ms):
        """A message whose header says that it is so old."""
        message = type("Scan", (), {})()
        message.header = type("Header", (), {})()
        now_ns = self.node.get_clock().now().nanoseconds
        message.header.stamp = self.clock.Time(nanoseconds=now_ns - round(age_ms * MS)).to_msg()
        return message

    def spin(self):
        """Until a callback shuts it down."""
        self.rclpy.spin(self.node)

    def stop_after(self, calls):
        """What to call in a callback: at the given number of calls it shuts down."""
        left = iter(range(calls, 0, -1))

        def count():
            if next(left) == 1:
                self.rclpy.shutdown()

        return count

    def profile(self):
        profile = self.recorder.snapshot()
        profile.check()
        return profile


def test_a_timer_is_a_loop_at_its_rate_and_another_callback_makes_it_miss(ros):
    """50 Hz, 4 ms of work each; in the sixth tick a message's callback takes 45 ms: two due times pass."""
    stop, calls = ros.stop_after(11), []
    publisher = ros.node.create_publisher(object, "scan", 10)

    def on_timer():
        calls.append(ros.recorder.ticks)
        ros.works(4)
        if len(calls) in (2, 6):
            publisher.publish(ros.message(age_ms=300))
        stop()

    def on_scan(message):
        ros.works(45 if len(calls) == 6 else 1)

    ros.node.create_timer(0.02, on_timer)
    ros.node.create_subscription(object, "scan", on_scan, 10)
    ros.spin()
    profile = ros.profile()
    loop = profile.loops["arm.on_timer"]
    assert (loop.ticks, set(loop.hz), loop.missed, loop.incomplete) == (10, {50.0}, 1, 1)
    # The sixth begins at 120 ms and works until 169; the due times at 140 and 160 ms have passed, the next is at 180.
    assert [at // MS for at in calls] == [20, 40, 60, 80, 100, 120, 169, 180, 200, 220, 240]
    assert loop.lateness.max_ns == 29 * MS
    node = profile.root.at("arm.on_timer")
    assert {name: (child.count, child.total_ns) for name, child in node.children.items()} == {
        "on_timer": (11, 44 * MS),
        "arm.on_scan": (2, 46 * MS),
        "executor wait": (12, (240 - 20 - 40 - 46) * MS),
    }
    late = profile.gauges["arm.on_timer lateness ms"]
    assert (late.count, late.zeros, late.max) == (11, 10, 29.0)
    age = profile.gauges["arm.on_scan message age ms"]
    assert (age.count, age.min, age.max) == (2, 300.0, 300.0)


def test_the_executors_wait_is_slack(ros):
    stop = ros.stop_after(40)

    def on_timer():
        ros.works(5)
        stop()

    ros.node.create_timer(0.02, on_timer)
    ros.spin()
    profile = ros.profile()
    (view,) = [each for each in loop_views(profile, lambda _: None) if each.loop]
    # Less what the recorder itself costs, which the virtual clock does not have.
    assert (view.tick_ns, view.misses) == (20 * MS, False)
    assert view.slack_ns == pytest.approx(15 * MS, rel=0.05)
    assert view.busy_ns == pytest.approx(5 * MS, rel=0.05)
    assert profile.root.at("arm.on_timer/executor wait").wait


def test_the_fastest_timer_has_the_threads_time_and_another_ones_ticks_are_its_calls(ros):
    stop = ros.stop_after(21)
    ros.node.create_timer(0.05, lambda: ros.works(2))

    def on_control():
        ros.works(1)
        stop()

    ros.node.create_timer(0.02, on_control)
    ros.spin()
    profile = ros.profile()
    control, status = profile.loops["arm.on_control"], profile.loops["arm.on_control/arm.<lambda>"]
    assert (control.ticks, control.missed, status.ticks, set(status.hz)) == (20, 0, 8, {20.0})
    assert (status.stats.mean_ns, status.is_apart, status.achieved_hz) == (2 * MS, True, None)
    paces = {view.name: currency.pace(view) for view in loop_views(profile, lambda _: None) if view.loop}
    assert paces["arm.on_control"] == "50 Hz"
    assert paces[next(name for name in paces if "lambda" in name)] == "20 Hz"
    # Created first and due later; at 100 ms both are due, and the one that was created first is called first.
    assert profile.gauges["arm.on_control lateness ms"].max == 2.0


def test_a_slower_timer_that_is_called_first_gives_way(ros):
    stop = ros.stop_after(30)
    slow = ros.node.create_timer(0.1, lambda: ros.works(1))
    slow.handle._due_ns -= 95 * MS

    def on_control():
        ros.works(1)
        stop()

    ros.node.create_timer(0.01, on_control)
    ros.spin()
    loops = ros.profile().loops
    assert loops["arm.on_control"].ticks == 29
    assert (loops["arm.<lambda>"].ticks, loops["arm.<lambda>"].incomplete) == (0, 1)


def test_a_timer_that_cancels_itself_leaves_the_thread_to_others(ros):
    stop = ros.stop_after(5)
    once = ros.node.create_timer(0.001, lambda: once.cancel())

    def on_control():
        ros.works(1)
        stop()

    ros.node.create_timer(0.02, on_control)
    ros.spin()
    profile = ros.profile()
    assert profile.loops["arm.on_control"].ticks == 4
    assert profile.root.at("arm.<lambda>").total_ns == 0


def test_in_the_programs_own_ticks_a_timers_tick_is_its_call(ros):
    ros.node.create_timer(0.02, lambda: ros.works(3))
    for _ in ros.recorder.loop("main", range(6), hz=100):
        ros.rclpy.spin_once(ros.node, timeout_sec=0.01)
    profile = ros.profile()
    assert profile.loops["main"].ticks == 6
    inner = profile.loops["main/arm.<lambda>"]
    assert (inner.ticks, inner.incomplete, inner.stats.mean_ns) == (2, 0, 3 * MS)


def test_sections_of_the_program_in_a_callback_are_parts_of_it(ros):
    stop = ros.stop_after(3)

    def on_timer():
        with ros.recorder.section("plan"):
            ros.works(2)
        stop()

    ros.node.create_timer(0.02, on_timer)
    ros.spin()
    plan = ros.profile().root.at("arm.on_timer/on_timer/plan")
    assert (plan.count, plan.total_ns) == (3, 6 * MS)


def test_a_service_gets_its_request_and_has_a_row(ros):
    answered = []
    service = ros.node.create_service(
        type("Trigger", (), {"Response": dict}), "home", lambda request, response: 7
    )
    service.handle.waiting.append(("request", "header"))
    ros.node.create_timer(0.02, lambda: answered.extend(service.responses) or ros.rclpy.shutdown())
    ros.spin()
    assert answered == [("header", 7)]
    rows = {path for path, _, _ in ros.profile().root.walk()}
    assert {"arm.<lambda>", "arm.<lambda> (50 Hz)"} <= rows


def test_a_coroutine_is_recorded_while_it_runs(ros):
    future = import_module("rclpy.task").Future()
    stop, order = ros.stop_after(4), []

    async def on_timer():
        ros.works(1)
        order.append(await future)
        ros.works(2)

    def on_other():
        if not future.done():
            future.set_result("moved")
        stop()

    once = ros.node.create_timer(0.005, on_timer, ros.rclpy.node.ReentrantCallbackGroup())
    ros.node.create_timer(0.02, lambda: on_other() or once.cancel(), ros.rclpy.node.ReentrantCallbackGroup())
    ros.spin()
    assert order
    rows = [node for path, _, node in ros.profile().root.walk() if path.rpartition("/")[2] == "on_timer"]
    assert sum(node.total_ns for node in rows) >= 3 * MS
    assert not ros.recorder.snapshot().losses


def test_a_message_without_a_stamp_has_no_age_and_its_callback_gets_it(ros):
    got = []
    publisher = ros.node.create_publisher(str, "words", 10)
    ros.node.create_subscription(str, "words", got.append, 10)
    publisher.publish("hello")
    ros.node.create_timer(0.02, ros.rclpy.shutdown)
    ros.spin()
    assert got == ["hello"]
    profile = ros.profile()
    assert profile.root.at("arm.append").count == 1
    assert set(profile.gauges) == {"arm.shutdown lateness ms"}


def test_two_topics_with_one_callback_have_a_row_each(ros):
    publishers = [ros.node.create_publisher(str, topic, 10) for topic in ("left", "right")]
    for topic in ("left", "right"):
        ros.node.create_subscription(str, topic, print, 10)
    for publisher in publishers:
        publisher.publish("hello")
    ros.node.create_timer(0.02, ros.rclpy.shutdown)
    ros.spin()
    assert {"arm.print", "arm.print (right)"} <= {path for path, _, _ in ros.profile().root.walk()}


def test_what_a_callback_raises_comes_out_of_spin_as_without_ticktree(ros):
    def on_timer():
        raise OSError("unplugged")

    ros.node.create_timer(0.02, on_timer)
    with pytest.raises(OSError, match="unplugged") as raised:
        ros.rclpy.spin(ros.node)
    files = [Path(entry.path) for entry in raised.traceback]
    assert files[-1] == Path(__file__)
    assert FAKE / "rclpy" / "executors.py" in files
    assert not [file for file in files if file.is_relative_to(Path(ticktree.__file__).parent)]


def test_everything_is_put_back(ros):
    def there():
        kinds = ros.executors.Executor, import_module("rclpy.task").Task
        return [
            ros.executors.await_or_execute, kinds[0].wait_for_ready_callbacks, kinds[1].__call__
        ]  # fmt: skip

    before = there()
    instrument.INSTRUMENT.uninstall()
    assert all(hasattr(each, "__wrapped__") for each in before)
    assert not any(hasattr(each, "__wrapped__") for each in there())


PROGRAM = """
import sys
import threading
import rclpy
from rclpy.executors import MultiThreadedExecutor

rclpy.init()
node = rclpy.create_node("arm")
calls = []

def on_timer():
    calls.append(len(calls))
    if len(calls) == 12:
        print("called", len(calls))
        rclpy.shutdown()

node.create_timer(0.01, on_timer)
rate = node.create_rate(50)
EXECUTOR
print("wrong", file=sys.stderr)
raise SystemExit(3)
"""
ALONE = """
try:
    rclpy.spin(node)
finally:
    print("shut down")
"""
POOL = """
executor = MultiThreadedExecutor(2)
executor.add_node(node)
spinning = threading.Thread(target=executor.spin)
spinning.start()
for _ in range(3):
    rate.sleep()
spinning.join()
"""


def run(tmp_path, program, *command, path=FAKE):
    script = tmp_path / "robot.py"
    script.write_text(textwrap.dedent(program))
    memory = tmp_path / "memory"
    memory.mkdir(exist_ok=True)
    environment = {**os.environ, "PYTHONPATH": str(path), "TICKTREE_MEMORY_DIR": str(memory)}
    full = [sys.executable, *command, str(script)]
    done = subprocess.run(full, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300)
    return done.returncode, done.stdout, done.stderr


def recorded(tmp_path):
    profile = RunDirectory.newest(tmp_path / "ticktree-runs").profile()
    profile.check()
    return profile


UNDER = ("-m", "ticktree", "run", "--quiet", "--no-sample")


@pytest.mark.parametrize("executor", [ALONE, POOL], ids=["single-threaded", "multi-threaded"])
def test_a_program_is_recorded_and_does_what_it_did(tmp_path, executor):
    program = PROGRAM.replace("EXECUTOR", executor)
    assert run(tmp_path, program, *UNDER) == run(tmp_path, program)
    profile = recorded(tmp_path)
    loop = profile.loops["arm.on_timer"]
    assert (loop.ticks, set(loop.hz)) == ((11, {100.0}) if executor is ALONE else (12, {100.0}))
    assert profile.gauges["arm.on_timer lateness ms"].count == 12
    assert not profile.losses
    waits = {path.rpartition("/")[2]: node.wait for path, _, node in profile.root.walk()}
    assert waits["executor wait"]
    assert not waits["on_timer"]
    if executor is POOL:
        assert profile.root.at("Rate.sleep").wait
        assert profile.root.at("Rate.sleep").count == 3


def test_a_method_of_another_name_is_a_loss_and_the_program_goes_on(tmp_path):
    changed = tmp_path / "ros"
    shutil.copytree(FAKE, changed)
    module = changed / "rclpy" / "executors.py"
    module.write_text(module.read_text().replace("def wait_for_ready", "def await_ready").replace(
        "self.wait_for_ready", "self.await_ready"
    ))  # fmt: skip
    program = PROGRAM.replace("EXECUTOR", ALONE)
    status, output, complaints = run(tmp_path, program, "-m", "ticktree", "run", "--no-sample", path=changed)
    assert (status, output) == (3, "called 12\nshut down\n")
    said = " ".join(complaints.split())
    assert "cannot instrument rclpy.executors of rclpy 7.1.3" in said
    assert "has no Executor.wait_for_ready_callbacks" in said
    profile = recorded(tmp_path)
    assert profile.losses
    assert not profile.loops
