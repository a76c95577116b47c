from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.example_profiles import MS, control, node
from support.profile_strategies import profiles
from ticktree.outputs import OUTPUTS, ViewOptions
from ticktree.outputs.markdown import escaped
from ticktree.profile import Node, Profile


def render_text(profile: Profile, **options) -> str:
    return OUTPUTS["markdown"].render(profile, ViewOptions(**options)).decode()


@pytest.mark.parametrize(
    ("text", "literal"),
    [
        ("</script>", "&lt;/script&gt;"),
        ("a|b", r"a\|b"),
        ("`code`", r"\`code\`"),
        ("*x* __y__", r"\*x\* \_\_y\_\_"),
        ("[a](b)", r"\[a\](b)"),
        ("# title", r"\# title"),
        ("- item", r"\- item"),
        ("1. item", r"1\. item"),
        ("&amp;", "&amp;amp;"),
        ("@someone, 3 @ 4", "@<!-- -->someone, 3 @ 4"),
        ("3.5 ms (usually 2 ms)", "3.5 ms (usually 2 ms)"),
    ],
)
def test_markdown_takes_names_literally(text, literal):
    assert escaped(text) == literal


@pytest.mark.slow
@settings(max_examples=40)
@given(profiles(), st.sampled_from([None, "process", "thread", "role"]))
def test_every_row_of_a_table_has_as_many_cells_as_its_heading(profile, by):
    blocks = render_text(profile, all=True, call_sites=True, by=by).split("\n\n")
    for block in blocks:
        if block.startswith("|"):
            assert len({len(re.findall(r"(?<!\\)\|", line)) for line in block.splitlines()}) == 1


def test_a_name_cannot_become_html():
    tree = Node(name="root", children={"</script><b>": node("</script><b>", [MS])})
    text = render_text(Profile(root=tree))
    assert "<" not in re.sub(r"</?(details|summary)>", "", text)
    assert "script&gt;" in text


def test_losses_are_announced():
    assert "**Not recorded: 2 unwound**" in render_text(control())


def test_an_empty_profile_is_reported_as_empty():
    assert "Nothing was recorded" in render_text(Profile.empty())


def test_the_same_profile_gives_the_same_bytes_every_time():
    profile = replace(control(), losses={})
    assert render_text(profile) == render_text(profile)
