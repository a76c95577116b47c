"""Waiting for other programs, and for several connections at once."""

from __future__ import annotations

import inspect
import multiprocessing
import multiprocessing.connection
import subprocess
import sys
import threading

import pytest

import ticktree
from ticktree.instruments import waits

BARE = (subprocess.Popen.wait, subprocess.Popen.communicate, multiprocessing.connection.wait)


@pytest.fixture
def recorder():
    recorder = ticktree.Recorder()
    waits.INSTRUMENT.install(recorder)
    yield recorder
    waits.INSTRUMENT.uninstall()
    recorder.disable()


def rows(recorder, path):
    profile = recorder.snapshot()
    profile.check()
    return {name: (node.count, node.wait) for name, node in profile.root.at(path).children.items()}


def run_python(source, **kwargs):
    return subprocess.run([sys.executable, "-S", "-c", source], check=False, capture_output=True, **kwargs)


def test_waiting_for_a_program_is_a_row_and_once(recorder):
    with recorder.section("here"):
        done = run_python("print(input())", input=b"word\n")
        assert done.stdout == b"word\n"
        process = subprocess.Popen([sys.executable, "-S", "-c", "raise SystemExit(3)"])
        assert process.wait() == 3
        assert process.wait() == 3  # it has ended: no wait
    assert rows(recorder, "here") == {"Popen.communicate": (1, True), "Popen.wait": (1, True)}


def test_timeouts_and_what_is_raised_are_as_they_were(recorder):
    with recorder.section("here"):
        with pytest.raises(subprocess.TimeoutExpired):
            run_python("import time; time.sleep(100)", timeout=0.05)
        process = subprocess.Popen([sys.executable, "-S", "-c", "input()"], stdin=subprocess.PIPE)
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(0.01)
        process.communicate(b"\n", timeout=500)
        with pytest.raises(ValueError):
            process.communicate(b"again")
    assert rows(recorder, "here")["Popen.wait"][1]


def test_waiting_for_several_connections_is_a_row_and_looking_at_them_is_none(recorder):
    ours, theirs = multiprocessing.Pipe()
    with recorder.section("here"):
        assert multiprocessing.connection.wait([ours], timeout=0) == []
        assert not ours.poll()
        timer = threading.Timer(0.02, theirs.send, (1,))
        timer.start()
        assert multiprocessing.connection.wait([ours]) == [ours]
        assert ours.recv() == 1
        timer.join()
    found = rows(recorder, "here")
    assert found["connection.wait"] == (1, True)
    assert "Connection.poll" not in found


def test_signatures_stay_and_all_is_put_back(recorder):
    now = (subprocess.Popen.wait, subprocess.Popen.communicate, multiprocessing.connection.wait)
    for ours, bare in zip(now, BARE, strict=True):
        assert ours is not bare
        assert inspect.signature(ours) == inspect.signature(bare)
        assert (ours.__qualname__, ours.__doc__) == (bare.__qualname__, bare.__doc__)
    waits.INSTRUMENT.uninstall()
    assert (subprocess.Popen.wait, subprocess.Popen.communicate, multiprocessing.connection.wait) == BARE
