from __future__ import annotations

from support.example_profiles import control, training
from support.virtual_programs import Program, with_node
from ticktree.analysis.survey import Survey
from ticktree.outputs import OUTPUTS, ViewOptions
from ticktree.outputs.report.bottlenecks import BESIDE_SHOWN, SHOWN, bottlenecks
from ticktree.outputs.report.categories import categories
from ticktree.outputs.writing import formatting
from ticktree.profile import Memory

PLAIN, ALL = ViewOptions(), ViewOptions(all=True)


def ticks(*sections, **options) -> Program:
    program = Program()
    for _ in program.loop("loop", range(4), **options):
        for name, ms, *rest in sections:
            program.work(name, ms, **(rest[0] if rest else {}))
    return program


def table_of(program, options=PLAIN):
    profile = program.profile() if isinstance(program, Program) else program
    seen = Survey(profile)
    return bottlenecks(seen, seen.loops[0], options)


def rows(table):
    titles = [head.title for head in table.heads]
    return {entry.name: dict(zip(titles, entry.cells, strict=True)) for entry in table.entries}


def test_each_section_has_its_share_its_call_and_how_fast_the_loop_would_be():
    assert rows(table_of(ticks(("env", 30), ("model", 10)))) == {
        "env": {
            "share": "75%",
            "own a call": "30.0 ms",
            "calls": "4",
            "if free": "25 → 100 Hz",
            "score": "85.7",
        },
        "model": {
            "share": "25%",
            "own a call": "10.0 ms",
            "calls": "4",
            "if free": "25 → 33.3 Hz",
            "score": "28.6",
        },
    }


def test_without_a_loop_it_is_seconds_that_are_saved():
    program = Program()
    program.work("load", 4000)
    program.work("solve", 1000)
    program.take(5000)
    table = table_of(program)
    assert table.title == "bottlenecks of the run"
    assert rows(table)["outside all sections"]["if free"] == "10.0 → 5.00 s"
    assert rows(table)["solve"]["if free"] == "10.0 → 9.00 s"


def test_five_are_shown_and_the_rest_together_unless_it_is_one():
    names = [(f"part {number}", 10) for number in range(SHOWN + 2)]
    assert list(rows(table_of(ticks(*names))))[-1] == "2 smaller"
    assert rows(table_of(ticks(*names)))["2 smaller"]["share"] == "29%"
    assert len(rows(table_of(ticks(*names), ALL))) == SHOWN + 2
    assert "1 smaller" not in rows(table_of(ticks(*names[:-1])))


def test_what_hardly_takes_time_is_shown_on_demand_and_a_table_of_one_row_not_at_all():
    sections = (("env", 600), ("model", 400), ("tiny", 0.2), ("tinier", 0.1))
    assert list(rows(table_of(ticks(*sections)))) == ["env", "model", "2 smaller"]
    assert len(rows(table_of(ticks(*sections), ALL))) == 4
    assert table_of(ticks(("env", 600), ("tiny", 0.2))) is None


def test_waits_slack_loops_and_what_runs_beside_are_marked():
    program = Program()
    for _ in program.loop("loop", range(4), hz=10):
        with program.section("plan"):
            program.take(5)
            program.work("solve", 5)
        program.work("receive", 7, wait=True)
        program.work("sleep", 20, wait=True)
        for _ in program.loop("denoise", range(2)):
            program.work("step", 3)
        for name in "abc":
            program.record_duration(name, 0.5)
    table = table_of(program)
    marks = {entry.name: entry.mark for entry in table.entries}
    assert {name: marks[name] for name in ("plan", "plan/solve", "receive", "sleep", "denoise")} == {
        "plan": "own",
        "plan/solve": "",
        "receive": "wait",
        "sleep": "slack",
        "denoise": "loop",
    }
    assert list(marks.values()).count("beside") == BESIDE_SHOWN
    assert rows(table)["sleep"]["if free"] == ""
    assert rows(table)["a"]["if free"] == rows(table)["a"]["score"] == ""
    assert table.remark.startswith("The loop sleeps 47% of its time to hold 10 Hz;")


def test_memory_has_a_column_where_it_was_measured():
    profile = ticks(("env", 30), ("model", 10)).profile()
    assert "memory" not in rows(table_of(profile))["env"]
    profile = with_node(profile, "loop/env", memory=Memory(4, 0, 900, growth_bytes=151_000_000))
    assert {name: row["memory"] for name, row in rows(table_of(profile)).items()} == {
        "env": "151 MB",
        "model": "",
    }
    assert "device" not in rows(table_of(profile))["env"]


def categories_of(program, options=PLAIN):
    (view,) = Survey(program.profile()).loops
    table = categories(view, options)
    return table and {entry.name: entry.cells[0] for entry in table.entries}


def test_categories_are_shown_where_two_carry_time():
    assert categories_of(ticks(("env", 30), ("model", 10))) == {"environment": "75%", "model": "25%"}
    assert categories_of(ticks(("env", 30), ("gym", 10))) is None
    assert categories_of(ticks(("env", 999), ("model", 1))) is None


def test_small_categories_are_shown_together():
    sections = (("env", 600), ("model", 400), ("log", 4), ("render", 3))
    assert categories_of(ticks(*sections)) == {"environment": "60%", "model": "40%", "2 smaller": "0.7%"}
    assert "logging" in categories_of(ticks(*sections), ALL)
    assert "logging" in categories_of(ticks(*sections[:-1]))  # one row is no longer than "1 smaller"


def test_a_loop_that_is_filled_by_another_in_it_leaves_the_screen_to_that():
    program = Program()
    for _ in program.loop("epoch", range(2)):
        for _ in program.loop("batch", range(5)):
            program.work("forward", 3)
            program.work("backward", 6)
        program.work("validate", 1)
    text = OUTPUTS["terminal"].render(program.profile(), PLAIN).decode()
    assert "bottlenecks of batch" in text
    assert "bottlenecks of epoch" not in text
    assert "bottlenecks of epoch" in OUTPUTS["terminal"].render(program.profile(), ALL).decode()


def test_names_are_safe_in_every_view():
    hostile = "a\x1b[2J|</script>*"
    program = ticks((hostile, 30), ("model", 10))
    assert "\x1b" not in OUTPUTS["terminal"].render(program.profile(), PLAIN).decode()
    markdown = OUTPUTS["markdown"].render(program.profile(), PLAIN).decode()
    assert "\x1b" not in markdown
    assert r"\|&lt;/script&gt;\*" in markdown


def test_nothing_is_wider_than_the_terminal():
    for profile in (training(), control()):
        for width in (40, 60, 80, 100):
            text = OUTPUTS["terminal"].render(profile, ViewOptions(width=width, all=True)).decode()
            assert max(map(len, text.splitlines())) <= width


def test_a_change_has_one_unit_where_both_have_the_same():
    assert formatting.change("22.0 Hz", "39.0 Hz") == "22.0 → 39.0 Hz"
    assert formatting.change("950 Hz", "1.20 kHz") == "950 Hz → 1.20 kHz"
    assert formatting.change("22.0 Hz", "-") == "22.0 Hz → -"
