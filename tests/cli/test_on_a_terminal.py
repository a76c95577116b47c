"""What only a terminal gets to see."""

from __future__ import annotations

import os
import pty
import sys

from support.command_line import CommandLine

# Another thread announces it.
READS_UNTIL_IT_IS_ANNOUNCED = """
import threading, ticktree.run.sweep as abandoned
def all_memory():
    for thread in threading.enumerate():
        if isinstance(thread, threading.Timer):
            thread.join()
    return []
abandoned.all_memory = all_memory
"""


def on_terminal(here: CommandLine, *words: str, keys: dict[str, str] | None = None) -> tuple[str, int]:
    """All that a ticktree command shows on a terminal, and how it ended; types each key after its cue."""
    pid, fd = pty.fork()
    if pid == 0:
        os.chdir(here.directory)
        env = {**here.env, "TERM": "xterm-256color"}
        os.execve(sys.executable, [sys.executable, "-m", "ticktree", *words], env)
    seen, waiting = "", dict(keys or {})
    while True:
        try:
            seen += os.read(fd, 4096).decode(errors="replace")
        except OSError:
            break
        for cue in [cue for cue in waiting if cue in seen]:
            os.write(fd, waiting.pop(cue).encode())
    os.close(fd)
    return seen, os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def test_the_summary_is_in_colour_and_as_wide_as_the_terminal(here: CommandLine) -> None:
    here.write("train.py")
    seen, status = on_terminal(here, "run", "train.py")
    assert status == 0
    assert "\x1b[" in seen
    assert "sample" in seen


def test_ctrl_c_ends_the_program_once_and_then_shows_what_was_recorded(here: CommandLine) -> None:
    # Short sleeps: Python misses a signal that arrives just before a call that then waits, as input() does.
    here.write(
        "train.py",
        "import ticktree, time\nwith ticktree.section('step'): pass\nprint('ready', flush=True)\n"
        "while True: time.sleep(0.05)",
    )
    seen, status = on_terminal(here, "run", "train.py", keys={"ready": "\x03"})
    assert status == -2
    assert seen.count("KeyboardInterrupt") == 1
    assert seen.index("KeyboardInterrupt") < seen.rindex("step") < seen.index("Run ticktree-runs")


def test_long_reading_is_announced_and_the_announcement_goes_away(here: CommandLine) -> None:
    here.write("train.py")
    here.ticktree("run", "--quiet", "train.py")
    here.write("sitecustomize.py", READS_UNTIL_IT_IS_ANNOUNCED)
    here.env["PYTHONPATH"] = str(here.directory)
    seen, status = on_terminal(here, "report")
    assert status == 0
    assert "reading" in seen
    assert seen.index("reading") < seen.index("sample")
