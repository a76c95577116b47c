"""What a process or thread does, where the program does not say: its name without what tells it from its like."""

from __future__ import annotations

import re

# "actor-3", "env_worker_12", "actor 3", "actor[3]", "Worker<AsyncVectorEnv>-3", "SpawnPoolWorker-1:2": what ends the
# name, with what parts it from the rest. One number only: that of "ThreadPoolExecutor-0_3" is a thread's, the one
# before it the executor's.
_NUMBER = re.compile(r"[\s_\-.:#]*[\[(]?#?\d+(?::\d+)*[\])]?")
_GLUED = re.compile(r"[^\W\d_]{3,}\d+")  # "actor3" is one of several; "td3" is an algorithm
# "Thread-7 (collect)": the threading module's own name for a thread without one, and its function.
_THREAD = re.compile(r"Thread-\d+ \((?P<target>.+)\)")


def role_of(name: str) -> str:
    """The role that a name stands for; the name itself where it is nothing but a number."""
    thread = _THREAD.fullmatch(name)
    if thread is not None:
        return thread["target"]
    end = re.search(rf"{_NUMBER.pattern}$", name)
    if end is None or not end.start():
        return name
    if end[0].isdigit() and not re.search(rf"(?:^|[^\w]|_){_GLUED.pattern}$", name):
        return name
    return name[: end.start()]
