"""`ticktree compare`, as its users meet it."""

from __future__ import annotations

import json
import re
import shutil

import pytest

from support.command_line import CommandLine, assert_one_clear_line

PROGRAM = """
import random, sys, ticktree
noise = random.Random(sys.argv[2])
slower = float(sys.argv[1])
recorder = ticktree.Recorder(virtual_clock=True)
for tick in recorder.loop("train", range(300)):
    with recorder.section("sample") as sample:
        sample.work(bytes=1_000_000, items=4)
        recorder.advance(int(1_000_000 * slower * noise.uniform(0.95, 1.05)))
    with recorder.section("update"):
        recorder.advance(int(9_000_000 * noise.uniform(0.98, 1.02)))
open(sys.argv[2], "w").write(recorder.snapshot().to_json())
"""


@pytest.fixture(scope="module")
def _saved(tmp_path_factory):
    here = CommandLine(tmp_path_factory.mktemp("saved"))
    here.write("program.py", PROGRAM)
    for slower, name in (("1", "base.json"), ("1.5", "new.json")):
        assert here.python("program.py", slower, name).returncode == 0
    return here.directory


@pytest.fixture
def profiles(here, _saved):
    """The profiles of a program and of one whose sampling is half as slow again."""
    shutil.copytree(_saved, here.directory, dirs_exist_ok=True)
    return here


@pytest.mark.slow
def test_it_says_what_is_slower_and_what_cannot_be_told(profiles):
    done = profiles.ticktree("compare", "base.json", "new.json", "--all")
    assert done.returncode == 0, done.stderr
    lines = {line.split()[0]: line for line in done.stdout.splitlines() if line}
    assert "slower" in lines["sample"]
    assert "cannot tell" in lines["update"]  # of one run per side


def test_loops_stand_side_by_side_with_mean_extremes_and_throughput_whatever_the_width(profiles):
    done = profiles.ticktree("compare", "base.json", "new.json", "--width", "70")
    sides = re.findall(
        r"^ +(?:base|new): mean \S+ ms · min \S+ ms · max \S+ ms · (\S+) ticks/s$", done.stdout, re.MULTILINE
    )
    assert [float(rate) for rate in sides] == [
        pytest.approx(100, rel=0.02),  # ticks of 10 ms
        pytest.approx(95, rel=0.02),  # of 10.5 ms
    ]


@pytest.mark.slow
def test_what_was_worked_on_is_shown_as_a_rate_of_both_sides(profiles):
    done = profiles.ticktree("compare", "base.json", "new.json", "--all")
    assert re.search(
        r"(1\.0\d G|99\d M)B/s, (4\.0|3\.9)\d k items/s -> 6\d\d MB/s, 2\.[67]\d k items/s", done.stdout
    )
    document = json.loads(profiles.ticktree("compare", "base.json", "new.json", "--format", "json").stdout)
    entries = {(entry["kind"], entry["path"]): entry for entry in document["entries"]}
    sample = entries["node", "train/sample"]
    assert sample["base"]["items_per_s"] == pytest.approx(4000, rel=0.02)
    assert sample["new"]["bytes_per_s"] == pytest.approx(667e6, rel=0.02)
    assert "ticks_per_s" not in sample["base"]
    assert entries["loop", "train"]["base"]["ticks_per_s"] == pytest.approx(100, rel=0.02)


def test_the_json_has_an_entry_a_node_and_loop(profiles):
    done = profiles.ticktree("compare", "base.json", "new.json", "--format", "json")
    document = json.loads(done.stdout)
    assert document["schema"] == "ticktree-comparison/1"
    verdicts = {(entry["kind"], entry["path"]): entry["verdict"] for entry in document["entries"]}
    assert verdicts["node", "train/sample"] == "slower"
    assert verdicts["node", "train/update"] == "inconclusive"
    assert ("loop", "train") in verdicts


def test_it_can_fail_on_a_verdict(profiles):
    assert profiles.ticktree("compare", "base.json", "new.json", "--fail-on", "slower").returncode == 1
    assert profiles.ticktree("compare", "new.json", "base.json", "--fail-on", "slower").returncode == 0


def test_markdown_goes_to_a_file(profiles):
    done = profiles.ticktree("compare", "base.json", "new.json", "--format", "markdown", "-o", "pr.md")
    assert (done.returncode, done.stdout) == (0, "")
    document = (profiles.directory / "pr.md").read_text()
    assert document.startswith("# ticktree compare\n")
    assert "| slower |" in document
    assert "- base: mean " in document


@pytest.mark.parametrize(("name", "begins"), [("c.html", "<!doctype"), ("c.json", "{"), ("c.md", "# ")])
def test_a_files_name_says_its_format(profiles, name, begins):
    done = profiles.ticktree("compare", "base.json", "new.json", "-o", name)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert (profiles.directory / name).read_text().startswith(begins)


@pytest.mark.slow
def test_a_directory_of_runs_is_repeats(here):
    here.write("train.py")
    for out in ("a", "b"):
        for _ in range(2):
            assert here.ticktree("run", "--quiet", "--out", out, "train.py").returncode == 0
    document = json.loads(here.ticktree("compare", "a", "b", "--format", "json").stdout)
    assert document["unit"] == "runs"
    assert document["entries"][0]["base"] == {**document["entries"][0]["base"], "count": 10, "units": 2}


@pytest.mark.slow
def test_unlike_machines_are_not_compared_unless_asked_for(profiles):
    new = profiles.directory / "new.json"
    profile = json.loads(new.read_text())
    profile["metadata"] = {**profile["metadata"], "version.torch": "2.13.0", "command": "there"}
    new.write_text(json.dumps(profile))
    base = profiles.directory / "base.json"
    profile = json.loads(base.read_text())
    profile["metadata"]["command"] = "here"
    base.write_text(json.dumps(profile))
    done = profiles.ticktree("compare", "base.json", "new.json")
    assert (done.returncode, done.stdout) == (2, "")
    assert "version.torch: - -> 2.13.0" in done.stderr
    assert "command: here -> there" in done.stderr  # what else differs is said as well
    assert "--allow-different" in done.stderr
    allowed = profiles.ticktree("compare", "base.json", "new.json", "--allow-different")
    assert allowed.returncode == 0
    assert "version.torch" in allowed.stdout


@pytest.mark.slow
def test_nothing_on_one_side_is_an_error(profiles):
    profiles.write(
        "empty.py", "import ticktree; open('empty.json', 'w').write(ticktree.snapshot().to_json())"
    )
    profiles.python("empty.py")
    assert_one_clear_line(
        profiles.ticktree("compare", "base.json", "empty.json"), "nothing was measured in new"
    )
    assert_one_clear_line(profiles.ticktree("compare", "base.json", "missing.json"), "missing.json")
    assert_one_clear_line(
        profiles.ticktree("compare", "base.json", "--base", "base.json", "new.json", "--pairs"),
        "--pairs needs as many base runs as new ones",
    )
