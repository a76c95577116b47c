"""Copying a memory file that its process is writing."""

from __future__ import annotations

import pytest

from ticktree.recorder import Recorder, copy_settled


def test_a_record_is_copied_with_all_its_parts():
    source, target = bytearray(b"x" * 4096), bytearray(4096)
    source[:4] = bytes(4)
    parts = [(at, at + 1) for at in range(4, 4004, 4)]
    assert copy_settled(source, target, 0, parts, 1)
    assert [target[start] for start, _ in parts] == [ord("x")] * 1000
    assert target.count(b"x") == 1000


def test_a_record_without_parts_is_settled():
    assert copy_settled(bytearray(8), bytearray(8), 0, [], 1)


@pytest.mark.parametrize("part", [(-1, 4), (8, 4), (0, 4097)])
def test_a_part_outside_the_memory_is_refused(part):
    with pytest.raises(ValueError, match="outside"):
        copy_settled(bytearray(4096), bytearray(4096), 0, [(0, 8), part], 1)


def test_a_recorder_without_memory_accepts_every_call():
    recorder = Recorder(virtual_clock=True)
    recorder.set_costs(1, 1)
    recorder.note_time()
    recorder.gc_pause(True)
    recorder.gc_pause(False)
    recorder.name_process("process")
    recorder.role("role")
    recorder.lose("events")
    recorder.measure_all()
    recorder.child_of("1-2-3:4")
    recorder.gauge("gauge", 1.0)
    recorder.record_duration("duration", 1.0)
    recorder.wakes("signal")
    recorder.woken_by("signal")
    recorder.tick("loop")
    recorder.stage("stage")
    recorder.reset()
    with recorder.section("section") as section:
        section.work(items=1)
    assert recorder.image() == b""
    assert recorder.calls_of(section) == (0, 0)
    assert (recorder.address(), recorder.knows_thread, recorder.alias(1)) == (None, False, 0)
    recorder.disable()
