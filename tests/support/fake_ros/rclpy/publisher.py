from rclpy import middleware


class Publisher:
    def __init__(self, msg_type, topic):
        self.topic = topic

    def publish(self, msg):
        for subscription in middleware.subscriptions:
            if subscription.topic == self.topic:
                subscription.handle.waiting.append(msg)
                subscription.wake()
