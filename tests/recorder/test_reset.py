"""A reset keeps what is open and what is entered afterwards; sections without any call are not shown."""

from __future__ import annotations

import io
from contextlib import redirect_stdout

import pytest

from support.recorder.queries import counts, times
from ticktree.cli.group import commands
from ticktree.run.finishing import RunDirectory


def test_a_section_that_is_not_entered_again_is_gone(recorder):
    with recorder.section("outer"):
        with recorder.section("forgotten"), recorder.section("below"):
            recorder.advance(3)
        with recorder.section("kept"):
            recorder.advance(1)
    for _ in recorder.loop("loop", range(3)):
        recorder.gauge("gauge", 1.0)
    recorder.record_duration("measured", 1e-6)
    recorder.reset()
    with recorder.section("outer"), recorder.section("kept"):
        recorder.advance(2)
    profile = recorder.snapshot()
    assert counts(recorder) == {"outer": 1, "outer/kept": 1}
    assert not profile.loops
    assert not profile.gauges
    profile.check()


def test_an_open_section_stays_without_completed_calls(recorder):
    with recorder.section("outer"):
        recorder.tick("loop")
        with recorder.section("open"):
            recorder.reset()
            assert counts(recorder) == {"outer": 0, "outer/loop": 0, "outer/loop/open": 0}
            assert recorder.snapshot().loops.keys() == {"outer/loop"}


def test_a_section_without_calls_stays_if_a_child_has_calls(recorder):
    outer = recorder.section("outer")
    with outer:
        with recorder.section("child"):
            recorder.advance(5)
        recorder.reset()
        with recorder.section("child"):
            recorder.advance(1)
        recorder.advance(1)
        recorder.disable()
    assert counts(recorder) == {"outer": 0, "outer/child": 1}
    assert times(recorder) == {"outer": 2, "outer/child": 1}


@pytest.mark.parametrize("items", [range(0), iter(()), []])
def test_a_loop_without_a_tick_leaves_no_row_and_takes_no_time(recorder, items):
    class Slow:
        def __iter__(self):
            return self

        def __next__(self):
            recorder.advance(5)
            return next(iter(items))

    with recorder.section("outer"):
        for _ in recorder.loop("empty", Slow()):
            raise AssertionError
        for _ in recorder.loop("plain", items):
            raise AssertionError
        recorder.advance(1)
    assert times(recorder) == {"outer": 6}
    assert not recorder.snapshot().loops


def test_a_loop_that_is_exhausted_keeps_the_time_that_finding_it_out_took(recorder):
    def items():
        yield 1
        recorder.advance(5)

    for _ in recorder.loop("loop", items()):
        recorder.advance(1)
    assert times(recorder) == {"loop": 6, "loop/next": 5}
    assert recorder.snapshot().loops["loop"].ticks == 1


def test_a_loop_whose_only_tick_is_empty_keeps_what_its_iterable_did(recorder):
    def items():
        with recorder.section("looks"):
            recorder.advance(5)
        return
        yield

    for _ in recorder.loop("loop", items()):
        raise AssertionError
    assert counts(recorder) == {"loop": 0, "loop/next": 0, "loop/next/looks": 1}


def test_no_output_shows_what_was_recorded_before_a_reset(run_session, tmp_path):
    run_session(
        """
        ticktree.enable()
        for _ in ticktree.loop("old loop", range(3), hz=1000):
            with ticktree.section("forgotten"):
                ticktree.gauge("old gauge", 1.0)
        ticktree.reset()
        for _ in ticktree.loop("new loop", range(3)):
            with ticktree.section("kept"):
                pass
        """
    )
    run = str(RunDirectory.newest(tmp_path / "ticktree-runs").path)
    for view in ("terminal", "text", "markdown", "json", "html"):
        shown = printed("report", run, "--format", view)
        assert "kept" in shown
        assert not {text for text in ("forgotten", "old loop", "old gauge") if text in shown}, view
    for target in ("csv", "prometheus", "mlagents", "collapsed"):
        shown = printed("export", run, "--to", target)
        assert "kept" in shown
        assert not {text for text in ("forgotten", "old loop", "old gauge") if text in shown}, target


def printed(*arguments: str) -> str:
    with redirect_stdout(io.TextIOWrapper(io.BytesIO(), "utf-8")) as out:
        commands.main(list(arguments), prog_name="ticktree", standalone_mode=False)
        out.flush()
        return out.buffer.getvalue().decode()
