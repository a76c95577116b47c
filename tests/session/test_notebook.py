"""Notebooks: what a cell shows of its recording, executed by a kernel as Jupyter does, and what it leaves as it is."""

from __future__ import annotations

import subprocess
import sys
from html.parser import HTMLParser

import pytest

from support.example_profiles import control, robot, training
from support.example_trainers import crowded_trainer, straggling_trainer
from support.hostile_profiles import hostile
from ticktree.outputs.notebook import html, text
from ticktree.profile import Profile

AT_MOST_BYTES = 40_000
LOOP = """
import ticktree
seen = 0
for tick in ticktree.loop("train", range(20)):
    with ticktree.section("sample"):
        seen += min(1, sum(range(5000)))
    with ticktree.section("update"):
        seen += min(1, sum(range(5000)))
"""


def executed(*cells, stops=True):
    """The outputs of each cell, as a kernel of its own answers them."""
    nbclient = pytest.importorskip("nbclient", reason="no notebook was executed: there is no nbclient")
    nbformat = pytest.importorskip("nbformat")
    pytest.importorskip("ipykernel")
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    notebook.metadata["kernelspec"] = {"name": "python3", "display_name": "", "language": "python"}
    client = nbclient.NotebookClient(notebook, timeout=120, allow_errors=not stops, kernel_name="python3")
    client.execute()
    return [cell.outputs for cell in notebook.cells]


def reports(outputs):
    return [each.data for each in outputs if each.output_type == "display_data" and "text/html" in each.data]


def without_reports(outputs):
    """What the cell itself put out, as a cell without the magic would have."""
    return [
        {key: value for key, value in each.items() if key not in ("execution_count", "metadata")}
        for each in outputs
        if each.output_type != "display_data"
    ]


class Checked(HTMLParser):
    """Every element that is opened is closed, and none can do anything."""

    VOID = ("br",)

    def __init__(self):
        super().__init__()
        self.open = []
        self.tags = set()
        self.words = []

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        assert not any(name.startswith("on") or name in ("src", "href") for name, _ in attrs)
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.words.append(data)


@pytest.mark.parametrize("make", [training, control, robot, straggling_trainer, crowded_trainer, hostile])
def test_a_profile_shows_the_first_screen_in_a_notebook_small_and_escaped(make):
    profile = make()
    shown = profile._repr_html_()
    assert shown == html(profile)
    assert len(shown.encode()) < AT_MOST_BYTES
    parser = Checked()
    parser.feed(shown)
    assert parser.open == []
    assert parser.tags <= {
        *("div", "style", "p", "b", "i", "span", "ol", "li", "br"),
        *("table", "thead", "tbody", "tr", "th", "td"),
    }


def test_a_profile_shows_what_the_terminal_does():
    shown, printed = html(control()), text(control())
    words = Checked()
    words.feed(shown)
    joined = " ".join(" ".join(words.words).split())
    for word in ("Recommendations", "misses", "loops", "headroom"):
        assert word in joined
        assert word in printed


def test_an_empty_profile_says_what_to_do_in_a_notebook():
    for shown in (html(Profile.empty()), text(Profile.empty())):
        assert "%%ticktree" in shown
        assert "ticktree.enable()" in shown


def test_a_profile_shows_no_dataclass_in_a_terminal_of_ipython():
    class Printer:
        def text(self, words):
            self.words = words

    printer = Printer()
    training()._repr_pretty_(printer, False)
    assert printer.words == text(training())
    assert "Profile(" not in printer.words


@pytest.mark.slow
def test_a_notebook_shows_a_snapshot_and_a_cell_as_a_report():
    plain, loaded, cell, after, snapshot = executed(
        LOOP + "seen",
        "%load_ext ticktree",
        f"%%ticktree\n{LOOP}\nprint('hello')\nseen",
        "_, Out[3], seen, ticktree.__version__ > ''",
        "ticktree.snapshot()",
    )
    assert reports(plain) == []
    assert loaded == []
    (report,) = reports(cell)
    assert "In [3]" in report["text/html"]
    assert "<script" not in report["text/html"]
    for word in ("train", "sample", "update"):
        assert word in report["text/html"]
        assert word in report["text/plain"]
    # The cell's own output and result are there, before the report, and later cells have them.
    assert [each.output_type for each in cell] == ["stream", "execute_result", "display_data"]
    assert cell[0].text == "hello\n"
    assert cell[1].data["text/plain"] == plain[-1].data["text/plain"] == "40"
    assert after[-1].data["text/plain"] == "(40, 40, 40, True)"
    assert snapshot[-1].output_type == "execute_result"
    assert "train" in snapshot[-1].data["text/html"]
    assert "Profile(" not in snapshot[-1].data["text/plain"]


@pytest.mark.slow
def test_a_cell_that_fails_shows_its_traceback_and_what_was_recorded():
    failing = LOOP + "raise ValueError(seen)"
    unsound = LOOP + "this is no Python"
    _, without, cell, unsound_without, unsound_cell, nothing = executed(
        "%load_ext ticktree",
        failing,
        f"%%ticktree\n{failing}",
        unsound,
        f"%%ticktree\n{unsound}",
        "%%ticktree\n1 + 1",
        stops=False,
    )
    (report,) = reports(cell)
    assert "sample" in report["text/html"]
    for with_magic, without_magic in ((cell, without), (unsound_cell, unsound_without)):
        (error,) = [each for each in with_magic if each.output_type == "error"]
        (usual,) = [each for each in without_magic if each.output_type == "error"]
        assert (error.ename, error.evalue.partition("(")[0]) == (usual.ename, usual.evalue.partition("(")[0])
        assert len(error.traceback) == len(usual.traceback)
        assert "ticktree/" not in "".join(error.traceback)
    assert reports(unsound_cell) == []
    assert reports(nothing) == []
    assert any("nothing was recorded in this cell" in each.get("text", "") for each in nothing)


@pytest.mark.slow
def test_a_cell_may_await_begin_with_an_import_of_the_future_and_use_other_magics():
    _, awaited, future, other, second = executed(
        "%load_ext ticktree",
        '%%ticktree\nimport asyncio, ticktree\nwith ticktree.section("nap"):\n    await asyncio.sleep(0)\n7',
        f"\n%%ticktree\nfrom __future__ import annotations\n{LOOP}",
        f"%%ticktree\n%%capture\n{LOOP}\nprint('not shown')",
        f"%%time\n%%ticktree\n{LOOP}",
        stops=False,
    )
    assert "nap" in reports(awaited)[0]["text/html"]
    assert without_reports(awaited)[0]["data"]["text/plain"] == "7"
    assert "update" in reports(future)[0]["text/html"]
    assert "update" in reports(other)[0]["text/html"]
    assert without_reports(other) == []
    assert "must be the cell's first line" in str(second)


@pytest.mark.slow
def test_a_cell_of_a_run_shows_the_cell_and_the_run_keeps_all(tmp_path):
    before = f"import os, ticktree\nos.chdir({str(tmp_path)!r})\nticktree.enable(quiet=True)\n"
    *_, cell, count = executed(
        f'{before}with ticktree.section("before"):\n    pass',
        "%load_ext ticktree",
        f"%%ticktree\n{LOOP}",
        'ticktree.snapshot().root.at("before").count, ticktree.snapshot().root.at("train").count',
    )
    assert "sample" in reports(cell)[0]["text/html"]
    assert "before" not in reports(cell)[0]["text/html"]
    assert count[-1].data["text/plain"] == "(1, 20)"


def test_an_extension_that_is_unloaded_leaves_nothing_behind():
    *_, cell, left = executed(
        "%load_ext ticktree",
        "%load_ext ticktree",
        "%reload_ext ticktree\n%unload_ext ticktree",
        f"%%ticktree\n{LOOP}",
        "import ticktree\nip = get_ipython()\n"
        "sum('ticktree' in str(each) for each in ip.input_transformers_cleanup), "
        "sum('ticktree' in str(each) for each in ip.events.callbacks['pre_run_cell']), "
        "ip.find_cell_magic('ticktree')",
        stops=False,
    )
    assert reports(cell) == []
    assert left[-1].data["text/plain"] == "(0, 0, None)"


def test_importing_ticktree_and_its_extension_imports_no_ipython():
    code = (
        "import sys, ticktree; ticktree.load_ipython_extension; from ticktree.profile import Profile; "
        "Profile.empty()._repr_html_(); sys.exit('IPython' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
