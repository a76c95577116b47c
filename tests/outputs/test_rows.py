from __future__ import annotations

from dataclasses import replace

from hypothesis import given, settings

from support.example_profiles import MS, node, training
from support.profile_strategies import profiles
from ticktree.outputs import ViewOptions
from ticktree.outputs.report.rows import tree_rows
from ticktree.profile import Cpu, Memory, Node, Open, Profile, Stats, Work

ALL = ViewOptions(all=True)


def profile_of(*children: Node, self_ns: int = 0) -> Profile:
    return Profile(
        root=Node(name="root", self_ns=self_ns, children={child.name: child for child in children})
    )


def named(profile: Profile, options: ViewOptions = ALL) -> list[str]:
    return [row.guide + row.name for row in tree_rows(profile, options)]


def notes(one: Node, options: ViewOptions = ALL) -> tuple[str, ...]:
    return tree_rows(profile_of(one), options)[0].notes


def test_the_longest_child_is_first_and_own_time_last():
    update = node("update", [10], node("short", [2]), node("long", [5]))
    assert named(profile_of(update)) == ["update", "├─ long", "├─ short", "└─ unaccounted"]


def test_lines_lead_past_children_to_what_follows():
    tree = node("train", [90], node("update", [50], node("actor", [30])), node("env", [20]))
    assert named(profile_of(tree)) == [
        "train",
        "├─ update",
        "│  ├─ actor",
        "│  └─ unaccounted",
        "├─ env",
        "└─ unaccounted",
    ]


def test_a_section_without_sections_has_no_unaccounted_row():
    assert named(profile_of(node("train", [5]))) == ["train"]


def test_own_time_has_a_row_even_when_there_was_none():
    assert named(profile_of(node("train", [5], node("update", [5]))))[-1] == "└─ unaccounted"


def test_time_outside_all_sections_has_a_row_where_it_was_measured():
    assert named(profile_of(node("train", [5]), self_ns=7)) == ["train", "unaccounted"]


@settings(max_examples=40)
@given(profiles())
def test_own_time_and_what_ticktree_cost_add_up_to_all_nodes_own_time(profile):
    rows = tree_rows(profile, ALL)
    nodes = [each for _, _, each in profile.root.walk() if each.children]
    unaccounted = sum(row.total_ns for row in rows if row.kind == "unaccounted")
    assert unaccounted == sum(
        each.self_ns - each.recorder_ns for each in nodes if each.self_ns or each != profile.root
    )


@settings(max_examples=40)
@given(profiles())
def test_every_node_has_a_row_when_all_are_asked_for(profile):
    rows = [row for row in tree_rows(profile, ALL) if row.kind in ("section", "wait")]
    assert len(rows) == sum(1 for _ in profile.root.walk()) - 1


def test_what_ticktree_cost_is_taken_out_of_own_times_into_one_row():
    tree = node("train", [1000] * 10, node("update", [600] * 10, recorder_ns=500), recorder_ns=1500)
    rows = tree_rows(profile_of(tree), ALL)
    assert [(row.name, row.total_ns) for row in rows[2:]] == [
        ("unaccounted", 2500),
        ("ticktree itself", 2000),
    ]
    assert (rows[-1].mean_ns, rows[-1].calls) == (100, 20)


def test_several_sections_below_a_thousandth_are_one_row():
    small = [node(f"s{n}", [MS]) for n in range(3)]
    profile = profile_of(node("train", [10_000 * MS], node("update", [9_000 * MS]), *small))
    assert named(profile, ViewOptions()) == ["train", "├─ update", "├─ 3 smaller", "└─ unaccounted"]
    folded = tree_rows(profile, ViewOptions())[2]
    assert (folded.total_ns, folded.calls) == (3 * MS, 3)
    assert len(tree_rows(profile, ALL)) == 6


def test_what_takes_long_beside_a_small_section_shows_that_section():
    learner = node("learner", [8_000 * MS], concurrent_ns=8_000 * MS)
    start = node("start thread", [MS], learner, self_ns=MS)
    small = [node(f"s{n}", [MS]) for n in range(2)]
    profile = profile_of(node("train", [10_000 * MS], start, *small))
    assert named(profile, ViewOptions()) == [
        "train",
        "├─ start thread",
        "│  ├─ learner",
        "│  └─ unaccounted",
        "├─ 2 smaller",
        "└─ unaccounted",
    ]


def test_a_single_small_section_is_shown_and_so_is_one_still_open():
    train = node("train", [10_000 * MS], node("update", [9_000 * MS]), node("save", [MS]))
    assert "├─ save" in named(profile_of(train), ViewOptions())
    opened = [node(f"o{n}", [MS], open=Open(1, 5)) for n in range(3)]
    assert "├─ o2" in named(profile_of(node("train", [10_000 * MS], *opened)), ViewOptions())


def test_numbers_are_of_the_phase_asked_for_and_shares_of_the_whole_run():
    train = node("train", [900, 100, 100], node("update", [600, 50, 50], warmup=1), warmup=1)
    rows = {
        phase: tree_rows(profile_of(train), ViewOptions(phase=phase)) for phase in ("steady", "warmup", "all")
    }
    assert [rows[phase][1].mean_ns for phase in rows] == [50, 600, 233]
    assert [rows[phase][1].calls for phase in rows] == [2, 1, 3]
    assert {rows[phase][1].share for phase in rows} == {700 / 1100}


def test_a_section_that_only_the_warm_up_called_says_so_beside_its_0_steady_calls():
    compiling = node("compile", [600, 300], warmup=2)
    train = node("train", [900, 400, 100, 100], compiling, warmup=2)
    row = tree_rows(profile_of(train), ViewOptions())[1]
    assert (row.name, row.calls, row.share) == ("compile", 0, 0.6)
    assert row.notes == ("2 calls in the warm-up, 450 ns each",)
    for phase in ("warmup", "all"):
        assert tree_rows(profile_of(train), ViewOptions(phase=phase))[1].notes == ()
    once = node("train", [900, 100], node("compile", [600], warmup=1), warmup=1)
    assert tree_rows(profile_of(once), ViewOptions())[1].notes == ("1 call in the warm-up, 600 ns",)


def test_a_section_that_runs_beside_others_is_marked_and_its_parent_says_how_many_ran_at_once():
    workers = [replace(node(f"w{n}", [100]), concurrent_ns=75) for n in range(4)]
    rows = tree_rows(profile_of(node("gather", [100], *workers)), ALL)
    assert rows[0].notes == ("4.00 x parallel",)
    assert {row.mark for row in rows[1:5]} == {"parallel"}


def test_a_section_that_waits_is_marked():
    row = tree_rows(profile_of(node("sleep", [5], wait=True)), ALL)[0]
    assert (row.kind, row.mark) == ("wait", "wait")


def test_work_is_given_for_a_call_and_as_a_rate():
    work = Work(bytes=2_000_000_000, flops=10**10, items=512)
    assert notes(node("sample", [250 * MS] * 2, work=work)) == (
        "1.00 GB at 4.00 GB/s",
        "5.00 GFLOP at 20.0 GFLOP/s",
        "256 items at 1.02 k/s, 977 us each",
    )


def test_a_rate_stands_beside_what_the_machine_can_do_where_that_was_measured():
    work = Work(bytes=2_000_000_000, flops=10**9)
    row = profile_of(node("sample", [250 * MS] * 2, work=work))
    measured = {
        "ceiling.source": frozenset({"measured"}),
        "ceiling.memcpy_bytes_per_s": frozenset({10_200_000_000}),
        "ceiling.flops_per_s": frozenset({187_000_000_000}),
    }
    assert tree_rows(replace(row, metadata=measured), ALL)[0].notes == (
        "1.00 GB at 4.00 GB/s (memcpy here: 10.2)",
        "500 MFLOP at 2.00 GFLOP/s (here: 187)",
    )
    slow = profile_of(node("sample", [10**12], work=work))
    assert tree_rows(replace(slow, metadata=measured), ALL)[0].notes[0] == (
        "2.00 GB at 2.00 MB/s (memcpy here: 10.2 GB/s)"
    )
    reckoned = {**measured, "ceiling.source": frozenset({"reckoned"})}
    assert tree_rows(replace(row, metadata=reckoned), ALL)[0].notes[1] == "500 MFLOP at 2.00 GFLOP/s"


def test_work_in_no_time_has_no_rate():
    assert notes(node("x", [0], work=Work(bytes=5, items=2))) == ("5 B", "2 items, - each")


def test_what_else_was_measured_is_noted():
    measured = node(
        "x",
        [MS],
        cpu=Cpu(3, 50, 100),
        memory=Memory(1, -2_000_000, 10**9, 37_000_000, is_exact=True),
        device_memory=Memory(1, 0, 10**8, 10**7, True, frozenset({"cuda:0"})),
        device="no GPU",
        open=Open(2, 5 * MS),
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


def test_a_note_on_memory_says_how_much_of_it_is_known():
    unseen = node("x", [MS] * 3, memory=Memory(2, 5_000_000, 10**9, 37_000_000))
    assert notes(unseen) == (
        "memory peak at least 1.00 GB, +37.0 MB in a call",
        "memory +5.00 MB over 2 of 3 calls",
    )
    older = node("x", [MS], memory=Memory(1, 5_000_000, 10**9))
    assert notes(older) == ("memory peak at least 1.00 GB", "memory +5.00 MB over 1 call")


def test_call_sites_are_shown_on_demand_and_unknown_ones_last():
    from ticktree.profile import CallSite

    sites = {CallSite("", 0, ""): 9, CallSite("train.py", 7, "main"): 2}
    called = node("x", [MS], call_sites=sites)
    assert notes(called, ViewOptions()) == ()
    assert notes(called, ViewOptions(call_sites=True)) == ("train.py:7 main", "and elsewhere")


def test_a_tree_deeper_than_pythons_stack_has_rows():
    deep = Node(name="f", self_ns=1, steady=Stats.of([1]))
    for _ in range(3000):
        deep = Node(name="f", self_ns=1, steady=Stats.of([1]), children={"f": deep})
    assert len(tree_rows(profile_of(deep), ALL)) == 3001 + 3000


def test_rows_are_the_same_when_asked_for_twice():
    assert tree_rows(training(), ALL) == tree_rows(training(), ALL)
