"""The report view: what it holds, in which order, and that all outputs say the same."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given, settings
from rich.cells import cell_len

from support.example_profiles import control, robot, training
from support.example_samples import sampled_training, unmarked
from support.example_trainers import straggling_trainer
from support.profile_strategies import profiles
from support.steady_loops import watched
from support.virtual_programs import Program, with_node
from ticktree.analysis.context import Context
from ticktree.outputs import OUTPUTS, ViewOptions
from ticktree.outputs.view import build
from ticktree.outputs.view.build import COLUMNS, LINES, report_view
from ticktree.outputs.view.model import ReportView
from ticktree.outputs.view.sampled import doubts
from ticktree.outputs.writing import formatting
from ticktree.profile import FirstTicks, Memory, Profile

PLAIN, ALL = ViewOptions(), ViewOptions(all=True)


def view_of(profile: Profile | Program, options: ViewOptions = PLAIN) -> ReportView:
    return report_view(Context(profile.profile() if isinstance(profile, Program) else profile), options)


def shown(profile: Profile, form: str = "terminal", **options) -> str:
    return OUTPUTS[form].render(profile, ViewOptions(**options)).decode()


def rows(table) -> dict[str, dict[str, str]]:
    titles = [head.title for head in table.heads]
    return {entry.name: dict(zip(titles, entry.cells, strict=True)) for entry in table.entries}


def steps(*sections, ticks: int = 20, **options) -> Program:
    program = Program()
    for _ in program.loop("loop", range(ticks), **options):
        for name, ms, *rest in sections:
            program.work(name, ms, **(rest[0] if rest else {}))
    return program


def four_loops(order: str = "abcd") -> Program:
    """A robot: a loop that misses its rate, and three that hold theirs."""
    program = Program()
    for name in order:
        for tick in program.loop({"d": "control"}.get(name, f"camera {name}"), range(30), hz=30):
            work = 40 if name == "d" and tick % 3 == 0 else 5
            program.work("work", work)
            program.work("sleep", max(0, 1000 / 30 - work), wait=True)
    return program


def loops_that_all_miss(count: int = 6) -> Program:
    program = Program()
    for name in range(count):
        for tick in program.loop(f"a loop with quite a long name {name}", range(120), hz=30):
            program.work("grab a picture", 20 if tick % 4 else 30)
            program.work("encode", 5 if tick % 4 else 12)
    return program


# What a loop is counted in.


def test_a_loop_without_a_rate_has_one_rate_below_one_per_second_in_seconds():
    assert view_of(steps(("env", 4))).headlines[0].pieces[0] == "250 steps/s"
    assert view_of(steps(("env", 1270))).headlines[0].pieces[0] == "1.27 s/step"


@pytest.mark.parametrize(
    ("name", "paces", "title"),
    [
        ("env", ["250 steps/s", "20 steps"], "A step of env"),
        ("train step", ["250 steps/s", "20 steps"], "A train step"),
        ("iteration", ["250 iterations/s", "20 iterations"], "An iteration"),
        ("training batch", ["250 batches/s", "20 batches"], "A training batch"),
    ],
)
def test_a_loop_named_after_its_ticks_names_them(name, paces, title):
    program = Program()
    for _ in program.loop(name, range(20)):
        program.work("work", 4)
    assert view_of(program).headlines[0].pieces[:2] == paces
    assert f"{title} (from 1%)" in shown(program.profile())


def test_a_loop_with_a_rate_shows_whether_it_holds_it_and_its_headroom():
    held = view_of(steps(("work", 4), ("sleep", 6, {"wait": True}), hz=100))
    assert held.headlines[0].pieces[:2] == (
        ["holds 100 Hz, 0 of 20 ticks missed", "busy 4.00 ms per tick, 6.00 ms headroom"]
    )
    missed = view_of(steps(("work", 12), hz=100))
    assert missed.headlines[0].pieces[0] == "misses 20 (100%) of 20 ticks at 83.3 of 100 Hz"
    assert missed.headlines[0].is_missed


def test_a_loop_that_waits_for_others_and_lags_has_no_headroom():
    view = view_of(steps(("steer", 1), ("Queue.put", 34, {"wait": True}), hz=50))
    (line,) = view.headlines
    assert line.pieces[:2] == (
        [
            "reaches 28.6 of 50 Hz, 0 of 20 ticks missed",
            "busy 1.00 ms and waiting 34.0 ms per tick, 0 ns headroom",
        ]
    )
    assert line.is_missed
    assert [row.tone for row in view.loops.entries] == ["alarm"]


def test_a_section_called_a_few_times_has_seconds_and_no_rate():
    view = view_of(steps(("work", 500), ticks=3))
    assert view.headlines[0].pieces[0] == "500 ms each"
    assert "steps/s" not in shown(steps(("work", 500), ticks=3).profile())


def test_a_section_that_few_ticks_call_is_not_called_in_none():
    program = Program()
    for tick in program.loop("train", range(300), warmup=0):
        program.work("step", 1)
        if tick % 150 == 149:
            program.work("save", 100)
    lines = shown(program.profile()).splitlines()
    assert [line.split()[-1] for line in lines if line.startswith("save ")] == ["0.007"]


def test_a_saving_is_in_the_loops_currency():
    from ticktree.analysis.loops import Saving
    from ticktree.outputs.view.currency import gain

    slow = Context(steps(("update", 1270)).profile()).loops[0]
    assert gain(slow.saving(490e6), slow) == "\N{MINUS SIGN}39%  1.27 → 0.780 s/step"
    fast = Context(steps(("update", 4)).profile()).loops[0]
    assert gain(fast.saving(2e6), fast) == "\N{MINUS SIGN}50%  250 → 500 steps/s"
    paced = Context(steps(("work", 4), ("sleep", 6, {"wait": True}), hz=100).profile()).loops[0]
    assert gain(paced.saving(3e6), paced) == "+3.00 ms headroom per tick"
    late = Context(steps(("work", 20), hz=100).profile()).loops[0]
    assert gain(late.saving(5e6), late) == "\N{MINUS SIGN}25%  20.0 → 15.0 ms/tick"
    assert gain(Saving(4e9, 4e9, 1e9), None) == "\N{MINUS SIGN}25%  4.00 → 3.00 s"
    assert gain(Saving(4e9, 4e9, 1), None) == gain(None, None) == ""


# The loops.


def test_every_loop_has_a_row_and_a_loop_that_misses_is_never_hidden():
    program = Program()
    for at in range(12):
        for _ in program.loop(f"loop {at}", range(10), hz=100):
            program.work("work", 12 if at == 11 else 4)
            program.work("sleep", 0 if at == 11 else 6, wait=True)
    table = view_of(program).loops
    assert table is not None
    assert table.entries[0].name == "loop 11"
    assert table.entries[0].tone == "alarm"
    assert len(table.entries) == 6
    assert table.remark == "6 more loops without missed ticks"
    assert len(rows(view_of(program, ALL).loops)) == 12


@pytest.mark.parametrize("order", ["abcd", "dcba", "bdac"])
def test_all_outputs_show_the_loops_in_the_models_order(order):
    profile = four_loops(order).profile()
    names = [loop.path for loop in Context(profile).all_loops]
    assert names[0] == "control"
    for form in ("terminal", "markdown", "text"):
        text = shown(profile, form, width=100)
        table = text[text.casefold().index("pace") :]
        assert sorted(names, key=table.index) == names, form


def test_start_up_is_a_remark_on_the_loops_and_no_saving():
    profile = steps(("env", 4)).profile()
    began = 1_783_160_000_000_000_000
    loop = replace(profile.loops["loop"], first_ticks=FirstTicks(began + 2_000_000_000, "1/1", (4_000_000,)))
    profile = replace(profile, loops={"loop": loop}, metadata={"started_ns": frozenset({began})})
    table = view_of(profile).loops
    assert table is not None
    assert table.remark == "start-up 2.00 s until the first tick of loop"
    assert "4 Jul 2026 10:13 UTC" in shown(profile)


# Where the time goes.


def test_self_time_is_by_name_with_a_total_of_all_sections():
    program = Program()
    for _ in program.loop("loop", range(20)):
        for part, ms in (("actor", 20), ("critic", 10)):
            with program.section(part):
                program.work("backward", ms)
                program.take(1)
        program.work("env", 8)
    (part,) = view_of(program).parts
    table = rows(part.self_times)
    assert table["backward"] == {"share": "75%", "per step": "30.0 ms", "calls": "2"}
    assert part.self_times.entries[0].notes == ["actor 50%, critic 25%"]
    assert table["env"]["share"] == "20%"
    assert table["actor [self]"]["per step"] == "1.00 ms"


def test_five_names_are_shown_and_the_rest_together_unless_it_is_a_single_name():
    names = [(f"part {number}", 10) for number in range(7)]
    table = rows(view_of(steps(*names)).parts[0].self_times)
    assert list(table)[-1] == "2 more"
    assert table["2 more"]["share"] == "29%"
    assert len(rows(view_of(steps(*names), ALL).parts[0].self_times)) == 7
    assert "1 more" not in rows(view_of(steps(*names[:-1])).parts[0].self_times)


def test_waits_slack_and_loops_are_marked():
    program = Program()
    for _ in program.loop("loop", range(20), hz=10):
        with program.section("plan"):
            program.take(5)
            program.work("solve", 5)
        program.work("receive", 7, wait=True)
        program.work("sleep", 20, wait=True)
        for _ in program.loop("denoise", range(2)):
            program.work("step", 3)
    view = view_of(program, ALL)
    part = next(part for part in view.parts if part.path == "loop")
    marks = {entry.name: entry.mark for entry in part.self_times.entries}
    assert marks == {"sleep": "slack", "receive": "wait", "denoise": "loop", "plan [self]": "", "solve": ""}


def test_with_all_the_loop_without_each_section_is_shown():
    tables = {table.title: rows(table) for table in view_of(steps(("env", 30), ("model", 10)), ALL).tables}
    assert tables["sections of loop"]["env"] == {
        "share": "75%",
        "self": "30.0 ms",
        "self per call": "30.0 ms",
        "calls": "20",
        "without it": "25 → 100 steps/s",
        "score": "85.7",
    }
    assert tables["loop by category"]["environment"]["share"] == "75%"


def test_memory_has_a_column_where_it_was_measured():
    def sections(profile: Profile) -> dict[str, dict[str, str]]:
        return next(rows(table) for table in view_of(profile, ALL).tables if "sections" in table.title)

    profile = steps(("env", 30), ("model", 10)).profile()
    assert "memory" not in sections(profile)["env"]
    profile = with_node(profile, "loop/env", memory=Memory(20, 0, 900, growth_bytes=151_000_000))
    assert {name: row["memory"] for name, row in sections(profile).items()} == {"env": "151 MB", "model": ""}


def test_sections_not_worth_optimizing_are_shown_with_their_maximum_gain():
    long = "preprocess(" + ", ".join(f"argument_{at}" for at in range(30)) + ")"
    (part,) = view_of(steps(("update", 1), (long, 0.01), ticks=30)).parts
    (only,) = part.dismissed
    assert only.endswith("(at most 1.010×)")
    assert "…" in only
    paced = view_of(steps(("work", 4), ("log", 0.1), ("sleep", 5.9, {"wait": True}), hz=100))
    assert paced.parts[0].dismissed == ["log (at most 100 µs per tick)"]


def test_a_run_without_a_loop_is_seconds_and_its_own_tree():
    program = Program()
    program.work("load", 4000)
    program.work("solve", 1000)
    program.take(5000)
    view = view_of(program)
    assert view.headlines == []
    assert view.parts[0].self_times.title == "Where the run goes (self time)"
    assert rows(view.parts[0].self_times)["outside all sections"]["time"] == "5.00 s"
    assert [entry.name for entry in view.parts[0].tree.entries] == ["the run", "load", "solve", "[self]"]


# What to do, and what is doubtful.


def test_a_gpu_has_its_name_and_its_share_of_the_loops_time():
    program = Program()
    for _ in program.loop("train", range(500)):
        program.work("update", 20)
    profile = replace(program.profile(), metadata={"gpus": frozenset({1}), "gpu": frozenset({"NVIDIA H200"})})
    watched_profile = watched(profile, **{"gpu0/used": [0.0, *[0.85] * 10, 0.0]})
    facts = [fact.text for fact in view_of(watched_profile).provenance]
    assert facts.index("GPU in use 85% of train") > facts.index("NVIDIA H200")
    assert not [fact.text for fact in view_of(profile).provenance if "in use" in fact.text]


def test_facts_about_the_measurement_are_warnings_and_no_recommendations():
    view = view_of(steps(("env", 4), ticks=12), ALL)
    assert "too-few-ticks" in {each.rule for each in view.warnings}
    assert "too-few-ticks" not in {each.rule for each in view.recommendations}
    lost = view_of(control())
    assert lost.warnings[-1].text == "Not recorded: 2 unwound"


@pytest.mark.parametrize(("late", "rounds", "share"), [(30, 120, "25%"), (1, 120, None), (3, 0, None)])
def test_late_samples_are_doubted_if_their_number_is_known(late, rounds, share):
    samples = replace(sampled_training().samples, late=late, rounds=rounds)
    reasons = [text for text in doubts(replace(training(), samples=samples)) if "came late" in text]
    assert [text.partition(" of ")[0] for text in reasons] == ([share] if share else [])


def test_at_most_three_recommendations_are_shown_without_all():
    for make in (training, control, robot, straggling_trainer):
        short, full = view_of(make()), view_of(make(), ALL)
        assert len(short.recommendations) <= 3
        assert [each.rule for each in short.recommendations] == [
            each.rule for each in full.recommendations[: len(short.recommendations)]
        ]


def test_the_view_is_json_whatever_was_recorded():
    for make in (training, control, robot, straggling_trainer, Profile.empty):
        for options in (PLAIN, ALL, ViewOptions(by="process")):
            view = view_of(make(), options)
            assert json.loads(json.dumps(view.to_dict()))["title"] == view.title


@pytest.mark.slow
@settings(max_examples=40)
@given(profiles())
def test_any_profile_has_a_view_with_a_value_for_each_cell(profile):
    for options in (PLAIN, ALL):
        for part in (view := view_of(profile, options)).parts:
            for table in filter(None, (part.self_times, part.tree, view.loops, *view.tables)):
                assert {len(entry.cells) for entry in table.entries} <= {len(table.heads)}


def test_the_headline_names_imported_libraries_and_with_all_installed_ones():
    versions = {"version.torch": frozenset({"2.13.0"}), "version.numpy": frozenset({"2.4.6"})}

    def libraries(options: ViewOptions, *gauges: str) -> str:
        program = steps(("work", 10))
        for name in gauges:
            program.recorder.gauge(name, 1)
        view = view_of(replace(program.profile(), metadata=versions), options)
        return next((fact.text for fact in view.provenance if fact.key == "libraries"), "")

    assert libraries(PLAIN) == ""
    assert libraries(PLAIN, "torch/compiled") == libraries(PLAIN, "machine/threads/torch") == "torch 2.13.0"
    assert libraries(ALL) == "installed: torch 2.13.0, numpy 2.4.6"


def test_an_interrupted_run_is_marked():
    def ended(*statuses: int) -> str:
        view = view_of(replace(control(), metadata={"exit_status": frozenset(statuses)}))
        return next((fact.text for fact in view.provenance if fact.key == "ended"), "")

    assert ended(0) == ""
    assert ended(3) == "exit status 3"
    assert ended(-2) == "interrupted (SIGINT)"


# The first screen.


@pytest.mark.parametrize(
    "make",
    [
        *(training, control, robot, straggling_trainer),
        *(lambda: four_loops().profile(), lambda: loops_that_all_miss().profile()),
    ],
)
def test_a_report_is_at_most_45_lines_of_80_columns(make):
    lines = shown(make(), width=COLUMNS, run="20260704-101500-train").splitlines()
    assert len(lines) <= LINES
    assert max(map(cell_len, lines)) <= COLUMNS


@pytest.mark.slow
@settings(max_examples=60)
@given(profiles())
def test_a_report_of_any_profile_fits_a_screen(profile):
    """Loops that miss ticks are never left out: each of them beyond those that there is room for is a line more."""
    missing = sum(1 for loop in profile.loops.values() if loop.missed)
    assert len(shown(profile, width=COLUMNS, run="").splitlines()) <= LINES + missing


def test_other_tables_make_room_for_the_tree(monkeypatch):
    def sizes(lines: int) -> tuple[int, int, int]:
        monkeypatch.setattr(build, "LINES", lines)
        (part,) = view_of(training()).parts
        return len(part.self_times.entries), len(part.dismissed), len(part.tree.entries)

    assert sizes(45) == (6, 3, 11)
    assert sizes(34) == (6, 3, 8)
    assert sizes(30) == (6, 0, 7)
    assert sizes(26) == (4, 0, 5)


@pytest.mark.parametrize("make", [training, control, robot])
def test_the_same_number_is_equal_everywhere(make):
    view = view_of(make())
    (lead, *_), (part, *_) = view.headlines, view.parts
    loop = rows(view.loops)[lead.path]
    pace = loop["pace"]
    assert any(pace in piece for piece in lead.pieces)
    mean_ns = Context(make()).loops[0].tick_ns
    root = part.tree.entries[0]
    assert root.cells == ["100%", formatting.time(round(mean_ns))]
    for each in view.recommendations:
        if each.loop == lead.path and "steps/s" in each.gain:
            assert each.gain.split("  ")[1].startswith(pace.split(" ")[0])
    by_name = {entry.path: entry.values[0] for entry in part.self_times.entries if entry.path}
    for entry in part.tree.entries:
        leaf = not any(other.path.startswith(f"{entry.path}/") for other in part.tree.entries)
        if entry.path in by_name and leaf and entry.name != "[self]":
            assert entry.values[0] >= by_name[entry.path] - 1e-9


def test_the_first_screen_leads_with_one_loop_and_has_a_row_for_each_loop_that_misses():
    view = view_of(loops_that_all_miss())
    assert [each.path for each in view.headlines] == [view.loops.entries[0].path]
    assert [entry.tone for entry in view.loops.entries] == ["alarm"] * 6
    assert len(view_of(loops_that_all_miss(), ALL).headlines) == 6


def test_the_last_lines_name_the_rest_and_the_page():
    lines = shown(control(), run="20260704-control").splitlines()[-2:]
    assert lines == [
        "All rows: ticktree report --all 20260704-control",
        "Page: ticktree report -o report.html 20260704-control",
    ]
    assert "ticktree report --all\n" in shown(control(), run="")
    assert "ticktree report" not in shown(control())


@pytest.mark.parametrize(
    ("wait_ms", "title"),
    [(1, "Where the run goes [sampled], 99 samples"), (600, "Where the run goes (self time)")],
)
def test_samples_show_where_an_unmarked_program_with_few_waits_spends_its_time(wait_ms, title):
    profile = unmarked()
    program = Program()
    program.work("Thread.join", wait_ms, wait=True)
    waits = program.profile().root.children
    view = view_of(replace(profile, root=replace(profile.root, children=waits)))
    assert view.parts[0].self_times.title == title
