"""What is not worth doing is told in lines that can be read."""

from __future__ import annotations

import ticktree
from ticktree.outputs import OUTPUTS


def test_a_name_as_long_as_an_expression_is_cut_in_its_middle():
    recorder = ticktree.Recorder(virtual_clock=True)
    long = "preprocess(" + ", ".join(f"argument_{at}" for at in range(30)) + ")"
    for _ in recorder.loop("train", range(30)):
        with recorder.section("update"):
            recorder.advance(1_000_000)
        with recorder.section(long):
            recorder.advance(10_000)
    text = " ".join(OUTPUTS["markdown"].render(recorder.snapshot()).decode().split())
    said = text.split("Not worth doing")[1]
    assert "even if it were free, train would be 1.010 x as fast" in said
    assert "…" in said
    assert long not in said.replace("\\", "")
