import json
import os
import signal
import subprocess
import sys
from collections import Counter
from typing import NamedTuple

import psutil
import pytest

import ticktree
from support.findings import findings
from support.thorough import thorough
from support.workloads import environment
from support.workloads.parallel_trainer import SCRIPT, Learned, run_trainer

START = "TrainerController.start_learning"
ADVANCE = f"{START}/TrainerController.advance"
WORKER = f"{START}/workers/worker_root"
UPDATE = "_update_policy/TorchPPOOptimizer.update"
ENV_STEP = (
    "SubprocessEnvManager._take_step/TorchPolicy.evaluate",
    "communicator.exchange/step_async",
    "communicator.exchange/step_wait",
    "process_steps/trajectory_queue.put",
)
LEARNING = (
    "process_trajectory/value_estimates",
    "process_trajectory/get_gae",
    *(f"{UPDATE}/{part}" for part in ("forward", "loss", "backward", "step")),
)

STATS = (
    "Environment.CumulativeReward",
    "Environment.EpisodeLength",
    "Losses.PolicyLoss",
    "Losses.ValueLoss",
    "Policy.Entropy",
    "Policy.LearningRate",
    "Policy.Epsilon",
    "Policy.Beta",
    "Policy.ExtrinsicReward",
    "Policy.ExtrinsicValueEstimate",
    "Step",
)


class Trained(NamedTuple):
    """A run that several tests look at: 1,500 steps of two workers."""

    ended: Learned
    threaded: bool
    profile: ticktree.Profile


def _train(folder, threaded, start_method):
    options = ["--steps", "1500", "--workers", "2", "--start-method", start_method, "--run-id", "first"]
    ended = run_trainer(folder, *options, *(["--threaded"] if threaded else []))
    return Trained(ended, threaded, ended.profile())


@pytest.fixture(
    scope="module",
    params=[
        (False, "spawn"),
        pytest.param((True, "spawn"), marks=pytest.mark.slow),
        pytest.param((False, "fork"), marks=[pytest.mark.slow, thorough]),
        pytest.param((True, "forkserver"), marks=[pytest.mark.slow, thorough]),
    ],
    ids=str,
)
def trained(request, tmp_path_factory):
    return _train(tmp_path_factory.mktemp("trained"), *request.param)


@pytest.mark.slow
def test_the_tree_of_all_processes_has_every_part_and_adds_up(trained):
    root = trained.profile.root
    learner = f"{START}/trainer_threads/thread_root" if trained.threaded else ADVANCE
    for path in (
        *(f"{ADVANCE}/env_step/{part}" for part in ENV_STEP),
        *(f"{learner}/trainer_advance/{part}" for part in LEARNING),
        f"{START}/TrainerController._reset_env",
        f"{START}/TrainerController._save_models/RLTrainer._checkpoint",
        "run_training.setup",
        "SubprocessEnvManager.close",
    ):
        assert root.at(path).count > 0
    for path in (f"{WORKER}/request", f"{ADVANCE}/env_step/communicator.exchange/step_wait"):
        assert root.at(path).wait
    assert root.at(WORKER).concurrent_ns > 0
    assert root.at(f"{START}/workers").parallel


@pytest.mark.slow
def test_workers_sections_are_counted_under_the_node_they_were_started_from_exactly(trained):
    worker = trained.profile.root.at(WORKER)
    assert worker.count == 2
    assert worker.at("env.make").count == 2
    assert worker.at("env.step").count == 1500
    assert worker.at("env.reset").count == 2 + trained.ended.number(r"episodes: (\d+)")
    assert worker.at("reply").count == 2 + 1500  # to the first reset of each, and to every step
    take_step = trained.profile.root.at(f"{ADVANCE}/env_step/SubprocessEnvManager._take_step")
    assert take_step.count == 1500


def test_the_learner_and_the_workers_are_known_by_what_they_do(trained):
    profile = trained.profile
    roles = sorted(thread.role for thread in profile.threads.values())
    assert roles == sorted(["learner", "env worker", "env worker", *(["actor"] if trained.threaded else [])])
    workers = [key for key, thread in profile.threads.items() if thread.role == "env worker"]
    shares = profile.root.at(f"{WORKER}/env.step").by_thread
    assert sorted(shares) == sorted(workers)
    assert sum(share.count for share in shares.values()) == 1500


def test_the_run_knows_who_ended_whose_waits(trained):
    profile = trained.profile
    doing = {key: thread.role for key, thread in profile.threads.items()}
    acting = "actor" if trained.threaded else "learner"
    waits = {
        f"{ADVANCE}/env_step/communicator.exchange/step_wait": (acting, "env worker"),
        f"{WORKER}/request": ("env worker", acting),
    }
    if trained.threaded:
        queue = f"{START}/trainer_threads/thread_root/trainer_advance/process_trajectory/trajectory_queue.get"
        waits[queue] = ("learner", "actor")
    for path, (waiting, waker_names) in waits.items():
        wakers = profile.root.at(path).wakers
        assert {(doing[waker.thread], doing[waker.by]) for waker in wakers} == {(waiting, waker_names)}
        assert sum(wakes.waited_ns for wakes in wakers.values()) > 0
    assert profile.critical


def test_rewards_and_losses_are_gauges_under_the_names_of_timers_files(trained):
    gauges = trained.profile.gauges
    for name in STATS:
        assert gauges[f"InvertedPendulum-v5.{name}.mean"].count == trained.ended.stdout.count("\nstep ")
    assert gauges["InvertedPendulum-v5.Step.mean"].last == trained.ended.number(r"(?s).*\nstep (\d+):")


def _nodes_of(timers, path=""):
    yield path, timers
    for name, child in timers.get("children", {}).items():
        yield from _nodes_of(child, f"{path}/{name}" if path else name)


def test_the_timers_file_has_the_whole_run_in_the_shape_that_its_users_know(trained):
    timers = json.loads((trained.ended.folder / "results" / "first_timers.json").read_text())
    assert (timers["name"], timers["count"]) == ("root", 1)
    assert timers["metadata"]["timer_format_version"] == "0.1.0"
    assert "train.py" in timers["metadata"]["command_line_arguments"]
    assert set(timers["gauges"]["InvertedPendulum-v5.Step.mean"]) == {"value", "min", "max", "count"}
    nodes = dict(_nodes_of(timers))
    for path, node in nodes.items():
        assert {"total", "count", "self"} <= set(node)
        inside = sum(
            below["total"] for below in node.get("children", {}).values() if "is_parallel" not in below
        )
        # In order there is nothing but self and children; what runs beside a node takes none of its time.
        if "is_parallel" not in node:
            assert node["total"] == pytest.approx(node["self"] + inside, abs=1e-6), path
        assert node["self"] >= 0.0
    assert nodes[f"{WORKER}/env.step"]["count"] == 1500
    assert nodes[WORKER]["is_parallel"] is True
    assert "is_parallel" not in nodes[f"{ADVANCE}/env_step"]
    # It was written while the program ran: what came later is in the run itself.
    for path in (f"{ADVANCE}/env_step", f"{WORKER}/env.step"):
        assert nodes[path]["total"] == pytest.approx(trained.profile.root.at(path).total_ns / 1e9)


def test_weights_are_saved_under_the_run_s_name(trained):
    import torch

    weights = torch.load(trained.ended.folder / "results" / "first.pt")
    assert set(weights) == {"actor", "critic"}
    assert weights["actor"]["normalizer.mean"].shape == (4,)


@pytest.mark.slow
def test_a_straggler_is_found_and_said_to_be_waited_for(tmp_path):
    profile = run_trainer(
        tmp_path, "--steps", "300", "--workers", "3", "--lockstep", "--slow-worker", "1=20"
    ).profile()
    shares = profile.root.at(f"{WORKER}/env.step").by_thread
    assert [share.count for share in shares.values()] == [100] * 3
    slow = {thread for thread, share in shares.items() if share.total_ns >= 100 * 20_000_000}
    assert [profile.threads[thread].process_name for thread in slow] == ["env worker 1"]
    wakers = profile.root.at(f"{ADVANCE}/env_step/communicator.exchange/step_wait").wakers
    wait_ns = Counter()
    for waker, wakes in wakers.items():
        wait_ns[waker.by] += wakes.waited_ns
    assert slow == {max(wait_ns, key=wait_ns.get)}
    (straggler,) = (finding for finding in findings(profile) if finding.rule == "straggler")
    assert straggler.message.startswith("env worker 1 ")
    assert "step_wait" in straggler.message


@pytest.mark.slow
@pytest.mark.parametrize(
    "asked",
    [pytest.param(["--workers", "1"], marks=thorough), ["--workers", "3", "--lockstep"]],
    ids=" ".join,
)
def test_the_same_seed_learns_the_same_with_ticktree_and_without(asked, tmp_path):
    outputs = []
    for name, recorded, variables in (
        ("recorded", True, {}),
        ("off", False, {"TICKTREE_OFF": "1"}),
    ):
        folder = tmp_path / name
        folder.mkdir()
        outputs.append(run_trainer(folder, "--steps", "1200", *asked, recorded=recorded, **variables))
    assert outputs[0].fingerprint == outputs[1].fingerprint
    assert outputs[0].stdout.count("\nstep ") == 2  # it has learned in between
    assert "\ntimers: none, ticktree is off" in outputs[1].stdout
    assert sorted(path.name for path in (tmp_path / "off").iterdir()) == ["results"]
    assert [path.name for path in (tmp_path / "off" / "results").iterdir()] == ["ppo.pt"]


def _workers_of(process):
    """Its environment processes, once it has learned from all of them."""
    assert any(line.startswith("step ") for line in process.stdout), process.stderr.read()
    # Spawn starts a process of its own that watches over resources; it has no environment.
    return [
        child
        for child in psutil.Process(process.pid).children(recursive=True)
        if "resource_tracker" not in " ".join(child.cmdline())
    ]


@pytest.fixture
def training(tmp_path):
    """Starts a trainer that would go on for long, and ends what is left of it."""
    processes = []

    def start(*arguments):
        process = subprocess.Popen(
            [sys.executable, "-u", SCRIPT, "--steps", "1000000", "--workers", "3", *arguments],
            cwd=tmp_path,
            env=environment(tmp_path, TICKTREE_OFF="1"),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        processes.append(process)
        return process

    yield start
    for process in processes:
        if process.poll() is None:
            process.kill()
        process.communicate()


@pytest.mark.parametrize(
    ("threaded", "start_method"), [(False, "spawn"), pytest.param(True, "fork", marks=pytest.mark.slow)]
)
def test_a_worker_that_dies_ends_the_run_with_one_line_and_leaves_its_weights(
    threaded, start_method, training, tmp_path
):
    process = training("--start-method", start_method, *(["--threaded"] if threaded else []))
    workers = _workers_of(process)
    assert len(workers) == 3
    workers[1].kill()
    _, errors = process.communicate(timeout=500)
    assert process.returncode == 1
    (line,) = errors.splitlines()
    assert line.startswith("parallel_trainer: env worker ")
    assert line.endswith(" was killed by SIGKILL")
    assert (tmp_path / "results" / "ppo.pt").is_file()
    assert not psutil.wait_procs(workers, timeout=500)[1]


@pytest.mark.parametrize("start_method", [pytest.param("spawn", marks=pytest.mark.slow), "fork"])
def test_workers_end_when_their_trainer_is_killed(start_method, training):
    process = training("--start-method", start_method)
    workers = _workers_of(process)
    assert len(workers) == 3
    process.kill()
    assert not psutil.wait_procs(workers, timeout=500)[1]


@pytest.mark.slow
def test_an_interrupted_training_ends_in_order_and_keeps_what_it_learned(training, tmp_path):
    process = training()
    workers = _workers_of(process)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does
    _, errors = process.communicate(timeout=500)
    assert process.returncode == 130
    assert errors.splitlines() == ["parallel_trainer: interrupted"]
    assert (tmp_path / "results" / "ppo.pt").is_file()
    assert not psutil.wait_procs(workers, timeout=500)[1]
