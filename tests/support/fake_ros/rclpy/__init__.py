"""A stand-in for ROS 2's rclpy, for tests: no middleware, one process.

The classes, methods, signatures and the order of calls that `ticktree.instruments.rclpy` relies on are those of rclpy
3.3.15 (Humble), 7.1.3 (Jazzy) and 8.0.0 (Rolling), whichever `middleware.DISTRIBUTION` says; nothing else is.
"""

from rclpy.context import default_context
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node

_global_executor = None


def init(*, args=None, context=None):
    default_context.is_ok = True


def shutdown(*, context=None):
    default_context.shutdown()


def ok(*, context=None):
    return default_context.ok()


def create_node(node_name):
    return Node(node_name)


def get_global_executor():
    global _global_executor
    if _global_executor is None:
        _global_executor = SingleThreadedExecutor()
    return _global_executor


def spin_once(node, *, executor=None, timeout_sec=None):
    executor = get_global_executor() if executor is None else executor
    try:
        executor.add_node(node)
        executor.spin_once(timeout_sec=timeout_sec)
    finally:
        executor.remove_node(node)


def spin(node, executor=None):
    executor = get_global_executor() if executor is None else executor
    try:
        executor.add_node(node)
        while executor.context.ok():
            executor.spin_once()
    finally:
        executor.remove_node(node)
