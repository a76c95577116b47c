"""A robot policy's profiling helpers: what their users call, and what they get."""

from __future__ import annotations

import asyncio
import subprocess
import sys

import pytest

from ticktree.compat import lerobot
from ticktree.session import current


@pytest.fixture(autouse=True)
def _afresh(monkeypatch):
    monkeypatch.setattr(lerobot, "_switch", type(lerobot._switch)())
    current.disable()
    yield
    current.recorder.reset()
    current.disable()


@lerobot.profile_method
def doubled(x):
    """Doubles."""
    return 2 * x


class Policy:
    @lerobot.profile_method
    def predict(self, x):
        with lerobot.profile_section("rtc.guidance_computation"):
            return doubled(x)

    @staticmethod
    @lerobot.profile_method
    def name():
        return "policy"

    @lerobot.profile_method
    async def ask(self):
        await asyncio.sleep(0)
        return 1


def test_nothing_is_recorded_until_profiling_is_enabled():
    assert not lerobot.is_profiling_enabled()
    assert Policy().predict(2) == 4
    with lerobot.profile_section("a"):
        pass
    lerobot.record_timing("b", 1.0)
    assert lerobot.get_profiling_stats() == {}


def test_methods_sections_and_timings_are_counted_by_name():
    lerobot.enable_profiling()
    lerobot._switch.names.update(
        {f"{__name__}.Policy.predict", f"{__name__}.doubled", f"{__name__}.Policy.ask"}
    )
    policy = Policy()
    assert [policy.predict(n) for n in range(3)] == [0, 2, 4]
    assert policy.name() == "policy"
    assert asyncio.run(policy.ask()) == 1
    for seconds in (0.25, 0.75):
        lerobot.record_timing("my_custom_metric", seconds)
    stats = lerobot.get_profiling_stats()
    counts = {name.removeprefix(f"{__name__}."): numbers["count"] for name, numbers in stats.items()}
    assert counts == {
        "Policy.predict": 3,
        "rtc.guidance_computation": 3,
        "doubled": 3,
        "Policy.ask": 1,
        "my_custom_metric": 2,
    }
    metric = stats["my_custom_metric"]
    assert metric == {
        "count": 2,
        "mean": 0.5,
        "min": 0.25,
        "max": 0.75,
        "total": 1.0,
        "mean_ms": 500.0,
        "min_ms": 250.0,
        "max_ms": 750.0,
    }


def test_disabling_stops_counting_and_keeps_what_was_counted():
    lerobot.enable_profiling()
    lerobot.record_timing("x", 1.0)
    lerobot.disable_profiling()
    lerobot.record_timing("x", 1.0)
    assert not lerobot.is_profiling_enabled()
    assert lerobot.get_profiling_stats()["x"]["count"] == 1


def test_clearing_forgets_all_and_recording_goes_on():
    lerobot.enable_profiling()
    lerobot.record_timing("x", 1.0)
    lerobot.clear_profiling_stats()
    assert lerobot.get_profiling_stats() == {}
    lerobot.record_timing("x", 2.0)
    assert lerobot.get_profiling_stats()["x"]["total"] == 2.0


def test_the_summary_is_sorted_by_what_is_asked_and_says_why_it_is_empty(capsys):
    lerobot.print_profiling_summary()
    assert "enable_profiling()" in capsys.readouterr().err
    lerobot.enable_profiling()
    lerobot.print_profiling_summary()
    assert "nothing was called yet" in capsys.readouterr().err
    lerobot.record_timing("long", 3.0)
    for _ in range(2):
        lerobot.record_timing("often", 0.5)
    lerobot.print_profiling_summary()
    by_total = capsys.readouterr()
    assert by_total.out == ""
    assert by_total.err.index("long") < by_total.err.index("often")
    assert "Total profiled time: 4.00 s across 3 calls" in by_total.err
    lerobot.print_profiling_summary("count")
    by_count = capsys.readouterr().err
    assert by_count.index("often") < by_count.index("long")


def test_exceptions_pass_and_are_counted_as_calls():
    @lerobot.profile_method
    def broken():
        raise KeyError("x")

    lerobot.enable_profiling()
    with pytest.raises(KeyError):
        broken()
    (numbers,) = lerobot.get_profiling_stats().values()
    assert numbers["count"] == 1


PROGRAM = """
from ticktree.compat.lerobot import profile_method, profile_section, print_profiling_summary

@profile_method
def act():
    with profile_section("get_actions.policy_inference"):
        pass

for _ in range(3):
    act()
print_profiling_summary()
"""


@pytest.mark.slow
def test_under_ticktree_run_it_records_without_being_enabled(tmp_path):
    script = tmp_path / "act.py"
    script.write_text(PROGRAM)
    command = [sys.executable, "-m", "ticktree", "run", str(script)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, timeout=500, check=True)
    assert done.stdout == ""
    table = done.stderr.split("Total profiled time", 1)[0]
    command = [sys.executable, "-m", "ticktree", "report", "--all"]
    report = subprocess.run(
        command, capture_output=True, text=True, cwd=tmp_path, timeout=500, check=True
    ).stdout
    assert "get_actions.policy_inference" in table
    assert "__main__.act" in table
    assert "get_actions.policy_inference" in report
