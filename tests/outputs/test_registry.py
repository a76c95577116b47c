from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import given, settings
from invented_profiles import control, training
from profile_strategies import profiles

from ticktree.outputs import OUTPUTS, ViewOptions
from ticktree.profile import Profile


def test_every_output_is_found_by_its_name_and_by_its_suffix():
    assert {name: output.name for name, output in OUTPUTS.items()} == {name: name for name in OUTPUTS}
    assert {output.suffix for output in OUTPUTS.values()} == {".txt", ".md", ".json", ".html"}


@pytest.mark.parametrize("name", OUTPUTS)
@pytest.mark.parametrize("make", [training, control, Profile.empty])
def test_every_output_draws_every_profile_with_every_option(name, make):
    for phase in ("steady", "warmup", "all"):
        options = ViewOptions(width=80, color=True, all=True, call_sites=True, phase=phase)
        assert OUTPUTS[name].render(make(), options).endswith(b"\n")


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
