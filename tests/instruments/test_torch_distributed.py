"""Jobs of torch.distributed, with gloo on this machine: waiting is told from work, and who is waited for is named."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import textwrap

import pytest

from ticktree.analysis.offsets import offset
from ticktree.analysis.registry import findings
from ticktree.analysis.workers.stragglers import COLLECTIVES
from ticktree.profile import Profile
from ticktree.run.finishing import RunDirectory

torch = pytest.importorskip("torch")
pytestmark = [
    pytest.mark.skipif(not torch.distributed.is_available(), reason="torch is built without distributed"),
    pytest.mark.timeout(900),  # each process imports torch, which takes a minute where others take the cores
]

SECONDS = 400
# The ranks are started without torchrun, which takes seconds more; a file is their meeting point: no port is needed.
BEGIN = """
import multiprocessing, os, sys, time
import torch, torch.distributed as dist
torch.set_num_threads(1)
LATE_S = 0.2

def start(rank, ranks, place):
    dist.init_process_group("gloo", init_method="file://" + place, rank=rank, world_size=ranks)
    try:
        job(rank)
    finally:
        dist.destroy_process_group()

def main(ranks=2):
    context = multiprocessing.get_context("fork")
    place = os.path.abspath("meeting")
    started = [context.Process(target=start, args=(rank, ranks, place)) for rank in range(ranks)]
    for process in started:
        process.start()
    for process in started:
        process.join()
        assert process.exitcode == 0, process.exitcode
"""


@pytest.fixture
def job(tmp_path):
    """Runs ranks under `ticktree run`, and gives the profile of all of them."""

    def run(program, ranks=2, begin=BEGIN, module=()):
        script = tmp_path / "job.py"
        script.write_text(
            begin + textwrap.dedent(program) + f"\nif __name__ == '__main__':\n    main({ranks})\n"
        )
        environment = {**os.environ, "TICKTREE_MEMORY_DIR": str(tmp_path), "OMP_NUM_THREADS": "1"}
        command = [sys.executable, "-m", "ticktree", "run", "--quiet", *module, str(script)]
        done = subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=SECONDS
        )
        assert done.returncode == 0, done.stderr
        profile = RunDirectory.newest(tmp_path / "ticktree-runs").profile()
        profile.check()
        return profile

    return run


def only(profile, name):
    """The one row of a name, with what it was before the first optimizer's step, whose steps make ticks."""
    found = [(path, node) for path, _, node in profile.root.walk() if node.name == name]
    assert len({path.removeprefix("train step/") for path, _ in found}) == 1
    path, node = found[-1]
    return path, sum((each for _, each in found[:-1]), node)


def by_rank(profile, node):
    """How long each rank was at a node."""
    return {profile.threads[key].process_name: share.total_ns for key, share in node.by_thread.items()}


def waited_for(profile, node):
    """How long the waits that each ended had lasted."""
    waited = {}
    for waker, wakes in node.wakers.items():
        name = profile.threads[waker.by].process_name
        waited[name] = waited.get(name, 0) + wakes.waited_ns
    return waited


def stragglers(profile):
    return [found for found in findings(profile) if found.rule == "straggler"]


@pytest.mark.slow
def test_a_slow_rank_is_named_although_all_steps_take_the_same_time(job):
    profile = job(
        """
        def job(rank):
            for _ in range(11):
                if rank == 1:
                    time.sleep(LATE_S)
                dist.all_reduce(torch.ones(1))
        """
    )
    _, node = only(profile, "all_reduce")
    assert node.wait
    assert node.count == 22
    waited = by_rank(profile, node)
    assert set(waited) == {"rank 0", "rank 1"}
    assert waited["rank 0"] - waited["rank 1"] > 11 * 0.1e9  # of 0.2 s each; what is left is other programs'
    assert max(waited_for(profile, node).items(), key=lambda item: item[1])[0] == "rank 1"
    (found,) = stragglers(profile)
    assert found.facts["worker"] == "rank 1"
    assert found.facts["known_by"] == "wake edges"
    assert found.facts["section"].endswith("all_reduce")
    assert {thread.role for thread in profile.threads.values() if thread.process_name.startswith("rank")} == {
        "rank"
    }


@pytest.mark.slow
def test_of_four_ranks_of_torchrun_the_slow_one_is_named_at_the_gradients(job):
    profile = job(
        """
        def main(ranks):
            dist.init_process_group("gloo")
            late = dist.get_rank() == 2
            model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(64, 64))
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
            for _ in range(12):
                loss = model(torch.randn(4, 64)).sum()
                if late:
                    time.sleep(LATE_S)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            dist.destroy_process_group()
        """,
        ranks=4,
        module=("-m", "torch.distributed.run", "--nproc-per-node", "4", "--standalone"),
    )
    path, node = only(profile, "DDP all_reduce")
    assert path.endswith("backward/DDP all_reduce")
    assert node.count == 48
    waited = by_rank(profile, node)
    assert min(waited, key=waited.get) == "rank 2"
    assert max(waited_for(profile, node).items(), key=lambda item: item[1])[0] == "rank 2"
    (found,) = stragglers(profile)
    assert found.facts["worker"] == "rank 2"
    assert found.facts["peers"] == 3


@pytest.mark.slow
def test_what_a_work_overlaps_is_work_and_only_its_wait_is_a_wait(job):
    profile = job(
        """
        def job(rank):
            import ticktree
            for _ in range(10):
                work = dist.all_reduce(torch.ones(1), async_op=True)
                with ticktree.section("overlap"):
                    time.sleep(0.05)
                work.wait()
        """
    )
    _, node = only(profile, "Work.wait")
    assert node.count == 20
    _, overlap = only(profile, "overlap")
    assert node.total_ns < overlap.total_ns
    assert not [path for path, _, each in profile.root.walk() if each.name == "all_reduce"]


@pytest.mark.slow
def test_every_collective_is_one_wait_and_gives_what_it_gives(job):
    profile = job(
        """
        def job(rank):
            from torch.distributed import all_reduce as by_name
            from torch.distributed.distributed_c10d import broadcast as from_inside
            one = torch.ones(2)
            by_name(one)
            assert one.tolist() == [2.0, 2.0]
            other = torch.full((2,), float(rank))
            from_inside(other, 1)
            assert other.tolist() == [1.0, 1.0]
            every = [torch.zeros(2), torch.zeros(2)]
            dist.all_gather(every, torch.full((2,), float(rank)), group=dist.group.WORLD)
            assert [each.tolist() for each in every] == [[0, 0], [1, 1]]
            objects = [None, None]
            dist.all_gather_object(objects, {"rank": rank})
            assert objects == [{"rank": 0}, {"rank": 1}]
            group = dist.new_group([1])
            dist.barrier(group=group)
            if rank == 0:
                dist.isend(one, 1).wait()
            else:
                dist.irecv(other, 0).wait()
            if rank == 0:
                dist.send(one, 1)
            else:
                dist.recv(other, 0)
                assert other.tolist() == [2.0, 2.0]
            assert dist.all_reduce.__wrapped__.__name__ == "all_reduce"
            try:
                dist.all_reduce("no tensor")
            except Exception as error:
                assert "tensor" in str(error).lower()
            else:
                raise AssertionError
        """
    )
    counts = {node.name: node.count for _, _, node in profile.root.walk() if node.wait}
    assert counts["all_reduce"] == 4
    assert counts["broadcast"] == 2
    assert counts["all_gather"] == 2  # what a collective of objects does is part of it
    assert counts["all_gather_object"] == 2
    assert counts["new_group"] == 2
    assert counts["barrier (1 of 2 ranks)"] == 1
    assert counts["Work.wait (others)"] == 2
    assert counts["send"] == counts["recv"] == 1


@pytest.mark.slow
def test_a_rank_that_dies_dies_as_it_would_and_the_others_meet_what_they_would(job):
    profile = job(
        """
        def start(rank, ranks, place):
            dist.init_process_group("gloo", init_method="file://" + place, rank=rank, world_size=ranks)
            dist.barrier()
            if rank == 1:
                os._exit(0)
            try:
                dist.all_reduce(torch.ones(1))
            except RuntimeError:
                print("met")
            else:
                raise AssertionError("nobody was there")
        """
    )
    _, node = only(profile, "all_reduce")
    assert node.count == 1


def test_the_meetings_that_findings_look_for_are_rows_that_are_made():
    from ticktree.instruments.torch import data_parallel, distributed

    assert {*distributed._COLLECTIVES, data_parallel.GRADIENTS, "Work.wait"} >= COLLECTIVES


TWO_MACHINES = """
import os, sys, time
import torch, torch.distributed as dist
torch.set_num_threads(1)

def main(ranks):
    rank = int(os.environ["RANK"])
    dist.init_process_group("gloo")
    for _ in range(12):
        if rank == 1:
            time.sleep(0.05)
        dist.all_reduce(torch.ones(1))
    dist.destroy_process_group()
"""


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def merged(folder, *runs):
    merge = [sys.executable, "-m", "ticktree", "merge", *map(str, runs), "-o", "job.json"]
    done = subprocess.run(merge, cwd=folder, capture_output=True, text=True, timeout=SECONDS)
    assert done.returncode == 0, done.stderr
    return Profile.from_json((folder / "job.json").read_text())


@pytest.mark.slow
def test_what_two_machines_recorded_is_gathered_and_the_slow_rank_named_without_signals(tmp_path):
    """Each rank has a run and a memory directory of its own, as on two machines."""
    (tmp_path / "job.py").write_text(TWO_MACHINES + "\nmain(2)\n")
    port = str(free_port())
    started = []
    for rank in range(2):
        (tmp_path / f"memory-{rank}").mkdir()
        job = {"RANK": str(rank), "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
        environment = {**os.environ, **job, "TICKTREE_MEMORY_DIR": str(tmp_path / f"memory-{rank}")}
        command = [sys.executable, "-m", "ticktree", "run", "--quiet", "--timeline"]
        command += ["--name", f"host{rank}", "job.py"]
        started.append(subprocess.Popen(command, cwd=tmp_path, env=environment))
    assert [process.wait(SECONDS) for process in started] == [0, 0]
    first, second = (next(tmp_path.glob(f"ticktree-runs/*-host{rank}")) for rank in range(2))
    profile = merged(tmp_path, first)
    # With the other run there too, the copy that was gathered of it is not counted again.
    assert merged(tmp_path, first, second).root.at("all_reduce").count == 24
    assert profile.losses.get("runs_not_gathered", 0) == 0
    _, node = only(profile, "all_reduce")
    assert node.count == 24
    assert not node.wakers  # the last signal on a machine need not be of who came last
    (found,) = stragglers(profile)
    assert found.facts["worker"] == "rank 1"
    assert found.facts["known_by"] == "equal numbers of calls"
    check_the_timelines_together(tmp_path, first, second)


def check_the_timelines_together(folder, *runs):
    """The clock is the same, so that the offset is what passed between the beginnings of the runs."""
    timelines = [RunDirectory.open(run).timeline() for run in runs]
    began = [RunDirectory.open(run).manifest.began_ns for run in runs]
    apart = offset(timelines[1], timelines[0])
    assert apart.collectives == 12
    assert abs(apart.ns - (began[1] - began[0])) <= apart.bound_ns
    export = [
        sys.executable,
        "-m",
        "ticktree",
        "export",
        *map(str, runs),
        "--to",
        "chrome",
        "-o",
        "job-trace.json",
    ]
    done = subprocess.run(export, cwd=folder, capture_output=True, text=True, timeout=SECONDS)
    assert done.returncode == 0, done.stderr
    assert "at most" in done.stderr
    trace = json.loads((folder / "job-trace.json").read_text())["traceEvents"]
    names = [event["args"]["name"] for event in trace if event.get("name") == "process_name"]
    assert any("±" in name for name in names)


@pytest.mark.slow
def test_the_gradients_of_several_models_are_one_wait_and_a_pass_without_them_none(job):
    profile = job(
        """
        def job(rank):
            kind = torch.nn.parallel.DistributedDataParallel
            models = [kind(torch.nn.Linear(8, 8)) for _ in range(2)]
            for _ in range(3):
                sum(model(torch.ones(2, 8)).sum() for model in models).backward()
            with models[0].no_sync():
                models[0](torch.ones(2, 8)).sum().backward()
            with torch.no_grad():
                models[1](torch.ones(2, 8))
            expected = [parameter.grad.clone() for parameter in models[1].parameters()]
            dist.all_reduce(expected[0])
            assert torch.allclose(expected[0], 2 * next(models[1].parameters()).grad)
        """
    )
    _, node = only(profile, "DDP all_reduce")
    assert node.count == 6
    assert "unwound" not in profile.losses


@pytest.mark.slow
def test_a_collective_in_compiled_code_is_compiled_and_has_no_row(job):
    profile = job(
        """
        def job(rank):
            @torch.compile(fullgraph=True, backend="eager")
            def step(values):
                dist.all_reduce(values)
                return values + 1

            assert step(torch.ones(2)).tolist() == [3.0, 3.0]
        """
    )
    assert not [path for path, _, each in profile.root.walk() if each.name == "all_reduce"]
