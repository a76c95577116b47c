import inspect
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from rclpy import middleware
from rclpy.context import default_context
from rclpy.middleware import DISTRIBUTION, InvalidHandle
from rclpy.subscription import Subscription
from rclpy.task import Task
from rclpy.timer import Timer, TimerInfo


async def await_or_execute(callback, *args):
    if inspect.iscoroutinefunction(callback):
        return await callback(*args)
    return callback(*args)


class TimeoutException(Exception):  # noqa: N818 (rclpy's name)
    """Nothing became ready in time."""


class ShutdownException(Exception):  # noqa: N818 (rclpy's name)
    """The executor was shut down."""


class ExternalShutdownException(Exception):  # noqa: N818 (rclpy's name)
    """The context was shut down."""


class ConditionReachedException(Exception):  # noqa: N818 (rclpy's name)
    """What was waited for is done."""


class Executor:
    def __init__(self, *, context=None):
        self._context = default_context if context is None else context
        self._nodes = set()
        self._tasks = []
        self._guard = middleware.Gate()
        self._is_shutdown = False
        self._cb_iter = self._last_args = self._last_kwargs = None
        self._context.on_shutdown(self.wake)

    @property
    def context(self):
        return self._context

    def create_task(self, callback, *args, **kwargs):
        task = Task(callback, args, kwargs, executor=self)
        self._tasks.append((task, None, None))
        self._guard.trigger()
        return task

    def shutdown(self, timeout_sec=None):
        self._is_shutdown = True
        self._guard.trigger()
        return True

    def add_node(self, node):
        self._nodes.add(node)
        node.executor = self
        self._guard.trigger()

    def remove_node(self, node):
        self._nodes.discard(node)
        self._guard.trigger()

    def wake(self):
        self._guard.trigger()

    def get_nodes(self):
        return list(self._nodes)

    def spin(self):
        while self._context.ok() and not self._is_shutdown:
            self.spin_once()

    # -- of Humble: what is taken is handed to a coroutine of the executor's --

    def _take_service_of_humble(self, srv):
        with srv.handle:
            return srv.handle.service_take_request(None)

    def _take_subscription_of_humble(self, sub):
        with sub.handle:
            found = sub.handle.take_message(sub.msg_type, sub.raw)
            return None if found is None else found[0]

    def _take_timer_of_humble(self, tmr):
        with tmr.handle:
            tmr.handle.call_timer()

    async def _execute_service(self, srv, request_and_header):
        request, header = request_and_header
        if request:
            srv.send_response(await await_or_execute(srv.callback, request, srv.srv_type.Response()), header)

    async def _execute_subscription(self, sub, msg):
        if msg:
            await await_or_execute(sub.callback, msg)

    async def _execute_timer(self, tmr, _):
        await await_or_execute(tmr.callback)

    # -- since Jazzy: taking gives the coroutine --

    def _take_service(self, srv):
        with srv.handle:
            request, header = srv.handle.service_take_request(None)

        async def _execute():
            if header is not None:
                response = await await_or_execute(srv.callback, request, srv.srv_type.Response())
                srv.send_response(response, header)

        return _execute

    def _take_subscription(self, sub):
        with sub.handle:
            msg_info = sub.handle.take_message(sub.msg_type, sub.raw)
        if msg_info is None:
            return None
        only = sub._callback_type is Subscription.CallbackType.MessageOnly
        msg_tuple = msg_info[:1] if only else msg_info

        async def _execute():
            await await_or_execute(sub.callback, *msg_tuple)

        return _execute

    def _take_timer(self, tmr):
        try:
            with tmr.handle:
                info = TimerInfo(**tmr.handle.call_timer_with_info())
        except InvalidHandle:
            return None
        callback = tmr.callback
        if DISTRIBUTION == "rolling":
            for name, parameter in inspect.signature(callback).parameters.items():
                if parameter.annotation == TimerInfo:
                    callback = partial(callback, **{name: info})

        async def _execute():
            await await_or_execute(callback)

        return _execute

    def _make_handler(self, entity, node, take_from_wait_list, call_coroutine=None):
        entity._executor_event = True

        async def handler(entity, gc, is_shutdown):
            if is_shutdown or not entity.callback_group.beginning_execution(entity):
                entity._executor_event = False
                gc.trigger()
                return
            taken = take_from_wait_list(entity)
            entity._executor_event = False
            gc.trigger()
            try:
                if call_coroutine is not None:
                    await call_coroutine(entity, taken)
                elif taken is not None:
                    await taken()
            finally:
                entity.callback_group.ending_execution(entity)
                gc.trigger()

        task = Task(handler, (entity, self._guard, self._is_shutdown), executor=self)
        self._tasks.append((task, entity, node))
        return task

    def _handler_of(self, kind, entity, node):
        if DISTRIBUTION == "humble":
            take, execute = getattr(self, f"_take_{kind}_of_humble"), getattr(self, f"_execute_{kind}")
            return self._make_handler(entity, node, take, execute)
        return self._make_handler(entity, node, getattr(self, f"_take_{kind}"))

    def can_execute(self, entity):
        return not entity._executor_event and entity.callback_group.can_execute(entity)

    def _wait(self, timers, queues, over_ns):
        """What the wait set does."""
        if not any(each.handle.waiting for each in queues):
            left = [tmr.handle.time_until_next_call() for tmr in timers]
            left += [] if over_ns is None else [over_ns - middleware.clock.now_ns()]
            left_ns = min((ns for ns in left if ns is not None), default=None)
            if left_ns is None or left_ns > 0:
                middleware.clock.wait_ns(self._guard, left_ns)
        if self._is_shutdown:
            raise ShutdownException
        if not self._context.ok():
            raise ExternalShutdownException

    def _ready(self, nodes, waited_for):
        """One node at a time, its timers first; each is looked at again when it is its turn."""
        in_set = {each for each in waited_for if isinstance(each, Timer) or each.handle.waiting}
        in_set -= {each for each in in_set if isinstance(each, Timer) and not each.handle.is_timer_ready()}
        for node in nodes:
            of_node = (
                ("timer", node.timers),
                ("subscription", node.subscriptions),
                ("service", node.services),
            )
            for kind, entities in of_node:
                for entity in entities:
                    if entity not in in_set or (kind == "timer" and not entity.handle.is_timer_ready()):
                        continue
                    if entity.callback_group.can_execute(entity):
                        yield kind, entity, node

    def _wait_for_ready_callbacks(self, timeout_sec=None, nodes=None, condition=lambda: False):
        timeout_ns = -1 if timeout_sec is None or timeout_sec < 0 else int(timeout_sec * 1e9)
        over_ns = middleware.clock.now_ns() + timeout_ns
        yielded_work = False
        while not yielded_work and not self._is_shutdown and not condition():
            nodes_to_use = self.get_nodes() if nodes is None else nodes
            for task, entity, node in reversed(list(self._tasks)):
                if not task.executing() and not task.done() and (node is None or node in nodes_to_use):
                    yielded_work = True
                    yield task, entity, node
            self._tasks = [each for each in self._tasks if not each[0].done()]
            queues = [each for node in nodes_to_use for each in (*node.subscriptions, *node.services)]
            queues = list(filter(self.can_execute, queues))
            timers = [tmr for node in nodes_to_use for tmr in node.timers if not tmr.handle.destroyed]
            timers = list(filter(self.can_execute, timers))
            self._wait(timers, queues, over_ns if timeout_ns >= 0 else None)
            for kind, entity, node in self._ready(nodes_to_use, {*timers, *queues}):
                handler = self._handler_of(kind, entity, node)
                yielded_work = True
                yield handler, entity, node
            if timeout_ns >= 0 and over_ns <= middleware.clock.now_ns():
                raise TimeoutException
        if self._is_shutdown:
            raise ShutdownException
        if condition():
            raise ConditionReachedException

    def wait_for_ready_callbacks(self, *args, **kwargs):
        while True:
            if self._cb_iter is None or self._last_args != args or self._last_kwargs != kwargs:
                self._last_args, self._last_kwargs = args, kwargs
                self._cb_iter = self._wait_for_ready_callbacks(*args, **kwargs)
            try:
                return next(self._cb_iter)
            except StopIteration:
                self._cb_iter = None


class SingleThreadedExecutor(Executor):
    def _spin_once_impl(self, timeout_sec=None, wait_condition=None):
        try:
            handler, _entity, _node = self.wait_for_ready_callbacks(timeout_sec, None)
        except (ShutdownException, TimeoutException, ConditionReachedException):
            pass
        else:
            handler()
            if handler.exception() is not None:
                raise handler.exception()

    def spin_once(self, timeout_sec=None):
        self._spin_once_impl(timeout_sec)


class MultiThreadedExecutor(Executor):
    def __init__(self, num_threads=None, *, context=None):
        super().__init__(context=context)
        self._futures = []
        self._executor = ThreadPoolExecutor(num_threads)

    def _spin_once_impl(self, timeout_sec=None, wait_condition=None):
        try:
            handler, _entity, _node = self.wait_for_ready_callbacks(timeout_sec, None)
        except (ExternalShutdownException, ShutdownException, TimeoutException, ConditionReachedException):
            pass
        else:
            self._executor.submit(handler)
            self._futures.append(handler)
            for future in self._futures[:]:
                if future.done():
                    self._futures.remove(future)
                    future.result()

    def spin_once(self, timeout_sec=None):
        self._spin_once_impl(timeout_sec)
