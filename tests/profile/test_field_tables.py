"""The tables that merging, JSON and checks derive from."""

from __future__ import annotations

import re
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import fields
from functools import reduce
from operator import add
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.profile_strategies import (
    gauges,
    latenesses,
    loops,
    memories,
    nodes,
    profiles,
    stats,
    threads,
    windows,
)
from ticktree.profile import Gauge, Loop, Node, Profile, Stats, Thread, Windows
from ticktree.profile.table import Mergeable, ModelPart, columns, merge

SOURCE = Path(__file__).parents[2] / "src" / "ticktree"

# Parts of one name, of which any number merge.
ALIKE = [
    nodes("train"),
    loops("train"),
    gauges("queue"),
    threads("7-70/18", [""]),
    latenesses(),
    memories(),
    stats,
    windows,
    profiles(),
]


@settings(max_examples=150)
@given(st.data())
def test_merging_many_parts_equals_adding_them_in_any_order(data):
    parts = data.draw(st.lists(data.draw(st.sampled_from(ALIKE)), min_size=1, max_size=4))
    merged = merge(parts)
    assert merged == reduce(add, parts)
    assert merged == merge(data.draw(st.permutations(parts)))
    split = data.draw(st.integers(0, len(parts) - 1))
    assert merged == merge([*parts[:split], merge(parts[split:])])
    assert not list(merged.problems())


@settings(max_examples=50)
@given(nodes("train"), loops("train"), stats, windows, profiles())
def test_a_part_of_nothing_changes_nothing(node, loop, calls, series, profile):
    identities = (Node(name="train"), Loop(path="train"), Stats(), Windows(), Profile.empty())
    for part, identity in zip((node, loop, calls, series, profile), identities, strict=True):
        assert part + identity == identity + part == merge([identity, part, identity]) == part


def test_parts_of_different_names_do_not_merge():
    for name in ("name", "clock"):
        with pytest.raises(ValueError, match="different nodes do not merge"):
            merge([Node(name="a"), Node(**{"name": "a", name: "device"})])


def kinds_of(kind: type) -> Iterator[type]:
    """Every class of the model with a table; a class with slots leaves behind the one that it was made of."""
    for subclass in kind.__subclasses__():
        yield from kinds_of(subclass)
    if columns_of(kind) and vars(sys.modules[kind.__module__]).get(kind.__name__) is kind:
        yield kind


def columns_of(kind: type) -> tuple:
    return columns(kind) if hasattr(kind, "__dataclass_fields__") else ()


def parts_in(part: object) -> Iterator[ModelPart]:
    """Every part in another, itself included."""
    if isinstance(part, ModelPart):
        yield part
        values = [getattr(part, field.name) for field in fields(part)]
    else:
        values = [*part, *part.values()] if isinstance(part, Mapping) else list(part)
    for value in values:
        if isinstance(value, (ModelPart, Mapping, tuple)):
            yield from parts_in(value)


@pytest.mark.slow
def test_random_profiles_vary_every_field_of_every_table():
    """So that what holds of them holds of a field that is added tomorrow."""
    values_seen = defaultdict(set)

    @settings(max_examples=150, derandomize=True, database=None)
    @given(profiles())
    def collect(profile):
        for part in parts_in(profile):
            for column in columns(type(part)):
                if len(values_seen[type(part), column.name]) < 2:
                    values_seen[type(part), column.name].add(repr(getattr(part, column.name)))

    collect()
    for kind in kinds_of(ModelPart):
        if kind.__module__.startswith("ticktree.profile"):
            same = {"root", "name"} if kind in (Profile, Gauge) else set()
            assert [
                column.name
                for column in columns(kind)
                if len(values_seen[kind, column.name]) < 2 and column.name not in same
            ] == []


def test_every_field_has_a_merge_rule_and_a_place_in_json():
    derived = {"stats", "total_ns", "children"}
    for kind in (Node, Loop, Gauge, Thread, Profile):
        table = {column.name: column for column in columns(kind)}
        assert table.keys() == {field.name for field in fields(kind)} - (derived if kind is Node else set())
        assert [name for name, column in table.items() if column.merge is None] == []
        assert [name for name, column in table.items() if column.json is None] == (
            ["name"] if kind is Gauge else []
        )
    assert issubclass(Node, Mergeable)


def test_a_statistic_of_a_node_is_named_in_six_source_files_at_most():
    """`raised` stands for all: its field, its name for readers, its booking, its reading, its table, its output."""
    named = re.compile(r"(->|\.)raised\b|F\(raised\)|uint64_t raised;|\braised: int\b|[\"']raised[\"']")
    endings = {".py", ".pyx", ".pxi", ".pxd", ".pyi", ".h", ".c"}
    files = [path for path in SOURCE.rglob("*") if path.suffix in endings and path.name != "_native.c"]
    files = {
        str(path.relative_to(SOURCE)) for path in files if named.search(path.read_text(encoding="utf-8"))
    }
    assert "profile/node.py" in files
    assert len(files) <= 6, files
