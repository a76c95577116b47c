from __future__ import annotations

import pytest

from support.virtual_programs import Program
from ticktree.analysis.comparison.compare import compare
from ticktree.analysis.context import Context
from ticktree.outputs import OUTPUTS, ViewOptions
from ticktree.outputs.comparison import COMPARISONS
from ticktree.outputs.sentences import findings_in
from ticktree.outputs.variants import VARIANTS, variants
from ticktree.profile import Profile

VIEW = ViewOptions(width=120, all=True)


def slashed() -> Profile:
    program = Program()
    for _ in program.loop("ctl/loop", range(40)):
        program.work("api/step", 30)
        program.work("win\\dir", 10)
    return program.profile()


@pytest.mark.parametrize("form", ["terminal", "text"])
def test_every_table_of_a_report_has_names_without_escapes(form):
    shown = OUTPUTS[form].render(slashed(), VIEW).decode()
    assert shown.count("api/step") >= 3
    assert "ctl/loop" in shown
    assert "win\\dir" in shown
    assert "\\/" not in shown
    assert "\\\\" not in shown


def test_comparisons_and_runs_side_by_side_have_names_without_escapes():
    profile = slashed()
    several = VARIANTS["terminal"](variants([("a", profile), ("b", profile)], VIEW), VIEW).decode()
    compared = COMPARISONS["terminal"](compare([profile], [profile]), [], VIEW).decode()
    for shown in (several, compared):
        assert "ctl/loop" in shown
        assert "\\/" not in shown


def test_the_message_of_a_finding_has_the_name_and_the_finding_the_path():
    found = next(one for one in findings_in(Context(slashed())) if one.path.endswith("step"))
    assert found.path == r"ctl\/loop/api\/step"
    assert found.message.startswith("api/step takes ")
