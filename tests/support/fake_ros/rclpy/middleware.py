"""What is C++ in rclpy: clocks, handles, the wait set. Time is the machine's, or what a test puts in its place."""

import os
import threading
import time

DISTRIBUTION = os.environ.get("FAKE_ROS_DISTRO", "jazzy")  # or "humble", "rolling"

subscriptions = []  # all of the process, by topic


class MachineTime:
    now_ns = staticmethod(time.monotonic_ns)

    def wait_ns(self, gate, ns):
        gate.wait(None if ns is None else ns / 1e9)


clock = MachineTime()


class InvalidHandle(Exception):  # noqa: N818 (rclpy's name)
    """The entity was destroyed."""


class Gate:
    """Lets one thread wait until another one triggers it, in C alone, as the real wait set does."""

    def __init__(self):
        self._lock = threading.Lock()
        self._lock.acquire()

    def trigger(self):
        if self._lock.locked():
            self._lock.release()

    def wait(self, seconds):
        self._lock.acquire(timeout=-1 if seconds is None else max(0.0, seconds))


class Handle:
    def __init__(self):
        self.destroyed = False

    def __enter__(self):
        if self.destroyed:
            raise InvalidHandle("cannot use Destroyable because destruction was requested")

    def __exit__(self, *error):
        return None

    def destroy_when_not_in_use(self):
        self.destroyed = True


class TimerHandle(Handle):
    """As rcl's timer: the next due time stays on the grid, and those that have passed are dropped."""

    def __init__(self, period_ns):
        super().__init__()
        self._period_ns = period_ns
        self._due_ns = clock.now_ns() + period_ns
        self._canceled = False

    def call_timer(self):
        if self._canceled:
            raise RuntimeError("failed to call timer")
        now_ns = clock.now_ns()
        expected_ns, self._due_ns = self._due_ns, self._due_ns + self._period_ns
        if self._due_ns < now_ns and self._period_ns:
            behind_ns = now_ns - self._due_ns
            self._due_ns += self._period_ns * (1 + (behind_ns - 1) // self._period_ns)
        return {"expected_call_time": expected_ns, "actual_call_time": now_ns}

    call_timer_with_info = call_timer

    def time_until_next_call(self):
        return None if self._canceled else self._due_ns - clock.now_ns()

    def is_timer_ready(self):
        return not self._canceled and self.time_until_next_call() <= 0

    def get_timer_period(self):
        return self._period_ns

    def change_timer_period(self, period_ns):
        self._period_ns = period_ns

    def cancel_timer(self):
        self._canceled = True

    def is_timer_canceled(self):
        return self._canceled


class QueueHandle(Handle):
    """What messages or requests wait in."""

    def __init__(self):
        super().__init__()
        self.waiting = []

    def take_message(self, msg_type, raw):
        return (self.waiting.pop(0), {"source_timestamp": 0}) if self.waiting else None

    def service_take_request(self, request_type):
        return self.waiting.pop(0) if self.waiting else (None, None)
