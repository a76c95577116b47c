from __future__ import annotations

import pytest

from support.example_profiles import MS
from support.example_samples import stack
from ticktree.analysis.sampled_source import lock_lines, main_loop
from ticktree.profile import CodeLine, Weight

FILE = "train.py"


def at(line: int, state: str = "lock"):
    return stack("train", CodeLine("main", "lib.py", 1), CodeLine("f", FILE, line), state=state)


@pytest.mark.parametrize(
    ("source", "is_lock"),
    [
        ("with self.lock:\n    f(x)\n", True),
        ("with lock: data['x'] = 1\n", True),
        ("with lock: f(x)\n", False),  # the thread may wait in the call
        ("ok = lock.acquire(timeout=3)\n", True),
        ("y = a @ b\n", False),  # a library's threads
        ("lock.release()\n", False),
        ("with :\n", False),
        (None, False),
    ],
)
def test_a_line_takes_a_lock_if_its_source_does(source, is_lock):
    found = lock_lines([at(1)], {FILE: source}.get)
    assert found == ({(FILE, 1)} if is_lock else set())


def test_only_lines_in_which_a_thread_waited_for_a_lock_are_returned():
    source = {FILE: "with a:\n    f()\nwith b:\n    g()\nwith c:\n    h()\n"}.get
    stacks = [at(1, "running"), at(2), at(3, "sleep"), at(5), stack("train", state="lock")]
    assert lock_lines(stacks, source) == {(FILE, 5)}


def test_the_main_loop_is_the_innermost_with_several_phases():
    lines = (
        "for epoch in epochs:",
        "  for batch in data:",
        "    load(batch)",
        "    for x in batch:",
        "      learn(x)",
    )
    source = "\n".join(lines)
    stacks = [
        (at(line, "running"), Weight(count, count * 10 * MS)) for line, count in ((3, 40), (4, 1), (5, 59))
    ]
    found = main_loop(stacks, {FILE: source}.get)
    assert found is not None
    assert (found.line, found.mark) == (2, 'for batch in ticktree.loop("f", data):')
    assert main_loop(stacks[:1], {FILE: source}.get) is None  # too few samples
