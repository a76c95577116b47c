"""The libraries that are known, how they are chosen, and third parties' that are not trusted to work."""

from __future__ import annotations

import os
import sys
import textwrap
import zipfile
from importlib import import_module, metadata

import pytest

import ticktree
from ticktree import instruments as instrument
from ticktree.instruments import (
    BUILT_IN,
    as_environment,
    available_libraries,
    select_libraries,
    third_parties,
)

MINE = """
installed = []

def install(recorder):
    installed.append(recorder)

def uninstall():
    installed.clear()
"""


def names(*words):
    return [library.name for library in select_libraries(words)]


@pytest.fixture
def brings(tmp_path, monkeypatch):
    """Installs a distribution that teaches ticktree a library."""
    monkeypatch.syspath_prepend(str(tmp_path))
    forget = third_parties.find_libraries.cache_clear
    forget()

    def bring(name, source, group="ticktree.instruments", value=None, distribution="Mine"):
        module = f"{distribution}_{name}_profiling".replace("-", "_")
        (tmp_path / f"{module}.py").write_text(textwrap.dedent(source))
        sys.modules.pop(module, None)  # another test's
        facts = tmp_path / f"{distribution}_{len(list(tmp_path.iterdir()))}-1.0.dist-info"
        facts.mkdir()
        (facts / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {distribution}\nVersion: 1.0\n")
        (facts / "entry_points.txt").write_text(f"[{group}]\n{name} = {value or module}\n")
        forget()
        return module

    yield bring
    instrument.uninstall()
    forget()


@pytest.fixture(autouse=True)
def environment(monkeypatch):
    monkeypatch.setenv(instrument.INSTRUMENT_VARIABLE, "")


def test_each_library_has_a_name_of_its_own_a_module_that_is_there_and_a_sentence():
    assert len({library.name for library in BUILT_IN}) == len(BUILT_IN)
    for library in BUILT_IN:
        assert library.adds.endswith(".")
        assert library.name.replace("-", "").isalnum()
        library.instrument()


def test_modules_of_instruments_do_not_import_what_they_wrap():
    before = set(sys.modules)
    for library in BUILT_IN:
        library.instrument()
    for library in BUILT_IN:
        assert not {package for package in library.packages if package in sys.modules} - before


def test_by_default_all_that_are_not_on_demand_are_meant_in_the_order_of_the_registry():
    default = [library.name for library in BUILT_IN if not library.on_demand]
    assert names("default") == default
    assert names(*reversed(default)) == default
    assert names("torch", "waits") == ["waits", "torch"]
    assert names("default", "-torch") == [name for name in default if name != "torch"]
    assert names() == []


def test_a_name_that_is_not_known_is_refused_with_those_that_are():
    for word in ("nothing", "-nothing"):
        with pytest.raises(
            ticktree.TicktreeError, match=r"no library 'nothing' is known; those that are: .*waits, "
        ):
            select_libraries(["default", word])
    with pytest.raises(ticktree.TicktreeError, match="no library 'nothing'"):
        instrument.uninstall("nothing")


def test_what_another_distribution_brings_is_recorded_by_default_and_children_know_where_it_is(brings):
    module = brings("theirs", MINE)
    assert names("default")[-1] == "theirs"
    instrument.install("theirs")
    assert len(import_module(module).installed) == 1
    assert instrument.installed_names() == ("theirs",)
    assert os.environ[instrument.INSTRUMENT_VARIABLE] == f"theirs={module}@Mine"
    instrument.uninstall("theirs")
    assert import_module(module).installed == []


def test_on_demand_it_is_recorded_only_by_name(brings):
    brings("costly", MINE, group="ticktree.instruments.on_demand")
    assert "costly" not in names("default")
    assert names("default", "costly")[-1] == "costly"
    assert next(library for library in available_libraries() if library.name == "costly").on_demand


def test_an_object_of_a_module_will_do(brings):
    module = brings("object", MINE + "import sys\nclass its: mine = sys.modules[__name__]\n", value="x:y")
    library = third_parties.find_libraries()[0]._replace(module=f"{module}:its.mine")
    assert library.instrument() is import_module(module)


def test_a_process_that_was_started_for_it_installs_it_without_looking_for_it(brings, monkeypatch):
    module = brings("theirs", MINE)
    monkeypatch.setenv(instrument.INSTRUMENT_VARIABLE, f"unheard-of,theirs={module}@Mine")
    monkeypatch.setattr(third_parties, "find_libraries", lambda: pytest.fail("it was looked for"))
    instrument.install_from_environment()
    assert instrument.installed_names() == ("theirs",)


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("raise ValueError('no\\ngood')", "ValueError: no good"),
        ("raise SystemExit(3)", "SystemExit: 3"),
        ("def install(recorder): 1 / 0\ndef uninstall(): pass", "ZeroDivisionError: division by zero"),
        ("def install(recorder): pass", "TypeError: Mine_broken_profiling has no uninstall()"),
        ("import nothing_of_that_name", "ModuleNotFoundError: No module named 'nothing_of_that_name'"),
    ],
)
def test_a_broken_one_is_named_once_and_left_out(brings, capsys, source, said):
    brings("broken", source)
    good = brings("good", MINE, distribution="Other")
    instrument.install("broken", "good")
    complaint = f"ticktree: cannot instrument broken of Mine: {said}\n"
    assert capsys.readouterr() == ("", complaint)
    assert instrument.installed_names() == ("good",)
    assert (
        os.environ[instrument.INSTRUMENT_VARIABLE] == f"good={good}@Other"
    )  # no child tries the other again


def test_one_whose_name_is_taken_is_left_out(brings):
    brings("torch", MINE)
    brings("twice", MINE, distribution="A")
    brings("twice", MINE, distribution="B")
    assert [
        library.distribution for library in available_libraries() if library.name in ("torch", "twice")
    ] == ["", "A"]
    assert {(library.name, library.distribution) for library in instrument.shadowed_libraries()} == {
        ("torch", "Mine"),
        ("twice", "B"),
    }


def test_a_name_that_cannot_stand_in_a_list_is_no_library(brings):
    brings("a,b", MINE)
    assert third_parties.find_libraries() == ()


def test_an_entry_point_that_is_not_valid_hides_no_library_of_another_distribution(brings):
    brings("good", MINE)
    brings("command", MINE, group="console_scripts", value="no, reference", distribution="Broken")
    assert [library.name for library in third_parties.find_libraries()] == ["good"]


def test_the_public_face_takes_everything_back():
    instrument.install("waits", "torch")
    assert ticktree.instrumented() == ("waits", "torch")
    ticktree.uninstrument("waits")
    assert instrument.installed_names() == ("torch",)
    assert os.environ[instrument.INSTRUMENT_VARIABLE] == "torch"
    ticktree.uninstrument()
    assert instrument.installed_names() == ()


def test_a_broken_third_party_does_not_change_a_program_under_ticktree_run(recorded, tmp_path, monkeypatch):
    place = tmp_path / "site"
    facts = place / "Broken-1.0.dist-info"
    facts.mkdir(parents=True)
    (facts / "METADATA").write_text("Metadata-Version: 2.1\nName: Broken\nVersion: 1.0\n")
    (facts / "entry_points.txt").write_text("[ticktree.instruments]\nbroken = broken_profiling\n")
    (place / "broken_profiling.py").write_text("raise RuntimeError('not today')\n")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(place), os.environ.get("PYTHONPATH", "")]))
    profile = recorded(
        """
        import subprocess
        def main():
            with ticktree.section("here"):
                subprocess.run([sys.executable, "-c", "pass"], check=True)
            print("goes on", os.environ["TICKTREE_INSTRUMENT"])
        """
    )
    assert recorded.output.startswith("goes on waits,")
    assert "broken" not in recorded.output
    assert recorded.complaints == "ticktree: cannot instrument broken of Broken: RuntimeError: not today\n"
    assert profile.root.at("here").count == 1


FACTS = {
    "METADATA": "Metadata-Version: 2.1\nName: Kept\nVersion: 1.0\n",
    "PKG-INFO": "Metadata-Version: 2.1\nName: Kept\nVersion: 1.0\n",
    "entry_points.txt": "[ticktree.instruments]\nkept = kept_profiling\n",
}


@pytest.mark.parametrize(
    "place", ["Kept-1.0.dist-info", "Kept.egg-info", "Kept-1.0.egg/EGG-INFO", "kept.zip"]
)
def test_it_is_found_however_it_is_kept(brings, tmp_path, monkeypatch, place):
    where = tmp_path / place
    if where.suffix == ".zip":
        with zipfile.ZipFile(where, "w") as archive:
            for name, text in FACTS.items():
                archive.writestr(f"Kept-1.0.dist-info/{name}", text)
    else:
        where.mkdir(parents=True)
        for name, text in FACTS.items():
            (where / name).write_text(text)
    monkeypatch.syspath_prepend(str(where if where.suffix == ".zip" else where.parent))
    third_parties.find_libraries.cache_clear()
    assert [(library.name, library.distribution) for library in third_parties.find_libraries()] == [
        ("kept", "Kept")
    ]


def test_it_is_found_where_only_another_finder_knows_of_it(brings, tmp_path, monkeypatch):
    facts = tmp_path / "parts" / "Kept-1.0.dist-info"
    facts.mkdir(parents=True)
    for name, text in FACTS.items():
        (facts / name).write_text(text)

    class Finder:
        def find_spec(self, *_):
            return None

        def find_distributions(self, _context):
            return [metadata.Distribution.at(facts)]

    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path, Finder()])
    third_parties.find_libraries.cache_clear()
    assert [library.name for library in third_parties.find_libraries()] == ["kept"]


def test_nothing_is_looked_for_where_nothing_of_others_is_meant(monkeypatch):
    monkeypatch.setattr(third_parties, "find_libraries", lambda: pytest.fail("it was looked for"))
    assert as_environment(select_libraries(["waits", "torch"])) == "waits,torch"
    assert as_environment(select_libraries([])) == ""
