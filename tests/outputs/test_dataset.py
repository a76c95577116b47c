"""Datasets, as pyarrow, pandas and DuckDB read them: the calls of a timeline, by process."""

from __future__ import annotations

import numpy as np
import pytest

from support.example_profiles import training
from ticktree.outputs import tabular
from ticktree.profile.timeline import CalledNode, Lane, Timeline

pytest.importorskip("pyarrow", reason="no dataset was written: there is no pyarrow")

HOSTILE = "a/b=c d%\N{SNOWMAN}\ud800"


def timeline(process, calls=1000, name="update"):
    """Calls of one process: the n-th begins at n us and takes n ns."""
    lanes = (
        Lane(process, 7, "train", "", 70, "MainThread", 0),
        Lane(process, 7, "train", "", 71, "helper", 2),
    )
    nodes = (CalledNode("train", tick=True), CalledNode(f"train/{name}", wait=True))
    numbers = np.arange(calls, dtype=np.int64)
    return Timeline(lanes, nodes, numbers * 1000, numbers, numbers % 2, numbers % 2)


@pytest.fixture
def written(tmp_path):
    def write(*parts):
        names = []
        for name, content in tabular.files(training(), parts):
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
            names.append(name)
        return tmp_path, names

    return write


def frame(folder):
    pandas = pytest.importorskip("pandas", reason="no dataset was read by pandas")
    return pandas.read_parquet(folder / "calls")


def test_the_calls_of_each_process_are_in_a_separate_partition(written):
    folder, names = written(timeline("7-9"), timeline("8-9"))
    assert [name for name in names if name.startswith("calls/")] == [
        "calls/process=7-9/part-0.parquet",
        "calls/process=8-9/part-0.parquet",
    ]
    arrow = pytest.importorskip("pyarrow.dataset")
    read = arrow.dataset(folder / "calls", partitioning="hive")
    assert read.count_rows() == 2000
    one = read.to_table(filter=arrow.field("process") == "8-9")
    assert one.num_rows == 1000


def test_pandas_reads_every_call_as_it_was(written):
    folder, _ = written(timeline("7-9"))
    calls = frame(folder)
    assert calls.start_ns.tolist() == list(range(0, 1_000_000, 1000))
    assert calls.duration_ns.tolist() == list(range(1000))
    assert calls.path[:2].tolist() == ["train", "train/update"]
    assert calls.tick[:2].tolist() == [True, False]
    assert calls.wait[:2].tolist() == [False, True]
    assert calls.thread_name[:2].tolist() == ["MainThread", "helper"]
    assert calls.task[:2].tolist() == [0, 2]
    assert set(calls.columns) == {*tabular.CALL_COLUMNS, "process"}


def test_a_timeline_of_several_processes_is_split_by_process(written):
    from ticktree.profile.timeline import merge_timelines

    folder, _ = written(merge_timelines([timeline("7-9"), timeline("8-9", calls=10)]))
    assert frame(folder).groupby("process", observed=True).size().to_dict() == {"7-9": 1000, "8-9": 10}


def test_hostile_names_are_names(written):
    folder, names = written(timeline("a/../b", calls=2, name=HOSTILE))
    assert all(".." not in name.split("/") for name in names)
    calls = frame(folder)
    assert calls.process.unique().tolist() == ["a/../b"]
    assert calls.path[1] == "train/a/b=c d%\N{SNOWMAN}\\ud800"


def test_without_calls_there_are_the_tables(written):
    _, names = written()
    assert names == [f"{table}.parquet" for table in tabular.TABLES]
    _, names = written(timeline("7-9", calls=0))
    assert not any(name.startswith("calls") for name in names)
