"""Makes the memory file of a process that died in the middle of a write.

A process that books one call after another is stopped (SIGSTOP) again and again, until it stands between the two
halves of a write: the node's sequence number is odd, and its histogram does not hold what its count says. Then it is
killed, and the used part of its file is kept."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

from ticktree.run.reading import layout
from ticktree.run.reading.image import Image

WRITER = """
import sys
from ticktree.recorder import Recorder
recorder = Recorder()
recorder.open(sys.argv[1], identity=(4711, 1, "boot"))
recorder.enable()
section = recorder.section("booked")
with recorder.section("left before"):
    pass
print("ready", flush=True)
while True:
    with section:
        pass
"""


def torn_node(image: Image) -> layout.Record | None:
    """The node that was being written, if its count and its histogram differ."""
    for _, node in image.nodes():
        count = sum(sum(image.octave(ref)) for ref in node.octaves if ref)
        if node.sequence % 2 and node.stats.count != count:
            return node
    return None


def catch(path: Path) -> bytes:
    """The used part of the file of a process that was caught."""
    process = subprocess.Popen([sys.executable, "-c", WRITER, path], stdout=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.readline()
    try:
        while True:
            os.kill(process.pid, signal.SIGSTOP)
            os.waitpid(process.pid, os.WUNTRACED)
            image = Image(path.read_bytes())
            if torn_node(image) is not None:
                return bytes(image.data[: image.header.used_bytes])
            os.kill(process.pid, signal.SIGCONT)
            time.sleep(random.random() * 0.002)
    finally:
        process.kill()
        process.wait()
