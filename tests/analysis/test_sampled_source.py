from __future__ import annotations

from support.example_profiles import MS
from support.example_samples import stack
from ticktree.analysis.sampled_source import main_loop
from ticktree.profile import CodeLine, Weight

FILE = "train.py"


def at(line: int):
    return stack("train", CodeLine("main", "lib.py", 1), CodeLine("f", FILE, line))


def test_the_main_loop_is_the_innermost_with_several_phases():
    lines = (
        "for epoch in epochs:",
        "  for batch in data:",
        "    load(batch)",
        "    for x in batch:",
        "      learn(x)",
    )
    source = "\n".join(lines)
    stacks = [(at(line), Weight(count, count * 10 * MS)) for line, count in ((3, 40), (4, 1), (5, 59))]
    found = main_loop(stacks, {FILE: source}.get)
    assert found is not None
    assert (found.line, found.mark) == (2, 'for batch in ticktree.loop("f", data):')
    assert main_loop(stacks[:1], {FILE: source}.get) is None  # too few samples
