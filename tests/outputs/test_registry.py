from __future__ import annotations

import subprocess
import sys

import pytest
from hostile_profiles import hostile, side_by_side, unknown_durations
from hypothesis import given, settings
from invented_profiles import control, training
from profile_strategies import profiles

from ticktree.outputs import EXPORTS, OUTPUTS, ViewOptions
from ticktree.profile import Profile


def test_every_output_is_found_by_its_name_and_by_its_suffix():
    assert {name: output.name for name, output in OUTPUTS.items()} == {name: name for name in OUTPUTS}
    assert {output.suffix for output in OUTPUTS.values()} == {".txt", ".md", ".json", ".html", ".png", ".svg"}


@pytest.mark.parametrize("name", OUTPUTS)
@pytest.mark.parametrize("make", [training, control, Profile.empty])
def test_every_output_draws_every_profile_with_every_option(name, make):
    if name in ("png", "svg"):
        pytest.importorskip("matplotlib", reason="charts were not drawn: there is no matplotlib")
    for phase in ("steady", "warmup", "all"):
        options = ViewOptions(width=80, color=True, all=True, call_sites=True, phase=phase)
        document = OUTPUTS[name].render(make(), options)
        assert document.startswith(b"\x89PNG") if OUTPUTS[name].binary else document.endswith(b"\n")


@pytest.mark.parametrize("name", EXPORTS)
@pytest.mark.parametrize("make", [training, control, hostile, side_by_side, unknown_durations, Profile.empty])
def test_every_export_writes_every_profile_and_the_same_each_time(name, make):
    if name == "parquet":
        pytest.importorskip("pyarrow", reason="Parquet files were not written: there is no pyarrow")
    assert EXPORTS[name].render(make()) == EXPORTS[name].render(make())


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


def test_the_tree_is_not_waited_for_by_who_wants_json():
    code = (
        "import sys; from ticktree.outputs import OUTPUTS; from ticktree.profile import Profile; "
        "OUTPUTS['json'].render(Profile.empty()); sys.exit('rich' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
