class Context:
    def __init__(self):
        self.is_ok = False
        self._callbacks = []

    def ok(self):
        return self.is_ok

    def on_shutdown(self, callback):
        self._callbacks.append(callback)

    def shutdown(self):
        self.is_ok = False
        for callback in self._callbacks:
            callback()


default_context = Context()
