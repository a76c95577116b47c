"""What a line's source says of the time that is spent there."""

from __future__ import annotations

import pytest

from support.example_samples import stack
from ticktree.analysis.line_kinds import noted_lines
from ticktree.profile import CodeLine
from ticktree.profile.noted_lines import (
    ARRAY_OF_LIST,
    DEEP_COPY,
    ELEMENT_LOOP,
    GROWING_ARRAY,
    JSON,
    LOCK,
    PICKLE,
    PROGRAM,
)

FILE = "train.py"
GAE = """
for n in range(envs):
    last = 0.0
    for t in reversed(range(steps)):
        delta = rewards[t, n].item() + gamma * values[t + 1, n].item()
        adv[t, n] = last = delta + gamma * last
"""


def kinds(source, *numbers):
    """The kinds of each line of a source, all of which were sampled."""
    lines = numbers or range(1, 20)
    stacks = [stack("train", CodeLine("main", "lib.py", 1), CodeLine("f", FILE, line)) for line in lines]
    return {line: set(kinds) for (_, line), kinds in noted_lines(stacks, {FILE: source}.get).items()}


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("with self.lock:\n    f(x)\n", {LOCK}),
        ("with lock: data['x'] = 1\n", {LOCK}),
        ("with lock: f(x)\n", set()),  # the thread may wait in the call
        ("ok = lock.acquire(timeout=3)\n", {LOCK}),
        ("lock.release()\n", set()),
        ("y = a @ b\n", set()),
        ("c = copy.deepcopy(config)\n", {DEEP_COPY}),
        ("c = deepcopy(config)\n", {DEEP_COPY}),
        ("json.dump(history, file)\n", {JSON}),
        ("pickle.dump(history, file)\n", {PICKLE}),
        ("out = subprocess.run(command)\n", {PROGRAM}),
        ("data = np.append(data, row)\n", {GROWING_ARRAY}),
        ("self.data = np.concatenate([self.data, row], axis=0)\n", {GROWING_ARRAY}),
        ("both = np.concatenate([data, row])\n", set()),  # made once
        ("data = np.concatenate([data, row])[-100:]\n", set()),  # of a fixed size
        ("batch = np.stack([item[0] for item in items])\n", {ARRAY_OF_LIST}),
        ("batch = np.array([np.float32(item.reward) for item in items])\n", {ARRAY_OF_LIST}),
        ("batch = np.stack([resize(item) for item in items])\n", set()),  # resizing may be what takes long
        ("batch = np.stack(items)\n", set()),  # may be an array
        ("batch = torch.tensor([1.0, 2.0])\n", set()),
        ("with :\n", set()),
        (None, set()),
    ],
)
def test_the_kind_of_a_line(source, found):
    assert kinds(source).get(1, set()) == found


def test_an_array_is_made_of_a_list_that_the_function_appends_to():
    assert kinds("def f():\n    rows = []\n    rows.append(1)\n    return np.array(rows)\n") == {
        4: {ARRAY_OF_LIST}
    }


def test_a_loop_over_elements_is_all_of_it_lines_of_that_kind():
    assert kinds(GAE) == {line: {ELEMENT_LOOP} for line in range(2, 7)}


@pytest.mark.parametrize(
    "body",
    [
        "out[i] = envs[i].step(action)",  # what takes the time is the step
        "total += 1",  # no element
        "yield x[i]",
    ],
)
def test_other_loops_are_no_loops_over_elements(body):
    assert kinds(f"def f():\n  for i in range(n):\n    {body}\n") == {}


def test_a_loop_over_objects_is_no_loop_over_elements():
    assert kinds("for item in items:\n    total += item[0]\n") == {}


def test_only_lines_that_were_sampled_are_noted():
    source = "with a:\n    f()\nwith b:\n    g()\n"
    assert kinds(source, 2, 3) == {3: {LOCK}}
