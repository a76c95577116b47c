"""Programs that put other classes in the place of the standard library's run as they do without ticktree."""

from __future__ import annotations

import subprocess
import sys

import pytest

THREADS = """
import subprocess, sys, threading, queue, time
from concurrent.futures import ThreadPoolExecutor
t = threading.Thread(target=print, args=("thread",)); t.start(); t.join()
event = threading.Event()
threading.Timer(.01, event.set).start()
print("event", event.wait(10))
waiting = queue.Queue(1)
def put():
    for n in range(3): waiting.put(n)
threading.Thread(target=put).start()
print("queue", [waiting.get() for _ in range(3)])
with ThreadPoolExecutor(2) as pool:
    print("pool", list(pool.map(abs, [-1, -2])), pool.submit(abs, -3).result())
condition = threading.Condition()
def notify():
    with condition: condition.notify_all()
with condition:
    threading.Timer(.01, notify).start()
    print("condition", condition.wait(10))
print("program", subprocess.run([sys.executable, "-c", "print(1)"], capture_output=True, text=True).stdout)
program = subprocess.Popen([sys.executable, "-c", "print(2)"], stdout=subprocess.PIPE)
print("program", program.communicate()[0], program.wait(timeout=5))
"""
GREENLETS = """
import gevent
from gevent.event import Event
from gevent.queue import Queue
come, items = Event(), Queue()
gevent.spawn(lambda: (gevent.sleep(.01), items.put(1), come.set()))
print("greenlets", come.wait(10), items.get(timeout=10))
"""


def patched(module, how):
    pytest.importorskip(module, reason=f"{module} is not installed")
    return {"gevent": "from gevent import monkey; monkey.patch_all()\n"}.get(
        module, f"import {module}; {how}\n"
    )


@pytest.mark.slow
@pytest.mark.parametrize("module", ["gevent", "eventlet"])
@pytest.mark.parametrize("way", ["run", "enabled first", "enabled last"])
def test_a_patched_program_prints_what_it_prints_without_ticktree(module, way, tmp_path):
    patch = patched(module, "eventlet.monkey_patch()")
    enable = "import ticktree; ticktree.enable(); ticktree.instrument('waits')\n"
    program = patch + THREADS + (GREENLETS if module == "gevent" else "")
    ours = {"run": program, "enabled first": enable + program, "enabled last": patch + enable + program}[way]
    (tmp_path / "plain.py").write_text(program)
    (tmp_path / "ours.py").write_text(ours)
    command = ["-m", "ticktree", "run", "--quiet"] if way == "run" else []
    ends = []
    for words in (["plain.py"], [*command, "ours.py"]):
        words = [sys.executable, "-W", "ignore", *words]  # eventlet warns of itself
        done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, timeout=500, check=False)
        lines = [line for line in done.stderr.splitlines() if not line.startswith("ticktree: ")]
        ends.append((done.returncode, done.stdout, lines))
    assert "condition True" in ends[0][1], ends[0]
    assert ends[1] == ends[0]


OTHER_CLASSES = """
import threading
class Slots:
    __slots__ = ("flag",)
    def __init__(self): self.flag = threading._Event()
    def is_set(self): return self.flag.is_set()
    def set(self): self.flag.set()
    def wait(self, timeout=None): return self.flag.wait(timeout)
class Strict(threading.Thread):
    known = set()
    def __setattr__(self, name, value):
        if name.startswith("_ticktree"):
            raise AttributeError(name)
        super().__setattr__(name, value)
    def __eq__(self, other): return NotImplemented
    __hash__ = object.__hash__
threading._Event, threading.Event = threading.Event, Slots
t = Strict(target=print, args=("hi",)); t.start(); t.join()
"""


def test_events_of_a_programs_own_and_threads_that_refuse_attributes(tmp_path):
    (tmp_path / "program.py").write_text(OTHER_CLASSES)
    done = subprocess.run(
        [sys.executable, "-m", "ticktree", "run", "--quiet", "program.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=500,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "hi\n", "")
