"""`ticktree whatif`, as its users meet it."""

from __future__ import annotations

import json

import pytest

from support.command_line import assert_one_clear_line

SEQUENTIAL = """
import time, ticktree
for _ in ticktree.loop("train", range(60), warmup=0):
    with ticktree.section("sample"):
        time.sleep(0.001)
    end = time.perf_counter() + 0.004
    with ticktree.section("update"):
        while time.perf_counter() < end:
            pass
print("done")
raise SystemExit(3)
"""

# Sleeping is what a busy machine does no faster: the producer sets the pace, until the consumer does.
PIPELINE = """
import queue, threading, time, ticktree
items = queue.Queue(2)
def produce():
    for number in range(1200):
        with ticktree.section("produce"):
            time.sleep(0.01)
        items.put(number)
threading.Thread(target=produce, daemon=True).start()
learned = 1
for _ in ticktree.loop("consume", range(1200)):
    learned = (31 * learned + items.get()) % 1_000_003
    with ticktree.section("work"):
        time.sleep(0.004)
print(learned)
"""

PROCESSES = """
import multiprocessing, time, ticktree
def act(items):
    for number in range(1200):
        with ticktree.section("act"):
            time.sleep(0.01)
        items.put(number)
if __name__ == "__main__":
    context = multiprocessing.get_context("spawn")
    items = context.Queue(2)
    actor = context.Process(target=act, args=(items,))
    actor.start()
    learned = 1
    for _ in ticktree.loop("learn", range(1200)):
        learned = (31 * learned + items.get()) % 1_000_003
        with ticktree.section("update"):
            time.sleep(0.004)
    actor.join()
    print(learned)
"""

CONTROLS = """
import time, ticktree
for _ in ticktree.loop("control", range(20), hz=100, pace=True):
    with ticktree.section("act"):
        time.sleep(0.001)
print("done")
"""


def results(text: str) -> dict[tuple[str, int], dict]:
    document = json.loads(text)
    assert document["schema"] == "ticktree-whatif/1"
    return {(each["path"], each["speedup_percent"]): each for each in document["results"]}


def test_one_sequential_thread_needs_no_experiment(here):
    here.write("train.py", SEQUENTIAL)
    done = here.ticktree("whatif", "--speedup", "50", "-o", "found.json", "train.py")
    assert (done.returncode, done.stdout) == (3, "done\n"), done.stderr
    found = results((here.directory / "found.json").read_text())
    for each in found.values():
        assert list(each) == [
            *("path", "speedup_percent", "gain_percent", "low_percent", "high_percent"),
            *("amdahl_percent", "verdict"),
        ]
    update = found["train/update", 50]
    assert update["gain_percent"] == update["low_percent"] == update["amdahl_percent"] > 15


@pytest.mark.slow
def test_what_runs_before_the_loop_gains_its_ticks_nothing(here):
    source = SEQUENTIAL.replace("for _", "with ticktree.section('build'):\n    time.sleep(0.4)\nfor _", 1)
    here.write("train.py", source)
    here.ticktree("whatif", "--speedup", "50", "-o", "found.json", "train.py")
    found = results((here.directory / "found.json").read_text())
    assert ("train/update", 50) in found
    assert ("build", 50) not in found
    here.ticktree("whatif", "--speedup", "50", "--section", "build", "-o", "found.json", "train.py")
    found = results((here.directory / "found.json").read_text())
    assert found["build", 50]["gain_percent"] == 0


def test_it_says_that_it_did_not_run_one(here):
    here.write("train.py", SEQUENTIAL.replace("time.sleep(0.001)", "pass"))
    done = here.ticktree("whatif", "train.py")
    assert "Amdahl's law is exact" in done.stderr.replace("\n", " ")
    assert done.stdout == "done\n"


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    ("source", "on_path", "off_path"),
    [(PIPELINE, "produce", "consume/work"), (PROCESSES, "act", "learn/update")],
    ids=["threads", "processes"],
)
def test_a_pipeline_gains_by_its_slowest_stage_alone_and_only_until_another_is(
    here, source, on_path, off_path
):
    """On a machine that is too busy it cannot tell; whatever it tells is right."""
    here.write("pipeline.py", source)
    words = [word for path in (on_path, off_path) for word in ("--section", path)]
    done = here.ticktree("whatif", "--speedup", "90", *words, "-o", "found.json", "pipeline.py")
    # Every item in its order, whatever was delayed.
    assert (done.returncode, done.stdout) == (0, "798419\n"), done.stderr
    found = results((here.directory / "found.json").read_text())
    on, off = found[on_path, 90], found[off_path, 90]
    assert on["amdahl_percent"] == pytest.approx(90, abs=15)
    assert on["verdict"] in ("gain", "cannot tell")
    assert off["verdict"] in ("no gain", "cannot tell")
    if on["verdict"] == "gain":  # 60%: then the other stage is the slowest
        assert on["gain_percent"] == pytest.approx(60, abs=12)


@pytest.mark.slow
def test_a_loop_with_a_rate_is_delayed_only_if_that_is_said(here):
    here.write("control.py", CONTROLS)
    done = here.ticktree("whatif", "control.py")
    assert (done.returncode, done.stdout) == (0, "done\n")
    assert "control has a rate" in done.stderr
    assert "--yes" in done.stderr
    done = here.ticktree("whatif", "--yes", "control.py")
    assert "control holds its rate" in done.stderr


MISSES = """
import time, ticktree
def spin(seconds):
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        pass
for tick in ticktree.loop("control", range(24), hz=100, pace=True, warmup=0):
    with ticktree.section("plan"):
        spin(0.04 if tick % 4 == 3 else 0.001)
    with ticktree.section("act"):
        spin(0.0001)
print("done")
"""


@pytest.mark.slow
def test_missed_ticks_of_a_loop_with_a_rate_are_counted_without_a_delay(here):
    here.write("control.py", MISSES)
    done = here.ticktree("whatif", "--speedup", "50,99", "-o", "found.json", "control.py")
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr
    document = json.loads((here.directory / "found.json").read_text())
    assert document["results"] == []
    misses = {(each["path"], each["speedup_percent"]): each for each in document["misses"]}
    plan = misses["control/plan", 99]
    assert plan["ticks"] == 24
    assert 6 <= plan["missed"] <= 24
    assert plan["predicted_missed"] < plan["missed"]
    assert misses["control/plan", 50]["predicted_missed"] >= 6  # 20 ms are still too long
    here.ticktree("whatif", "-o", "found.html", "control.py")
    assert "would be missed" in (here.directory / "found.html").read_text()


@pytest.mark.slow
def test_its_runs_are_compared_with_none_and_not_remembered(here):
    here.write("train.py", SEQUENTIAL)
    here.ticktree("whatif", "train.py")
    assert_one_clear_line(here.ticktree("compare", "last", "last"), "whatif")
    assert_one_clear_line(here.ticktree("check", "last", "--budget", "train p99 <= 1 s"), "whatif")
    done = here.ticktree("history")
    assert "a run with experiments is no measurement" in done.stderr
    assert done.stdout == ""
    assert "delayed by `ticktree whatif`" in here.ticktree("report", "last").stdout.replace("\n", " ")


@pytest.mark.slow
def test_what_cannot_be_asked_is_refused(here):
    here.write("train.py", SEQUENTIAL)
    for speedups in ("0", "101", "fast", ""):
        done = here.ticktree("whatif", "--speedup", speedups, "train.py")
        assert done.returncode == 2
        assert "--speedup" in done.stderr
    assert_one_clear_line(here.ticktree("whatif", "missing.py"), "missing.py")


@pytest.mark.slow
def test_a_section_that_was_not_recorded_is_named(here):
    here.write("train.py", SEQUENTIAL)
    done = here.ticktree("whatif", "--section", "upbate", "train.py")
    assert done.returncode == 3
    assert "no section upbate" in done.stderr
    done = here.ticktree("whatif", "--loop", "trian", "train.py")
    assert "no loop trian" in done.stderr


def test_a_program_without_a_loop_is_told_so(here):
    here.write("plain.py", "print('done')")
    done = here.ticktree("whatif", "plain.py")
    assert (done.returncode, done.stdout) == (0, "done\n")
    assert "ticktree.loop" in done.stderr


def test_memory_is_given_back(here):
    here.write("train.py", SEQUENTIAL)
    here.ticktree("whatif", "train.py")
    assert here.memory() == []
