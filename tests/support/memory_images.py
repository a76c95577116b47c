"""Real memory files, small enough to be damaged byte by byte."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ticktree.profile import Profile
from ticktree.recorder import Recorder, install, uninstall
from ticktree.run.reading import layout
from ticktree.run.reading.image import DamagedError, Image
from ticktree.run.reading.reader import read_images


def recorder_on(path: Any = None, **options: Any) -> Recorder:
    """A recorder that records, on a virtual clock."""
    recorder = Recorder(virtual_clock=True)
    recorder.open(path, **options)
    recorder.enable()
    return recorder


@contextmanager
def following_threads(recorder: Recorder) -> Iterator[None]:
    """Threads started meanwhile hang under the section that is open where they are started."""
    install(recorder)
    try:
        yield
    finally:
        uninstall(recorder)


def busy_image() -> bytes:
    """An image with a record of every kind, and with calls, ticks and stages open."""
    recorder = recorder_on(identity=(77, 1234, "boot"))
    recorder.set_costs(3.0, 2.0)
    with recorder.section("main"):
        for tick in recorder.loop("loop", range(6), hz=1e6, warmup=2):
            with recorder.section("step", cpu=True, wait=True) as step:
                recorder.advance(700 + tick)
                step.work(bytes=10, items=1)
            recorder.record_duration("measured", 5e-7)
            recorder.gauge("gauge", tick - 2.5)
        recorder.section("unmatched").__exit__(None, None, None)
    woken_and_open(recorder)
    return recorder.image()


def woken_and_open(recorder: Any) -> None:
    """Adds a wait that a thread ended, and leaves a section, a tick and a stage open."""
    with recorder.section("woken", wait=True):
        signaller = threading.Thread(target=recorder.wakes, args=("batch",))
        signaller.start()
        signaller.join()
        recorder.woken_by("batch")
    recorder.section("open").__enter__()
    recorder.tick("ticking", hz=50)
    recorder.stage("stage")
    recorder.advance(40_000_000)


def profile_of(image: bytes) -> Any:
    """The profile of one image that must be whole."""
    errors: list[Any] = []
    profile = read_images([Image(image)], "run", errors)
    assert errors == []
    profile.check()
    return profile


def read_file(path: Path) -> Profile:
    """The profile of one memory file.

    Raises:
        DamagedError: The file is not a valid memory file.
    """
    errors: list[DamagedError] = []
    profile = read_images([Image.of_file(path)], path.name, errors)
    if errors:
        raise errors[0]
    return profile


def changed(image: bytes, offset: int, value: int, size: int = 8) -> bytes:
    """A copy with other bytes at one place."""
    copy = bytearray(image)
    copy[offset : offset + size] = value.to_bytes(size, "little")
    return bytes(copy)


def place(kind: type[ctypes.Structure], field: str, ref: int = 0) -> int:
    """The offset of a field of the record at a reference."""
    return ref * layout.LINE + getattr(kind, field).offset
