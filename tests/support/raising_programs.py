"""Small programs that end or print because of exceptions that pass through ticktree's wrappers."""

from __future__ import annotations

# What those begin with that use ticktree themselves: without `ticktree run` nothing stands around anything.
MARKED = """
import os
if "TICKTREE_RUN" in os.environ:
    from ticktree import loop, section, timed
    from ticktree.remote.asgi import AsgiServerTiming as asgi
    from ticktree.remote.wsgi import WsgiServerTiming as wsgi
else:
    import contextlib
    timed = wsgi = asgi = lambda function: function
    section, loop = contextlib.nullcontext, lambda name, items: items
"""

THREADS = {
    "an empty queue": "import queue; queue.Queue().get(timeout=.01)",
    "a full queue": "import queue; q = queue.Queue(1); q.put(1); q.put(2, timeout=.01)",
    "a task done too often": "import queue; queue.Queue().task_done()",
    "arguments that do not fit": "import queue; queue.Queue().get(1, 2, 3, 4)",
    "a keyword that does not fit": "import threading; threading.Event().wait(seconds=3)",
    "an exception in the place of another": """
import queue
try:
    queue.Queue().get(timeout=.01)
except queue.Empty as error:
    raise ValueError("nothing came") from error
""",
    "an exception while another is handled": """
import queue
try:
    queue.Queue().get(timeout=.01)
except queue.Empty:
    queue.Queue().get(block=False)
""",
    "a signal in a wait": """
import queue, signal
def late(*_):
    raise TimeoutError("late")
signal.signal(signal.SIGALRM, late)
signal.setitimer(signal.ITIMER_REAL, .05)
queue.Queue().get()
""",
    "a thread that waits for itself": "import threading; threading.current_thread().join()",
    "a thread started twice": """
import threading
t = threading.Thread(target=int); t.start(); t.join(); t.start()
""",
    "a thread that was never made": """
import threading
class Mine(threading.Thread):
    def __init__(self): pass
for method in ("join", "start"):
    try:
        getattr(Mine(), method)()
    except BaseException:
        import traceback; traceback.print_exc()
""",
    "a thread that fails": """
import threading
def work(): raise KeyError("work")
t = threading.Thread(target=work, name="worker"); t.start(); t.join()
""",
    "a condition without its lock": "import threading; threading.Condition().wait(1)",
    "a notification without its lock": "import threading; threading.Condition().notify()",
    "a time that is none": "import threading; threading.Event().wait('x')",
    "a broken barrier": "import threading; threading.Barrier(2).wait(.01)",
    "a worker of a pool": """
from concurrent.futures import ThreadPoolExecutor, wait
def work(x): return 1 / x
with ThreadPoolExecutor(1) as pool:
    f = pool.submit(work, 0)
wait([f]); f.result()
""",
    "a mapped worker": """
from concurrent.futures import ThreadPoolExecutor
def work(x): return 1 / x
with ThreadPoolExecutor(1) as pool:
    results = pool.map(work, [1, 0])
print(list(results))
""",
    "a pool that is shut": """
from concurrent.futures import ThreadPoolExecutor
pool = ThreadPoolExecutor(1); pool.shutdown(); pool.submit(int)
""",
    "a future too slow": "from concurrent.futures import Future; Future().result(timeout=.01)",
    "a future set twice": "from concurrent.futures import Future; f = Future(); f.set_result(1); f.set_result(2)",
    "a future asked twice": """
import traceback
from concurrent.futures import Future
f = Future(); f.set_exception(ValueError("once"))
for _ in range(2):
    try:
        f.result()
    except ValueError:
        traceback.print_exc()
""",
}

PROCESSES = {
    "an empty queue of processes": "import multiprocessing; multiprocessing.Queue().get(timeout=.01)",
    "a full queue of processes": "import multiprocessing as m; q = m.Queue(1); q.put(1); q.put(2, timeout=.01)",
    "a closed simple queue": "import multiprocessing as m; q = m.SimpleQueue(); q.close(); q.get()",
    "a joinable task done too often": "import multiprocessing as m; m.JoinableQueue().task_done()",
    "a pipe whose end is closed": "import multiprocessing as m; a, b = m.Pipe(); b.close(); a.recv()",
    "a pipe that nobody reads": "import multiprocessing as m; a, b = m.Pipe(False); a.close(); b.send(1)",
    "a closed pipe": "import multiprocessing as m; a, b = m.Pipe(); a.close(); a.poll(1)",
    "a message that cannot be sent": "import multiprocessing as m; a, b = m.Pipe(); a.send(lambda: 0)",
    "a wait for what is no connection": "import multiprocessing.connection as c; c.wait([object()], 1)",
    "a lock that is not held": "import multiprocessing; multiprocessing.Lock().release()",
    "a shared condition without its lock": "import multiprocessing; multiprocessing.Condition().wait(1)",
    "a process joined before it began": "import multiprocessing; multiprocessing.Process().join()",
    "a process that was never made": """
import multiprocessing
class Mine(multiprocessing.Process):
    def __init__(self): pass
Mine().start()
""",
    "a process that fails": """
import multiprocessing
def work(): raise KeyError("work")
if __name__ == "__main__":
    p = multiprocessing.get_context("fork").Process(target=work); p.start(); p.join(); print(p.exitcode)
""",
    "a worker process of a pool": """
import multiprocessing
from concurrent.futures import ProcessPoolExecutor
def work(x): return 1 / x
if __name__ == "__main__":
    with ProcessPoolExecutor(1, multiprocessing.get_context("fork")) as pool:
        results = pool.map(work, [1, 0])
    print(list(results))
""",
    "a program too slow to wait for": """
import subprocess
p = subprocess.Popen(["sleep", "5"])
try:
    p.wait(timeout=.01)
finally:
    p.kill()
""",
    "a program too slow to talk to": "import subprocess; subprocess.run(['sleep', '5'], timeout=.05)",
    "a program that fails": "import subprocess; subprocess.run(['false'], check=True)",
    "a program that is not there": "import subprocess; subprocess.run(['/no/such/program'])",
    "a preparation that fails": "import subprocess; subprocess.run(['true'], preexec_fn=lambda: 1 / 0)",
    "an exec of what is not there": "import os; os.execv('/no/such/program', ['x'])",
    "a spawn of what is not there": "import os; os.posix_spawn('/no/such/program', ['x'], os.environ)",
}

TASKS = {
    "a task": """
import asyncio
async def inner(): raise LookupError("inner")
async def main(): await asyncio.create_task(inner())
asyncio.run(main())
""",
    "a function on another thread": """
import asyncio
def work(): raise LookupError("work")
asyncio.run(asyncio.to_thread(work))
""",
    "a function in C on another thread": "import asyncio; asyncio.run(asyncio.to_thread(int, 'x'))",
    "a task that is none": "import asyncio; asyncio.new_event_loop().create_task(3)",
    "a module that cannot be imported": """
import os, sys
os.makedirs("requests", exist_ok=True)
with open("requests/__init__.py", "w") as file:
    file.write("def half():\\n    raise OSError('half')\\nhalf()\\n")
sys.path.insert(0, os.getcwd())
import requests
""",
}

OF_TICKTREE = {
    "a timed function": "@timed\ndef f(): raise ValueError\nf()",
    "a timed method": "class A:\n    @timed\n    def f(self): raise ValueError\nA().f()",
    "a timed function that measures": """
def f(): raise ValueError
try:
    f = timed("f", cpu=True, memory=True)(f)
except TypeError: pass
f()
""",
    "a timed coroutine": "import asyncio\n@timed\nasync def f(): raise ValueError\nasyncio.run(f())",
    "a timed generator": "@timed\ndef f():\n    yield 1\n    raise ValueError\nfor _ in f(): pass",
    "an exception thrown into a timed generator": """
@timed
def f():
    yield 1
g = f(); next(g); g.throw(ValueError("thrown"))
""",
    "an exception caught by a timed generator": """
import traceback
@timed
def f():
    try:
        yield 1
    except ValueError:
        traceback.print_exc()
        raise KeyError("another")
g = f(); next(g); g.throw(ValueError("thrown"))
""",
    "a timed asynchronous generator": """
import asyncio
@timed
async def f():
    yield 1
    raise ValueError
async def main():
    async for _ in f(): pass
asyncio.run(main())
""",
    "a section": "with section('a'):\n    with section('b'):\n        1 / 0",
    "an iterator under a loop": "def f():\n    yield 1\n    raise ValueError\nfor _ in loop('l', f()): pass",
    "an iterator in C under a loop": "for _ in loop('l', map(int, ['1', 'x'])): pass",
    "a body of a loop": "for _ in loop('l', range(3)):\n    1 / 0",
    "a WSGI application": """
def app(environ, start): raise ValueError
wsgi(app)({"REQUEST_METHOD": "GET", "PATH_INFO": "/"}, print)
""",
    "a streaming WSGI application": """
def app(environ, start):
    yield b"a"
    raise ValueError
for _ in wsgi(app)({"REQUEST_METHOD": "GET", "PATH_INFO": "/"}, print): pass
""",
    "an ASGI application": """
import asyncio
async def app(scope, receive, send): raise ValueError
asyncio.run(asgi(app)({"type": "http", "method": "GET", "path": "/", "headers": []}, None, None))
""",
}

GYMNASIUM = """
import traceback
import gymnasium
class Env(gymnasium.Env):
    observation_space = action_space = gymnasium.spaces.Discrete(2)
    def reset(self, **_): return 0, {}
    def step(self, action): raise ValueError("broken env")
class Outer(gymnasium.Wrapper):
    def step(self, action): return super().step(action)
for env in (Env(), Outer(Env())):
    env.reset()
    try:
        env.step(0)
    except ValueError:
        traceback.print_exc()
env.step(1)
"""

TORCH = """
import traceback
import torch
class Net(torch.nn.Module):
    def forward(self, x): return self.inner(x)
    def inner(self, x): raise ValueError("broken net")
weight = torch.nn.Parameter(torch.ones(2))
optimizer = torch.optim.SGD([weight])
def closure(): raise KeyError("closure")
def hook(_): raise LookupError("hook")
def backward():
    loss = weight.sum(); loss.register_hook(hook); loss.backward()
for broken in (lambda: Net()(1), lambda: optimizer.step(closure), backward, lambda: torch.ones(2).to("nowhere")):
    for _ in range(2):
        try:
            broken()
        except Exception:
            traceback.print_exc()
Net()(1)
"""
