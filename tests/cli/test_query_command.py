"""`ticktree query`, as its users meet it."""

from __future__ import annotations

import csv
import io
import json
import re

import pytest

from support.command_line import CommandLine, assert_one_clear_line
from ticktree.cli.query import Database
from ticktree.errors import TicktreeError

pytest.importorskip("duckdb", reason="no query was answered: there is no DuckDB")
pytest.importorskip("pyarrow", reason="no query was answered: there is no pyarrow")

PROGRAM = """
import ticktree
for _ in ticktree.loop("train", range(20), warmup=0):
    with ticktree.section("a|b"):
        pass
"""


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """A run with a timeline, and the dataset of it."""
    from support.command_line import CommandLine

    here = CommandLine(tmp_path_factory.mktemp("queried"))
    here.write("train.py", PROGRAM)
    assert here.ticktree("run", "--quiet", "--timeline", "train.py").returncode == 0
    done = here.ticktree("export", "--to", "parquet", "--table", "all", "-o", "dataset")
    assert done.returncode == 0, done.stderr
    return here


@pytest.fixture
def database(kept, tmp_path):
    return Database(kept.directory / "dataset", tmp_path)


def rows(database, sql):
    return [tuple(row) for row in database.select(sql)[1]]


@pytest.mark.slow
def test_a_query_of_the_newest_run_is_answered_as_a_table(kept):
    done = kept.ticktree(
        "query", "select loop, count(*) as ticks, max(tick) as last from ticks group by loop"
    )
    assert done.returncode == 0, done.stderr
    assert [line.split() for line in done.stdout.splitlines()] == [
        ["loop", "ticks", "last"],
        ["train", "20", "19"],
    ]


@pytest.mark.slow
def test_a_run_and_its_dataset_give_the_same_answers(kept):
    sql = (
        "select process, path, count(*) as calls, sum(duration_ns) as ns from calls group by all order by all"
    )
    answers = [
        kept.ticktree("query", run, sql, "--format", "json").stdout for run in ("ticktree-runs", "dataset")
    ]
    assert answers[0] == answers[1]
    assert [row["calls"] for row in json.loads(answers[0])] == [20, 20]


@pytest.mark.slow
def test_csv_and_markdown_hold_hostile_names(kept):
    sql = "select name, count, null as nothing from nodes where name like 'a%'"
    table = kept.ticktree("query", "dataset", sql, "--format", "csv").stdout
    assert list(csv.DictReader(io.StringIO(table))) == [{"name": "a|b", "count": "20", "nothing": ""}]
    text = kept.ticktree("query", "dataset", sql, "--format", "markdown", "-o", "answer.md")
    assert text.returncode == 0, text.stderr
    assert (kept.directory / "answer.md").read_text().splitlines()[-1] == r"| a\|b | 20 | - |"


@pytest.mark.slow
def test_a_wrong_query_is_duckdbs_message_in_one_line(kept):
    assert_one_clear_line(
        kept.ticktree("query", "dataset", "select nothing from nodes"), "Binder Error", "nothing"
    )
    assert_one_clear_line(kept.ticktree("query", "dataset", "selec 1"), "Parser Error")
    assert_one_clear_line(kept.ticktree("query", "elsewhere", "select 1"), "elsewhere")


def test_without_a_timeline_it_is_said_that_calls_are_empty(kept):
    saved = next(kept.directory.glob("ticktree-runs/*/profile.json"))
    done = kept.ticktree("query", str(saved), "select count(*) as n from calls")
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["n", "0"]
    assert "--timeline" in done.stderr


@pytest.mark.parametrize(
    "sql",
    [
        "copy (select 1) to '{folder}/made'",
        "copy nodes to '{folder}/dataset/made'",
        "export database '{folder}/made'",
        "attach '{folder}/made' as made",
        "create table made as select 1",
        "insert into nodes select * from nodes",
        "set lock_configuration = false",
        "set enable_external_access = true",
        "install httpfs",
        "load httpfs",
        "pragma enable_profiling",
        "explain analyze copy nodes to '{folder}/made'",
        "select 1; copy nodes to '{folder}/made'",
        "",
    ],
    ids=lambda sql: "_".join(sql.split()[:2]) or "nothing",
)
def test_a_query_that_would_do_anything_but_read_is_refused(database, kept, sql):
    before = sorted(kept.directory.rglob("*"))
    with pytest.raises(TicktreeError):
        rows(database, sql.format(folder=kept.directory))
    assert sorted(kept.directory.rglob("*")) == before


@pytest.mark.parametrize(
    "source",
    [
        "read_csv('{folder}/train.py')",
        "read_text('{folder}/train.py')",
        "read_blob('/etc/hostname')",
        "glob('/etc/*')",
        "'{folder}/train.py'",
        "read_csv('{folder}/dataset/../train.py')",
        "read_parquet('https://127.0.0.1:9/a.parquet')",
        "read_json('http://127.0.0.1:9/a.json')",
        "database",
    ],
)
def test_a_query_reads_nothing_but_the_tables(database, kept, source):
    with pytest.raises(TicktreeError):
        rows(database, f"select * from {source.format(folder=kept.directory)}")


@pytest.mark.slow
def test_a_dataset_does_not_go_into_a_directory_that_holds_anything(kept):
    again = kept.ticktree("export", "--to", "parquet", "--table", "all", "-o", "dataset")
    assert_one_clear_line(again, "dataset", "not empty")
    assert_one_clear_line(kept.ticktree("export", "--to", "csv", "--table", "all", "-o", "x"), "--table all")
    assert_one_clear_line(kept.ticktree("export", "--to", "parquet", "--table", "all"), "-o DIR")


def test_every_documented_column_is_there_and_every_column_is_documented(database):
    from pathlib import Path

    page = (Path(__file__).parents[2] / "docs" / "query.md").read_text()
    for (table,) in rows(database, "show tables"):
        section = page.partition(f"\n## {table}\n")[2].partition("\n## ")[0]
        lines = re.findall(r"^- .*(?:\n  .*)*", section, re.MULTILINE)
        names = [line.partition(": ")[0] for line in lines]
        # of a table with one line
        names += re.findall(rf"^- `{table}`, [^:]*: (.*(?:\n  .*)*)", page, re.MULTILINE)
        documented = [name for line in names for name in re.findall(r"`([a-z]\w*)`", line)]
        columns = [row[0] for row in rows(database, f"describe {table}")]
        assert sorted(documented) == sorted(columns), table


@pytest.mark.slow
def test_names_cannot_move_the_cursor_or_be_markup(tmp_path):
    here = CommandLine(tmp_path)
    name = "\x1b]0;x\x07\x9b2J<script>alert(1)</script>[x](javascript:y)![z](http://w)"
    here.write("train.py", f"import ticktree\nwith ticktree.section({name!r}): pass\n")
    assert here.ticktree("run", "--quiet", "train.py").returncode == 0
    for select in ("name", "path", 'name as "<b>\x1b"'):
        sql = f"select {select} from nodes where name like '%script%'"
        plain = here.ticktree("query", sql, "--format", "csv").stdout
        assert all(character.isprintable() or character == "\n" for character in plain), plain
        assert "x1b]0;x" in plain
        marked = here.ticktree("query", sql, "--format", "markdown").stdout
        assert "<" not in marked
        assert "\\[x\\](javascript:y)!\\[z\\](" in marked
