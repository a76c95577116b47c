from __future__ import annotations

import gzip
import json
import signal
from collections import Counter
from pathlib import Path

import pytest

from support.command_line import CommandLine, assert_one_clear_line
from ticktree.cli.files import timeline_for
from ticktree.errors import TicktreeError
from ticktree.outputs import Output
from ticktree.profile.timeline import Timeline
from ticktree.run.finishing import RunDirectory

PROGRAM = """
import os, subprocess, sys, ticktree
for _ in ticktree.loop("train", range(20), warmup=0):
    with ticktree.section("sample"):
        pass
if len(sys.argv) == 1:
    subprocess.run([sys.executable, __file__, "child"], check=True)
"""
ENABLES = """
import ticktree
ticktree.enable(timeline=True)
with ticktree.section("a"):
    pass
"""


def timeline_of(here: CommandLine):
    (run,) = here.runs()
    return RunDirectory.open(run).timeline()


def lines_of(path: Path) -> list[dict[str, object]]:
    return [one for one in json.loads(path.read_text())["traceEvents"] if one["ph"] == "X"]


@pytest.mark.parametrize("name", ["perfetto", "chrome"])
def test_without_a_timeline_an_export_is_refused_in_one_line_that_says_how_to_record_one(
    recorded: CommandLine, name: str
) -> None:
    done = recorded.ticktree("export", "--to", name, "-o", "trace")
    assert_one_clear_line(done, "no timeline was recorded", "ticktree run --timeline")
    assert not (recorded.directory / "trace").exists()


@pytest.mark.slow
def test_a_saved_profile_has_none(here: CommandLine) -> None:
    here.write("train.py", PROGRAM)
    here.ticktree("run", "--quiet", "--timeline", "train.py")
    here.ticktree("export", "--to", "json", "-o", "saved.json")
    assert_one_clear_line(here.ticktree("export", "saved.json", "--to", "chrome"), "no timeline")


@pytest.mark.slow
def test_a_run_with_a_timeline_is_exported_with_its_children(here: CommandLine) -> None:
    here.write("train.py", PROGRAM)
    done = here.ticktree("run", "--quiet", "--timeline", "train.py")
    assert (done.returncode, done.stderr) == (0, "")
    done = here.ticktree("export", "--to", "chrome", "-o", "trace.json")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    calls = lines_of(here.directory / "trace.json")
    assert len({one["pid"] for one in calls}) == 2
    assert [one["name"] for one in calls].count("sample") == 40
    done = here.ticktree("export", "--to", "perfetto", "-o", "trace.pftrace")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert (here.directory / "trace.pftrace").read_bytes()[:1] == b"\n"


TOLD = "timeline: kept the last 20 of 80 calls"


@pytest.fixture(scope="module")
def overwritten(tmp_path_factory: pytest.TempPathFactory) -> CommandLine:
    """With a run that kept ten calls of each process; what it printed lies beside it."""
    here = CommandLine(tmp_path_factory.mktemp("overwritten"))
    here.write("train.py", PROGRAM)
    here.write(
        "printed", here.ticktree("run", "--no-instrument", "--timeline-events", "10", "train.py").stderr
    )
    return here


def test_a_number_of_events_is_how_many_are_kept_of_each_process(overwritten: CommandLine) -> None:
    timeline = timeline_of(overwritten)
    assert (len(timeline), timeline.overwritten) == (20, 60)


def test_the_summary_says_how_many_of_the_calls_a_timeline_kept(overwritten: CommandLine) -> None:
    assert TOLD in (overwritten.directory / "printed").read_text()


@pytest.mark.parametrize("name", ["terminal", "markdown", "text", "html"])
def test_a_report_says_how_many_of_the_calls_a_timeline_kept(overwritten: CommandLine, name: str) -> None:
    assert TOLD in overwritten.ticktree("report", "--format", name).stdout


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("json", '"losses":{"calls_before_the_timeline":60}'),
        ("prometheus", 'what="calls_before_the_timeline"} 60'),
        ("otlp", '"calls_before_the_timeline"'),
        ("speedscope", TOLD),
        ("pprof", None),
        ("chrome", '"calls before the timeline": 60'),
        ("mlagents", "60 calls before the timeline"),
    ],
)
def test_every_format_that_has_a_place_for_it_says_what_a_timeline_lost(
    overwritten: CommandLine, tmp_path: Path, name: str, said: str | None
) -> None:
    done = overwritten.ticktree("export", "--to", name, "-o", str(tmp_path / "out"))
    assert (done.returncode, done.stderr) == (0, "")
    data = (tmp_path / "out").read_bytes()
    text = gzip.decompress(data) if name == "pprof" else data
    assert (said or TOLD).encode() in text.replace(b"_", b" " if name == "mlagents" else b"_")


@pytest.mark.parametrize("name", ["collapsed", "csv"])
def test_where_a_format_has_no_place_for_it_standard_error_has(overwritten: CommandLine, name: str) -> None:
    assert TOLD in overwritten.ticktree("export", "--to", name).stderr


def test_a_program_asks_for_itself_and_its_children(here: CommandLine) -> None:
    here.write("program.py", ENABLES + "\n".join(PROGRAM.splitlines()[1:]).replace("import os", "import os"))
    assert here.python("program.py").returncode == 0
    timeline = timeline_of(here)
    assert len({lane.pid for lane in timeline.lanes}) == 2
    assert "a" in {node.path for node in timeline.nodes}


@pytest.mark.parametrize(("word", "kept"), [("1", 1), ("yes", 1), ("50", 1), ("0", None), ("", None)])
def test_the_environment_asks_for_one(here: CommandLine, word: str, kept: int | None) -> None:
    here.env["TICKTREE_TIMELINE"] = word
    here.write("program.py", ENABLES.replace("timeline=True", ""))
    assert here.python("program.py").returncode == 0
    timeline = timeline_of(here)
    assert (timeline and len(timeline)) == kept


def test_a_timeline_of_less_than_nothing_is_refused(here: CommandLine) -> None:
    here.write("program.py", ENABLES.replace("True", "-1"))
    done = here.python("program.py")
    assert done.returncode == 1
    assert "a timeline of -1 calls" in done.stderr
    assert here.ticktree("run", "--timeline-events", "0", "program.py").returncode == 2


def test_a_program_under_ticktree_run_may_ask_for_it_later(here: CommandLine) -> None:
    here.write("program.py", ENABLES)
    assert here.ticktree("run", "--quiet", "program.py").returncode == 0
    assert {node.path for node in timeline_of(here).nodes} >= {"a"}
    assert len(timeline_of(here)) == 1


def test_a_damaged_timeline_is_missed_by_who_shows_nothing_else_and_told_to_the_others(
    here: CommandLine, capsys: pytest.CaptureFixture[str]
) -> None:
    here.write("train.py")
    here.ticktree("run", "--quiet", "--timeline", "train.py")
    (run,) = here.runs()
    (columns,) = (run / "timeline").iterdir()
    columns.write_bytes(b"no columns")
    with pytest.raises(TicktreeError, match="damaged"):
        timeline_for(Output("made_up", ".x", needs_events=True), run)
    assert capsys.readouterr().err == ""
    assert timeline_for(Output("made_up", ".x", uses_events=True), run) is None
    assert capsys.readouterr().err.splitlines()[0].startswith("Without the timeline: ")
    assert timeline_for(Output("made_up", ".x"), run) is None
    assert capsys.readouterr().err == ""


CHILDREN = """
import multiprocessing, os, sys, ticktree

def work():
    for _ in range(5):
        with ticktree.section("work"):
            pass

if __name__ == "__main__":
    with ticktree.section("train"):
        for way in ("fork", "spawn"):
            child = multiprocessing.get_context(way).Process(target=work, name=way)
            child.start()
            child.join()
        pid = os.fork()
        if not pid:
            work()
            os._exit(0)
        os.waitpid(pid, 0)
"""


def test_children_have_lanes_of_their_own_however_they_were_started(here: CommandLine) -> None:
    here.write("train.py", CHILDREN)
    done = here.ticktree("run", "--quiet", "--no-instrument", "--timeline", "train.py")
    assert (done.returncode, done.stderr) == (0, "")
    timeline = timeline_of(here)
    calls = [(timeline.lanes[lane].pid, timeline.nodes[node].path) for lane, node in rows_of(timeline)]
    (parent,) = {pid for pid, path in calls if path == "train"}
    children = Counter(pid for pid, path in calls if path == "train/work")
    assert parent not in children
    assert sorted(children.values()) == [5, 5, 5]
    assert timeline.overwritten == 0


def rows_of(timeline: Timeline) -> list[tuple[int, int]]:
    return list(zip(timeline.lane.tolist(), timeline.node.tolist(), strict=True))


DIES = """
import os, signal, ticktree
for _ in ticktree.loop("train", range(1000)):
    with ticktree.section("step"):
        pass
with ticktree.section("last"):
    {end}
"""


@pytest.mark.parametrize(
    ("end", "status"),
    [
        ("os.kill(os.getpid(), signal.SIGKILL)", -signal.SIGKILL),
        ("os._exit(3)", 3),
        ("raise RuntimeError", 1),
        ("os.abort()", -signal.SIGABRT),
    ],
)
def test_of_a_program_that_dies_every_completed_call_is_kept(
    here: CommandLine, end: str, status: int
) -> None:
    here.write("train.py", DIES.format(end=end))
    assert here.ticktree("run", "--quiet", "--no-instrument", "--timeline", "train.py").returncode == status
    timeline = timeline_of(here)
    paths = Counter(timeline.nodes[node].path for _, node in rows_of(timeline))
    ended = {"last": 1} if status == 1 else {}  # left by an exception: completed
    assert paths == {"train": 1000, "train/step": 1000, **ended}
    assert list(timeline.problems()) == []
