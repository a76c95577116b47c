"""Focus together with debuggers, coverage, profilers and torch.compile."""

from __future__ import annotations

import bdb
import cProfile
import inspect
import pickle
import pstats
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from ticktree.errors import TicktreeError
from ticktree.profile import Node
from ticktree.recorder.focus import begin_focus, end_focus
from ticktree.session import Recorder

MONITORING = sys.version_info >= (3, 12)


def leaf(x: int) -> int:
    return x + 1


def root(x: int) -> int:
    total = 0
    for at in range(x):
        total += leaf(at)
    return total


@pytest.fixture(autouse=True)
def _no_focus_stays() -> Iterator[None]:
    yield
    end_focus()


def counts(recorder: Recorder) -> dict[str, int]:
    profile = recorder.snapshot()
    profile.check()
    counts_by_name: dict[str, int] = {}

    def add(node: Node) -> None:
        for name, child in node.children.items():
            counts_by_name[name.partition(" : ")[0].rpartition(" | ")[2]] = child.count
            add(child)

    add(profile.root)
    return counts_by_name


class Lines(bdb.Bdb):
    """A debugger that only counts reported lines."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[int] = []

    def user_line(self, frame: FrameType) -> None:
        """Noted."""
        if frame.f_code in (leaf.__code__, root.__code__):
            self.lines.append(frame.f_lineno)


def test_a_debugger_sees_every_line() -> None:
    alone = Lines()
    alone.runcall(root, 3)
    recorder = Recorder()
    begin_focus(recorder, [f"{__name__}.root"])
    beside = Lines()
    assert beside.runcall(root, 3) == 6
    root(2)
    end_focus()
    assert beside.lines == alone.lines
    assert counts(recorder) == {"root": 2, "leaf": 5}


def another(x: int) -> None:
    for at in range(x):
        leaf(at)


def profiled(calls: int, function: Callable[[int], object]) -> dict[str, int]:
    profiler = cProfile.Profile()
    profiler.enable()
    for _ in range(calls):
        function(3)
    profiler.disable()
    stats: Any = pstats.Stats(profiler)
    return {
        name: entry[0] for (_, _, name), entry in stats.stats.items() if name in ("root", "another", "leaf")
    }


@pytest.mark.skipif(not MONITORING, reason="a thread has one profile function: cProfile takes it")
def test_cprofile_counts_every_call() -> None:
    recorder = Recorder()
    begin_focus(recorder, [f"{__name__}.root"])
    assert profiled(4, root) == {"root": 4, "leaf": 12}
    root(1)
    end_focus()
    assert counts(recorder) == {"root": 5, "leaf": 13}


@pytest.mark.skipif(MONITORING, reason="there is sys.monitoring")
def test_a_profile_function_is_never_displaced() -> None:
    def theirs(_frame: FrameType, _event: str, _argument: Any) -> None:
        return

    sys.setprofile(theirs)
    try:
        with pytest.raises(TicktreeError, match="another profiler has"):
            begin_focus(Recorder(), [f"{__name__}.root"])
        assert sys.getprofile() is theirs
    finally:
        sys.setprofile(None)


@pytest.mark.skipif(MONITORING, reason="there is sys.monitoring")
def test_a_profiler_started_later_gets_all_calls_and_focus_continues_after_it(
    capsys: pytest.CaptureFixture[str],
) -> None:
    recorder = Recorder()
    begin_focus(recorder, [f"{__name__}.another"])
    another(1)
    assert profiled(4, another) == {"another": 4, "leaf": 12}
    another(2)
    end_focus()
    assert counts(recorder) == {"another": 2, "leaf": 3}
    assert (
        capsys.readouterr().err == "ticktree: another profiler is on: --focus records nothing while it is\n"
    )


@pytest.mark.skipif(MONITORING, reason="there is sys.monitoring")
def test_a_profiler_started_inside_a_root_ends_its_open_calls(
    capsys: pytest.CaptureFixture[str],
) -> None:
    def started_inside() -> None:
        leaf(1)
        profiler.enable()
        leaf(2)
        profiler.disable()

    profiler = cProfile.Profile()
    globals()["started_inside"] = started_inside
    recorder = Recorder()
    begin_focus(recorder, [f"{__name__}.started_inside"])
    for _ in range(3):
        globals()["started_inside"]()
    end_focus()
    recorder.snapshot().check()
    (node,) = recorder.snapshot().root.children.values()
    assert [child.partition(" : ")[0] for child in node.children] == ["leaf(1) | leaf"]
    assert capsys.readouterr().err.count("another profiler is on") == 1


@pytest.mark.skipif(not MONITORING, reason="there is no sys.monitoring")
@pytest.mark.parametrize("taken_identifiers", [(3,), (3, 4), (4, 5), (3, 4, 5)])
def test_identifiers_of_other_tools_stay_theirs(taken_identifiers: tuple[int, ...]) -> None:
    monitoring = sys.monitoring  # type: ignore[attr-defined, unused-ignore]
    recorder = Recorder()
    for identifier in taken_identifiers:
        monitoring.use_tool_id(identifier, f"theirs {identifier}")
    try:
        if len(taken_identifiers) == 3:
            with pytest.raises(
                TicktreeError, match=r"no identifier of sys\.monitoring is free for --focus: 'theirs 3'"
            ):
                begin_focus(recorder, [f"{__name__}.root"])
        else:
            begin_focus(recorder, [f"{__name__}.root"])
            for _ in range(100):
                leaf(1)
            for _ in range(2):
                root(2)
            end_focus()
            assert counts(recorder) == {"root": 2, "leaf": 4}
        assert [monitoring.get_tool(identifier) for identifier in taken_identifiers] == [
            f"theirs {at}" for at in taken_identifiers
        ]
    finally:
        for identifier in taken_identifiers:
            monitoring.free_tool_id(identifier)


def test_calls_open_when_focus_ends_do_not_count() -> None:
    recorder = Recorder()

    def ends() -> None:
        end_focus()

    globals()["ends"] = ends
    begin_focus(recorder, [f"{__name__}.ends"])
    ends()
    begin_focus(recorder, [f"{__name__}.root"])
    root(2)
    end_focus()
    assert counts(recorder) == {"ends": 0, "root": 1, "leaf": 2}


COVERED = """
import sys
import coverage

measured = coverage.Coverage(data_file=None, include=[__file__])
measured.start()

def leaf(x):
    if x > 2:
        return 0
    return x

def root():
    return [leaf(1), leaf(3)]

if len(sys.argv) > 1:
    from ticktree.recorder.focus import begin_focus, end_focus
    from ticktree.session import Recorder
    recorder = Recorder()
    begin_focus(recorder, ["root"])
    root()
    root()
    end_focus()
    children = recorder.snapshot().root.children.values()
    print([node.count for node in children], [below.count for node in children for below in node.children.values()])
else:
    root()
measured.stop()
data = measured.get_data()
print([line for line in sorted(data.lines(__file__)) if line < 17])
"""


@pytest.mark.parametrize("core", ["ctrace", "sysmon"] if MONITORING else ["ctrace"])
def test_coverage_sees_the_same_lines_as_without_focus(core: str, tmp_path: Path) -> None:
    pytest.importorskip("coverage")
    program = tmp_path / "covered.py"
    program.write_text(COVERED)

    def printed(*arguments: str) -> list[str]:
        import os

        done = subprocess.run(
            [sys.executable, str(program), *arguments],
            env={**os.environ, "COVERAGE_CORE": core},
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout.splitlines()

    (alone,) = printed()
    assert "9" in alone
    assert printed("focus") == ["[2] [2, 2]", alone]


class Walker:
    def step(self, x: int = 3) -> int:
        """As its author wrote it."""
        return leaf(x)


def test_a_function_in_focus_keeps_its_attributes() -> None:
    recorder = Recorder()
    step = Walker.step
    attributes = (
        "__code__",
        "__globals__",
        "__defaults__",
        "__kwdefaults__",
        "__closure__",
        "__annotations__",
    )
    attributes_before = [getattr(step, name) for name in (*attributes, "__name__", "__doc__", "__module__")]
    del step  # it would hold the function beside its class
    begin_focus(recorder, [f"{__name__}.Walker.step"])
    assert [Walker().step(), Walker().step(4)] == [4, 5]
    assert counts(recorder)["Walker.step"] == 2
    assert inspect.isfunction(Walker.step)
    assert [name for name, _ in inspect.getmembers(Walker, inspect.isfunction)] == ["step"]
    assert [
        getattr(Walker.step, name) for name in (*attributes, "__name__", "__doc__", "__module__")
    ] == attributes_before
    assert "leaf(x)" in inspect.getsource(Walker.step)
    assert pickle.loads(pickle.dumps(Walker.step)) is Walker.step
    with pytest.raises(AttributeError, match="nothing_of_the_kind"):
        Walker.step.nothing_of_the_kind  # noqa: B018


@pytest.mark.slow
def test_compiled_code_computes_the_same_result(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    program = tmp_path / "compiled.py"
    program.write_text(
        """
import torch
from ticktree.recorder.focus import begin_focus, end_focus
from ticktree.session import Recorder

def layer(x):
    return torch.relu(x) + 1

@torch.compile(backend="eager", fullgraph=True)
def model(x):
    return layer(x) * 2

def root(x):
    return model(x)

x = torch.arange(4.0) - 2
expected = (torch.relu(x) + 1) * 2
recorder = Recorder()
begin_focus(recorder, ["root"], depth=3)
for _ in range(5):
    assert torch.equal(root(x), expected)
end_focus()
assert torch.equal(root(x), expected)
explained = torch._dynamo.explain(model)(x)
recorder.snapshot().check()
print([node.count for node in recorder.snapshot().root.children.values()], explained.graph_break_count)
"""
    )
    done = subprocess.run([sys.executable, str(program)], capture_output=True, text=True, check=True)
    assert done.stdout == "[5] 0\n"
