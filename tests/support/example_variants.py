"""Realistic variants of one program with invented numbers: a controller that drives a car."""

from __future__ import annotations

from dataclasses import replace

from support.example_profiles import MS, US, node, site, spread
from ticktree.profile import Loop, Node, Profile

TICKS, WARMUP = 360, 60


def driver(
    seed: int = 1, policy: float = 1.0, aux: float = 9.9, name: str = "pretrained", **facts: str
) -> Profile:
    """A run of it: how long its policy takes, as a factor, and what its auxiliary networks take, in milliseconds."""

    def took(ms: float, part: int, tail: float = 0.1) -> list[int]:
        return spread(ms * MS, TICKS, 100 * seed + part, tail)

    def together(extra_ns: int, *parts: list[int]) -> list[int]:
        return [sum(duration) + extra_ns for duration in zip(*parts, strict=True)]

    forward, merge, networks = took(9.6 * policy, 1), took(1.1, 2), took(aux, 3)
    control = together(200 * US, forward, merge, networks)
    sleep, derive = took(72, 4, 0.03), took(3.2, 5)
    env, prepare = together(100 * US, sleep, derive), took(6, 6)
    total = together(300 * US, control, env, prepare)
    step = node(
        "driver.step",
        total,
        node(
            "controller.step",
            control,
            node("forwarder.step", forward),
            node("action_merger.step", merge),
            node("aux.update" if aux > 2 else "aux.skip", networks),
            call_sites=site(115, "MultiModelController.step", "multi_model_controller.py"),
        ),
        node(
            "env.step",
            env,
            node("rest.execute_and_wait", sleep, wait=True),
            node("add_derived_to_obs", derive),
        ),
        node("preprocess_obs", prepare),
        warmup=WARMUP,
        call_sites=site(85, "Driver.step", "driver.py"),
    )
    loop = Loop(
        path="driver.step",
        ticks=TICKS,
        hz=frozenset({10.0}),
        missed=sum(duration > 100 * MS for duration in total[WARMUP:]),
        warmup_ticks=WARMUP,
        stats=step.steady,
        busy_ns=step.stats.sum_ns,
    )
    metadata = {
        "name": name,
        "command": f"drive.py --model {name}",
        "host": "bench-3",
        "python": "3.11.9",
        **facts,
    }
    return Profile(
        root=Node(name="root", self_ns=40 * MS, children={step.name: step}),
        loops={"driver.step": loop},
        metadata={key: frozenset({value}) for key, value in metadata.items()},
    )


def variants_of_it() -> list[Profile]:
    """Three of them: as it was, with less to compute, and another model that does without auxiliary networks."""
    return [
        driver(1),
        driver(2, 0.95, 3.6, "hacked slicing"),
        driver(3, 0.5, 0.7, "biai"),
    ]


def sides(runs: int = 6, noise: float = 0.0) -> tuple[list[Profile], list[Profile]]:
    """Repeats of two versions, of which the second computes less; with `noise`, one that nobody could tell from it."""
    base = [driver(seed, 1 + noise * (seed % 3)) for seed in range(1, runs + 1)]
    new = [
        replace(
            driver(seed, 0.97 + noise * (seed % 4), 3.6),
            metadata={**base[0].metadata, "command": frozenset({"drive.py --slicing"})},
        )
        for seed in range(runs + 1, 2 * runs + 1)
    ]
    return base, new
