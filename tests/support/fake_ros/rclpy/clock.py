from rclpy import middleware


class Time:
    def __init__(self, *, seconds=0, nanoseconds=0):
        self.nanoseconds = int(seconds * 1e9) + nanoseconds

    def to_msg(self):
        stamp = Stamp()
        stamp.sec, stamp.nanosec = divmod(self.nanoseconds, 1_000_000_000)
        return stamp


class Stamp:
    """builtin_interfaces.msg.Time"""

    sec = nanosec = 0


class Clock:
    def now(self):
        return Time(nanoseconds=middleware.clock.now_ns())

    def sleep_until(self, until, context=None):
        middleware.clock.wait_ns(middleware.Gate(), until.nanoseconds - middleware.clock.now_ns())
        return True
