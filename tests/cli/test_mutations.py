"""Ten thousand damaged files (in CI a fifth), each through commands that read them: one clear line, or an answer."""

from __future__ import annotations

import gzip
import json
import random
import resource
import shutil
import subprocess
import sys
import time
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.command_line import CommandLine, run_in_process
from support.damaged_files import damaged
from support.thorough import part_of
from ticktree.files.owner import Owner
from ticktree.profile import Gauge, Histogram
from ticktree.profile.machine import MACHINE_GAUGES
from ticktree.run.finishing import RunDirectory
from ticktree.run.folding import fold_finished
from ticktree.run.job import (
    RankProgress,
    write_expected,
    write_final_profile,
    write_partial_profile,
    write_progress,
)
from ticktree.run.observations import write_gauges as keep_readings

KILLED = """
import os, signal, ticktree
ticktree.enable()
for _ in ticktree.loop("train", range(5), warmup=0, hz=100):
    with ticktree.section("sample", memory=True):
        pass
ticktree.gauge("depth", 3)
os.kill(os.getpid(), signal.SIGKILL)
"""
TIMERS = Path(__file__).parents[1] / "importers" / "toolkit_timers.json"
TRACE = [
    {"ph": "M", "name": "process_name", "pid": 1, "args": {"name": "p"}},
    {"ph": "M", "name": "thread_name", "pid": 1, "tid": 1, "args": {"name": "t"}},
    *(
        {
            "ph": "X",
            "name": f"ProfilerStep#{at}",
            "cat": "user_annotation",
            "ts": 10 * at,
            "dur": 9,
            "pid": 1,
            "tid": 1,
        }
        for at in range(4)
    ),
    {
        "ph": "X",
        "name": "f",
        "cat": "user_annotation",
        "ts": 1,
        "dur": 2.5,
        "pid": 1,
        "tid": 1,
        "args": {"a": 1},
    },
    {
        "ph": "X",
        "name": "k",
        "cat": "kernel",
        "ts": 2,
        "dur": 5,
        "pid": 0,
        "tid": 7,
        "args": {"device": 0, "correlation": 3},
    },
    {
        "ph": "X",
        "name": "l",
        "cat": "cuda_runtime",
        "ts": 1,
        "dur": 1,
        "pid": 1,
        "tid": 1,
        "args": {"correlation": 3},
    },
    {"ph": "B", "name": "b", "cat": "user_annotation", "ts": 50, "pid": 1, "tid": 2},
    {"ph": "E", "ts": 60, "pid": 1, "tid": 2},
    {"ph": "C", "name": "c", "ts": 5, "pid": 1, "args": {"x": 1, "y": 2.5}},
]
CONFIGURATION = """
[tool.ticktree.categories]
env = ["env", "draw*"]
[tool.ticktree.score.weights]
time = 0.5
[tool.ticktree.score.thresholds]
slow = "2 ms"
[tool.ticktree.budgets]
train = {p99 = "100 s", ticks = 1}
"""
# Of each kind: the file, the commands that read it, and how many are damaged.
KINDS: dict[str, tuple[str, list[tuple[str, ...]], int]] = {
    "a run's facts": (
        "runs/done/run.json",
        [("list", "runs"), ("report", "runs/done", "--format", "json")],
        900,
    ),
    "a run's facts in its history": (
        "runs/done/run.json",
        [("history", "runs"), ("merge", "runs", "--allow-different", "-o", "x")],
        300,
    ),
    "a profile": ("runs/done/profile.json", [("report", "runs/done")], 900),
    "a compressed profile": ("saved.json.gz", [("report", "saved.json.gz", "--format", "text")], 700),
    "a memory file": ("live/*.tt", [("report", "runs/live", "--format", "json")], 1500),
    "what was folded": ("runs/folded/folded.json", [("report", "runs/folded", "--format", "json")], 900),
    "what the machine did": ("live/machine.json", [("report", "runs/live", "--format", "json")], 400),
    "a part of another machine": (
        "runs/live/parts/a.json",
        [("report", "runs/live", "--format", "json")],
        600,
    ),
    "a gathered profile": ("runs/done/job/b.json.gz", [("merge", "runs/done", "-o", "x")], 300),
    "how far a job is": ("runs/done/job/so-far.json", [("merge", "runs/done", "-o", "x")], 500),
    "a timeline": ("runs/done/timeline/*.npz", [("export", "runs/done", "--to", "chrome", "-o", "x")], 900),
    "a trace": ("trace.json", [("report", "trace.json", "--format", "json")], 900),
    "a trace's calls": ("trace.json", [("export", "trace.json", "--to", "perfetto", "-o", "x")], 300),
    "a trace of ours": ("own.json", [("report", "own.json", "--format", "json")], 400),
    "a timers file": ("timers.json", [("report", "timers.json", "--format", "json")], 500),
    "a history": ("runs/history.sqlite", [("history", "runs")], 500),
    "a dataset": (
        "dataset/nodes.parquet",
        [("query", "dataset", "select * from nodes", "--format", "csv")],
        200,
    ),
    "a configuration": ("pyproject.toml", [("check", "runs/done"), ("report", "saved.json.gz")], 300),
}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> CommandLine:
    """One of each kind of file, whole."""
    here = CommandLine(tmp_path_factory.mktemp("whole"))
    (here.directory / "cache").mkdir()
    here.write("train.py")
    here.write("killed.py", KILLED)
    assert here.ticktree("run", "--quiet", "--timeline", "--out", "runs", "train.py").returncode == 0
    runs = here.directory / "runs"
    done = next(path for path in runs.iterdir() if path.is_dir()).rename(runs / "done")
    for name in ("live", "folded"):
        here.python("killed.py")
        (made,) = here.runs()
        made.rename(runs / name)
    _claim(runs / "live")
    _claim(runs / "folded")
    fold_finished(RunDirectory.open(runs / "folded"))
    profile = (done / "profile.json").read_bytes()
    run = RunDirectory.open(done)
    write_expected(run, 2)
    write_final_profile(run, "b", gzip.compress(profile.replace(run.id.encode(), b"b")))
    write_partial_profile(run, "c", gzip.compress(profile.replace(run.id.encode(), b"c")))
    write_progress(run, {"b": RankProgress("one", (1,), 5, 10), "c": RankProgress("two", (2, 3), 7, 20)})
    (name, *_) = MACHINE_GAUGES
    load = Gauge(
        name=name,
        last=2.0,
        last_wall_ns=1,
        process="",
        count=1,
        min=2.0,
        max=2.0,
        positive=Histogram.of([2.0]),
    )
    keep_readings(RunDirectory.open(runs / "live").memory_dir, {name: load})
    (runs / "live" / "parts").mkdir()
    (runs / "live" / "parts" / "a.json").write_bytes(profile.replace(run.id.encode(), b"a"))
    (here.directory / "saved.json.gz").write_bytes(gzip.compress(profile))
    (here.directory / "trace.json").write_text(
        json.dumps({"traceEvents": TRACE, "baseTimeNanoseconds": 10**18})
    )
    (here.directory / "pyproject.toml").write_text(CONFIGURATION)
    shutil.copy(TIMERS, here.directory / "timers.json")
    for words in (
        ("export", "runs/done", "--to", "chrome", "-o", "own.json"),
        ("export", "runs/done", "--to", "parquet", "--table", "all", "-o", "dataset"),
        ("history", "runs"),
    ):
        made = here.ticktree(*words)
        assert made.returncode == 0, made.stderr
    return here


def _claim(path: Path) -> None:
    """Makes a run whose processes were killed one of this process, so that nobody finishes it."""
    facts = json.loads((path / "run.json").read_text())
    facts |= {"owner": Owner.current()._asdict(), "directory": str(path)}
    for folder in (path, Path(facts["memory"])):
        (folder / "run.json").write_text(json.dumps(facts))


def _file(here: Path, name: str) -> Path:
    """The file of that name; of a run that goes on, among its memory."""
    folder, _, rest = name.partition("/")
    if folder == "live":
        folder, name = Path(json.loads((here / "runs/live/run.json").read_text())["memory"]), rest
        return min(folder.glob(name))
    return min(here.glob(name))


@pytest.fixture
def bounded(files: CommandLine, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Commands run where the files are, and with no more than 3 GiB beyond what this process has."""
    monkeypatch.chdir(files.directory)
    for name in ("TICKTREE_MEMORY_DIR", "XDG_CACHE_HOME"):
        monkeypatch.setenv(name, files.env[name])
    before = resource.getrlimit(resource.RLIMIT_AS)
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + (3 << 30), before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_AS, before)


def _mutants(kind: str, here: Path, many: int, seed: str = "") -> Iterator[tuple[int, tuple[str, ...]]]:
    """Damages the file that many times; yields each time the number and a command that reads it."""
    name, commands, _ = KINDS[kind]
    path = _file(here, name)
    whole = path.read_bytes()
    is_packed = path.suffix == ".gz"
    try:
        for number in range(many):
            noise = random.Random(f"{kind} {seed}{number}")
            if is_packed and noise.random() < 0.7:
                content = gzip.compress(damaged(gzip.decompress(whole), noise), 1)
            else:
                content = damaged(whole, noise)
            path.write_bytes(content)
            yield number, noise.choice(commands)
    finally:
        path.write_bytes(whole)


def _wrong(status: Any, stderr: str) -> str:
    if status not in (0, 1, 2) or ("ticktree: " in stderr and status != 2):
        return f"exit status {status}"
    return "too much said" if stderr.count("\n") > 12 or "Traceback" in stderr else ""


@pytest.mark.parametrize("kind", KINDS)
def test_whole_files_are_read(kind: str, files: CommandLine, bounded: None) -> None:
    if kind == "a dataset":
        pytest.importorskip("duckdb")
    assert sum(many for _, _, many in KINDS.values()) >= 10_000
    for words in KINDS[kind][1]:
        status, _, said = run_in_process(*words)
        assert status == 0, (words, said)


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("kind", KINDS)
def test_a_damaged_file_is_one_clear_line_or_an_answer(kind: str, files: CommandLine, bounded: None) -> None:
    if kind == "a dataset":
        pytest.importorskip("duckdb")
    found = []
    for number, words in _mutants(kind, files.directory, part_of(KINDS[kind][2])):
        began_s = time.process_time()
        try:
            status, _, said = run_in_process(*words)
            wrong = _wrong(status, said)
        except Exception as error:
            wrong = "".join(traceback.format_exception(error)[-3:])
        if time.process_time() - began_s > 10:
            wrong += " too slow"
        if wrong:
            found.append((number, words, wrong))
    assert not found, "\n".join(map(str, found[:5])) + f"\n{len(found)} in all"


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("kind", KINDS)
def test_a_damaged_file_ends_no_process_in_another_way(kind: str, files: CommandLine) -> None:
    if kind == "a dataset":
        pytest.importorskip("duckdb")

    def limited() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))

    for number, words in _mutants(kind, files.directory, part_of(12), "alone "):
        command = [sys.executable, "-m", "ticktree", *words]
        done = subprocess.run(
            command,
            cwd=files.directory,
            env=files.env,
            capture_output=True,
            text=True,
            errors="replace",
            preexec_fn=limited,
            timeout=300,
        )
        assert not _wrong(done.returncode, done.stderr), (number, words, done.returncode, done.stderr)
