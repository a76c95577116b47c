"""A library that is not as its instrument expects: all or none of a module, one line, and the program as it was."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path
from types import ModuleType

import pytest

import ticktree
from ticktree.instruments import BUILT_IN, Instrument, Target, losses
from ticktree.instruments.losses import is_tested
from ticktree.loading import load

ROOT = Path(__file__).parents[2]

RENAMED = """
class RenamedAlgorithm:
    def train(self):
        return "trained"
"""


@pytest.fixture
def found(monkeypatch):
    """The losses that are reported."""
    reported = []
    monkeypatch.setattr(losses, "report", reported.append)
    return reported


@pytest.fixture
def solver(monkeypatch):
    """A library of one module: a class with two methods, a subclass of it, and a function."""
    module = ModuleType("madeup.solver")
    source = """
        class Solver:
            def solve(self): return "solved"
            def check(self): return "checked"
        class Fast(Solver):
            def solve(self): return super().solve()
        def load(): return "loaded"
        """
    exec(textwrap.dedent(source), vars(module))
    monkeypatch.setitem(sys.modules, module.__name__, module)
    return module


def state(module):
    kinds = (module, module.Solver, module.Fast)
    # By identity: what stands for a function is equal to it.
    return [{name: id(value) for name, value in vars(kind).items() if callable(value)} for kind in kinds]


def instrument(*paths, hook=None, tested="", private=False):
    targets = [Target(f"madeup.solver:{path}", path, subclasses=path.startswith("Solver.")) for path in paths]
    hooks = {"madeup.solver": hook} if hook else {}
    return Instrument("madeup", tested=tested, targets=targets, hooks=hooks, private=private)


def test_a_table_of_targets_makes_them_sections_and_takes_them_back(solver, found):
    before, recorder = state(solver), ticktree.Recorder()
    recorder.enable()
    made = instrument("Solver.solve", "Solver.check", "load|load_all")
    made.install(recorder)
    assert (solver.Fast().solve(), solver.Fast().check(), solver.load()) == ("solved", "checked", "loaded")
    made.uninstall()
    recorder.disable()
    assert state(solver) == before
    profile = recorder.snapshot()
    assert {name: node.count for name, node in profile.root.children.items()} == {
        "Solver.solve": 1,
        "Solver.check": 1,
        "load|load_all": 1,
    }
    assert found == []


@pytest.mark.parametrize("missing", ["Solver.gone", "Gone.solve", "gone"])
def test_of_a_module_that_lacks_one_target_none_is_wrapped(solver, found, missing):
    before = state(solver)
    made = instrument("Solver.solve", missing, "load")
    made.install(ticktree.Recorder())
    assert state(solver) == before
    name = "Gone" if missing.startswith("Gone") else missing
    assert found == [losses.InstrumentLoss("madeup", "", "madeup.solver", f"madeup.solver has no {name}")]
    made.uninstall()
    assert state(solver) == before


def test_a_hook_that_raises_is_a_loss_and_the_modules_targets_are_put_back(solver, found):
    before = state(solver)

    def hook(patches, module, _recorder):
        patches.wrap(module, "load", lambda load: lambda: load())
        raise ValueError("not\ntoday")

    instrument("Solver.solve", hook=hook).install(ticktree.Recorder())
    assert state(solver) == before
    assert [loss.sentence() for loss in found] == [
        "cannot instrument madeup.solver of madeup: ValueError: not today"
    ]


def test_private_functions_of_a_version_that_is_not_known_are_left_alone(solver, found, monkeypatch):
    before = state(solver)
    for version, refused in (("1.4.9", False), ("1.5.0", True), ("1.1", True), ("", True)):
        monkeypatch.setattr(losses, "version_of", lambda _, version=version: version)
        made = instrument("load", tested=">=1.2,<1.5", private=True)
        made.install(ticktree.Recorder())
        assert (state(solver) == before) is refused
        assert len(found) == refused
        made.uninstall()
        found.clear()


def test_versions_are_compared_as_numbers():
    assert is_tested("2.9.2", ">=2.3,<2.10")
    assert is_tested("2.3", ">=2.3,<2.10")
    assert is_tested("2.10.0rc1", ">=2.3,<2.11")
    assert not is_tested("2.10.0", ">=2.3,<2.10")
    assert not is_tested("2.2.9", ">=2.3,<2.10")
    assert not is_tested("unknown", ">=2.3,<2.10")


@pytest.fixture
def drifted(tmp_path, monkeypatch):
    """An installed stable-baselines3 of a version to come, whose base class has another name."""
    place = tmp_path / "site"
    package = place / "stable_baselines3" / "common"
    package.mkdir(parents=True)
    for folder in (package, package.parent):
        (folder / "__init__.py").write_text("")
    (package / "base_class.py").write_text(RENAMED)
    (package / "logger.py").write_text("class Logger:\n    def dump(self, step=0):\n        return step\n")
    about = place / "stable_baselines3-9.9.9.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: stable-baselines3\nVersion: 9.9.9\n")
    path = os.pathsep.join([str(place), os.environ.get("PYTHONPATH", "")])
    monkeypatch.setenv("PYTHONPATH", path.rstrip(os.pathsep))


PROGRAM = """
    import subprocess
    from stable_baselines3.common import base_class, logger
    def main():
        with ticktree.section("here"):
            print(base_class.RenamedAlgorithm().train(), logger.Logger().dump(3), flush=True)
            if len(sys.argv) < 2:
                subprocess.run([sys.executable, __file__, "again"], check=True)
        sys.exit(3)
    if len(sys.argv) > 1:
        print("again", base_class.RenamedAlgorithm().train())
        sys.exit(0)
    """
LINE = (
    "cannot instrument stable_baselines3.common.base_class of stable-baselines3 9.9.9: "
    "stable_baselines3.common.base_class has no BaseAlgorithm"
)


def test_a_renamed_class_is_one_line_of_the_run_and_all_else_is_as_without(recorded, drifted, tmp_path):
    profile = recorded(PROGRAM, status=3)
    assert recorded.complaints == f"ticktree: {LINE}\n"
    bare = subprocess.run(
        [sys.executable, tmp_path / "program.py"], capture_output=True, text=True, check=False
    )
    assert (bare.stdout, bare.returncode) == (recorded.output, 3)
    assert recorded.output == "trained 3\nagain trained\n"
    # The library's other modules are recorded as ever.
    assert {name: node.count for name, node in profile.root.at("here").children.items()}["logger dump"] == 1
    assert profile.losses["modules_not_instrumented"] == 1


@pytest.mark.slow
def test_what_a_run_lacks_is_in_its_profile_and_doctor_lists_it(recorded, drifted, tmp_path):
    recorded(PROGRAM, status=3)
    (path,) = (tmp_path / "ticktree-runs").glob("*-program")
    assert load(path).metadata["not_instrumented.stable-baselines3"] == {LINE}
    assert not (path / "not-instrumented").exists()  # by now it is in the profile
    told = doctor(tmp_path)
    assert LINE in told
    assert "stable-baselines3: stable-baselines3 9.9.9 is not tested" in told


def doctor(folder):
    command = [sys.executable, "-m", "ticktree", "doctor"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    return " ".join(done.stdout.split())


def test_a_library_is_instrumented_before_its_import_or_after(solver, monkeypatch):
    monkeypatch.setenv("TICKTREE_INSTRUMENT", "")
    import queue

    before = queue.Queue.get
    ticktree.instrument("waits, gc", "torch-compile")
    try:
        assert ticktree.instrumented() == ("waits", "gc", "torch-compile")
        assert queue.Queue.get is not before
        ticktree.uninstrument("waits")
        assert ticktree.instrumented() == ("gc", "torch-compile")
        assert queue.Queue.get is before
        ticktree.uninstrument("gc, torch")
        assert ticktree.instrumented() == ("torch-compile",)
    finally:
        ticktree.uninstrument()
    assert ticktree.instrumented() == ()
    for change in (ticktree.instrument, ticktree.uninstrument):
        with pytest.raises(ticktree.TicktreeError, match="no library 'weits' is known; did you mean 'waits'"):
            change("weits")


def locked(lock):
    lines = (ROOT / "locks" / lock).read_text().splitlines()[1:]
    return dict(line.split("==") for line in lines)


def test_the_tested_versions_are_those_of_the_locks():
    """The oldest of venv-oldest, the newest of `make test`; lerobot, JAX and the frameworks have their own locks."""
    oldest, newest = map(locked, ("venv-oldest.txt", "venv.txt"))
    apart = locked("venv-rtc_robot.txt") | locked("venv-jax.txt") | locked("venv-frameworks.txt")
    checked = set()
    for library in BUILT_IN:
        made = library.instrument()
        if not isinstance(made, Instrument) or not made.tested:
            continue
        name = made.distribution
        if name == "rclpy":  # comes with ROS, and was compared with its sources
            continue
        first, last = oldest.get(name) or apart[name], newest.get(name) or apart[name]
        major, minor = re.match(r"(\d+)\.(\d+)", last).groups()
        if name == "torch":  # CI has one build: instruments/torch/sections.py says what ran with others
            assert is_tested(first, made.tested)
            assert is_tested(last, made.tested)
        else:
            assert made.tested == f">={first},<{major}.{int(minor) + 1}", name
        checked.add(name)
    assert checked >= {"stable-baselines3", "gymnasium", "lightning", "torchrl", "ray", "torch"}
