"""Sections as NVTX ranges, against a stand-in for the package."""

from __future__ import annotations

import asyncio
import sys
import types

import pytest

import ticktree
from ticktree.instruments import nvtx


@pytest.fixture
def marks(monkeypatch):
    """What was begun and ended, in order."""
    marks = []

    def start_range(message):
        marks.append(f"+{message}")
        return message

    fake = types.SimpleNamespace(start_range=start_range, end_range=lambda number: marks.append(f"-{number}"))
    monkeypatch.setitem(sys.modules, "nvtx", fake)
    yield marks
    nvtx.uninstall()


@pytest.fixture
def recorder():
    return ticktree.Recorder(virtual_clock=True)


def test_each_call_of_a_section_is_a_range(recorder, marks):
    nvtx.install(recorder)
    for _ in range(2):
        with recorder.section("update"), recorder.section("actor", wait=True):
            pass
    assert marks == ["+update", "+actor", "-actor", "-update"] * 2
    assert recorder.snapshot().root.at("update/actor").count == 2


def test_a_decorated_function_is_a_range(recorder, marks):
    nvtx.install(recorder)

    @recorder.timed("act")
    def act(x):
        return x

    assert act(2) == 2
    assert marks == ["+act", "-act"]


def test_ranges_of_tasks_that_take_turns_end_with_their_own_sections(recorder, marks):
    nvtx.install(recorder)

    async def work(name, turns):
        with recorder.section(name):
            for _ in range(turns):
                await asyncio.sleep(0)

    async def main():
        await asyncio.gather(work("long", 3), work("short", 1))

    asyncio.run(main())
    assert marks == ["+long", "+short", "-short", "-long"]


def test_an_exception_ends_the_range_and_passes(recorder, marks):
    nvtx.install(recorder)
    with pytest.raises(KeyError), recorder.section("update"):
        raise KeyError
    assert marks == ["+update", "-update"]


def test_after_uninstalling_there_are_no_ranges(recorder, marks):
    nvtx.install(recorder)
    section = recorder.section("update")
    nvtx.uninstall()
    with section, recorder.section("new"):
        pass
    assert marks == []


def test_a_library_that_fails_is_asked_no_more_and_the_program_goes_on(recorder, marks, monkeypatch):
    def fail(message):
        raise RuntimeError("no NVTX")

    sys.modules["nvtx"].start_range = fail
    monkeypatch.setattr(nvtx, "_process", nvtx._Process())
    nvtx.install(recorder)
    for _ in range(2):
        with recorder.section("update"):
            pass
    assert recorder.snapshot().root.children["update"].count == 2
    assert marks == []


def test_a_plain_section_is_as_it_was_without_it(recorder):
    assert recorder.attended_by == []
