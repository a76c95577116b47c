"""The public functions and the run on disk, in real programs in separate processes."""

from __future__ import annotations

import json

import pytest

import ticktree
from ticktree.profile.machine import library_threads, program_gauges
from ticktree.run.finishing import RunDirectory

PROGRAM = """
ticktree.enable()
with ticktree.section("x"):
    pass
"""


def counts(profile):
    return {path: node.count for path, _, node in profile.root.walk() if path}


def test_enabling_creates_a_run_that_is_saved_when_the_program_ends(run_session, tmp_path):
    profile, result = run_session(PROGRAM)
    (run,) = (tmp_path / "ticktree-runs").glob("*-program")
    assert counts(profile) == {"x": 1}
    assert profile.metadata["clock"] <= {"tsc", "cntvct", "monotonic"}
    assert result.stdout == ""
    assert result.stderr.startswith("ticktree: the run is saved, see it with: ticktree report ")
    assert {file.name for file in run.iterdir()} == {"run.json", "profile.json"}
    assert RunDirectory.open(run).is_finished()
    assert list((tmp_path / "memory").glob("*/*")) == []
    assert ticktree.load(run).root == profile.root
    assert json.loads((run / "profile.json").read_text())["schema"] == "ticktree-profile/1"


def test_a_saved_run_contains_the_cost_of_a_section_and_of_each_node(run_session):
    profile, _ = run_session(
        """
        ticktree.enable()
        with ticktree.section("outer"):
            for _ in range(1000):
                with ticktree.section("inner"):
                    pass
        """
    )
    (cost,) = profile.metadata["section_cost_ns"]
    assert cost > 0
    outer, inner = profile.root.at("outer"), profile.root.at("outer/inner")
    assert 0 < outer.recorder_ns <= outer.self_ns
    assert 0 <= inner.recorder_ns <= inner.self_ns


def test_a_run_contains_the_number_of_torchs_threads_at_its_end(run_session):
    profile, _ = run_session(
        """
        import os, sys, types
        sys.modules["torch"] = types.SimpleNamespace(get_num_threads=lambda: threads)
        ticktree.enable()
        with ticktree.section("x"):
            threads = 3
        child = os.fork()
        threads = 5 if child == 0 else 2  # a worker's threads are not the program's
        if child == 0:
            with ticktree.section("y"):
                sys.exit()
        os.waitpid(child, 0)
        """
    )
    assert counts(profile) == {"x": 1, "y": 1}
    assert library_threads(profile.gauges) == {"torch": 2}
    assert program_gauges(profile.gauges) == {}


def test_a_program_that_never_enables_creates_no_run(run_python, tmp_path):
    run_python("import ticktree\nwith ticktree.section('x'): pass\nticktree.summary()")
    assert not (tmp_path / "ticktree-runs").exists()


def test_enabling_and_disabling_repeatedly_is_one_run(run_session, tmp_path):
    profile, _ = run_session(
        """
        for _ in range(3):
            ticktree.enable()
            ticktree.enable()
            with ticktree.section("on"): pass
            ticktree.disable()
            ticktree.disable()
            with ticktree.section("off"): pass
        """
    )
    assert counts(profile) == {"on": 3}
    assert profile.metadata["times_enabled"] == {3}
    assert len(list((tmp_path / "ticktree-runs").glob("2*"))) == 1


def test_after_a_reset_only_later_sections_count(run_session):
    profile, _ = run_session(
        """
        ticktree.enable()
        with ticktree.section("setup"): pass
        ticktree.reset()
        for _ in ticktree.loop("loop", range(3)): pass
        """
    )
    assert {path: count for path, count in counts(profile).items() if count} == {"loop": 3}


def test_a_snapshot_is_a_profile_of_this_moment(run_session):
    profile, result = run_session(
        """
        ticktree.enable()
        with ticktree.section("x"):
            inside = ticktree.snapshot()
        inside.check()
        assert isinstance(inside, ticktree.Profile)
        assert inside.root.at("x").open.count == 1
        assert ticktree.snapshot().root.at("x").count == 1
        print(inside.to_json())
        """
    )
    assert ticktree.Profile.from_json(result.stdout).root.at("x").count == 0
    assert counts(profile) == {"x": 1}


def test_the_summary_goes_to_standard_error(run_session):
    _, result = run_session(PROGRAM + "ticktree.summary()")
    assert result.stdout == ""
    assert "x" in result.stderr
    assert "\x1b" not in result.stderr


@pytest.mark.parametrize("obstacle", ["a file", "no tmpfs"])
def test_if_no_run_can_be_created_the_program_continues_and_one_line_is_printed(
    run_python, tmp_path, obstacle
):
    variables = {}
    if obstacle == "a file":
        (tmp_path / "ticktree-runs").write_text("in the way")
    else:
        variables["TICKTREE_MEMORY_DIR"] = str(tmp_path / "missing" / "deeper")
    result = run_python(
        """
        import ticktree
        ticktree.enable()
        with ticktree.section("x"): pass
        ticktree.enable()
        print(ticktree.snapshot().root.at("x").count)
        """,
        **variables,
    )
    assert result.stdout == "1\n"
    assert result.stderr.count("ticktree:") == 1
    assert "Traceback" not in result.stderr


def test_a_program_whose_run_is_deleted_continues(run_python):
    result = run_python(
        """
        import shutil, ticktree
        ticktree.enable()
        with ticktree.section("x"): pass
        shutil.rmtree("ticktree-runs")
        with ticktree.section("x"): pass
        print(ticktree.snapshot().root.at("x").count)
        """
    )
    assert result.stdout == "2\n"
    assert "Traceback" not in result.stderr


def test_a_program_that_changes_directory_is_saved_in_its_first_directory(run_session, tmp_path):
    profile, _ = run_session(PROGRAM + "import os; os.mkdir('elsewhere'); os.chdir('elsewhere')")
    assert counts(profile) == {"x": 1}
    assert not (tmp_path / "parts" / "ticktree-runs").exists()


def test_arming_records_into_the_given_run_and_does_not_finish_it(run_python, tmp_path, monkeypatch):
    memory = tmp_path / "memory"
    memory.mkdir()
    monkeypatch.setenv("TICKTREE_MEMORY_DIR", str(memory))
    run = RunDirectory.create("given", tmp_path / "runs", argv=["program"], supervised=True)
    result = run_python(
        """
        from ticktree import session
        session.arm()
        import ticktree
        ticktree.enable()
        with ticktree.section("x"): pass
        """,
        TICKTREE_RUN=str(run.path),
    )
    assert result.stderr == ""
    assert not (tmp_path / "ticktree-runs").exists()
    assert not run.is_finished()
    assert counts(run.profile()) == {"x": 1}
    run.finish()
    assert counts(run.profile()) == {"x": 1}


@pytest.mark.parametrize("given", ["", "/nonexistent/run", "relative", None])
def test_arming_never_raises_and_never_stops_the_program(run_python, given):
    variables = {} if given is None else {"TICKTREE_RUN": given}
    result = run_python(
        """
        from ticktree import session
        session.arm()
        print("program")
        """,
        **variables,
    )
    assert result.stdout == "program\n"
    assert "Traceback" not in result.stderr
    assert result.stderr.count("\n") <= 1


def test_the_pth_file_arms_only_with_the_variable_and_imports_nothing_otherwise(run_python):
    result = run_python(
        """
        import sys
        from pathlib import Path
        import ticktree
        line = (Path(ticktree.__file__).parent.parent / "ticktree.pth").read_text()
        for name in [name for name in sys.modules if name.startswith("ticktree")]:
            del sys.modules[name]
        assert line.startswith("import ")
        exec(line)
        assert not [name for name in sys.modules if name.startswith("ticktree")]
        """
    )
    assert (result.stdout, result.stderr) == ("", "")


def test_concurrent_programs_have_separate_runs(run_python, tmp_path):
    run_python(
        """
        import subprocess, sys
        code = "import ticktree; ticktree.enable(); ticktree.section('x').__enter__()"
        running = [subprocess.Popen([sys.executable, "-c", code]) for _ in range(4)]
        assert [process.wait() for process in running] == [0] * 4
        """
    )
    runs = RunDirectory.list(tmp_path / "ticktree-runs")
    assert len(runs) == 4
    assert [counts(run.profile()) for run in runs] == [{"x": 0}] * 4


def test_the_run_of_a_killed_process_is_read_while_unfinished_and_can_be_finished(run_python, tmp_path):
    import signal

    run_python(
        """
        import os, signal, ticktree
        ticktree.enable()
        for _ in ticktree.loop("loop", range(7)): pass
        os.kill(os.getpid(), signal.SIGKILL)
        """,
        status=-signal.SIGKILL,
    )
    run = RunDirectory.newest(tmp_path / "ticktree-runs")
    assert not run.is_finished()
    assert not run.is_live()
    live = run.profile()
    run.finish()
    assert run.is_finished()
    assert counts(live) == counts(run.profile()) == {"loop": 7}


def test_the_public_names_exist():
    for name in ticktree.__all__:
        assert getattr(ticktree, name) is not None
    with pytest.raises(AttributeError, match="nothing"):
        ticktree.nothing  # noqa: B018
    assert ticktree.__version__.count(".") == 2


def test_a_separate_recorder_does_not_affect_the_programs_own():
    recorder = ticktree.Recorder(virtual_clock=True)
    with recorder.section("mine"):
        recorder.advance(5)
    assert recorder.snapshot().root.at("mine").total_ns == 5
    assert "mine" not in ticktree.snapshot().root.children
    recorder.disable()


def test_a_recorder_prints_its_summary(capsys):
    recorder = ticktree.Recorder(virtual_clock=True)
    with recorder.section("mine"):
        recorder.advance(5)
    recorder.summary()
    recorder.disable()
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "mine" in captured.err


def test_disabling_undoes_every_change_to_the_process(run_python):
    run_python(
        """
        import multiprocessing.spawn, os, subprocess, sys, threading
        import ticktree

        def callables():
            owners = (os, subprocess, threading.Thread, multiprocessing.spawn)
            names = [(owner, name) for owner in owners for name in vars(owner) if callable(getattr(owner, name))]
            return {(str(owner), name): getattr(owner, name) for owner, name in names}

        def toggle(times):
            for _ in range(times):
                ticktree.disable()
                ticktree.enable()

        def resident():
            with open("/proc/self/statm") as file:
                return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE")

        bare, supported, path = callables(), set(os.supports_fd), list(sys.meta_path)
        ticktree.enable()
        toggle(1000)
        before = resident() if os.path.exists("/proc/self/statm") else 0
        toggle(10_000)
        if before:
            assert resident() < before + (2 << 20), resident() - before
        ticktree.disable()
        assert set(os.supports_fd) == supported
        assert callables() == bare
        assert sys.meta_path == path
        assert not any(name.startswith("TICKTREE_RUN") for name in os.environ)
        """
    )
