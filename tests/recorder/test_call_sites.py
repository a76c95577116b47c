"""The call site of a section: one line, or null if there are several."""

from __future__ import annotations

import sys

from support.recorder.queries import node
from ticktree.profile import CallSite


def current_site():
    return sys._getframe(1).f_lineno


def test_a_section_entered_at_one_line_has_it_as_its_call_site(recorder):
    for _ in range(3):
        line = current_site() + 1
        with recorder.section("x"):
            pass
    site = node(recorder, "x").call_site
    assert (site.file, site.line) == (__file__, line)
    assert site.function.endswith("test_a_section_entered_at_one_line_has_it_as_its_call_site")
    assert node(recorder, "x").call_sites == {site: 3}


def test_a_section_entered_at_several_lines_has_no_call_site(recorder):
    with recorder.section("x"):
        pass
    with recorder.section("x"):
        pass
    section_node = node(recorder, "x")
    assert section_node.call_site is None
    assert (
        sum(section_node.call_sites[site] for site in section_node.call_sites if site != CallSite("", 0, ""))
        == 2
    )


def test_the_same_name_at_two_positions_has_two_lines(recorder):
    first = current_site() + 1
    with recorder.section("a"), recorder.section("x"):
        pass
    second = current_site() + 1
    with recorder.section("b"), recorder.section("x"):
        pass
    assert node(recorder, "a/x").call_site.line == first
    assert node(recorder, "b/x").call_site.line == second


def test_a_helpers_line_is_the_call_site_of_the_sections_it_enters(recorder):
    def helper():
        with recorder.section("x"):
            return current_site() - 1

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


def test_stages_ticks_records_and_loops_have_call_sites(recorder):
    lines = {}
    with recorder.section("outer"):
        lines["stage"] = current_site() + 1
        recorder.stage("stage")
    lines["record"] = current_site() + 1
    recorder.record_duration("record", 1)
    lines["loop"] = current_site() + 1
    for _ in recorder.loop("loop", range(2)):
        pass
    lines["tick"] = current_site() + 1
    recorder.tick("tick")
    recorder.disable()
    paths = {"stage": "outer/stage", "record": "record", "loop": "loop"}
    assert {name: node(recorder, path).call_site.line for name, path in paths.items()} == {
        name: lines[name] for name in paths
    }


def test_a_call_site_in_code_without_a_file_has_the_name_of_the_code(recorder):
    code = compile("with recorder.section('x'): pass", "<generated>", "exec")
    exec(code, {"recorder": recorder})
    assert node(recorder, "x").call_site.file == "<generated>"


def test_a_call_site_can_be_in_a_file_of_any_name(recorder):
    code = compile("with recorder.section('x'): pass", "\udcff/" + "d" * 6000, "exec")
    exec(code, {"recorder": recorder})
    assert node(recorder, "x").call_site.file.startswith("\\udcff/ddd")


def test_a_section_entered_by_c_code_has_a_site_all_the_same(recorder):
    list(map(recorder.stage, ["a", "b"]))
    assert node(recorder, "a").call_site.file == __file__


def test_a_section_that_is_nowhere_in_the_program_has_no_site(recorder):
    with recorder.timed_section("x", ("", 0, "")):
        pass
    section_node = node(recorder, "x")
    assert (section_node.call_site, section_node.call_sites) == (None, {})


def test_a_section_that_ticktree_enters_for_a_library_has_no_site(recorder):
    exec("with recorder.section('x'): pass", {"recorder": recorder, "__name__": "ticktree.instruments.any"})
    section_node = node(recorder, "x")
    assert (section_node.call_site, section_node.call_sites) == (None, {})
