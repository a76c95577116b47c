from __future__ import annotations

from dataclasses import replace

import pytest

from support.example_samples import sampled, stack
from support.findings import findings
from support.sampled_runs import run_sampled
from support.virtual_programs import Program
from ticktree.analysis.rules.locks import GilRule
from ticktree.profile import CodeLine, Profile

CORRECT = CodeLine("Filter.correct", "/home/ada/slam.py", 57)
SCAN = CodeLine("Map.integrate_scan", "/home/ada/slam.py", 24)
OTHER = CodeLine("poll", "/home/ada/slam.py", 80)


def localizing(
    waits: int, works: int, *, scans: int = 50, polls: int = 0, late: int = 0, scan: CodeLine = SCAN
) -> Profile:
    """A loop that spends 8 of its 10 ms in `correct`, and a thread of which samples are all that is known."""
    profile = Program()
    for _ in profile.loop("filter", range(50)):
        profile.work("predict", 2)
        profile.work("correct", 8)
    counts = {
        stack("filter/correct", CORRECT, state="gil"): waits,
        stack("filter/correct", CORRECT): works,
        stack("", scan, thread="other threads"): scans,
        stack("", OTHER, thread="other threads"): polls,
    }
    samples = sampled({key: count for key, count in counts.items() if count}, late=late)
    return replace(profile.profile(), samples=samples)


def findings_of(profile: Profile):
    return findings(profile, rules=[GilRule()])


def test_a_loop_that_waits_for_the_interpreter_names_the_function_that_holds_it():
    (finding,) = findings_of(localizing(90, 10))
    assert finding.message == (
        "Run Map.integrate_scan in another process, or less often: a tick of filter waits 72% of its time for the "
        "interpreter (GIL), which that thread holds at slam.py:24 [sampled]"
    )
    assert (finding.path, finding.loop, finding.severity) == ("filter", "filter", "critical")
    assert finding.saving is not None
    assert finding.saving.share == pytest.approx(0.72)


@pytest.mark.parametrize(
    ("function", "named"),
    [
        ("Map.scan.<locals>.<genexpr>", "Map.scan"),
        ("Map.scan.<listcomp>", "Map.scan"),
        ("main.<locals>.scan", "main.scan"),
        ("main.<locals>.scan.<locals>.<lambda>", "main.scan"),
    ],
)
def test_of_an_expression_in_a_function_the_function_is_named(function, named):
    (finding,) = findings_of(localizing(90, 10, scan=SCAN._replace(function=function)))
    assert finding.message.startswith(f"Run {named} in another process")


@pytest.mark.parametrize(
    "profile",
    [
        localizing(15, 85),
        localizing(15, 0),
        localizing(90, 10, scans=0),
        localizing(90, 10, scans=20, polls=25),
        localizing(90, 10, late=20),
    ],
    ids=["little", "few samples", "nobody", "several functions: one of them", "late samples"],
)
def test_where_it_is_not_clear_there_is_no_finding(profile):
    assert [finding for finding in findings_of(profile) if "integrate_scan" in finding.message] == []


PROGRAM = """
import threading, time
import ticktree

stop = threading.Event()

def scan():
    while not stop.is_set():
        sum(range(1000))

thread = threading.Thread(target=scan, daemon=True)
thread.start()
end = time.perf_counter() + 4
for tick in ticktree.loop("filter", iter(lambda: time.perf_counter() < end, False)):
    with ticktree.section("correct"):
        for _ in range(20):
            time.sleep(0)
            sum(range(100))
stop.set()
thread.join()
"""


@pytest.mark.slow
def test_a_marked_loop_that_shares_the_interpreter_with_a_busy_thread(tmp_path):
    profile, _ = run_sampled(tmp_path, PROGRAM, "--quiet", "--sample", "100", before="")
    assert profile.samples is not None
    if not profile.samples.is_late:  # else all cores were busy, and no finding is right
        (finding,) = findings_of(profile)
        assert (finding.path, finding.loop, finding.facts["function"]) == ("filter", "filter", "scan")
