from __future__ import annotations

import subprocess
import sys
import textwrap

import pytest

from ticktree.analysis import registry
from ticktree.analysis.context import Context
from ticktree.analysis.finding import Finding
from ticktree.analysis.third_party import RuleSource, findings_of, load_rules
from ticktree.profile import Profile

NOTHING = Profile.empty()


class Finds:
    """A rule that finds what it is told to."""

    def __init__(self, name, *found):
        self.name, self.found = name, found

    def find(self, context):
        yield from self.found


def source(made, entry="theirs", distribution="their-package"):
    def loader():
        if isinstance(made, Exception):
            raise made
        return made

    return RuleSource(entry, distribution, loader)


def said(*sources, taken=()):
    """What all rules of `sources` find in an empty profile."""
    context = Context(NOTHING)
    return [found for one in load_rules(sources, taken) for found in findings_of(one, context)]


def messages(*sources, **options):
    return [found.message for found in said(*sources, **options)]


def finding(**changed):
    return Finding(**{"rule": "theirs", "severity": "info", "path": "", "message": "look", **changed})


def test_findings_of_another_packages_rule_are_included():
    assert said(source(Finds("theirs", finding()))) == [finding()]


def test_a_rule_class_is_instantiated():
    class Theirs(Finds):
        def __init__(self):
            super().__init__("theirs", finding())

    assert said(source(Theirs)) == [finding()]


def test_a_rule_that_cannot_be_imported_is_reported_once():
    (found,) = said(source(ImportError("no module named\n lidar")))
    assert found.message == (
        "rule theirs of their-package cannot be loaded: ImportError: no module named lidar; nothing was "
        "looked for with it"
    )
    assert (found.rule, found.severity, found.path) == ("theirs", "info", "")


@pytest.mark.parametrize(
    "made", [3, None, object(), Finds(""), Finds(7), type("NoFind", (), {"name": "theirs"})]
)
def test_an_object_that_is_no_rule_is_refused(made):
    (message,) = messages(source(made))
    assert "is not a rule: it needs a name and a method find" in message


def test_a_rule_with_an_existing_name_is_refused():
    (message,) = messages(source(Finds("straggler")), taken=["straggler"])
    assert "is refused: there is a rule of the name 'straggler' already" in message


def test_of_two_packages_with_one_name_the_first_by_its_own_name_has_it():
    first, second = (
        source(Finds("theirs", finding()), distribution="a"),
        source(Finds("theirs"), distribution="b"),
    )
    for order in ((first, second), (second, first)):
        kept, refused = messages(*order)
        assert kept == "look"
        assert refused.startswith("rule theirs of b is refused")


@pytest.mark.parametrize(
    ("error", "told"), [(KeyError("lidar"), "KeyError: 'lidar'"), (SystemExit(3), "SystemExit: 3")]
)
def test_a_rule_that_raises_has_no_findings(error, told):
    class Raises:
        name = "theirs"

        def find(self, context):
            yield finding()
            raise error

    (message,) = messages(source(Raises()))
    assert message == f"rule theirs of their-package failed: {told}; nothing was looked for with it"


@pytest.mark.parametrize(
    ("found", "problem"),
    [
        ("look", "gives str instead of findings"),
        (finding(rule="straggler"), "speaks in the name of 'straggler'"),
        (finding(severity="grave"), "gives the severity 'grave'"),
        (finding(message=None), "gives a path or a message that is not text"),
        (finding(facts={"calls": [1]}), "gives a fact that is neither number nor text: 'calls'"),
        (finding(facts={"late_share": float("nan")}), "gives a fact that is not a finite number"),
    ],
)
def test_findings_that_cannot_be_shown_are_replaced_by_a_note(found, problem):
    (message,) = messages(source(Finds("theirs", found)))
    assert problem in message


def test_a_reason_is_one_short_line():
    (message,) = messages(source(ValueError("x" * 10_000)))
    assert len(message) < 400


def test_an_installed_package_brings_its_rules(tmp_path):
    """A real distribution on the path: its metadata is found, its rules are imported when findings are asked for."""
    (tmp_path / "their_rules.py").write_text(
        textwrap.dedent("""
        from ticktree.analysis import Finding

        class Counts:
            name = "counts-nodes"

            def find(self, seen):
                nodes = len(seen.run.sections) - 1
                yield Finding(rule=self.name, path="", message=f"{nodes} nodes", facts={"nodes": nodes})

        class Straggler:
            name = "straggler"

            def find(self, seen):
                yield Finding(rule=self.name, severity="critical", path="", message="never said")
        """)
    )
    about = tmp_path / "their_package-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: their-package\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(
        "[ticktree.rules]\n"
        "counts-nodes = their_rules:Counts\n"
        "missing = their_absent_rules:Rule\n"
        "straggler = their_rules:Straggler\n"
    )
    program = textwrap.dedent("""
        import sys
        sys.path.insert(0, sys.argv[1])
        import ticktree
        from ticktree.analysis import findings
        assert "their_rules" not in sys.modules
        recorder = ticktree.Recorder(virtual_clock=True)
        with recorder.section("train"), recorder.section("update"):
            recorder.advance(1000)
        for found in findings(recorder.snapshot()):
            print(found.rule, "|", found.message)
        print(sum(found.rule == "counts-nodes" for found in findings(recorder.snapshot())))
        print(findings(recorder.snapshot(), rules=[]))
    """)
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path)], capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines() == [
        "counts-nodes | 2 nodes",
        "missing | rule missing of their-package cannot be loaded: ModuleNotFoundError: No module named "
        "'their_absent_rules'; nothing was looked for with it",
        "straggler | rule straggler of their-package is refused: there is a rule of the name 'straggler' already; "
        "nothing was looked for with it",
        "1",
        "[]",
    ]


def test_ticktrees_rules_run_only_once():
    names = [rule.name for rule in registry.RULES]
    assert len(names) == len(set(names))
