from __future__ import annotations

from dataclasses import replace

from hypothesis import example, given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from support.example_trainers import MS, Trainer, node, straggling_trainer, thread
from support.example_workers import ids, run_of_workers, stepping
from support.profile_strategies import profiles
from ticktree.analysis.context import Context
from ticktree.analysis.workers.roles import roles
from ticktree.outputs import OUTPUTS, ViewOptions
from ticktree.outputs.view.build import report_view
from ticktree.outputs.view.tree import MAX_WORKERS
from ticktree.outputs.writing.document import Table
from ticktree.profile import Profile
from ticktree.profile.machine import is_empty

ALL = ViewOptions(all=True)


def shown(profile: Profile, **options) -> str:
    return OUTPUTS["terminal"].render(profile, ViewOptions(**options)).decode()


def tree_by(profile: Profile, options: ViewOptions, by: str) -> Table:
    """The tree of the run, which is the last."""
    tree = report_view(Context(profile), replace(options, by=by)).parts[-1].tree
    assert tree is not None
    return tree


def titles(table: Table) -> list[str]:
    return [head.title for head in table.heads]


def tables(table: Table | None) -> list[Table]:
    return [] if table is None else [table, *tables(table.narrower)]


def cells(table: Table, name: str) -> dict[str, str]:
    entry = next(entry for entry in table.entries if entry.name == name)
    return dict(zip(titles(table), entry.cells, strict=True))


def test_each_process_has_a_column_in_the_order_of_roles_and_starts():
    table = tree_by(straggling_trainer(), ALL, "process")
    workers = [f"env worker {number}" for number in range(4)]
    assert titles(table) == ["share", "total", "learner", *workers, "calls"]
    assert cells(table, "physics")["env worker 3"] == "8.51 s"
    assert cells(table, "physics")["learner"] == ""


def test_what_does_not_fit_has_short_titles_and_then_only_the_spread():
    full, short, spread = tables(tree_by(straggling_trainer(), ALL, "process"))
    assert len(titles(full)) == len(titles(short))
    assert titles(short)[2:-1] == ["learner", "env worker 0", "1", "2", "3"]
    assert titles(spread) == ["share", "total", "min", "median", "max", "slowest", "calls"]
    assert cells(spread, "physics")["slowest"] == "env worker 3"
    assert cells(spread, "physics")["max"] == "8.51 s"


def test_a_row_of_a_single_process_has_no_minimum_and_no_median():
    *_, spread = tables(tree_by(straggling_trainer(), ALL, "process"))
    assert cells(spread, "update") | {"share": "", "total": ""} == {
        "share": "",
        "total": "",
        "min": "",
        "median": "",
        "max": "4.49 s",
        "slowest": "learner",
        "calls": "1,000",
    }


def test_columns_for_more_units_than_fit_any_terminal_are_not_tried():
    many = Trainer(workers=MAX_WORKERS, steps=12).profile()
    assert len(tables(tree_by(many, ALL, "process"))) == 1
    fewer = Trainer(workers=MAX_WORKERS - 1, steps=12).profile()
    assert len(tables(tree_by(fewer, ALL, "process"))) == 3


def test_by_role_all_workers_of_a_role_are_summed_and_counted():
    table = tree_by(straggling_trainer(), ALL, "role")
    assert titles(table)[2:4] == ["learner", "4 × env worker"]
    assert cells(table, "env step")["4 × env worker"] == cells(table, "env step")["total"]


def test_by_thread_threads_of_one_process_have_columns_of_their_own():
    helper = thread("100-7/2", "loader", is_main=False)
    took = {ids(1)[0]: [5 * MS], helper.id: [3 * MS]}
    profile = run_of_workers(node("step", took, concurrent=True), count=1, others=[helper])
    assert titles(tree_by(profile, ALL, "thread"))[2:4] == ["env worker", "loader"]
    assert cells(tree_by(profile, ALL, "process"), "step")["env worker"] == "8.00 ms"


def test_the_heading_says_how_many_of_which_role():
    assert "5 processes: learner, 4 × env worker" in shown(straggling_trainer())
    assert "5 threads: learner, 4 × env worker" in shown(straggling_trainer(), by="thread")
    many = [thread(f"{n}-1/1", f"role {n}", n + 1) for n in range(9)]
    profile = run_of_workers(stepping([5]), count=1, others=many)
    assert "10 processes: env worker, role 0, role 1, 7 others" in shown(profile, width=200)


def test_a_single_process_is_not_mentioned_without_by():
    profile = run_of_workers(stepping([5]), count=1)
    assert "process" not in shown(profile)
    assert "1 process: env worker" in shown(profile, by="process")


def test_a_profile_without_threads_is_the_plain_tree():
    profile = Profile(root=straggling_trainer().root)
    assert shown(profile, by="process") == shown(profile)


def test_processes_that_outlived_their_parent_are_marked_and_noted_there():
    table = tree_by(straggling_trainer(), ALL, "process")
    entry = next(entry for entry in table.entries if entry.name == "env step")
    assert entry.mark == "parallel"
    entry = next(entry for entry in table.entries if entry.name == "make envs")
    assert entry.notes == ("57.2 s concurrent, partly after its end",)


@settings(max_examples=40)
@given(profiles(), st.sampled_from(["process", "thread", "role"]))
def test_there_are_as_many_cells_as_columns(profile, by):
    profile = replace(profile, samples=None)  # of a run without sections they make another tree
    if not profile.threads or is_empty(profile):
        return
    for table in tables(tree_by(profile, ALL, by)):
        assert {len(entry.cells) for entry in table.entries} <= {len(table.heads)}


@settings(max_examples=40)
@given(st.text(min_size=1, max_size=12))
@example("00⺀")  # of two cells
@example("\u08ca")  # of none
def test_a_role_of_any_name_can_neither_move_the_cursor_nor_break_a_table(name):
    profile = straggling_trainer()
    renamed = {key: replace(one, role=name + one.role) for key, one in profile.threads.items()}
    profile = replace(profile, threads=renamed)
    for by in (None, "process", "role"):
        text = shown(profile, by=by, width=80)
        assert all(character == "\n" or character.isprintable() for character in text)
        assert max(map(cell_len, text.splitlines())) <= 80
    assert len(roles(profile, "process")) == 2
