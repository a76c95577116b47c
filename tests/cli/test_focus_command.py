"""`ticktree run --focus`: programs that never heard of ticktree, their call trees, and names that mean nothing."""

from __future__ import annotations

import json
import re
import sys

import pytest

from support.command_line import CommandLine, assert_one_clear_line

DRIVE = """
import os
import sub.env

class Forwarder:
    def step(self, observation):
        return 0.9 * observation

class Driver:
    def __init__(self):
        self._forwarder = Forwarder()
        self._env = sub.env.Env()

    def step(self):
        action = self._forwarder.step(1.0)
        return self._env.step(action)

driver = Driver()
for _ in range(20):
    driver.step()
print("done")
"""
ENV = """
class Env:
    def step(self, action):
        return self._act(action) + self._act(action)

    def _act(self, action):
        return sorted([action, 1.0])[0]
"""
PARENT = """
import os, subprocess, sys
env = {"PYTHONPATH": os.environ.get("PYTHONPATH", "")}  # and nothing of what the run is told by
subprocess.run([sys.executable, "drive.py"], check=True, env=env)
"""


def written(here: CommandLine) -> None:
    here.write("drive.py", DRIVE)
    here.write("sub/__init__.py", "")
    here.write("sub/env.py", ENV)


def shape(node: dict) -> dict:
    return {child["name"]: (child["count"], shape(child)) for child in node["children"]}


def tree(here: CommandLine) -> dict:
    return json.loads(here.ticktree("report", "--format", "json").stdout)


STEP = {
    "self._forwarder.step(1.0) | Forwarder.step : drive.py @ L6": (20, {}),
    "self._env.step(action) | Env.step : sub/env.py @ L3": (
        20,
        {
            "self._act(action) @ L4:15 | Env._act : sub/env.py @ L6": (20, {}),
            "self._act(action) @ L4:35 | Env._act : sub/env.py @ L6": (20, {}),
        },
    ),
}


@pytest.mark.slow
def test_a_program_that_never_heard_of_ticktree_has_its_call_tree(here: CommandLine) -> None:
    written(here)
    done = here.ticktree("run", "--no-instrument", "--focus", "Driver.step", "drive.py")
    assert (done.returncode, done.stdout) == (0, "done\n")
    profile = tree(here)
    assert shape(profile["tree"]) == {"Driver.step : drive.py @ L14": (20, STEP)}
    (loop,) = profile["loops"]
    assert loop["ticks"] == 20


@pytest.mark.slow
def test_the_depth_and_c_functions_are_as_asked_for(here: CommandLine) -> None:
    written(here)
    here.ticktree(
        "run", "--no-instrument", "--focus", "sub.env.Env.step", "--depth", "2", "--focus-c", "drive.py"
    )
    ((name, (count, children)),) = shape(tree(here)["tree"]).items()
    assert (name, count) == ("Env.step : sub/env.py @ L3", 20)
    below = [found for _, found in children.values()]
    assert below == [{"sorted([action, 1.0]) | sorted @ L7": (20, {})}] * 2


@pytest.mark.slow
def test_first_calls_are_set_aside_as_asked(here: CommandLine) -> None:
    written(here)
    here.ticktree("run", "--no-instrument", "--focus", "Driver.step", "--warmup", "7", "drive.py")
    (loop,) = tree(here)["loops"]
    assert (loop["ticks"], loop["warmup_ticks"]) == (20, 7)


@pytest.mark.slow
def test_markdown_has_the_tree_as_a_lab_book_keeps_it(here: CommandLine) -> None:
    written(here)
    here.ticktree("run", "--no-instrument", "--focus", "Driver.step", "drive.py")
    document = here.ticktree("report", "--format", "markdown", "--all").stdout
    lines = document.partition("## Call tree of `Driver.step`\n\n")[2].splitlines()
    assert re.fullmatch(
        r"- `Driver\.step` : `drive\.py` @ L14 \(.+, p50 .+, p99 .+, \d+ calls, .+%\)", lines[0]
    )
    inner = r"  - `self\._env\.step\(action\)` \| `Env\.step` : `sub/env\.py` @ L3 \(.+ calls, .+%\)"
    assert [line for line in lines if re.fullmatch(inner, line)]
    assert [line for line in lines if line.startswith("  - [self] (")]


@pytest.mark.slow
def test_children_look_too_whatever_their_environment(here: CommandLine) -> None:
    written(here)
    here.write("parent.py", PARENT)
    here.ticktree("run", "--no-instrument", "--focus", "Driver.step", "parent.py")
    assert '"Driver.step : drive.py @ L14"' in here.ticktree("report", "--format", "json").stdout


def test_what_was_never_called_is_said_with_what_may_have_been_meant(here: CommandLine) -> None:
    written(here)
    done = here.ticktree("run", "--focus", "Driver.stepp", "--focus", "sub.env.Env.stop", "drive.py")
    assert done.returncode == 0
    assert "ticktree: --focus Driver.stepp was never called; did you mean Driver.step" in done.stderr
    assert "ticktree: --focus sub.env.Env.stop was never called; did you mean sub.env.Env.step" in done.stderr


def test_what_is_wrong_with_a_name_is_said(here: CommandLine) -> None:
    written(here)
    here.write(
        "more.py",
        "import math\n"
        "class A:\n"
        "    def step(self): return math.sqrt(2)\n"
        "    def never(self): pass\n"
        "A().step()\n",
    )
    wrong = {
        "A.never": "was never called: it exists, and this run did not reach it",
        "more.A.never": "was never called: it exists, and this run did not reach it",
        "A": "is not a function; did you mean one in it, such as A.never or A.step?",
        "math.sqrt": "is not written in Python; name what calls it, and --focus-c",
        "list.append": "is not written in Python",
        "step": "was never called; did you mean A.step",
        "nowhere.nothing": "was never called\n",
    }
    options = [word for name in wrong for word in ("--focus", name)]
    said = here.ticktree("run", "--no-instrument", *options, "more.py").stderr
    for name, text in wrong.items():
        assert f"ticktree: --focus {name} {text}" in said


def test_a_report_of_nothing_says_what_was_never_called(here: CommandLine) -> None:
    written(here)
    here.ticktree("run", "--quiet", "--no-instrument", "--focus", "Driver.stop", "drive.py")
    assert here.ticktree("report").stderr == (
        "Nothing was recorded: no section was reached, and the functions in focus were never called: Driver.stop.\n"
    )


@pytest.mark.slow
def test_the_doctor_says_what_was_never_called(here: CommandLine) -> None:
    written(here)
    here.ticktree("run", "--quiet", "--focus", "Driver.step", "--focus", "Driver.stop", "drive.py")
    said = here.ticktree("doctor").stdout
    assert "--focus Driver.stop was never called." in said
    assert "--focus Driver.step" not in said


def test_what_is_no_name_is_refused_before_the_program_runs(here: CommandLine) -> None:
    written(here)
    done = here.ticktree("run", "--focus", "no name", "drive.py")
    assert_one_clear_line(done, "--focus 'no name' names no function")
    assert done.stdout == ""


TAKEN = """
import sys
import ticktree

ticktree.focus()  # what the command line asked for ends, and somebody else is faster
if sys.version_info >= (3, 12):
    for identifier in (3, 4, 5):
        sys.monitoring.use_tool_id(identifier, "theirs")
else:
    sys.setprofile(lambda *_: None)
def step(): return 1
try:
    ticktree.focus("step")
except ticktree.TicktreeError as error:
    print(error)
step()
"""
PROFILED = """
import cProfile
profiler = cProfile.Profile()
profiler.enable()
def step(): return 1
step()
profiler.disable()
"""


@pytest.mark.slow
def test_where_focus_could_not_begin_nothing_is_said_to_be_never_called(here: CommandLine) -> None:
    here.write("taken.py", TAKEN)
    done = here.ticktree("run", "--no-instrument", "--focus", "step", "taken.py")
    assert "for --focus" in done.stdout or "--focus needs" in done.stdout
    said = done.stderr + here.ticktree("doctor").stdout
    assert "another profiler used the hook that --focus needs" in said
    assert "never called" not in said


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="cProfile and focus do not share a place")
def test_a_profiler_that_was_on_when_the_function_was_called_is_said_once(here: CommandLine) -> None:
    here.write("profiled.py", PROFILED)
    said = here.ticktree("run", "--no-instrument", "--focus", "step", "profiled.py").stderr
    assert said.count("another profiler") == 1
    assert "ticktree: another profiler is on: --focus records nothing while it is\n" in said
    assert "never called" not in said
