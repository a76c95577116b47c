"""What `--summary-every` prints."""

from __future__ import annotations

from pathlib import Path

from ticktree.cli import summary as summaries
from ticktree.cli.summary import LiveSummary
from ticktree.profile import Node, Profile, Stats


class Run:
    path = Path("20261121-104312-train")

    def __init__(self, profile: Profile) -> None:
        self._profile = profile

    def profile(self) -> Profile:
        return self._profile


def printed_of(profile: Profile, monkeypatch) -> list[str]:
    blocks: list[str] = []
    monkeypatch.setattr(summaries, "show_at_once", lambda document, stream: blocks.append(document.decode()))
    now_s = 1000.0
    summary = LiveSummary(Run(profile), lambda: now_s)
    now_s += 90.0
    summary.print()
    (block,) = blocks
    return block.splitlines()


def test_a_summary_says_when_and_of_which_run_it_is_on_a_line_of_its_own(monkeypatch):
    step = Node(name="step", self_ns=10, steady=Stats.of([10]))
    lines = printed_of(Profile(Node(name="root", children={"step": step})), monkeypatch)
    assert lines[0] == ""
    assert lines[1].endswith("after 90.0 s: 20261121-104312-train ---")
    assert any(line.startswith("└─ step") for line in lines)
    assert lines[-1] == ""


def test_a_run_that_has_recorded_nothing_yet_says_so(monkeypatch):
    assert "Nothing recorded yet: no section was entered." in printed_of(Profile(), monkeypatch)
