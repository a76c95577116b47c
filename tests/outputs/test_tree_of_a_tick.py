"""The mean tick as a tree: shares of the tick, the largest first, only children folded, self time where it tells."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

from hypothesis import given, settings

from support.example_profiles import MS, node, training
from support.profile_strategies import profiles
from support.virtual_programs import Program
from ticktree.analysis.context import Context
from ticktree.analysis.loops import LoopView
from ticktree.outputs import OUTPUTS, ViewOptions
from ticktree.outputs.view.notes import notes_of
from ticktree.outputs.view.tree import MIN_SHARE, TreeRow, tree, tree_rows
from ticktree.profile import CallSite, Cpu, Memory, Node, OpenCalls, Profile, Stats, Work

ALL = ViewOptions(all=True)


def profile_of(*children: Node, self_ns: int = 0, **fields) -> Profile:
    return Profile(
        root=Node(name="root", self_ns=self_ns, children={child.name: child for child in children}), **fields
    )


def run_of(profile: Profile) -> LoopView:
    return Context(profile).run


def drawn(profile: Profile, options: ViewOptions = ALL) -> list[str]:
    context = Context(profile)
    table = tree(run_of(profile), options, context.short_names, None)
    return [] if table is None else [entry.guide + entry.name for entry in table.entries]


def notes(child: Node, options: ViewOptions = ALL) -> tuple[str, ...]:
    return notes_of(child, options)


def test_the_longest_child_is_first_and_self_time_last():
    update = node("update", [10], node("short", [2]), node("long", [5]))
    assert drawn(profile_of(update)) == [
        "the run",
        "└─ update",
        "   ├─ long",
        "   ├─ short",
        "   └─ [self]",
    ]


def test_lines_lead_past_children_to_what_follows():
    tree_ = node("train", [90], node("update", [50], node("actor", [30])), node("env", [20]))
    assert drawn(profile_of(tree_, self_ns=7)) == [
        "the run",
        "├─ train",
        "│  ├─ update",
        "│  │  ├─ actor",
        "│  │  └─ [self]",
        "│  ├─ env",
        "│  └─ [self]",
        "└─ [self]",
    ]


def test_only_children_are_folded_into_one_row_except_with_all():
    inner = node("step", [100], node("simulate", [100], node("draw", [60]), node("move", [40])))
    profile = profile_of(node("env", [100], inner), node("other", [50]))
    assert drawn(profile, ViewOptions()) == [
        "the run",
        "├─ env › step › simulate",  # noqa: RUF001 - the sign between the names of a chain
        "│  ├─ draw",
        "│  └─ move",
        "└─ other",
    ]
    assert "│  └─ step" in drawn(profile)


def test_shares_are_of_the_loops_tick_and_rows_of_less_than_a_hundredth_are_left_out():
    program = Program()
    for _ in program.loop("loop", range(20)):
        with program.section("update"):
            program.work("model", 60)
            program.work("tiny", 0.1)
        program.work("env", 39.9)
    (view,) = Context(program.profile()).loops
    rows = {row.names[-1]: row for row in tree_rows(view, min_share=MIN_SHARE, fold=True)}
    assert "tiny" not in rows
    assert {name: round(row.share, 3) for name, row in rows.items()} == {
        "loop": 1,
        "model": 0.601,
        "env": 0.399,
    }
    assert "tiny" in {row.names[-1] for row in tree_rows(view)}


@settings(max_examples=40)
@given(profiles())
def test_with_all_every_node_has_a_row(profile):
    rows = [row for row in tree_rows(run_of(profile)) if row.kind in ("section", "wait")]
    assert len(rows) == sum(1 for _ in profile.root.walk())


@settings(max_examples=40)
@given(profiles())
def test_the_largest_rows_are_kept_with_all_their_ancestors(profile):
    all_rows = tree_rows(run_of(profile))
    for max_rows in (1, 3, 8):
        rows = tree_rows(run_of(profile), max_rows=max_rows)
        assert len(rows) == min(max_rows, len(all_rows))
        assert not rows or rows[0].depth == 0
        for before, after in pairwise(rows):
            assert after.depth <= before.depth + 1


def test_a_concurrent_section_has_its_full_time_and_is_no_part_of_its_parent():
    worker = node("worker", [80 * MS], concurrent_ns=80 * MS)
    profile = profile_of(node("start", [20 * MS], worker, self_ns=20 * MS), node("other", [80 * MS]))
    rows = {row.names[-1]: row for row in tree_rows(run_of(profile))}
    assert (rows["worker"].share, rows["worker"].mark) == (0.8, "parallel")
    assert rows["start"].share == 0.2


def test_a_long_concurrent_child_makes_its_small_parent_visible():
    learner = node("learner", [8_000 * MS], concurrent_ns=8_000 * MS)
    start = node("start thread", [MS], learner, self_ns=MS)
    profile = profile_of(node("train", [10_000 * MS], start, node("small", [MS])))
    assert drawn(profile, ViewOptions()) == [
        "the run",
        "└─ train",
        "   ├─ start thread",
        "   │  └─ learner",
        "   └─ [self]",
    ]


def test_a_section_that_waits_is_marked_and_so_is_slack():
    program = Program()
    for _ in program.loop("loop", range(20), hz=10):
        program.work("receive", 10, wait=True)
        program.work("sleep", 90, wait=True)
    (view,) = Context(program.profile()).loops
    marks = {row.names[-1]: (row.kind, row.mark) for row in tree_rows(view)}
    assert marks["receive"] == ("wait", "wait")
    assert marks["sleep"] == ("wait", "slack")


def test_exceptions_have_a_column_where_there_were_any():
    """A column is one entry in one table."""

    def titles(profile: Profile) -> dict[str, object]:
        table = tree(run_of(profile), ALL, Context(profile).short_names, None)
        assert table is not None
        heads = [head.title for head in table.heads]
        return dict(zip(heads, table.entries[1].values, strict=True))

    plain = node("call", [5, 5, 5])
    assert "exceptions" not in titles(profile_of(plain))
    assert titles(profile_of(replace(plain, raised=2)))["exceptions"] == 2


def test_rows_of_a_table_have_a_value_for_programs_in_each_column():
    profile = training()
    table = tree(Context(profile).loops[0], ALL, Context(profile).short_names, None)
    assert table is not None
    row = table.to_dict()["rows"][0]
    stats = profile.root.at("train").steady
    assert row["values"]["p99_ns"] == stats.p99_ns
    assert row["values"]["calls"] == stats.count
    assert row["values"]["share"] == 1
    assert row["path"] == "train"
    columns = {column["key"]: column for column in table.to_dict()["columns"]}
    assert columns["p99_ns"] == {
        "key": "p99_ns",
        "title": "p99",
        "rank": 2,
        "unit": "ns",
        "help": "99% of calls are not longer.",
    }


def test_a_section_called_only_in_the_warm_up_is_noted():
    compiling = node("compile", [600, 300], warmup=2)
    assert notes(compiling) == ("2 calls in the warm-up, 450 ns each",)
    assert notes(node("compile", [600], warmup=1)) == ("1 call in the warm-up, 600 ns",)


def test_a_parent_of_concurrent_sections_notes_their_parallelism():
    workers = [replace(node(f"w{n}", [100]), concurrent_ns=75) for n in range(4)]
    assert notes(node("gather", [100], *workers)) == ("4.00× parallel",)


def test_work_is_shown_per_call_and_as_a_rate():
    work = Work(bytes=2_000_000_000, flops=10**10, items=512)
    assert notes(node("sample", [250 * MS] * 2, work=work)) == (
        "1.00 GB at 4.00 GB/s",
        "5.00 GFLOP at 20.0 GFLOP/s",
        "256 items at 1.02 k/s, 977 µs each",
    )


def test_a_rate_is_next_to_the_measured_ceiling_of_the_machine():
    def first_notes(sampled: Node, source: str = "measured") -> tuple[str, ...]:
        facts = {
            "ceiling.source": frozenset({source}),
            "ceiling.memcpy_bytes_per_s": frozenset({10_200_000_000}),
            "ceiling.flops_per_s": frozenset({187_000_000_000}),
        }
        text = OUTPUTS["terminal"].render(
            profile_of(sampled, metadata=facts), ViewOptions(width=200, all=True)
        )
        line = next(line for line in text.decode().splitlines() if "─ sample" in line)
        return tuple(line.split("  ")[-1].split(" · "))

    work = Work(bytes=2_000_000_000, flops=10**9)
    fast = node("sample", [250 * MS] * 2, work=work)
    assert first_notes(fast) == (
        "1.00 GB at 4.00 GB/s (memcpy here: 10.2)",
        "500 MFLOP at 2.00 GFLOP/s (here: 187)",
    )
    slow = node("sample", [10**12], work=work)
    assert first_notes(slow)[0] == "2.00 GB at 2.00 MB/s (memcpy here: 10.2 GB/s)"
    assert first_notes(fast, "reckoned")[1] == "500 MFLOP at 2.00 GFLOP/s"


def test_work_in_no_time_has_no_rate():
    assert notes(node("x", [0], work=Work(bytes=5, items=2))) == ("5 B", "2 items, - each")


def test_with_all_further_measurements_are_noted():
    measured = node(
        "x",
        [MS],
        cpu=Cpu(3, 50, 100),
        memory=Memory(1, -2_000_000, 10**9, 37_000_000, is_exact=True),
        device_memory=Memory(1, 0, 10**8, 10**7, True, frozenset({"cuda:0"})),
        device="no GPU",
        open=OpenCalls(2, 5 * MS),
    )
    assert notes(measured) == (
        "2 still open, the oldest for 5.00 ms",
        "CPU 50% of 3 calls",
        "memory peak 1.00 GB, up to +37.0 MB in a call",
        "memory -2.00 MB over 1 call",
        "cuda:0 memory peak 100 MB, up to +10.0 MB in a call",
        "cuda:0 memory +0 B over 1 call",
        "device time unsupported: no GPU",
    )
    assert notes(measured, ViewOptions()) == ("2 still open, the oldest for 5.00 ms",)


def test_a_note_on_memory_states_how_exact_it_is():
    unseen = node("x", [MS] * 3, memory=Memory(2, 5_000_000, 10**9, 37_000_000))
    assert notes(unseen) == (
        "memory peak at least 1.00 GB, +37.0 MB in a call",
        "memory +5.00 MB over 2 of 3 calls",
    )
    older = node("x", [MS], memory=Memory(1, 5_000_000, 10**9))
    assert notes(older) == ("memory peak at least 1.00 GB", "memory +5.00 MB over 1 call")


def test_call_sites_are_shown_on_demand_and_unknown_ones_last():
    sites = {CallSite("", 0, ""): 9, CallSite("train.py", 7, "main"): 2}
    called = node("x", [MS], call_sites=sites)
    assert notes(called, ViewOptions()) == ()
    assert notes(called, ViewOptions(call_sites=True)) == ("train.py:7 main", "and elsewhere")


def test_a_tree_deeper_than_pythons_stack_has_rows():
    deep = Node(name="f", self_ns=1, steady=Stats.of([1]))
    for _ in range(2000):
        deep = Node(name="f", self_ns=1, steady=Stats.of([1]), children={"f": deep})
    assert len(tree_rows(run_of(profile_of(deep)))) == 2002 + 2000


def test_rows_are_the_same_the_second_time():
    def rows() -> list[TreeRow]:
        return tree_rows(Context(training()).loops[0])

    assert [(row.path, row.kind, row.ns) for row in rows()] == [
        (row.path, row.kind, row.ns) for row in rows()
    ]
