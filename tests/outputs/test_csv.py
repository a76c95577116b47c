"""CSV, as pandas and DuckDB read it: the same totals."""

from __future__ import annotations

import csv
from io import StringIO
from typing import get_args

import pytest
from hypothesis import given, settings

from support.example_profiles import control, training
from support.hostile_profiles import NAMES, hostile, side_by_side, unknown_durations
from support.profile_strategies import profiles
from ticktree.outputs import EXPORTS, ViewOptions
from ticktree.outputs.options import TableName
from ticktree.outputs.writing.visible import literal, visible
from ticktree.profile import Profile


def render_text(profile, table="nodes"):
    return EXPORTS["csv"].render(profile, ViewOptions(table=table)).decode()


def rows(profile, table="nodes"):
    return list(csv.DictReader(StringIO(render_text(profile, table))))


@pytest.mark.slow
@settings(max_examples=20)
@given(profiles())
def test_each_node_has_a_row_with_its_exact_numbers(profile):
    read = {row["path"]: row for row in rows(profile)}
    assert len(read) == sum(1 for _ in profile.root.walk())
    for path, depth, node in profile.root.walk():
        row = read[visible(path)]
        numbers = ("total_ns", "self_ns", "concurrent_ns", "count", "depth")
        assert [int(row[key]) for key in numbers] == [
            node.total_ns,
            node.self_ns,
            node.concurrent_ns,
            node.count,
            depth,
        ]
        for key in ("min_ns", "p50_ns", "p99_ns"):
            known = getattr(node.stats, key)
            assert row[key] == ("" if known is None else str(known))


@pytest.mark.parametrize("make", [training, control, side_by_side, hostile])
def test_pandas_finds_that_children_and_self_time_sum_to_the_total(make):
    pandas = pytest.importorskip("pandas", reason="CSV files were not read by pandas")
    profile = make()
    frame = pandas.read_csv(StringIO(render_text(profile)), keep_default_na=False, na_values=[""])
    (root,) = frame[frame.depth == 0].itertuples()
    assert root.total_ns == profile.root.total_ns
    assert frame.self_ns.sum() - frame.concurrent_ns.sum() == profile.root.total_ns
    below = frame[frame.depth > 0].assign(parent=lambda each: each.parent.fillna(""))
    covered = (below.total_ns - below.concurrent_ns).groupby(below.parent).sum()
    for row in frame.assign(path=lambda each: each.path.fillna("")).itertuples():
        assert row.total_ns == row.self_ns + covered.get(row.path, 0)


def test_duckdb_reads_the_same_totals(tmp_path):
    duckdb = pytest.importorskip("duckdb", reason="CSV files were not read by DuckDB")
    path = tmp_path / "run.csv"
    path.write_text(render_text(training()), encoding="utf-8")
    found = duckdb.sql(f"select total_ns, count from '{path}' where path = 'train/update'").fetchall()
    update = training().root.at("train/update")
    assert found == [(update.total_ns, update.count)]


def test_each_hostile_name_stays_different_and_in_one_line():
    text = render_text(hostile())
    assert text.count("\n") == 2 * len(NAMES) + 2
    assert {row["name"] for row in rows(hostile())} == {literal(name) for name in (*NAMES, "root")}
    assert {row["name"] for row in rows(hostile(), "gauges")} == {literal(name) for name in NAMES}


def test_loops_gauges_losses_and_facts_are_separate_tables():
    (loop,) = rows(control(), "loops")
    assert (loop["path"], loop["ticks"], loop["hz"], loop["budget_ns"]) == (
        "control",
        "1200",
        "100.0",
        "10000000",
    )
    assert (loop["missed"], loop["longest_miss_run"], loop["lateness_max_ns"]) == ("9", "3", "35000000")
    (gauge,) = rows(control(), "gauges")
    assert (gauge["name"], gauge["last"], gauge["max"], gauge["count"]) == ("queue depth", "4.0", "7.0", "5")
    assert rows(control(), "losses") == [{"what": "unwound", "count": "2"}]
    assert {"key": "command", "value": "robot.py"} in rows(control(), "metadata")


def test_unknown_values_are_empty_and_not_0():
    (loop,) = rows(training(), "loops")
    assert (loop["hz"], loop["budget_ns"], loop["missed"], loop["lateness_count"]) == ("", "", "", "")
    by_path = {row["path"]: row for row in rows(training())}
    assert (by_path["train/update"]["memory_peak_bytes"], by_path["train/update"]["work_items"]) == ("", "")
    assert by_path["train/update/sample"]["memory_peak_bytes"] == "1240000000"
    (_, told) = rows(unknown_durations())
    assert (told["count"], told["p50_ns"], told["max_ns"], told["warmup_count"]) == ("2", "", "", "")


@pytest.mark.parametrize("table", get_args(TableName))
def test_a_table_has_the_same_columns_whatever_is_in_it(table):
    heads = {
        render_text(make(), table).partition("\n")[0] for make in (training, control, hostile, Profile.empty)
    }
    assert len(heads) == 1
