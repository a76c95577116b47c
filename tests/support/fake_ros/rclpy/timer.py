import threading

from rclpy import middleware


class TimerInfo:
    def __init__(self, *, expected_call_time=0, actual_call_time=0):
        self.expected_call_time = expected_call_time
        self.actual_call_time = actual_call_time


class Timer:
    def __init__(self, callback, callback_group, timer_period_ns, clock, *, context=None, autostart=True):
        self.__timer = middleware.TimerHandle(timer_period_ns)
        self._clock = clock
        self.callback = callback
        self.callback_group = callback_group
        self._executor_event = False

    @property
    def handle(self):
        return self.__timer

    @property
    def timer_period_ns(self):
        with self.__timer:
            return self.__timer.get_timer_period()

    @timer_period_ns.setter
    def timer_period_ns(self, value):
        with self.__timer:
            self.__timer.change_timer_period(int(value))

    def destroy(self):
        self.__timer.destroy_when_not_in_use()

    def cancel(self):
        with self.__timer:
            self.__timer.cancel_timer()

    def is_canceled(self):
        with self.__timer:
            return self.__timer.is_timer_canceled()

    def time_until_next_call(self):
        with self.__timer:
            return self.__timer.time_until_next_call()


class Rate:
    def __init__(self, timer, *, context):
        self._timer = timer
        self._event = threading.Event()
        self._timer.callback = self._event.set

    def sleep(self):
        self._event.wait()
        self._event.clear()
