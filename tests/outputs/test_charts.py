"""The overview as a picture: its letters and its bars are read back from the SVG, its pixels from the PNG."""

from __future__ import annotations

import struct
import sys
import warnings
from dataclasses import replace
from xml.etree import ElementTree

import pytest

from support.example_profiles import control, node, training
from support.hostile_profiles import hostile, side_by_side, unknown_durations
from ticktree.errors import TicktreeError
from ticktree.outputs import OUTPUTS
from ticktree.outputs.charts import color_of
from ticktree.profile import Node, Profile


@pytest.fixture(autouse=True)
def _matplotlib(request):
    if "says_what_to_install" not in request.node.name:
        pytest.importorskip("matplotlib", reason="charts were not drawn: there is no matplotlib")


def texts_in(profile):
    root = ElementTree.fromstring(OUTPUTS["svg"].render(profile))
    return [element.text for element in root.iter("{http://www.w3.org/2000/svg}text") if element.text]


def test_it_shows_time_calls_categories_and_memory():
    texts = texts_in(training())
    for title in ("Time by operation (10 smaller ones not shown)", "Time per call", "Categories"):
        assert title in texts
    assert "Memory, where it was measured" in texts
    assert "visual_sac" in texts
    assert "update/actor [self]" in texts
    assert "34%, 704 ms" in texts
    assert "96.0 MB" in texts
    assert "self time, % of a mean steady tick of train, 2.06 s" in texts


def test_without_memory_measurements_there_is_no_memory_panel():
    texts = texts_in(control())
    assert not any("Memory" in text for text in texts)
    assert "Categories" in texts


def test_losses_are_in_the_picture():
    assert any(text.endswith("Not recorded: 2 unwound") for text in texts_in(control()))


def test_axes_of_durations_have_units():
    assert {"10 ms", "100 ms", "1 s"} <= set(texts_in(training()))
    assert {"1 ms", "10 ms"} <= set(texts_in(control()))


def test_bars_are_as_long_as_their_values():
    root = ElementTree.fromstring(OUTPUTS["svg"].render(control()))
    width = {}
    for element in root.iter("{http://www.w3.org/2000/svg}path"):
        style, path = element.get("style", ""), element.get("d", "")
        for category in ("waiting", "policy", "environment"):
            if f"fill: {color_of(category)}" in style:
                xs = [float(x) for x in path.replace("L", "M").replace("z", "").split()[1::3]]
                width.setdefault(category, []).append(max(xs) - min(xs))
    # The last of each colour is the category's: the waiting's is 58.5%, the policy's 28.3, the environment's 12.1.
    assert width["waiting"][-1] / width["environment"][-1] == pytest.approx(58.5 / 12.1, rel=0.01)
    assert width["policy"][-1] / width["environment"][-1] == pytest.approx(28.3 / 12.1, rel=0.01)


@pytest.mark.parametrize("make", [training, hostile, side_by_side, unknown_durations, Profile.empty])
def test_a_png_is_a_picture_of_its_size_without_a_screen_and_without_warnings(make, monkeypatch):
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.setenv("MPLBACKEND", "tkagg")
    monkeypatch.delitem(sys.modules, "matplotlib.pyplot", raising=False)  # libraries of other tests import it
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        png = OUTPUTS["png"].render(make())
    assert png.startswith(b"\x89PNG\r\n\x1a\n")
    assert struct.unpack(">II", png[16:24]) == (1650, 1125)
    assert "matplotlib.pyplot" not in sys.modules


@pytest.mark.slow
@pytest.mark.parametrize("form", ["png", "svg"])
def test_the_users_settings_change_nothing_and_stay_unchanged(form):
    import matplotlib as mpl

    plain = OUTPUTS[form].render(training())
    with mpl.rc_context({"font.size": 20, "axes.facecolor": "black", "svg.fonttype": "path"}):
        assert OUTPUTS[form].render(training()) == plain
        assert mpl.rcParams["font.size"] == 20


@pytest.mark.slow
def test_hostile_names_are_letters_and_no_markup_and_no_formula():
    profile = hostile()
    assert all(text.isprintable() for text in texts_in(profile))
    long = {path: loop for path, loop in profile.loops.items() if "xxx" in path}
    assert any("xxx…xxx" in text for text in texts_in(replace(profile, loops=long)))
    odd = {name: node(name, [10, 20]) for name in ("</script>", r"$\frac{1}{2}$", "a & b")}
    assert odd.keys() <= set(texts_in(Profile(root=Node(name="root", children=odd))))


@pytest.mark.parametrize("form", ["png", "svg"])
def test_without_matplotlib_the_error_names_what_to_install(form, monkeypatch):
    for name in [name for name in sys.modules if name.partition(".")[0] == "matplotlib"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(TicktreeError, match=rf"{form} needs matplotlib: .*'ticktree\[charts\]'"):
        OUTPUTS[form].render(training())
