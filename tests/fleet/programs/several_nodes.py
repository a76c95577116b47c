"""A cluster of three nodes; two of them have a separate tmpfs, like other machines. One may be killed.

several_nodes.py [--kill] [--slow SECONDS]
"""

import argparse
import json
import os
import shutil
import tempfile
import time
from pathlib import Path

import ray
from ray.cluster_utils import Cluster

import ticktree

parser = argparse.ArgumentParser()
parser.add_argument("--kill", action="store_true")
parser.add_argument("--slow", type=float, default=0.0)
parser.add_argument("--runners", type=int, default=2)
options = parser.parse_args()

base = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
memories = [tempfile.mkdtemp(prefix="node", dir=base) for _ in range(2)]
cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
nodes = [
    cluster.add_node(num_cpus=1, resources={f"node{index}": 99}, env_vars={"TICKTREE_MEMORY_DIR": memory})
    for index, memory in enumerate(memories)
]
ray.init(address=cluster.address, log_to_driver=False)


@ray.remote(num_cpus=0)
class Runner:
    def __init__(self, slow):
        self.slow = slow

    def sample(self):
        with ticktree.section("step"):
            time.sleep(0.02 + self.slow)

    def last_word(self):
        pass


def parts():
    """Return the number of nodes that have published to the run."""
    return len(list(Path(os.environ["TICKTREE_RUN"], "parts").glob("*.json")))


def wait_for(condition, within_s=120):
    until = time.monotonic() + within_s
    while not condition():
        assert time.monotonic() < until, "it never came"
        time.sleep(0.1)


runners = [
    Runner.options(resources={f"node{index % 2}": 1}).remote(options.slow if index == 0 else 0)
    for index in range(options.runners)
]
with ticktree.section("train"):
    for _ in range(20):
        ray.get([runner.sample.remote() for runner in runners])
    wait_for(lambda: parts() == 2)
    if options.kill:
        time.sleep(6)  # for more than one reading: all so far has been handed over
        with ticktree.section("lost"):
            ray.get(runners[1].last_word.remote())
            cluster.remove_node(nodes[1], allow_graceful=False)
            shutil.rmtree(memories[1])
        with ticktree.section("after"):
            for _ in range(5):
                ray.get(runners[0].sample.remote())
ray.shutdown()
remaining = [path.name for path in Path(memories[0], f"ticktree-{os.geteuid()}").iterdir()]
cluster.shutdown()
for memory in memories:
    shutil.rmtree(memory, ignore_errors=True)
print(json.dumps({"left": remaining}))
