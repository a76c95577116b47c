"""A run under focus, as views with little room show it: calls that are different never look the same."""

from __future__ import annotations

import pytest

import ticktree
from support.findings import findings
from ticktree.analysis.context import Context
from ticktree.outputs import OUTPUTS, ViewOptions
from ticktree.outputs.html.facts import facts
from ticktree.profile import Profile

MS = 1_000_000
ROOT = "Driver.step : drive.py @ L22"
UPDATE = "self.agent.update(observations, actions) | Agent.update : learning/agents/actor_critic.py @ L10"
FORWARD = "Net.forward : learning/networks/convolutional.py @ L3"
GIVEN = (
    "[observations, observations], [actions, actions]",
    "[observations, observations], [actions, chosen]",
)


def focused() -> Profile:
    """As focus records it, where two calls of one function are on one line."""
    recorder = ticktree.Recorder(virtual_clock=True)
    for _ in recorder.loop(ROOT, range(200)):
        recorder.advance(MS)
        with recorder.section(UPDATE):
            recorder.advance(2 * MS)
            for at, given in enumerate(GIVEN, start=1):
                with recorder.section(f"self.critic_network.forward({given}) | {FORWARD}"):
                    recorder.advance(at * 10 * MS)
    recorder.disable()
    return recorder.snapshot()


@pytest.mark.parametrize("width", [80, 100])
def test_calls_with_different_arguments_are_distinguishable_in_a_narrow_tree(width):
    text = OUTPUTS["terminal"].render(focused(), ViewOptions(width=width)).decode()
    rows = [line for line in text.splitlines() if "Net.forward" in line and "─ " in line]
    assert [[word in row for word in ("chosen])", "actions])")] for row in rows] == [
        [True, False],
        [False, True],
    ]


def test_recommendations_name_functions_and_not_full_calls():
    critical = next(found for found in findings(focused()) if found.rule == "critical")
    assert critical.message.startswith("Net.forward @ L")
    assert "of a tick of Driver.step; without it a tick of Driver.step would take" in critical.message
    assert critical.path.endswith("convolutional.py @ L3")


@pytest.mark.parametrize("name", ["terminal", "text"])
def test_self_times_and_loops_name_functions(name):
    text = OUTPUTS[name].render(focused(), ViewOptions(width=100)).decode()
    start = text.casefold().index("where a step of driver.step goes")
    below = text[start : text.index("\n\n", start)]
    assert "Agent.update" in below
    assert " | " not in below
    assert ".py" not in below


def test_the_page_has_a_short_name_of_each_call_and_of_nothing_else():
    profile = focused()
    short = facts(Context(profile, ViewOptions().settings), [], ViewOptions())["short"]
    assert list(short) == [1, 2, 3, 4]  # the root is in no focus
    assert (short[1], short[2]) == ("Driver.step", "Agent.update")
    assert short[3].startswith("Net.forward @ L")
    assert short[3] != short[4]
