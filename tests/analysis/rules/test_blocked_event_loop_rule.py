from __future__ import annotations

from dataclasses import replace

import pytest

from support.example_samples import sampled, stack
from support.findings import findings
from support.sampled_runs import run_sampled
from support.virtual_programs import Program
from ticktree.analysis.rules.tasks import BlockedEventLoopRule
from ticktree.profile import CodeLine, Profile

HANDLE = CodeLine("Handle._run", "/usr/lib/python3.11/asyncio/events.py", 80)
SELECT = CodeLine("EpollSelector.select", "/usr/lib/python3.11/selectors.py", 468)
DETECT = CodeLine("Client.detect", "/home/ada/grasp.py", 33)
RECEIVE = CodeLine("SocketIO.readinto", "/usr/lib/python3.11/socket.py", 706)


def grasping(blocked: int, idle: int, state: str = "io") -> Profile:
    program = Program()
    program.take(1000)
    counts = {
        stack("", HANDLE, DETECT, RECEIVE, state=state): blocked,
        stack("", SELECT, state="io"): idle,
    }
    return replace(program.profile(), samples=sampled({key: count for key, count in counts.items() if count}))


def findings_of(profile: Profile):
    return findings(profile, rules=[BlockedEventLoopRule()])


PROGRAM = """
import asyncio, time

def measure():
    time.sleep(0.02)

async def read():
    for _ in range(60):
        measure()
        await asyncio.sleep(0.01)

async def main():
    await asyncio.gather(read(), asyncio.sleep(0.5))

asyncio.run(main())
"""


@pytest.mark.slow
def test_a_program_that_sleeps_in_a_coroutine(tmp_path):
    profile, _ = run_sampled(tmp_path, PROGRAM, "--quiet", "--sample", "100", before="")
    assert profile.samples is not None
    if not profile.samples.is_late:  # else all cores were busy, and no finding is right
        (finding,) = findings_of(profile)
        assert finding.facts["function"] == "measure"
        assert finding.message.startswith(
            "Await what measure waits for, or call it by asyncio.to_thread: at program.py:5 "
        )


@pytest.mark.parametrize(
    "profile",
    [grasping(0, 100), grasping(10, 90), grasping(15, 0), grasping(60, 40, "running")],
    ids=["idle", "little", "few samples", "works"],
)
def test_other_event_loops_are_not_blocked(profile):
    assert findings_of(profile) == []
