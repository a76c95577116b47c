from rclpy import middleware
from rclpy.callback_groups import MutuallyExclusiveCallbackGroup, ReentrantCallbackGroup
from rclpy.clock import Clock
from rclpy.context import default_context
from rclpy.publisher import Publisher
from rclpy.service import Service
from rclpy.subscription import Subscription
from rclpy.timer import Rate, Timer


class Node:
    def __init__(self, node_name, *, context=None):
        self._name = node_name
        self._clock = Clock()
        self.context = default_context
        self.default_callback_group = MutuallyExclusiveCallbackGroup()
        self._rate_group = ReentrantCallbackGroup()
        self.executor = None
        self._subscriptions, self._services, self._timers = [], [], []

    @property
    def subscriptions(self):
        yield from self._subscriptions

    @property
    def services(self):
        yield from self._services

    @property
    def timers(self):
        yield from self._timers

    def get_name(self):
        return self._name

    def get_clock(self):
        return self._clock

    def _wake_executor(self):
        if self.executor is not None:
            self.executor.wake()

    def create_publisher(self, msg_type, topic, qos_profile):
        return Publisher(msg_type, topic)

    def create_subscription(
        self, msg_type, topic, callback, qos_profile, *, callback_group=None, event_callbacks=None,
        qos_overriding_options=None, raw=False,
    ):  # fmt: skip
        group = callback_group or self.default_callback_group
        handle = middleware.QueueHandle()
        subscription = Subscription(handle, msg_type, topic, callback, group, qos_profile, raw)
        subscription.wake = self._wake_executor
        self._subscriptions.append(subscription)
        self._wake_executor()
        return subscription

    def create_service(self, srv_type, srv_name, callback, *, qos_profile=None, callback_group=None):
        group = callback_group or self.default_callback_group
        service = Service(middleware.QueueHandle(), srv_type, srv_name, callback, group, qos_profile)
        self._services.append(service)
        self._wake_executor()
        return service

    def create_timer(self, timer_period_sec, callback, callback_group=None, clock=None, autostart=True):
        period_ns = int(float(timer_period_sec) * 1e9)
        group = callback_group or self.default_callback_group
        timer = Timer(callback, group, period_ns, clock or self._clock, context=self.context)
        self._timers.append(timer)
        self._wake_executor()
        return timer

    def create_rate(self, frequency, clock=None):
        timer = self.create_timer(1.0 / frequency, None, self._rate_group, clock)
        return Rate(timer, context=self.context)
