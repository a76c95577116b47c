"""Collapsed stacks, as inferno reads them: the flame graph it draws has our names and our nanoseconds."""

from __future__ import annotations

import html
import re

import pytest

from support.example_profiles import MS, control, training
from support.example_samples import sampled_training, unmarked
from support.hostile_profiles import NAMES, hostile, side_by_side
from ticktree.outputs import EXPORTS
from ticktree.outputs.stacks import stacks
from ticktree.outputs.writing.visible import literal
from ticktree.profile import Node, Profile


def lines(profile):
    return EXPORTS["collapsed"].render(profile).decode().splitlines()


def test_a_line_has_the_names_from_the_root_and_the_self_time():
    assert lines(side_by_side()) == [
        f"root {MS}",
        f"root;main {19 * MS}",
        f"root;main;rest {5 * MS}",
        f"root;main;tasks [partly concurrent] {20 * MS}",
        f"concurrent;main;worker {10 * MS}",
        f"concurrent;main;worker;inner {20 * MS}",
    ]


def test_each_hostile_name_stays_a_separate_frame():
    found = lines(hostile())
    assert len(found) == 1 + 2 * len(NAMES)
    assert {line.count(";") for line in found if line.startswith("root;")} == {1, 2}
    assert len({line.rpartition(" ")[0] for line in found}) == len(found)


def test_a_run_of_nothing_is_an_empty_file():
    assert lines(Profile.empty()) == []


def as_written(name):
    return re.sub(r" (\d+)$", "\u00a0\\1", literal(name)).replace(";", "\\x3b")


def test_a_number_at_a_names_end_is_no_weight():
    steps = {name: Node(name=name, self_ns=5) for name in ("conv 1", "conv\u00a01", "conv 1.5")}
    assert lines(Profile(root=Node(name="root", children=steps))) == [
        "root;conv\u00a01 5",
        "root;conv\u00a01.5 5",
        r"root;conv\xa01 5",
    ]


def frames_of(svg):
    """What a flame graph shows, by the title of each frame: its name and its weight."""
    titles = re.findall(r"<title>([^<]*) \(([\d,]+) samples, [\d.]+%\)</title>", svg)
    return {(html.unescape(name), int(number.replace(",", ""))) for name, number in titles}


@pytest.mark.parametrize("make", [training, control, side_by_side])
def test_inferno_draws_every_frame_with_its_width(make):
    pyinferno = pytest.importorskip(
        "pyinferno", reason="collapsed stacks were not drawn by a flame graph tool"
    )
    profile = make()
    every = list(stacks(profile))
    drawn = frames_of(pyinferno.flamegraph_from_lines(lines(profile)))
    together = sum(stack.ns for stack in every)
    assert ("all", together) in drawn
    in_the_run = sum(stack.ns for stack in every if not stack.is_concurrent)
    assert ("root", in_the_run) in drawn
    wide = [stack for stack in every if not stack.is_concurrent and stack.ns > together / 1000]
    for stack in wide:
        below = sum(
            s.ns for s in every if not s.is_concurrent and s.frames[: len(stack.frames)] == stack.frames
        )
        mark = " [partly concurrent]" if stack.frames[-1].is_partly_concurrent else ""
        assert (as_written(stack.frames[-1].name) + mark, below) in drawn


def test_inferno_draws_hostile_names():
    pyinferno = pytest.importorskip(
        "pyinferno", reason="collapsed stacks were not drawn by a flame graph tool"
    )
    drawn = {name for name, _ in frames_of(pyinferno.flamegraph_from_lines(lines(hostile())))}
    assert {as_written(name) for name in NAMES} <= drawn


def test_samples_are_frames_with_lines_that_sum_to_the_self_time():
    assert lines(unmarked()) == [
        "root;main (/home/ada/train.py:40) [sampled];crunch (/home/ada/lib.py:7) [sampled] 505050506",
        "root;main (/home/ada/train.py:40) [sampled];crunch (/home/ada/lib.py:9) [sampled] 202020202",
        "root;main (/home/ada/train.py:40) [sampled];nap (/home/ada/lib.py:3) [sampled] 292929293",
    ]
    of_update = [line for line in lines(sampled_training()) if line.startswith("root;train;update;")]
    own = [line for line in of_update if "[sampled]" in line]
    self_ns = sum(int(line.rpartition(" ")[2]) for line in own)
    assert self_ns == sampled_training().root.at("train/update").self_ns
    assert any(line.startswith("root;train;update;(suspended) [sampled] ") for line in own)
