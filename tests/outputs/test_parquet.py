"""Parquet, as DuckDB and pandas read it: the same totals, with their types."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from io import BytesIO
from typing import get_args

import pytest

from support.example_profiles import control, training
from support.hostile_profiles import NAMES, hostile, side_by_side
from ticktree.errors import TicktreeError
from ticktree.outputs import EXPORTS, ViewOptions
from ticktree.outputs.options import TableName
from ticktree.outputs.writing.visible import encodable
from ticktree.profile import Profile, Work


def render_parquet(profile, table="nodes"):
    pytest.importorskip("pyarrow", reason="Parquet files were not written: there is no pyarrow")
    return EXPORTS["parquet"].render(profile, ViewOptions(table=table))


def frame(profile, table="nodes"):
    pandas = pytest.importorskip("pandas", reason="Parquet files were not read by pandas")
    return pandas.read_parquet(BytesIO(render_parquet(profile, table)), dtype_backend="numpy_nullable")


@pytest.mark.parametrize("make", [training, control, side_by_side, hostile])
def test_pandas_reads_the_same_totals(make):
    profile = make()
    nodes = frame(profile)
    assert dict(zip(nodes.path, nodes.total_ns, strict=True)) == {
        encodable(path): node.total_ns for path, _, node in profile.root.walk()
    }
    assert nodes.self_ns.sum() - nodes.concurrent_ns.sum() == profile.root.total_ns
    assert nodes.total_ns.dtype == "Int64"


def test_duckdb_reads_the_same_totals(tmp_path):
    duckdb = pytest.importorskip("duckdb", reason="Parquet files were not read by DuckDB")
    path = tmp_path / "run.parquet"
    path.write_bytes(render_parquet(training()))
    query = f"select sum(self_ns) - sum(concurrent_ns), max(typeof(total_ns)) from '{path}'"
    assert duckdb.sql(query).fetchall() == [(training().root.total_ns, "BIGINT")]
    unknown = duckdb.sql(f"select count(*) from '{path}' where memory_peak_bytes is null").fetchall()
    assert unknown == [(sum(1 for _ in training().root.walk()) - 1,)]


def test_hostile_names_are_there():
    assert set(frame(hostile()).name) == {encodable(name) for name in (*NAMES, "root")}


@pytest.mark.parametrize("table", get_args(TableName))
def test_a_table_has_the_same_types_whatever_is_in_it(table):
    parquet = pytest.importorskip("pyarrow.parquet", reason="Parquet files were not read by pyarrow")
    schemas = {
        str(parquet.read_schema(BytesIO(render_parquet(make(), table))).remove_metadata())
        for make in (training, control, Profile.empty)
    }
    assert len(schemas) == 1


def test_losses_and_facts_are_in_the_files_metadata():
    parquet = pytest.importorskip("pyarrow.parquet", reason="Parquet files were not read by pyarrow")
    notes = parquet.read_schema(BytesIO(render_parquet(control()))).metadata
    assert json.loads(notes[b"ticktree.not_recorded"]) == {"unwound": 2}
    assert json.loads(notes[b"ticktree.metadata"])["command"] == ["robot.py"]


def test_a_sum_beyond_64_bits_is_kept_exactly():
    root = replace(training().root, work=Work(flops=10**22 + 1))
    assert frame(Profile(root=root)).work_flops.iloc[0] == 10**22 + 1


def test_the_same_profile_gives_the_same_bytes():
    assert render_parquet(training()) == render_parquet(training())


def test_without_pyarrow_a_line_says_what_to_install(monkeypatch):
    for name in [name for name in sys.modules if name.partition(".")[0] == "pyarrow"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(
        TicktreeError, match=r"parquet needs pyarrow: python -m pip install 'ticktree\[parquet\]'"
    ):
        EXPORTS["parquet"].render(training())
