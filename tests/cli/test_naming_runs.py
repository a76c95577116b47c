"""Runs are named as `ticktree list` prints them, and who mistypes a word is told the right one."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from support.command_line import CommandLine, assert_one_clear_line

ENABLES = """
import ticktree
ticktree.enable(QUIET)
with ticktree.section("a"):
    pass
"""


@pytest.fixture
def three(recorded: CommandLine) -> CommandLine:
    """Three runs, of which the one in the middle has another name."""
    runs = recorded.directory / "ticktree-runs"
    (only,) = recorded.runs()
    for name in ("20200101-000000-old", "20200102-000000-middle", "20200102-111111-train"):
        shutil.copytree(only, runs / name)
        manifest = json.loads((runs / name / "run.json").read_text())
        (runs / name / "run.json").write_text(json.dumps(manifest | {"started_ns": int(name[6:8]) * 10**9}))
    shutil.rmtree(only)
    return recorded


def shown(here: CommandLine, *words: str) -> str:
    done = here.ticktree(*words)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
def test_a_run_is_named_by_its_name_the_beginning_of_it_last_or_its_number_from_the_end(
    three: CommandLine,
) -> None:
    listed = [line.split()[0] for line in shown(three, "list").splitlines()]
    assert len(listed) == 3
    by_path = {name: shown(three, "report", f"ticktree-runs/{name}", "--format", "json") for name in listed}
    names = {
        listed[0]: [listed[0], "20200101", "-3", "old"],
        listed[1]: [listed[1], "20200102-0", "-2", "mid"],
        listed[2]: [listed[2], "20200102-1", "-1", "last", "train"],
    }
    for name, words in names.items():
        for word in words:
            assert shown(three, "report", word, "--format", "json") == by_path[name]


@pytest.mark.slow
def test_every_command_that_takes_a_run_takes_its_name(three: CommandLine) -> None:
    for words in (
        ["export", "-2", "--to", "csv"],
        ["check", "--budget", "train calls <= 5", "20200101"],
        ["check", "--baseline", "-2", "--budget", "train calls <= 5", "last"],
        ["compare", "-3", "last"],
        ["compare", "-3", "--base", "-2", "last", "last"],
        ["merge", "-3", "--allow-different"],
        ["query", "-2", "SELECT 1"],
    ):
        done = three.ticktree(*words)
        assert "no such" not in done.stderr, done
        assert done.returncode in ((0, 1) if words[0] in ("check", "compare") else (0,)), done


def test_a_file_of_that_name_comes_before_a_run(three: CommandLine) -> None:
    saved = three.directory / "last"
    saved.write_text("no profile")
    assert_one_clear_line(three.ticktree("report", "last"), "last: not a profile")


@pytest.mark.parametrize(
    ("word", "told"),
    [
        ("20200102", "20200102 begins the names of 2 runs: 20200102-000000-middle, 20200102-111111-train"),
        ("-9", "-9: ticktree-runs has 3 runs"),
        ("midle", "midle: there is no such file or run; did you mean 'middle'?"),
        ("lst", "lst: there is no such file or run; did you mean 'last'?"),
        ("20200102-111111-trian", "did you mean '20200102-111111-train'?"),
        ("train.py", "train.py is a program, not a run: record it with `ticktree run train.py`"),
    ],
)
def test_a_name_of_no_run_or_of_several_is_one_line(three: CommandLine, word: str, told: str) -> None:
    assert_one_clear_line(three.ticktree("report", word), told)


def test_the_number_of_a_run_after_an_option_with_a_value_is_that_value(three: CommandLine) -> None:
    assert_one_clear_line(three.ticktree("report", "--width", "-2"), "-2 is not in the range")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["reprot"], "No such command 'reprot'; did you mean 'report'?"),
        (["report", "--format", "jsn"], "'jsn' is not one of "),
        (["report", "--format", "jsn"], "; did you mean 'json'?"),
        (["export", "--to", "perfeto"], "did you mean 'perfetto'?"),
        (["run", "--instrument", "trch", "train.py"], "no library 'trch' is known; did you mean 'torch'?"),
        (
            ["report", "-o", "x.pdf"],
            "x.pdf: no format has the suffix .pdf; known: .html, .json, .md, .png, .svg, .txt",
        ),
        (["compare", "last", "last", "-o", "x.pdf"], "no format has the suffix .pdf; known: "),
        (
            ["train.py", "--lr", "3"],
            "train.py is not a command; to run a program: ticktree run train.py --lr 3",
        ),
        (["python", "train.py"], "to run a program: ticktree run python train.py"),
        (
            ["run", "python", "-O", "train.py"],
            "flags of the interpreter go before ticktree: python FLAGS -m ticktree run",
        ),
        (["run", "/no/such/python3", "train.py"], ": ticktree run train.py"),
        (["run", "python"], ": ticktree run SCRIPT"),
    ],
)
def test_a_mistyped_word_is_one_line_with_the_right_one(
    recorded: CommandLine, words: list[str], told: str
) -> None:
    assert_one_clear_line(recorded.ticktree(*words), told)
    assert not (recorded.directory / "x.pdf").exists()


@pytest.mark.parametrize("words", [["python"], ["python3"], [sys.executable], ["python", "-m"]], ids=str)
def test_the_word_python_before_a_program_is_understood(here: CommandLine, words: list[str]) -> None:
    here.write("train.py")
    program = "train" if words[-1] == "-m" else "train.py"
    here.env["PATH"] = f"{Path(sys.executable).parent}:{here.env['PATH']}"
    done = here.ticktree("run", "--quiet", *words, program, "--lr", "3")
    assert (done.returncode, done.stdout, done.stderr) == (0, "done --lr 3\n", "")


def test_another_environments_python_is_not_taken_for_ours(here: CommandLine) -> None:
    here.write("train.py")
    other = here.directory / "other" / "python3"
    other.parent.mkdir()
    other.symlink_to(sys.executable)
    here.env["PATH"] = f"{other.parent}:{here.env['PATH']}"
    assert_one_clear_line(
        here.ticktree("run", "python3", "train.py"),
        f"with {sys.executable}; leave out ",
        "ticktree run train.py",
    )


REFUSES = "import argparse; argparse.ArgumentParser().parse_args()"
KNOWS = "import argparse; p = argparse.ArgumentParser(); p.add_argument('--focus'); p.parse_args()\n"


def test_an_option_of_ours_after_the_script_is_hinted_at_where_the_program_does_not_know_it(
    here: CommandLine,
) -> None:
    here.write("refuses.py", REFUSES)
    done = here.ticktree("run", "refuses.py", "--lr", "3", "--focus", "main", "x")
    assert done.returncode == 2
    assert "unrecognized arguments: --lr 3 --focus main x" in done.stderr
    assert done.stderr.splitlines()[-1] == (
        "ticktree: --focus after refuses.py went to the program; to give it to ticktree: "
        "ticktree run --focus main refuses.py --lr 3 x"
    )


@pytest.mark.slow
def test_an_option_of_ours_that_the_program_knows_is_not_hinted_at(here: CommandLine) -> None:
    here.write("knows.py", KNOWS + "import ticktree\nwith ticktree.section('a'): pass")
    assert "went to the program" not in here.ticktree("run", "knows.py", "--focus", "main").stderr
    here.write("refuses.py", REFUSES)
    assert "went to the program" not in here.ticktree("run", "--quiet", "refuses.py", "--focus=main").stderr
    assert "went to the program" not in here.ticktree("run", "refuses.py", "--unknown").stderr


@pytest.mark.slow
def test_a_run_with_nothing_in_it_has_no_findings_and_says_what_to_do(here: CommandLine) -> None:
    here.write("plain.py", "def helper(): pass\ndef main(): pass\nmain()")
    done = here.ticktree("run", "plain.py")
    assert done.returncode == 0
    assert "record the calls of a function with `ticktree run --focus main`" in done.stderr
    report = here.ticktree("report", "--format", "json")
    assert json.loads(report.stdout)["findings"] == []
    assert "Recommendations" not in here.ticktree("report").stdout


def test_a_program_that_enables_says_at_its_end_where_its_run_is(here: CommandLine) -> None:
    here.write("loud.py", ENABLES.replace("QUIET", ""))
    done = here.python("loud.py")
    (run,) = here.runs()
    assert (done.returncode, done.stdout) == (0, "")
    assert (
        done.stderr == f"ticktree: the run is saved, see it with: ticktree report ticktree-runs/{run.name}\n"
    )
    assert "a " in here.ticktree("report", f"ticktree-runs/{run.name}").stdout


@pytest.mark.parametrize(
    "source",
    [
        ENABLES.replace("QUIET", "quiet=True"),
        ENABLES.replace("QUIET", "quiet=True") + "ticktree.enable()",
    ],
)
def test_it_says_nothing_where_it_was_asked_to_be_quiet(here: CommandLine, source: str) -> None:
    here.write("quiet.py", source)
    done = here.python("quiet.py")
    assert (done.returncode, done.stderr, len(here.runs())) == (0, "", 1)


@pytest.mark.slow
def test_neither_children_nor_a_program_under_ticktree_run_say_it(here: CommandLine) -> None:
    children = """
import multiprocessing, os, subprocess, sys
def child():
    ticktree.enable()
if __name__ == "__main__":
    for method in ("fork", "spawn"):
        process = multiprocessing.get_context(method).Process(target=child)
        process.start()
        process.join()
    subprocess.run([sys.executable, "-c", "import ticktree; ticktree.enable()"], check=True)
    if not os.fork():
        raise SystemExit
    os.wait()
"""
    here.write("parent.py", ENABLES.replace("QUIET", "") + children)
    assert here.python("parent.py").stderr.count("the run is saved") == 1
    assert "the run is saved" not in here.ticktree("run", "parent.py").stderr


def test_it_ends_well_where_nobody_hears_it(here: CommandLine) -> None:
    here.write("closed.py", ENABLES.replace("QUIET", "") + "import sys; sys.stderr.close()")
    assert here.python("closed.py").returncode == 0
    here.write("none.py", ENABLES.replace("QUIET", "") + "import sys; sys.stderr = None")
    assert here.python("none.py").returncode == 0


def test_what_a_program_is_told_cannot_move_the_cursor(here: CommandLine) -> None:
    strange = here.directory / "a\x1b[31m\nb"
    strange.mkdir()
    here.write("loud.py", ENABLES.replace("QUIET", ""))
    done = here.python(
        str(here.directory / "loud.py"),
        cwd=here.directory,
        env={**here.env, "TICKTREE_MEMORY_DIR": str(strange / "x")},
    )
    assert "\x1b" not in done.stderr
    assert all(line.startswith("ticktree: ") for line in done.stderr.splitlines())


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["report"], "the current directory has been deleted: "),
        (["list"], "no run in ticktree-runs"),
        (["run", "x.py"], "x.py: there is no such script"),
        (["report", "last"], "no run in ticktree-runs"),
    ],
)
def test_a_directory_that_was_deleted_is_one_line(here: CommandLine, words: list[str], told: str) -> None:
    gone = here.directory / "gone"
    gone.mkdir()
    program = f"cd {gone} && rmdir {gone} && exec {sys.executable} -m ticktree {' '.join(words)}"
    done = subprocess.run(
        ["/bin/sh", "-c", program], capture_output=True, text=True, env=here.env, check=False
    )
    assert_one_clear_line(done, told)


def programs(here: CommandLine) -> None:
    here.write("a.py")
    here.write("b.py", "import ticktree\nfor _ in ticktree.loop('act', range(5)): pass")
    here.write("c.py")
    for name in ("a", "b", "c"):
        assert here.ticktree("run", "--quiet", f"{name}.py").returncode == 0


@pytest.mark.slow
def test_runs_of_programs_that_share_nothing_are_not_compared(here: CommandLine) -> None:
    programs(here)
    assert_one_clear_line(
        here.ticktree("compare", "-3", "-2"), "base is a.py, new is b.py: they have no section in common"
    )
    assert here.ticktree("compare", "-3", "-2", "--allow-different").returncode == 0
    shared = here.ticktree("compare", "-3", "-1")
    assert shared.returncode == 0
    assert "Different programs: base is a.py, new is c.py" in shared.stderr
    assert "Different programs" not in here.ticktree("compare", "-3", "-3").stderr


@pytest.mark.slow
def test_repeats_of_different_programs_are_refused(here: CommandLine) -> None:
    programs(here)
    assert_one_clear_line(
        here.ticktree("compare", "-3", "ticktree-runs"),
        "new has runs of different programs: a.py, b.py, c.py",
    )


@pytest.mark.slow
def test_one_run_named_twice_is_not_merged(here: CommandLine) -> None:
    programs(here)
    (name, *_) = [run.name for run in here.runs()]
    for words in (["-3", "-3"], [name, f"./ticktree-runs/{name}"]):
        assert_one_clear_line(
            here.ticktree("merge", *words, "-o", "x.json"), "are the same run, which would count twice"
        )
    assert not (here.directory / "x.json").exists()


@pytest.mark.slow
def test_merged_runs_are_counted_as_runs(here: CommandLine) -> None:
    programs(here)
    assert here.ticktree("merge", "-3", "-2", "--allow-different", "-o", "ab.json").stderr.startswith(
        "2 runs in ab.json"
    )
    assert here.ticktree("merge", "ab.json", "-1", "--allow-different", "-o", "x.json").stderr.startswith(
        "3 runs in x.json"
    )
    assert here.ticktree("merge", "-1", "-o", "y.json").stderr.startswith("1 run in y.json")


@pytest.mark.slow
def test_profiles_of_several_recorders_of_one_process_merge(here: CommandLine) -> None:
    here.write(
        "several.py",
        """
import pathlib, ticktree
for number in range(2):
    recorder = ticktree.Recorder(virtual_clock=True)
    with recorder.section("work"):
        recorder.advance(5)
    for copy in "ab":
        pathlib.Path(f"m{number}{copy}.json").write_text(recorder.snapshot().to_json())
    recorder.disable()
""",
    )
    assert here.python("several.py").returncode == 0
    done = here.ticktree("merge", "m0a.json", "m1a.json", "-o", "all.json")
    assert done.returncode == 0, done.stderr
    tree = json.loads(here.ticktree("report", "all.json", "--format", "json").stdout)
    assert "work" in json.dumps(tree)
    assert_one_clear_line(
        here.ticktree("merge", "m0a.json", "m0b.json"), "m0b.json has a run that m0a.json also has"
    )
