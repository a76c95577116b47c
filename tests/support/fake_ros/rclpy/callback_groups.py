import threading


class ReentrantCallbackGroup:
    def add_entity(self, entity):
        return None

    def can_execute(self, entity):
        return True

    def beginning_execution(self, entity):
        return True

    def ending_execution(self, entity):
        return None


class MutuallyExclusiveCallbackGroup(ReentrantCallbackGroup):
    def __init__(self):
        self._active_entity = None
        self._lock = threading.Lock()

    def can_execute(self, entity):
        return self._active_entity is None

    def beginning_execution(self, entity):
        with self._lock:
            if self._active_entity is None:
                self._active_entity = entity
                return True
        return False

    def ending_execution(self, entity):
        self._active_entity = None
