"""Memory files of a family of processes: parents, children, grandchildren. Their records are invented."""

from __future__ import annotations

import random
import threading

from support.memory_images import changed, following_threads, place, recorder_on
from ticktree.recorder import Recorder
from ticktree.run.reading import layout
from ticktree.run.reading.image import Image

# Started at the machine's first clock tick: whoever has these numbers now is another.
STARTED = 1

# Whose child each process is, and the name of the node it was started under; "" where it was under none.
FAMILY = {
    900001: (0, ""),
    900002: (900001, "spawn"),
    900003: (900001, "spawn"),
    900004: (900003, "job"),
    900005: (900004, "part/of \\ it"),
    900006: (900001, ""),
    900007: (899999, "of a parent that never recorded"),
    900008: (0, ""),
}
# Who let each of them go on; the last of these is nobody who recorded.
WAKERS = {pid: pid + 1 for pid in FAMILY}


def family() -> dict[str, bytes]:
    """Every process's file by its name, parents before their children."""
    images: dict[int, bytes] = {}
    for pid, (parent, path) in FAMILY.items():
        image = _work(pid)
        if parent:
            image = changed(image, place(layout.Header, "parent_pid"), parent)
            image = changed(image, place(layout.Header, "parent_start"), STARTED)
            ref = _ref(images[parent], path) if path and parent in images else 0
            image = changed(image, place(layout.Header, "parent_node"), ref, 4)
        images[pid] = image
    for pid, image in images.items():
        ((ref, _),) = Image(image).edges()
        image = changed(image, place(layout.Edge, "pid", ref), WAKERS[pid], 4)
        waker = _ref(images[WAKERS[pid]], "collect") if WAKERS[pid] in images else 1
        images[pid] = changed(image, place(layout.Edge, "by_node", ref), waker, 4)
    return {f"{pid}-{STARTED}.tt": image for pid, image in images.items()}


def _work(pid: int) -> bytes:
    seed = random.Random(pid)
    recorder = recorder_on(identity=(pid, STARTED, "boot"))
    for _ in range(seed.randrange(1, 4)):
        for name in ("spawn", "job", "part/of \\ it"):
            with recorder.section(name):
                recorder.advance(seed.randrange(1, 10_000))
                for _ in recorder.loop("loop", range(3), hz=1e6, warmup=1):
                    recorder.advance(seed.randrange(1, 3000))
                recorder.record_duration("measured", 1e-6)
    with following_threads(recorder), recorder.section("wait", wait=True):
        thread = threading.Thread(target=_signal, args=(recorder, pid % 1000))
        thread.start()
        thread.join()
        recorder.advance(seed.randrange(1, 100))
        recorder.woken_by("batch")
    recorder.gauge("gauge", seed.random())
    recorder.section("never entered").__exit__(None, None, None)
    if pid % 2:
        recorder.section("open").__enter__()
        recorder.advance(77)
    return recorder.image()


def _signal(recorder: Recorder, ns: int) -> None:
    with recorder.section("collect"):
        recorder.advance(ns)
        recorder.wakes("batch")


def _ref(image: bytes, name: str) -> int:
    reader = Image(image)
    return next(ref for ref, node in reader.nodes() if node.name and reader.text(node.name) == name)
