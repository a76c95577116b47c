from __future__ import annotations

import json
from pathlib import Path

import pytest

import ticktree
from support.command_line import CommandLine, assert_one_clear_line
from support.example_trainers import straggling_trainer


@pytest.fixture
def trainer(here: CommandLine) -> CommandLine:
    (here.directory / "trainer.json").write_text(straggling_trainer().to_json())
    return here


def test_the_newest_run_is_shown(recorded: CommandLine) -> None:
    recorded.write("later.py", "import ticktree\nwith ticktree.section('later'): pass")
    recorded.ticktree("run", "--quiet", "later.py")
    done = recorded.ticktree("report")
    assert (done.returncode, done.stderr) == (0, "")
    assert "later" in done.stdout
    assert "sample" not in done.stdout


@pytest.mark.slow
def test_a_run_is_named_by_its_directory_its_folder_or_its_profile(recorded: CommandLine) -> None:
    (run,) = recorded.runs()
    # The last lines name the run as it was named.
    reports = {
        recorded.ticktree("report", str(way)).stdout.partition("\nAll rows:")[0]
        for way in (run, run.parent, run / "profile.json")
    }
    assert len(reports) == 1
    assert "sample" in reports.pop()


@pytest.mark.parametrize("width", ["60", "200"])
def test_what_is_piped_has_no_colours_and_keeps_to_its_width(recorded: CommandLine, width: str) -> None:
    done = recorded.ticktree("report", "--width", width)
    assert "\x1b" not in done.stdout
    assert 0 < max(map(len, done.stdout.splitlines())) <= int(width)


def test_json_is_the_saved_profile(recorded: CommandLine) -> None:
    done = recorded.ticktree("report", "--format", "json")
    data = json.loads(done.stdout)
    assert data["schema"] == "ticktree-profile/1"
    profile = ticktree.Profile.from_json(done.stdout)
    profile.check()
    assert profile == ticktree.load(recorded.runs()[0])


@pytest.mark.parametrize(
    ("name", "begins"), [("r.json", "{"), ("r.md", "#"), ("r.txt", "train"), ("r.html", "<!doctype")]
)
def test_a_files_name_says_its_format(recorded: CommandLine, name: str, begins: str) -> None:
    done = recorded.ticktree("report", "-o", name)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert (recorded.directory / name).read_text().lstrip().startswith(begins)


@pytest.mark.slow
def test_a_picture_is_written_to_a_file_and_through_a_pipe(recorded: CommandLine) -> None:
    pytest.importorskip("matplotlib", reason="charts were not drawn: there is no matplotlib")
    done = recorded.ticktree("report", "-o", "r.png")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    png = (recorded.directory / "r.png").read_bytes()
    assert png.startswith(b"\x89PNG")
    assert recorded.ticktree("report", "--format", "png", text=False).stdout == png
    assert recorded.ticktree("report", "--format", "svg").stdout.rstrip().endswith("</svg>")


def test_the_format_asked_for_wins_over_the_files_name(recorded: CommandLine) -> None:
    recorded.ticktree("report", "--format", "json", "-o", "r.md")
    json.loads((recorded.directory / "r.md").read_text())


@pytest.mark.slow
def test_a_file_that_was_there_is_replaced_and_a_device_is_not(recorded: CommandLine) -> None:
    (recorded.directory / "r.json").write_text("old")
    recorded.ticktree("report", "-o", "r.json")
    json.loads((recorded.directory / "r.json").read_text())
    recorded.ticktree("report", "-o", "/dev/null")
    assert not Path("/dev/null").is_file()
    assert "sample" in recorded.ticktree("report", "-o", "/dev/stdout").stdout
    assert "sample" in recorded.ticktree("report", "-o", "-").stdout


def test_call_sites_are_shown_on_demand(recorded: CommandLine) -> None:
    assert "train.py:" not in recorded.ticktree("report").stdout
    assert "train.py:" in recorded.ticktree("report", "--call-sites").stdout


def test_small_rows_are_shown_on_demand(here: CommandLine) -> None:
    large = "ticktree.record_duration('large', 1000.0)"
    tiny = "for name in 'abc':\n    with ticktree.section('tiny ' + name): pass"
    here.write("train.py", f"import ticktree\n{large}\n{tiny}")
    here.ticktree("run", "--quiet", "train.py")
    assert "tiny b" not in here.ticktree("report").stdout
    assert "tiny b" in here.ticktree("report", "--all").stdout


def test_no_run_yet_is_one_clear_line(here: CommandLine) -> None:
    assert_one_clear_line(here.ticktree("report"), "no run in ticktree-runs yet", "ticktree run")


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "x.json"),
        ("{", "x.json"),
        ("[]", "x.json"),
        ('{"schema": "ticktree-profile/99"}', "ticktree-profile/99"),
        ('{"schema": "ticktree-profile/1"}', "tree"),
        ("[" * 100_000, "x.json"),
        ("\udcff\udcfe", "x.json"),
    ],
)
def test_a_file_that_is_no_profile_is_one_clear_line(here: CommandLine, text: str, complaint: str) -> None:
    (here.directory / "x.json").write_bytes(text.encode(errors="surrogateescape"))
    assert_one_clear_line(here.ticktree("report", "x.json"), complaint)


def test_a_profile_that_says_what_cannot_be_is_one_clear_line(recorded: CommandLine) -> None:
    path = recorded.runs()[0] / "profile.json"
    data = json.loads(path.read_text())
    data["tree"]["children"][0]["total_ns"] += 1
    path.write_text(json.dumps(data))
    assert_one_clear_line(recorded.ticktree("report"), "profile.json", "train")


@pytest.mark.parametrize("missing", ["no-such-run", "no-such-file.json"])
def test_a_run_that_is_not_there_is_one_clear_line(here: CommandLine, missing: str) -> None:
    assert_one_clear_line(here.ticktree("report", missing), missing)


def test_a_directory_that_is_no_run_is_one_clear_line(here: CommandLine) -> None:
    assert_one_clear_line(here.ticktree("report", "."), "is not a run")


def test_a_file_that_cannot_be_written_is_one_clear_line(recorded: CommandLine) -> None:
    assert_one_clear_line(
        recorded.ticktree("report", "-o", "no/such/place.md"), "cannot write no/such/place.md"
    )


def test_a_memory_file_that_is_damaged_is_a_loss_that_is_printed(here: CommandLine) -> None:
    damaged = "open(glob.glob('ticktree-*/*/*.tt')[0].replace('.tt', '-9.tt'), 'w').write('x')"
    here.write("train.py", f"import glob, ticktree\nwith ticktree.section('x'): pass\n{damaged}")
    here.ticktree("run", "--quiet", "train.py")
    assert "1 memory file damaged" in here.ticktree("report").stdout
    assert ticktree.load(here.runs()[0]).root.at("x").count == 1


def test_an_empty_run_says_why_on_standard_error(here: CommandLine) -> None:
    here.write("train.py", "pass")
    here.ticktree("run", "--quiet", "train.py")
    done = here.ticktree("report", "--format", "json")
    assert done.returncode == 0
    assert "no section was reached" in done.stderr
    json.loads(done.stdout)


@pytest.mark.parametrize("by", ["process", "thread", "role"])
def test_each_process_thread_or_role_has_a_column_on_demand(trainer: CommandLine, by: str) -> None:
    text = trainer.ticktree("report", "trainer.json", "--by", by, "--width", "150").stdout
    heading = next(line for line in text.splitlines() if line.startswith(f"The run by {by}"))
    assert ("4 × env worker" if by == "role" else "env worker 3") in heading


def test_a_run_of_one_process_has_one_column(recorded: CommandLine) -> None:
    text = recorded.ticktree("report", "--by", "process").stdout
    assert "1 process: " in text.partition("\n\n")[0]


def test_a_profile_without_threads_cannot_be_shown_by_process(recorded: CommandLine) -> None:
    path = recorded.runs()[0] / "profile.json"
    data = json.loads(path.read_text())
    del data["threads"]
    waiting = [data["tree"]]
    for node in waiting:
        node.pop("by_thread", None)
        waiting.extend(node["children"])
    path.write_text(json.dumps(data))
    done = recorded.ticktree("report", "--by", "thread")
    assert_one_clear_line(done, "has no times by thread", "older ticktree")
    assert "sample" in recorded.ticktree("report").stdout


def test_json_has_what_is_worth_doing_and_is_read_back_without_it(trainer: CommandLine) -> None:
    text = trainer.ticktree("report", "trainer.json", "--format", "json").stdout
    (found,) = json.loads(text)["findings"]
    assert found.keys() == {
        *("rule", "kind", "severity", "path", "loop", "message", "saving", "metrics"),
    }
    assert (found["rule"], found["severity"]) == ("straggler", "critical")
    (trainer.directory / "again.json").write_text(text)
    assert ticktree.load(trainer.directory / "again.json") == ticktree.load(
        trainer.directory / "trainer.json"
    )


def test_a_run_as_saved_has_no_findings(recorded: CommandLine) -> None:
    assert "findings" not in json.loads((recorded.runs()[0] / "profile.json").read_text())
