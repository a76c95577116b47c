"""Notebooks: the report of a cell, executed by a kernel as in Jupyter, and what the extension does not change."""

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

MAX_BYTES = 40_000
LOOP = """
import ticktree
total = 0
for tick in ticktree.loop("train", range(20)):
    with ticktree.section("sample"):
        total += min(1, sum(range(5000)))
    with ticktree.section("update"):
        total += min(1, sum(range(5000)))
"""


def execute(*cells, stops=True):
    """Return the outputs of each cell, executed by a new kernel."""
    nbclient = pytest.importorskip("nbclient", reason="no notebook was executed: there is no nbclient")
    nbformat = pytest.importorskip("nbformat")
    pytest.importorskip("ipykernel")
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    notebook.metadata["kernelspec"] = {"name": "python3", "display_name": "", "language": "python"}
    client = nbclient.NotebookClient(notebook, timeout=120, allow_errors=not stops, kernel_name="python3")
    client.execute()
    return [cell.outputs for cell in notebook.cells]


def reports(outputs):
    return [
        output.data
        for output in outputs
        if output.output_type == "display_data" and "text/html" in output.data
    ]


def without_reports(outputs):
    """Return the output of the cell itself, as of a cell without the magic."""
    return [
        {key: value for key, value in output.items() if key not in ("execution_count", "metadata")}
        for output in outputs
        if output.output_type != "display_data"
    ]


class HTMLChecker(HTMLParser):
    """Check that every opened element is closed, and that no element is active."""

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


@pytest.mark.parametrize(
    "make_profile", [training, control, robot, straggling_trainer, crowded_trainer, hostile]
)
def test_a_profile_in_a_notebook_is_small_escaped_html(make_profile):
    profile = make_profile()
    page = profile._repr_html_()
    assert page == html(profile)
    assert len(page.encode()) < MAX_BYTES
    parser = HTMLChecker()
    parser.feed(page)
    assert parser.open == []
    assert parser.tags <= {
        *("div", "style", "p", "b", "i", "span", "ol", "li", "br"),
        *("table", "thead", "tbody", "tr", "th", "td"),
    }


def test_a_profile_in_a_notebook_has_the_words_of_the_terminal():
    page, printed = html(control()), text(control())
    checker = HTMLChecker()
    checker.feed(page)
    page_text = " ".join(" ".join(checker.words).split())
    for word in ("Recommendations", "misses", "loops", "headroom"):
        assert word in page_text
        assert word in printed


def test_an_empty_profile_in_a_notebook_explains_how_to_record():
    for output in (html(Profile.empty()), text(Profile.empty())):
        assert "%%ticktree" in output
        assert "ticktree.enable()" in output


def test_a_profile_in_ipythons_terminal_is_not_printed_as_a_dataclass():
    class Printer:
        def text(self, words):
            self.words = words

    printer = Printer()
    training()._repr_pretty_(printer, False)
    assert printer.words == text(training())
    assert "Profile(" not in printer.words


@pytest.mark.slow
def test_a_notebook_shows_a_snapshot_and_a_cell_as_a_report():
    plain, loaded, cell, after, snapshot = execute(
        LOOP + "total",
        "%load_ext ticktree",
        f"%%ticktree\n{LOOP}\nprint('hello')\ntotal",
        "_, Out[3], total, ticktree.__version__ > ''",
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
    # The cell's own output and result precede the report, and later cells can use them.
    assert [output.output_type for output in cell] == ["stream", "execute_result", "display_data"]
    assert cell[0].text == "hello\n"
    assert cell[1].data["text/plain"] == plain[-1].data["text/plain"] == "40"
    assert after[-1].data["text/plain"] == "(40, 40, 40, True)"
    assert snapshot[-1].output_type == "execute_result"
    assert "train" in snapshot[-1].data["text/html"]
    assert "Profile(" not in snapshot[-1].data["text/plain"]


@pytest.mark.slow
def test_a_cell_that_fails_shows_its_traceback_and_its_report():
    failing = LOOP + "raise ValueError(total)"
    invalid = LOOP + "this is no Python"
    _, plain_cell, cell, invalid_without, invalid_cell, empty_cell = execute(
        "%load_ext ticktree",
        failing,
        f"%%ticktree\n{failing}",
        invalid,
        f"%%ticktree\n{invalid}",
        "%%ticktree\n1 + 1",
        stops=False,
    )
    (report,) = reports(cell)
    assert "sample" in report["text/html"]
    for with_magic, without_magic in ((cell, plain_cell), (invalid_cell, invalid_without)):
        (error,) = [output for output in with_magic if output.output_type == "error"]
        (plain_error,) = [output for output in without_magic if output.output_type == "error"]
        assert error.ename == plain_error.ename
        assert error.evalue.partition("(")[0] == plain_error.evalue.partition("(")[0]
        assert len(error.traceback) == len(plain_error.traceback)
        assert "ticktree/" not in "".join(error.traceback)
    assert reports(invalid_cell) == []
    assert reports(empty_cell) == []
    assert any("nothing was recorded in this cell" in output.get("text", "") for output in empty_cell)


@pytest.mark.slow
def test_a_cell_may_await_begin_with_an_import_of_the_future_and_use_other_magics():
    _, awaited, future, other, second = execute(
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
def test_a_cell_during_a_run_shows_only_the_cell_and_the_run_keeps_everything(tmp_path):
    before = f"import os, ticktree\nos.chdir({str(tmp_path)!r})\nticktree.enable(quiet=True)\n"
    *_, cell, count = execute(
        f'{before}with ticktree.section("before"):\n    pass',
        "%load_ext ticktree",
        f"%%ticktree\n{LOOP}",
        'ticktree.snapshot().root.at("before").count, ticktree.snapshot().root.at("train").count',
    )
    assert "sample" in reports(cell)[0]["text/html"]
    assert "before" not in reports(cell)[0]["text/html"]
    assert count[-1].data["text/plain"] == "(1, 20)"


def test_unloading_the_extension_removes_its_callbacks():
    *_, cell, remaining = execute(
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
    assert remaining[-1].data["text/plain"] == "(0, 0, None)"


def test_importing_ticktree_and_its_extension_imports_no_ipython():
    code = (
        "import sys, ticktree; ticktree.load_ipython_extension; from ticktree.profile import Profile; "
        "Profile.empty()._repr_html_(); sys.exit('IPython' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
