"""The writers of one memory file: a tree is what one thread writes, or several after another."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from ticktree.profile import Writer
from ticktree.run.reading import layout
from ticktree.run.reading.clock import Clock
from ticktree.run.reading.image import Image


def writer_id(image: Image, tree: int) -> str:
    """What profiles call the writer of a tree."""
    return f"{image.writer}/{tree}"


def main_tree(trees: Iterable[tuple[int, layout.Record]]) -> int:
    """The tree of the main thread, among all in the order they were made; 0 where there is none.

    Threads started nowhere known share the run's root; the first of them is the one that began to record.
    """
    return next((ref for ref, tree in trees if not tree.spawn_node), 0)


class WritersReader:
    """Reads who wrote an image.

    Args:
        image: The file.
        clock: Its clock.
        run_id: What the profile calls this run.
    """

    def __init__(self, image: Image, clock: Clock, run_id: str) -> None:
        self._image = image
        self._run_id = run_id
        header = image.header
        self._life = clock.since_began_ns(header.first.ticks), clock.since_began_ns(header.last.ticks)
        self._process_name = image.text(header.process_name) if header.process_name else ""
        self._trees = dict(image.trees())
        self._main = main_tree(self._trees.items())

    def writers(self, parents: Mapping[int, str]) -> list[Writer]:
        """Every writer, also those that recorded nothing.

        Args:
            parents: For each tree, the path of the node that it hangs under.
        """
        return [self._writer(ref, parent) for ref, parent in parents.items()]

    def _writer(self, ref: int, parent: str) -> Writer:
        tree = self._trees.get(ref)  # linked after its root: a process may have died between the two
        thread_name = tree.thread_name.decode("utf-8", "ignore") if tree else ""
        return Writer(
            id=writer_id(self._image, ref),
            run=self._run_id,
            process_name=self._process_name,
            thread_name=thread_name,
            role=self._role(ref, tree.role if tree else 0, thread_name),
            is_main=ref == self._main,
            parent=parent,
            started_ns=self._life[0],
            last_ns=self._life[1],
        )

    def _role(self, ref: int, own: int, thread_name: str) -> str:
        """By the program's own word; else by the thread's name, of the main thread by its process's."""
        said = own or (self._image.header.role if ref == self._main else 0)
        if said:
            return self._image.text(said)
        return role_of(self._process_name or thread_name if ref == self._main else thread_name)


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
