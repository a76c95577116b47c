from __future__ import annotations

from dataclasses import replace

import pytest

from support.example_samples import sampled, stack
from support.findings import findings
from support.virtual_programs import Program
from ticktree.analysis.rules.deadlines import LateWakeRule
from ticktree.profile import CodeLine, Profile

DECODE = CodeLine("Camera.decode", "/home/ada/track.py", 41)


def tracking(
    late_ms: float, every: int = 20, *, work_ms: float = 0.5, gil: int = 0, asleep: int = 100
) -> Profile:
    """A loop of 200 Hz, every so many ticks of which sleep for so much longer, and what samples show of the sleep."""
    program = Program()
    for tick in program.loop("pan_tilt", range(600), hz=200):
        program.work("control", work_ms)
        with program.section("sleep", wait=True):
            program.take(5 - work_ms + (late_ms if tick % every == 0 else 0))
    counts = {
        stack("pan_tilt/sleep", CodeLine("main", "/home/ada/track.py", 9), state="gil"): gil,
        stack("pan_tilt/sleep", CodeLine("main", "/home/ada/track.py", 9), state="sleep"): asleep,
        stack("", DECODE, thread="other threads"): 40,
    }
    return replace(program.profile(), samples=sampled({key: count for key, count in counts.items() if count}))


def findings_of(profile: Profile):
    return findings(profile, rules=[LateWakeRule()])


def test_a_loop_that_waits_for_the_interpreter_when_it_should_wake_names_who_holds_it():
    (finding,) = findings_of(tracking(8, gil=30))
    assert finding.message == (
        "Run Camera.decode in another process, or less often: it holds the interpreter (GIL) at track.py:41 [sampled] "
        "when the loop should wake, and one tick in a hundred of pan_tilt takes 13.0 ms or more, where its rate "
        "allows 5.00 ms and it works for 500 µs"
    )
    assert (finding.path, finding.kind, finding.severity, finding.saving) == (
        "pan_tilt",
        "recommendation",
        "warning",
        None,
    )


def test_without_a_known_reason_it_is_a_fact_about_the_measurement():
    (finding,) = findings_of(tracking(8, gil=2))
    assert finding.message == (
        "one tick in a hundred of pan_tilt takes 13.0 ms or more, where its rate allows 5.00 ms and it works for 500 "
        "µs: it sleeps until the next is due, and the system wakes it late"
    )
    assert finding.kind == "measurement"


@pytest.mark.parametrize(
    "profile",
    [tracking(2), tracking(8, every=200), tracking(8, work_ms=6)],
    ids=["little", "rarely", "no time to spare"],
)
def test_other_loops_wake_in_time(profile):
    assert findings_of(profile) == []
