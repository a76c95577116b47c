"""What goes wrong on a bad day: one clear line each, the right exit status, and nothing lost."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import ticktree
from support.command_line import RECORDS, CommandLine, assert_one_clear_line

FULL = Path("/dev/full")


@pytest.mark.skipif(not FULL.exists(), reason="no device that is always full")
@pytest.mark.parametrize(
    "words",
    [["report"], ["report", "--format", "json"], ["list"], ["--version"], ["export", "--to", "pprof"]],
    ids=" ".join,
)
def test_a_full_disk_behind_standard_output_is_one_clear_line(
    recorded: CommandLine, words: list[str]
) -> None:
    with FULL.open("w") as full:
        done = recorded.ticktree(*words, capture_output=False, stdout=full, stderr=subprocess.PIPE)
    assert done.returncode == 2
    assert done.stderr.startswith("ticktree: ")
    assert "No space left on device" in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_stream_of_ascii_gets_a_tree_that_can_be_read(recorded: CommandLine) -> None:
    wide = recorded.ticktree("report").stdout
    recorded.env["PYTHONIOENCODING"] = "ascii"
    plain = recorded.ticktree("report").stdout
    assert "?" not in plain
    assert "`- " in plain
    assert [len(line) for line in plain.splitlines()] == [len(line) for line in wide.splitlines()]


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"", "it is empty"),
        (b"  \n", "it is empty"),
        (b'{"schema": "ticktree-pro', "it is cut short"),
        (b'{"schema": "ticktree-profile/1", "tree": {', "it is cut short"),
        (b'{"schema": nothing}', "Expecting value"),
        (os.urandom(1) + b"\xff\xfe", "no text in UTF-8"),
        (b'{"schema": "ticktree-profile/99"}', "if a newer one wrote it"),
    ],
    ids=["empty", "blank", "half a word", "half a tree", "other", "binary", "newer"],
)
def test_what_is_wrong_with_a_file_is_said(here: CommandLine, content: bytes, complaint: str) -> None:
    (here.directory / "x.json").write_bytes(content)
    assert_one_clear_line(here.ticktree("report", "x.json"), "x.json", complaint)


@pytest.mark.parametrize("command", ["list", "history"])
def test_a_directory_that_is_not_there_is_told_from_one_without_runs(here: CommandLine, command: str) -> None:
    assert_one_clear_line(here.ticktree(command, "nowhere"), "no run in nowhere yet, which is no directory")
    (here.directory / "empty").mkdir()
    assert_one_clear_line(here.ticktree(command, "empty"), "no run in empty yet; `ticktree run")


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (["--depth", "2"], "--depth applies to functions in focus"),
        (["--warmup", "5"], "--warmup applies to functions in focus"),
        (["--focus-c"], "--focus-c applies to functions in focus"),
        (["--no-instrument", "--instrument", "gc"], "--no-instrument and --instrument exclude each other"),
    ],
    ids=" ".join,
)
def test_an_option_that_would_do_nothing_is_refused(
    here: CommandLine, options: list[str], complaint: str
) -> None:
    here.write("train.py")
    assert_one_clear_line(here.ticktree("run", *options, "train.py"), complaint)
    assert here.runs() == []


@pytest.mark.parametrize("command", [["compare", "a", "b"], ["history"], ["bench", "a", "b"]], ids=" ".join)
@pytest.mark.parametrize("percent", ["nan", "inf"])
def test_a_threshold_is_a_number(here: CommandLine, command: list[str], percent: str) -> None:
    assert_one_clear_line(here.ticktree(*command, "--threshold", percent), "not a percentage", "--help")


def test_a_command_that_is_no_script_is_not_looked_for_elsewhere(here: CommandLine) -> None:
    done = here.ticktree("run", "no-such-launcher", "train.py")
    assert_one_clear_line(done, "no such script, nor a Python command of that name in this environment")


@pytest.mark.parametrize("sides", [("train.py", "missing.py"), ("missing.py --lr 3", "train.py")])
def test_both_programs_are_looked_for_before_either_is_run(here: CommandLine, sides: tuple[str, str]) -> None:
    here.write("train.py")
    assert_one_clear_line(here.ticktree("bench", *sides), "missing.py: there is no such script")
    assert not (here.directory / "ticktree-runs").exists()


def test_the_choices_of_an_option_that_is_missing_are_one_sentence(here: CommandLine) -> None:
    assert_one_clear_line(
        here.ticktree("export"), "Choose from: json, ", "mcap. See `ticktree export --help`."
    )


def test_the_ending_of_a_text_is_what_a_terminal_shows(recorded: CommandLine) -> None:
    assert recorded.ticktree("report", "-o", "run.txt").stderr == ""


def test_categories_of_what_has_none_are_told(recorded: CommandLine) -> None:
    done = recorded.ticktree("report", "--category", "gpu")
    assert done.returncode == 0
    assert done.stderr.startswith("The newest run is not a Chrome trace")


@pytest.mark.slow
def test_runs_may_be_named_by_a_pattern_though_their_history_lies_beside_them(here: CommandLine) -> None:
    here.write("train.py")
    for _ in range(2):
        here.ticktree("run", "--quiet", "train.py")
    assert (here.directory / "ticktree-runs" / "history.sqlite").is_file()
    quoted = here.ticktree("merge", "ticktree-runs/*", "-o", "all.json")
    assert quoted.stderr.startswith("2 runs in all.json")
    typed = here.ticktree(
        "merge", *map(str, (here.directory / "ticktree-runs").glob("[!.]*")), "-o", "all.json"
    )
    assert typed.stderr.startswith("2 runs in all.json")


def test_a_file_is_not_called_a_directory(recorded: CommandLine) -> None:
    recorded.ticktree("report", "-o", "run.json")
    done = recorded.ticktree("export", "--to", "perfetto", "run.json", "run.json")
    assert_one_clear_line(done, "run.json is a file, and no run's directory")


@pytest.mark.parametrize(
    ("source", "how"),
    [
        ("raise SystemExit(3)", "exit status 3"),
        ("1 / 0", "exit status 1"),
        ("import os; os.kill(os.getpid(), 9)", "SIGKILL"),
    ],
)
def test_a_program_that_fails_before_its_first_section_is_said_to_have_failed(
    here: CommandLine, source: str, how: str
) -> None:
    here.write("train.py", source)
    done = here.ticktree("run", "train.py")
    assert done.returncode not in (0, 2)
    assert "Nothing was recorded: the program ended" in done.stderr
    assert how in done.stderr


def test_a_program_that_deletes_its_own_folder_loses_nothing(here: CommandLine) -> None:
    folder = here.directory / "gone"
    here.write("gone/train.py", RECORDS + "import shutil; shutil.rmtree('../gone')")
    done = here.ticktree("run", "train.py", cwd=folder)
    assert (done.returncode, done.stdout) == (0, "done\n")
    assert "was deleted while the program ran; ticktree has recreated it" in done.stderr
    (run,) = (folder / "ticktree-runs").glob("*-train")
    assert ticktree.load(run).root.at("train/sample").count == 5
    assert here.memory() == []


@pytest.mark.parametrize("name", ["random", "select", "queue", "signal", "numpy"])
def test_a_module_beside_the_program_is_the_programs_own(here: CommandLine, name: str) -> None:
    here.write(f"{name}.py", "mine = 1")
    here.write("train.py", f"import {name}; print({name}.mine)")
    done = here.ticktree("run", "--quiet", "train.py")
    assert (done.returncode, done.stdout, done.stderr) == (0, "1\n", "")
    assert here.ticktree("list").returncode == 0


def test_a_module_called_ticktree_beside_the_program_is_no_trouble(here: CommandLine) -> None:
    here.write("beside/ticktree.py", "raise SystemExit('the wrong one')")
    here.write("beside/train.py")
    done = here.ticktree("run", "--quiet", "beside/train.py")
    assert (done.returncode, done.stdout, done.stderr) == (0, "done\n", "")


def test_ctrl_c_during_a_report_ends_it_without_a_traceback(recorded: CommandLine) -> None:
    slow = (
        "import os, time, ticktree.run.sweep as a\nos.write(1, b'.')\na.all_memory = lambda: time.sleep(1000)"
    )
    recorded.write("sitecustomize.py", slow)
    recorded.env["PYTHONPATH"] = os.pathsep.join(
        [str(recorded.directory), *filter(None, [recorded.env.get("PYTHONPATH")])]
    )
    process = recorded.start("report")
    assert process.stdout is not None
    assert process.stdout.read(1) == "."
    time.sleep(1.5)  # whatever it does by then
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=500)
    assert process.returncode == -signal.SIGINT
    assert "ticktree" not in said


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="-i is GNU's")
def test_an_empty_environment_is_enough(recorded: CommandLine) -> None:
    for words in (["report"], ["run", "--quiet", "train.py"], ["list"]):
        kept = {
            key: recorded.env[key] for key in ("PYTHONPATH", "TICKTREE_MEMORY_DIR") if key in recorded.env
        }
        done = recorded.ticktree(*words, env=kept)
        assert (done.returncode, done.stderr) == (0, "")
