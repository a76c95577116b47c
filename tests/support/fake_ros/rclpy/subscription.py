import inspect
from enum import Enum

from rclpy import middleware


class Subscription:
    class CallbackType(Enum):
        MessageOnly = 0
        WithMessageInfo = 1

    def __init__(self, subscription_impl, msg_type, topic, callback, callback_group, qos_profile, raw):
        self.__subscription = subscription_impl
        self.msg_type = msg_type
        self.topic = topic
        self.callback = callback
        self.callback_group = callback_group
        self._executor_event = False
        self.raw = raw
        middleware.subscriptions.append(self)

    @property
    def handle(self):
        return self.__subscription

    @property
    def callback(self):
        return self._callback

    @callback.setter
    def callback(self, value):
        self._callback = value
        self._callback_type = Subscription.CallbackType.MessageOnly
        try:
            inspect.signature(value).bind(object())
        except TypeError:
            self._callback_type = Subscription.CallbackType.WithMessageInfo
