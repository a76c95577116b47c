from __future__ import annotations

import subprocess
import sys
from types import SimpleNamespace

import pytest
from hypothesis import given, settings

import ticktree
from support.example_profiles import control, training
from support.hostile_profiles import NAMES, hostile, side_by_side, unknown_durations
from support.profile_strategies import profiles
from ticktree.errors import TicktreeError
from ticktree.outputs import EXPORTS, OUTPUTS, ViewOptions
from ticktree.outputs.registry import Output
from ticktree.profile import Profile


def test_every_output_is_found_by_its_name_and_by_its_suffix():
    assert {name: output.name for name, output in OUTPUTS.items()} == {name: name for name in OUTPUTS}
    assert {output.suffix for output in OUTPUTS.values()} == {".txt", ".md", ".json", ".html", ".png", ".svg"}


@pytest.mark.parametrize("name", OUTPUTS)
@pytest.mark.parametrize("make", [training, control, Profile.empty])
def test_every_output_draws_every_profile_with_every_option(name, make):
    if name in ("png", "svg"):
        pytest.importorskip("matplotlib", reason="charts were not drawn: there is no matplotlib")
    for everything in (True, False):
        options = ViewOptions(width=80, color=True, all=everything, call_sites=True)
        document = OUTPUTS[name].render(make(), options)
        assert document.startswith(b"\x89PNG") if OUTPUTS[name].binary else document.endswith(b"\n")


def need_library_of(name):
    library = {"parquet": "pyarrow", "rerun": "rerun", "mcap": "mcap"}.get(name)
    if library is not None:
        pytest.importorskip(library, reason=f"{name} was not written: there is no {library}")


def assert_same(name, first, second):
    if name == "rerun":  # it gives rows and chunks ids made of the time they are written at
        assert min(len(first), len(second)) > 0
    else:
        assert first == second


@pytest.mark.parametrize("name", [name for name, form in EXPORTS.items() if not form.needs_events])
@pytest.mark.parametrize("make", [training, control, hostile, side_by_side, unknown_durations, Profile.empty])
def test_every_export_writes_every_profile_and_the_same_each_time(name, make):
    need_library_of(name)
    assert_same(name, EXPORTS[name].render(make()), EXPORTS[name].render(make()))


@pytest.mark.parametrize("name", [name for name, form in EXPORTS.items() if form.takes_events])
@pytest.mark.parametrize("make", [training, control, hostile, side_by_side, unknown_durations, Profile.empty])
def test_every_export_of_a_timeline_writes_every_profile_and_the_same_each_time(name, make):
    recorder = ticktree.Recorder(virtual_clock=True, timeline=100)
    for _ in recorder.loop("train", range(3)):
        for at, hostile_name in enumerate(NAMES):
            with recorder.section(hostile_name):
                recorder.advance(at)
    need_library_of(name)
    timeline = recorder.timeline()
    first, second = (EXPORTS[name].render(make(), timeline=timeline) for _ in range(2))
    assert_same(name, first, second)


@pytest.mark.parametrize(
    ("form", "given"),
    [
        (Output("made_up", ".x"), [(), ()]),
        (Output("made_up", ".x", uses_events=True), [(None,), ("calls",)]),
        (Output("made_up", ".x", needs_events=True), [("calls",)]),
    ],
)
def test_only_formats_that_show_calls_get_a_timeline_and_only_those_without_totals_need_it(
    monkeypatch, form, given
):
    seen = []
    module = SimpleNamespace(render=lambda _profile, _options, *timeline: seen.append(timeline) or b"drawn")
    monkeypatch.setitem(sys.modules, "ticktree.outputs.made_up", module)
    if form.needs_events:
        with pytest.raises(TicktreeError, match="ticktree run --timeline"):
            form.render(Profile.empty())
    else:
        assert form.render(Profile.empty()) == b"drawn"
    assert form.render(Profile.empty(), timeline="calls") == b"drawn"
    assert seen == given


@settings(max_examples=10)
@given(profiles())
def test_every_text_and_message_can_be_written_of_any_profile_that_could_be(profile):
    for name in ("collapsed", "speedscope", "pprof", "prometheus", "otlp", "csv", "tensorboard"):
        assert EXPORTS[name].render(profile) == EXPORTS[name].render(profile)
    assert OUTPUTS["text"].render(profile).decode()


@settings(max_examples=20)
@given(profiles())
def test_json_is_the_profile_itself(profile):
    assert Profile.from_json(OUTPUTS["json"].render(profile)) == profile


def test_json_does_not_wait_for_the_import_of_drawing_libraries():
    code = (
        "import sys; from ticktree.outputs import OUTPUTS; from ticktree.profile import Profile; "
        "OUTPUTS['json'].render(Profile.empty()); sys.exit('rich' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
