"""`ticktree try`, as its users meet it."""

from __future__ import annotations

import json

import pytest

from support.command_line import assert_one_clear_line

# One thread is the better, whatever the machine: the program sleeps for less then.
SLEEPS = """
import os, time, ticktree
with_one = os.environ.get("OMP_NUM_THREADS") == "1"
for _ in ticktree.loop("train", range(8), warmup=0):
    time.sleep(0.001 if with_one else 0.15)
print("loss", 0.25, "reward", RESULT)
"""


@pytest.mark.slow
def test_a_run_whose_findings_have_no_remedy_is_answered_at_once(here):
    here.write("steady.py", "import ticktree\nfor _ in ticktree.loop('train', range(50)): sum(range(1000))")
    assert here.ticktree("run", "--quiet", "steady.py").returncode == 0
    done = here.ticktree("try")
    assert done.returncode == 0, done.stderr
    assert "Nothing to try" in done.stdout
    assert not list((here.directory / "ticktree-runs").glob("*-try"))


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_remedy_that_gains_is_measured_twice_and_kept(here):
    here.write("sleeps.py", SLEEPS.replace("RESULT", "1.5"))
    assert here.ticktree("run", "--quiet", "sleeps.py").returncode == 0
    done = here.ticktree("try", "--remedy", "one-thread", "--format", "json")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    (tried,) = document["trials"]
    assert (tried["verdict"], tried["pairs"]) == ("faster", 6)
    assert tried["results"] == {"state": "unchanged", "numbers": 2, "reason": ""}
    assert document["winner"]["high_percent"] < -50
    assert document["kept"]["remedies"] == ["one-thread"]
    assert document["kept"]["command"].startswith("OMP_NUM_THREADS=1 ")
    # Its runs are not measurements of the unchanged program.
    (remedied, *_) = (here.directory / "ticktree-runs").glob("*-try/one-thread/remedy/2*")
    (base, *_) = (here.directory / "ticktree-runs").glob("*-try/one-thread/base/2*")
    assert_one_clear_line(here.ticktree("compare", str(base), str(remedied)), "ticktree try")


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_remedy_that_changes_results_is_not_kept(here):
    here.write("sleeps.py", SLEEPS.replace("RESULT", "2.5 if with_one else 1.5"))
    assert here.ticktree("run", "--quiet", "sleeps.py").returncode == 0
    done = here.ticktree("try", "--remedy", "one-thread")
    assert done.returncode == 0, done.stderr
    assert "line 1 of its output: 1.5 became 2.5" in done.stdout
    assert "Keep it with" not in done.stdout


@pytest.mark.slow
def test_a_remedy_that_has_nothing_to_change_failed_and_is_no_gain(here):
    here.write("sleeps.py", SLEEPS.replace("RESULT", "1").replace("0.15", "0.001"))
    assert here.ticktree("run", "--quiet", "sleeps.py").returncode == 0
    done = here.ticktree("try", "--remedy", "sync-vector-env")
    assert done.returncode == 0, done.stderr
    assert "failed" in done.stdout
    assert "the program has nothing that sync-vector-env changes" in " ".join(done.stdout.split())


@pytest.mark.slow
def test_what_cannot_be_tried_is_refused_in_one_line(here):
    here.write(
        "paced.py", "import ticktree\nfor _ in ticktree.loop('control', range(30), hz=1000, pace=True): pass"
    )
    assert here.ticktree("run", "--quiet", "paced.py").returncode == 0
    assert_one_clear_line(here.ticktree("try"), "control has a target rate", "--yes")
    assert_one_clear_line(here.ticktree("try", "--yes", "--loop", "train"), "no loop train", "control")
    assert_one_clear_line(here.ticktree("try", "--remedy", "one-thred"), "one-thread")
    here.write("flat.py", "import ticktree\nwith ticktree.section('x'): pass")
    assert here.ticktree("run", "--quiet", "flat.py").returncode == 0
    assert_one_clear_line(here.ticktree("try", "--remedy", "one-thread"), "no loop")


@pytest.mark.slow
def test_a_program_that_fails_ends_it_with_one_line(here):
    here.write("once.py", SLEEPS.replace("RESULT", "1") + "import pathlib\npathlib.Path('done').mkdir()\n")
    assert here.ticktree("run", "--quiet", "once.py").returncode == 0
    assert_one_clear_line(here.ticktree("try", "--remedy", "one-thread"), "status 1", "output.txt")
