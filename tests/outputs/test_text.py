"""The plain text: what the analyzers of hand-made systems print, from our numbers."""

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
    start = next(at for at, line in enumerate(every) if line.startswith(heading)) + 4
    return [re.split(r"  +", line) for line in every[start:] if line][: _end(every[start:])]


def _end(rest):
    return next((at for at, line in enumerate(rest) if not line or line.endswith("--all")), len(rest))


def test_the_ten_with_the_highest_scores_are_the_top_ten():
    found = rows(training(), "TOP 10 BOTTLENECKS OF train, own time in 38 steady ticks:")
    assert len(found) == 10
    scores = [float(score) for _, score, *_ in found]
    assert scores == sorted(scores, reverse=True)
    name, _, share, mean_ms, calls = found[0]
    assert (name, share, calls) == ("update/actor", "34.2", "38")
    actor = training().root.at("train/update/actor")
    below = actor.children["forward"].steady.sum_ns
    assert abs(float(mean_ms) - (actor.steady.sum_ns - below) / 38e6) < 0.01
    assert len(rows(training(), "ALL BOTTLENECKS", all=True)) > 10


def test_the_summary_has_what_its_heads_promise():
    every = {row[0]: row[1:] for row in rows(training(), "PROFILING SUMMARY:")}
    train = training().root.at("train")
    assert every["train"] == [
        "41",
        f"{train.total_ns / 1e9:.3f}",
        f"{train.stats.mean_ns / 1e9:.6f}",
        f"{train.stats.min_ns / 1e9:.6f}",
        f"{train.stats.max_ns / 1e9:.6f}",
        "-",
        "-",
    ]
    assert every["train/update/sample"][-2:] == ["1240.0", "-"]


def test_categories_are_parts_of_the_tick():
    shares = [float(row[1]) for row in rows(control(), "CATEGORIES OF control")]
    assert 98 < sum(shares) < 100.2


def test_recommendations_are_all_findings_and_losses_come_last():
    every = lines(control())
    assert "RECOMMENDATIONS:" in every
    assert any(line.startswith("INFO: control misses 9 of 1,190 ticks") for line in every)
    assert every[-1] == "Not recorded: 2 unwound"


def test_what_was_not_measured_is_a_dash():
    (row,) = rows(unknown_durations(), "PROFILING SUMMARY:")
    assert row == ["told", "2", "0.000", "0.000000", "-", "-", "-", "-"]


def test_a_run_of_nothing_says_what_to_do():
    assert "ticktree doctor" in lines(Profile.empty())[-1]


def test_columns_stand_below_each_other_whatever_the_names():
    names = {name: node(name, [10, 20]) for name in ("日本語", "x" * 300, "\x1b[31m", "a")}
    every = lines(Profile(root=Node(name="root", children=names)))
    start = every.index("PROFILING SUMMARY:")
    assert len({cell_len(line) for line in every[start + 1 : start + 8]}) == 1
    assert all(line.isprintable() for line in lines(hostile(), all=True))
