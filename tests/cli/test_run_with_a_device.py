"""`ticktree run` of a program with an invented device: rows of its time, and a run that waits says so."""

from __future__ import annotations

import ticktree
from support.command_line import CommandLine

# Time on this torch's stream passes by the system's clock; a thing is done when it is time.
TORCH = """
import time, types

class Stream:
    device_index, cuda_stream, busy_until = 0, 7, 0.0

_stream = Stream()
_skipped = 0.0

class Event:
    def __init__(self, enable_timing=False):
        pass
    def record(self, stream=None):
        self.at = max(now(), _stream.busy_until)
    def query(self):
        return now() >= self.at
    def elapsed_time(self, end):
        return (end.at - self.at) * 1e3

def kernel(seconds):
    _stream.busy_until = max(now(), _stream.busy_until) + seconds

def now():
    return time.monotonic() + _skipped

def skip():
    global _skipped
    _skipped += max(0.0, _stream.busy_until - now())

def synchronize(device=None):
    time.sleep(max(0.0, _stream.busy_until - now()))

version = types.SimpleNamespace(cuda="12.8", hip=None)
get_num_threads = lambda: 1
cuda = types.SimpleNamespace(
    Event=Event, synchronize=synchronize, is_initialized=lambda: True, device_count=lambda: 0,
    is_current_stream_capturing=lambda: False, current_stream=lambda device=None: _stream,
)
"""
PROGRAM = """
import torch, ticktree
for _ in range(3):
    with ticktree.section("forward", device="cuda"):
        torch.kernel(20)
torch.skip()
with ticktree.section("left behind", device="cuda"):
    torch.kernel(600)
"""
WAITS = """
import torch, ticktree
for _ in range(3):
    with ticktree.section("forward", device="cuda"):
        torch.kernel(0.05)
"""


def run(here: CommandLine, program: str, *options: str) -> tuple[ticktree.Profile, str]:
    here.write("torch.py", TORCH)
    here.write("program.py", program)
    done = here.ticktree("run", "--no-instrument", *options, "program.py")
    assert done.returncode == 0, done.stderr
    (kept,) = here.runs()
    return ticktree.load(kept), done.stderr


def test_a_program_has_its_devices_rows_and_is_not_kept_from_ending(here: CommandLine) -> None:
    profile, printed = run(here, PROGRAM)
    profile.check()
    forward = profile.root.children["forward"]
    assert forward.children["cuda:0@device"].count == 3
    assert forward.children["cuda:0@device"].total_ns > 59_000_000_000
    assert forward.total_ns < 50_000_000_000  # and not even that: the program waits for nothing
    assert profile.losses["device_times_not_known"] == 1
    assert "(device clock)" in printed
    assert "1 device time not known" in printed
    assert "not the program's own schedule" not in printed


def test_a_run_that_waits_says_so(here: CommandLine) -> None:
    profile, printed = run(here, WAITS, "--device-sync")
    assert profile.root.children["forward"].total_ns > 140_000_000
    assert "not the program's own schedule" in " ".join(printed.split())
