"""The recorded calls of a test's invented library; the fixture `install` instruments one."""

from __future__ import annotations


def counts(recorder):
    """How often each section was called, by path."""
    profile = recorder.snapshot()
    profile.check()
    return {path: node.count for path, _, node in profile.root.walk() if path}


def ticks(recorder):
    """How many complete ticks each loop has, by path."""
    return {path: loop.ticks for path, loop in recorder.snapshot().loops.items()}
