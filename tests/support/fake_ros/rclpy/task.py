import inspect
import threading


class Future:
    def __init__(self, *, executor=None):
        self._done = False
        self._result = self._exception = None
        self._executor = executor

    def __await__(self):
        while not self._done:
            yield
        return self.result()

    def done(self):
        return self._done

    def result(self):
        if self._exception is not None:
            raise self._exception
        return self._result

    def exception(self):
        return self._exception

    def set_result(self, result):
        self._result, self._done = result, True

    def set_exception(self, exception):
        self._exception, self._done = exception, True


class Task(Future):
    def __init__(self, handler, args=None, kwargs=None, executor=None):
        super().__init__(executor=executor)
        self._handler = handler
        self._args, self._kwargs = args or (), kwargs or {}
        if inspect.iscoroutinefunction(handler):
            self._handler = handler(*self._args, **self._kwargs)
        self._executing = False
        self._task_lock = threading.Lock()

    def __call__(self):
        if self._done or self._executing or not self._task_lock.acquire(blocking=False):
            return
        try:
            if self._done:
                return
            self._executing = True
            try:
                if inspect.iscoroutine(self._handler):
                    self._handler.send(None)
                else:
                    self.set_result(self._handler(*self._args, **self._kwargs))
            except StopIteration as stop:
                self.set_result(stop.value)
            except Exception as error:
                self.set_exception(error)
            self._executing = False
        finally:
            self._task_lock.release()

    def executing(self):
        return self._executing
