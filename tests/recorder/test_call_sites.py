"""Where a section was entered: one line, or null where there were several."""

from __future__ import annotations

import sys

from support.recorder.queries import node
from ticktree.profile import CallSite


def here():
    return sys._getframe(1).f_lineno


def test_a_section_entered_at_one_line_tells_it(recorder):
    for _ in range(3):
        line = here() + 1
        with recorder.section("x"):
            pass
    site = node(recorder, "x").call_site
    assert (site.file, site.line) == (__file__, line)
    assert site.function.endswith("test_a_section_entered_at_one_line_tells_it")
    assert node(recorder, "x").call_sites == {site: 3}


def test_a_section_entered_at_several_lines_tells_none(recorder):
    with recorder.section("x"):
        pass
    with recorder.section("x"):
        pass
    told = node(recorder, "x")
    assert told.call_site is None
    assert sum(told.call_sites[site] for site in told.call_sites if site != CallSite("", 0, "")) == 2


def test_the_same_name_at_two_places_has_two_lines(recorder):
    first = here() + 1
    with recorder.section("a"), recorder.section("x"):
        pass
    second = here() + 1
    with recorder.section("b"), recorder.section("x"):
        pass
    assert node(recorder, "a/x").call_site.line == first
    assert node(recorder, "b/x").call_site.line == second


def test_a_helpers_line_is_the_site_of_what_it_enters(recorder):
    def helper():
        with recorder.section("x"):
            return here() - 1

    lines = {helper(), helper()}
    assert {node(recorder, "x").call_site.line} == lines


def test_a_timed_functions_site_is_its_definition(recorder):
    @recorder.timed("timed")
    def timed(): ...

    timed()
    timed()
    site = node(recorder, "timed").call_site
    assert (site.file, site.line) == (__file__, timed.__wrapped__.__code__.co_firstlineno)
    assert site.function.endswith("<locals>.timed")


def test_the_sites_of_stages_ticks_records_and_loops_are_told(recorder):
    lines = {}
    with recorder.section("outer"):
        lines["stage"] = here() + 1
        recorder.stage("stage")
    lines["record"] = here() + 1
    recorder.record_duration("record", 1)
    lines["loop"] = here() + 1
    for _ in recorder.loop("loop", range(2)):
        pass
    lines["tick"] = here() + 1
    recorder.tick("tick")
    recorder.disable()
    paths = {"stage": "outer/stage", "record": "record", "loop": "loop"}
    assert {name: node(recorder, path).call_site.line for name, path in paths.items()} == {
        name: lines[name] for name in paths
    }


def test_a_site_in_code_without_a_file_is_told_as_it_names_itself(recorder):
    code = compile("with recorder.section('x'): pass", "<generated>", "exec")
    exec(code, {"recorder": recorder})
    assert node(recorder, "x").call_site.file == "<generated>"


def test_a_file_of_any_name_is_told(recorder):
    code = compile("with recorder.section('x'): pass", "\udcff/" + "d" * 6000, "exec")
    exec(code, {"recorder": recorder})
    assert node(recorder, "x").call_site.file.startswith("\\udcff/ddd")


def test_a_section_entered_by_c_code_has_a_site_all_the_same(recorder):
    list(map(recorder.stage, ["a", "b"]))
    assert node(recorder, "a").call_site.file == __file__


def test_a_section_that_is_nowhere_in_the_program_has_no_site(recorder):
    with recorder.timed_section("x", ("", 0, "")):
        pass
    told = node(recorder, "x")
    assert (told.call_site, told.call_sites) == (None, {})


def test_a_section_that_ticktree_enters_for_a_library_has_no_site(recorder):
    exec("with recorder.section('x'): pass", {"recorder": recorder, "__name__": "ticktree.instruments.any"})
    told = node(recorder, "x")
    assert (told.call_site, told.call_sites) == (None, {})
