"""Uses of Ray on one machine; the program prints its results, which recording must not change."""

import asyncio
import inspect
import json
import os
import sys
import time

import ray

import ticktree

if "--enable" in sys.argv:
    ticktree.enable()
    ticktree.instrument()


def hooked():
    os.environ["HOOKED"] = "yes"


@ray.remote
def square(number, *, plus=0):
    with ticktree.section("inside"):
        return number * number + plus


@ray.remote
def nothing():
    return (
        os.environ.get("HOOKED"),
        os.environ.get("GIVEN"),
        inspect.signature(nested._function).parameters.__len__(),
    )


@ray.remote
def nested(number):
    with ticktree.section("nest"):
        return ray.get(square.remote(number))


@ray.remote(num_returns="streaming")
def stream(count):
    for number in range(count):
        time.sleep(0.001)
        yield number


@ray.remote
def failing():
    raise ValueError("mine")


@ray.remote
class Counter:
    def __init__(self, start=0):
        self.count = start

    def add(self, amount=1):
        self.count += amount
        return self.count

    def get(self):
        return self.count

    def ask(self, other):
        return ray.get(other.get.remote())


@ray.remote
class Waiter:
    async def wait(self, number):
        with ticktree.section("asleep"):
            await asyncio.sleep(0.05)
        return number

    def plain(self):
        with ticktree.section("awake"):
            return "plain"


given = {"env_vars": {"GIVEN": "kept"}, "worker_process_setup_hook": hooked}
ray.init("local", num_cpus=2, include_dashboard=False, log_to_driver=False, runtime_env=given)
said = {"given": sorted(given["env_vars"])}
with ticktree.section("tasks"):
    said["squares"] = ray.get([square.remote(number, plus=1) for number in range(4)])
    said["nothing"] = ray.get(nothing.remote())
    said["nested"] = ray.get(nested.remote(3))
    said["streamed"] = [ray.get(ref) for ref in stream.remote(3)]
    try:
        ray.get(failing.remote())
    except ValueError as error:
        said["failed"] = str(error).strip().splitlines()[-1]
with ticktree.section("actors"):
    counter, other, waiter = Counter.remote(start=5), Counter.options(name="second").remote(), Waiter.remote()
    said["added"] = ray.get([counter.add.remote(), counter.add.remote(amount=2), other.add.remote(7)])
    said["asked"] = ray.get(counter.ask.remote(other))
    said["awaited"] = ray.get([waiter.wait.remote(number) for number in range(3)])
    said["plain"] = ray.get(waiter.plain.remote())
    done, rest = ray.wait([square.remote(1), square.remote(2)], num_returns=2, timeout=500)
    said["waited"] = [len(done), len(rest)]
ray.shutdown()
print(json.dumps(said))
