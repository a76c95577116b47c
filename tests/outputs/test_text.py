"""The plain text: every table of the view as numbers that any program can split at spaces."""

from __future__ import annotations

import re

from rich.cells import cell_len

from support.example_profiles import control, node, training
from support.hostile_profiles import hostile, unknown_durations
from ticktree.outputs import OUTPUTS, ViewOptions
from ticktree.profile import Node, Profile


def lines(profile, **options):
    return OUTPUTS["text"].render(profile, ViewOptions(**options)).decode().splitlines()


def rows(profile, heading, **options):
    """The rows of a table, each as its name and its numbers."""
    every = lines(profile, **options)
    start = every.index(heading) + 4
    end = next((at for at in range(start, len(every)) if not every[at]), len(every))
    return [re.split(r"  +", line) for line in every[start:end]]


def test_sections_have_their_self_time_and_their_score():
    found = {row[0]: row[1:] for row in rows(training(), "SECTIONS OF TRAIN:")}
    share, self_ms, call_ms, calls, _, score = found["update/actor"][:6]
    actor = training().root.at("train/update/actor")
    own_ms = (actor.steady.sum_ns - actor.children["forward"].steady.sum_ns) / 38e6
    assert (share, calls) == ("34.2", "38")
    assert abs(float(self_ms) - own_ms) < 0.01
    assert abs(float(call_ms) - own_ms) < 0.01
    assert float(score) == max(float(row[5]) for row in found.values() if row[5] != "-")


def test_the_tree_has_the_path_of_every_section_and_what_its_heads_promise():
    every = {row[0]: row[1:] for row in rows(training(), "A STEP OF TRAIN:")}
    sample = training().root.at("train/update/sample").steady
    assert every["train/update/sample"] == [
        f"{100 * sample.sum_ns / training().loops['train'].stats.sum_ns:.1f}",
        *(f"{ns / 1e6:.3f}" for ns in (sample.sum_ns / 38, sample.mean_ns, sample.min_ns)),
        *(f"{ns / 1e6:.3f}" for ns in (sample.p50_ns, sample.p90_ns, sample.p99_ns, sample.max_ns)),
        "38",
    ]


def test_categories_are_parts_of_the_tick():
    shares = [float(row[1]) for row in rows(control(), "CONTROL BY CATEGORY:")]
    assert 98 < sum(shares) < 100.2


def test_all_findings_and_all_losses_are_there():
    every = lines(control())
    assert "RECOMMENDATIONS:" in every
    assert any(line.startswith("INFO: control misses 9 of 1,190 ticks") for line in every)
    assert every[every.index("WARNINGS:") :].index("Not recorded: 2 unwound") > 0


def test_unmeasured_values_are_dashes():
    (row,) = (row for row in rows(unknown_durations(), "THE RUN:") if row[0] == "told")
    assert row[4:] == ["-", "-", "-", "-", "-", "2"]


def test_an_empty_run_names_what_to_do():
    assert "ticktree doctor" in lines(Profile.empty())[-1]


def test_columns_are_aligned_for_all_names():
    names = {name: node(name, [10, 20]) for name in ("日本語", "x" * 300, "\x1b[31m", "a")}
    every = lines(Profile(root=Node(name="root", children=names)))
    start = every.index("THE RUN:")
    assert len({cell_len(line) for line in every[start + 1 : start + 8]}) == 1
    assert all(line.isprintable() for line in lines(hostile(), all=True))
