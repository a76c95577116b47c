from __future__ import annotations

import base64
import gzip
import json
import re
from collections.abc import Iterator
from dataclasses import replace
from html.parser import HTMLParser
from importlib import resources
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.example_profiles import control, node, robot, training
from ticktree.analysis.context import Context
from ticktree.outputs import OUTPUTS, ViewOptions
from ticktree.outputs.html import embedding
from ticktree.outputs.html.facts import facts
from ticktree.outputs.view.build import report_view
from ticktree.profile import Profile

ROOT = Path(__file__).parents[3]
KILOBYTES_AT_MOST = 170
PAGES = ["page.html", "runs.html"]
HOSTILE = [
    "</script><script>alert(1)</script>",
    "<!--<script>",
    "\"'&amp;",
    "\u202eabc",
    "\u2028",
    "🚗",
    "@@ticktree-data@@",
]


class Elements(HTMLParser):
    """What a browser makes of a page: the attributes of its elements, and the text of its scripts and its title."""

    def __init__(self) -> None:
        super().__init__()
        self.scripts: list[tuple[dict[str, str | None], str]] = []
        self.title = ""
        self.links: list[str] = []
        self._open = ""

    def handle_starttag(self, tag, attrs):
        self._open = tag
        if tag == "script":
            self.scripts.append((dict(attrs), ""))
        self.links += [value or "" for name, value in attrs if name in ("src", "href")]

    def handle_endtag(self, tag):
        self._open = ""

    def handle_data(self, data):
        if self._open == "script":
            attributes, text = self.scripts[-1]
            self.scripts[-1] = (attributes, text + data)
        elif self._open == "title":
            self.title += data


def elements(document: bytes) -> Elements:
    parser = Elements()
    parser.feed(document.decode())
    return parser


def data_in(document: bytes) -> dict:
    (text,) = [
        text for attributes, text in elements(document).scripts if attributes.get("id") == "ticktree-data"
    ]
    return json.loads(text if text.startswith("{") else gzip.decompress(base64.b64decode(text)))


def render(profile: Profile) -> bytes:
    return OUTPUTS["html"].render(profile)


def data_of(profile: Profile) -> dict:
    return facts(Context(profile), [], ViewOptions())


def profile_named(name: str) -> Profile:
    root = node("root", [], node(name, [1000, 2000]), self_ns=0)
    return replace(
        Profile.empty(), root=root, metadata={"name": frozenset([name]), "command": frozenset([name])}
    )


@pytest.mark.parametrize("make", [training, control, robot, Profile.empty])
def test_the_page_has_what_the_json_has(make):
    assert data_in(render(make()))["report"] == json.loads(OUTPUTS["json"].render(make()))


@pytest.mark.parametrize("make", [training, robot])
def test_the_same_profile_gives_the_same_page(make):
    assert render(make()) == render(make())


@pytest.mark.parametrize("page", PAGES)
def test_the_code_of_a_page_is_small_and_contains_no_local_paths(page):
    built = resources.files("ticktree.outputs.html").joinpath(page).read_bytes()
    assert len(built) < KILOBYTES_AT_MOST * 1000
    assert elements(built).links == ["data:,"]
    assert set(re.findall(rb"https?://[^\"'`\s)]+", built)) <= {
        # Names of namespaces, which nobody fetches.
        b"http://www.w3.org/2000/svg",
        b"http://www.w3.org/1998/Math/MathML",
        b"http://www.w3.org/1999/xhtml",
    }


@pytest.mark.parametrize("page", PAGES)
def test_the_page_lets_its_own_script_run_and_nothing_be_fetched(page):
    built = resources.files("ticktree.outputs.html").joinpath(page).read_text()
    (policy,) = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]+)"', built)
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    assert rules["default-src"] == "'none'"
    assert rules["script-src"].startswith("'sha256-")
    assert "connect-src" not in rules


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize("marker", [embedding.DATA, embedding.TITLE, b"@@ticktree-policy@@"])
def test_the_built_page_has_each_placeholder_once(marker, page):
    built = resources.files("ticktree.outputs.html").joinpath(page).read_bytes()
    assert built.count(marker) == (0 if b"policy" in marker else 1)


@pytest.mark.parametrize("name", [*HOSTILE, "x" * 10_000])
def test_a_hostile_name_stays_text(name):
    document = render(profile_named(name))
    parsed = elements(document)
    assert len(parsed.scripts) == 2
    assert data_in(document)["report"]["tree"]["children"][0]["name"] == name


@settings(max_examples=50)
@given(st.text())
def test_no_name_ends_its_element(name):
    text = embedding.embedded(json.dumps({"name": name}).encode()).decode()
    assert not set("<>&") & set(text)
    assert json.loads(text) == {"name": name}


def test_much_data_is_packed():
    data = json.dumps({"name": "abc" * 100_000}).encode()
    packed = embedding.embedded(data)
    assert len(packed) < len(data) / 10
    assert gzip.decompress(base64.b64decode(packed)) == data


def nodes_of(tree: dict) -> Iterator[dict]:
    yield tree
    for child in tree["children"]:
        yield from nodes_of(child)


@pytest.mark.parametrize("make", [training, control, robot])
def test_facts_about_nodes_use_their_index_in_the_json(make):
    data = data_in(render(make()))
    paths = [each["path"] for each in nodes_of(data["report"]["tree"])]
    view = data["view"]
    assert len(view["category_of"]) == len(paths)
    ranked = {
        section["path"]: section["category"]
        for frame in data["report"]["bottlenecks"]
        for section in frame["sections"]
    }
    categories = {
        path: view["categories"][place] if place >= 0 else None
        for path, place in zip(paths, view["category_of"], strict=True)
    }
    assert ranked
    assert {path: categories[path] for path in ranked} == ranked


@pytest.mark.parametrize("make", [training, control, robot])
def test_the_boxes_of_a_mean_tick_are_its_sections_and_sum_to_it(make):
    profile = make()
    data = data_in(render(profile))
    nodes = list(nodes_of(data["report"]["tree"]))
    views = Context(profile).loops
    assert [tick["path"] for tick in data["view"]["mean_ticks"]] == [view.path for view in views]
    for tick, view in zip(data["view"]["mean_ticks"], views, strict=True):
        assert [nodes[place]["path"] for place in tick["places"]] == [each.path for each in view.sections]
        assert tick["total_ns"][0] == tick["tick_ns"]
        recorder_ns = sum(each.recorder_ns for each in view.sections)
        assert sum(tick["self_ns"]) == pytest.approx(tick["tick_ns"] - recorder_ns, abs=len(tick["places"]))


@pytest.mark.parametrize("make", [training, control, robot])
def test_the_page_has_the_same_content_as_the_terminal(make):
    view = report_view(Context(make()))
    screen = data_in(render(make()))["view"]["screen"]
    assert screen["headlines"] == [headline.to_dict() for headline in view.headlines]
    assert screen["warnings"] == [warned.to_dict() for warned in view.warnings]
    assert screen["provenance"] == [fact.to_dict() for fact in view.provenance]
    assert screen["recommendations"][: len(view.recommendations)] == [
        each.to_dict() for each in view.recommendations
    ]
    rows = {row["path"]: row["cells"] for row in screen["loops"]["rows"]}
    for row in view.to_dict()["loops"]["rows"]:
        assert rows[row["path"]].items() >= row["cells"].items()


def test_the_usual_tick_is_the_mean_of_the_steady_ones():
    profile = control()
    (loop,) = profile.loops.values()
    usual = data_of(profile)["usual"][loop.path]
    assert usual.keys() == {path for tick in loop.worst for path in tick.breakdown}
    for path, ns in usual.items():
        assert ns == profile.root.at(path).steady.sum_ns // loop.stats.count


def test_losses_and_an_empty_run_are_shown():
    screen = data_of(replace(training(), losses={"nodes_refused": 3}))["screen"]
    assert screen["warnings"][-1]["text"] == "Not recorded: 3 nodes refused"
    assert "doctor" in data_of(Profile.empty())["screen"]["nothing"]


def test_the_page_reads_only_what_the_report_view_has():
    source = (ROOT / "report-ui" / "src" / "types.ts").read_text()
    types = {
        name: set(re.findall(r"^  (\w+)\??:", body, re.MULTILINE))
        for name, body in re.findall(
            r"^export interface (\w+)[^{]*\{\n(.*?)^\}", source, re.MULTILINE | re.DOTALL
        )
    }
    profile = training()
    view = data_in(render(profile))["view"]
    screen = view["screen"]
    lost = data_of(replace(profile, losses={"nodes_refused": 3}))["screen"]
    view_keys = {
        "View": view,
        "Screen": screen,
        "Headline": screen["headlines"][0],
        "Warned": lost["warnings"][0],
        "Recommendation": screen["recommendations"][0],
        "Table": screen["loops"],
        "Head": screen["loops"]["columns"][0],
        "Entry": screen["loops"]["rows"][0],
        "MeanTick": view["mean_ticks"][0],
    }
    for name, fields in view_keys.items():
        assert types[name] <= fields.keys() | {"timeline"}, name
