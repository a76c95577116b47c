"""The toolkit's own trainer under its own timers and under ticktree's: one tree, but for the traps of the first.

Both runs take the same steps: one player, and everything random is seeded.
"""

from __future__ import annotations

import pytest

from support.workloads.mlagents_trainer import SHORT, below, run_trainer, shape, without_counts
from ticktree.loading import load

pytestmark = pytest.mark.timeout(600)

WORKER_ROOT = (
    "TrainerController.start_learning",
    "TrainerController.advance",
    "env_step",
    "workers",
    "worker_root",
)
SETUP = "run_training.setup"


@pytest.fixture(scope="module")
def theirs(tmp_path_factory):
    return run_trainer(tmp_path_factory.mktemp("theirs"), *SHORT, "--own-timers")


@pytest.fixture(scope="module")
def ours(tmp_path_factory):
    return run_trainer(tmp_path_factory.mktemp("ours"), *SHORT)


def lifted(tree):
    """A shape without the place that a forked worker has from its parent: what is in it, beside it."""
    root = below(tree, *WORKER_ROOT)
    inherited = root["children"].pop(SETUP)
    assert (inherited["count"], inherited["is_parallel"]) == (0, True)
    _add(root, inherited)
    return tree


def _add(tree, other):
    for name, child in other["children"].items():
        mine = tree["children"].setdefault(name, {"count": 0, "is_parallel": True, "children": {}})
        mine["count"] += child["count"]
        _add(mine, child)


def test_the_tree_is_the_same_to_the_last_call(theirs, ours):
    expected = lifted(shape(theirs.timers()))
    assert shape(ours.timers()) == expected
    steps = below(expected, *WORKER_ROOT, "UnityEnvironment.step")["count"]
    assert steps == below(expected, *WORKER_ROOT)["count"] > 500
    assert below(expected, *WORKER_ROOT[:2], "trainer_advance", "_update_policy")["count"] >= 1


def test_the_gauges_and_the_metadata_are_the_same(theirs, ours):
    one, other = theirs.timers(), ours.timers()
    assert one["gauges"].keys() == other["gauges"].keys()
    for name, gauge in one["gauges"].items():
        assert gauge == pytest.approx(other["gauges"][name]), name
    assert one["metadata"].keys() == other["metadata"].keys()
    assert other["metadata"]["mlagents_version"] == "1.1.0"


def test_no_timer_of_ticktrees_is_one_that_a_fork_left_behind(ours):
    waiting = [ours.timers()]
    while waiting:
        tree = waiting.pop()
        assert tree["count"] > 0
        waiting.extend(tree.get("children", {}).values())


def test_waiting_that_a_worker_does_not_cover_stays_in_self(theirs, ours):
    """There the parallel children's time is taken from their parent's own, and what is missing is cut off at 0."""
    assert below(theirs.timers(), *WORKER_ROOT[:-1])["self"] == 0
    workers = below(ours.timers(), *WORKER_ROOT[:-1])
    assert workers["self"] == workers["total"] > 0


@pytest.mark.parametrize("which", ["theirs", "ours"])
def test_both_files_are_read_with_accounts_that_add_up(which, request):
    run = request.getfixturevalue(which)
    profile = load(run.timers_file)
    profile.check()
    workers = profile.root.at("/".join(WORKER_ROOT[:-1]))
    root = workers.children["worker_root"]
    assert root.total_ns > workers.total_ns
    assert root.concurrent_ns == root.total_ns
    steps = sum(
        node.count for path, _, node in profile.root.walk() if path.endswith("/UnityEnvironment.step")
    )
    assert steps == root.count


def test_a_learner_in_a_thread_has_the_same_tree_under_both(tmp_path):
    trees = []
    for name in ("theirs", "ours"):
        folder = tmp_path / name
        folder.mkdir()
        own = ["--own-timers"] if name == "theirs" else []
        trees.append(run_trainer(folder, *SHORT, "--threaded", *own).timers())
    theirs, ours = trees
    main = ("TrainerController.start_learning", "trainer_threads")
    assert without_counts(below(theirs, *main)) == without_counts(below(ours, *main))
    learner = below(ours, *main, "thread_root")
    assert learner["is_parallel"]
    assert learner["children"]["trainer_advance"]["count"] > 0
    assert "trainer_advance" not in below(ours, *WORKER_ROOT[:2])["children"]
