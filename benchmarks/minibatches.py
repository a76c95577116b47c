"""How much longer a gradient step takes if its minibatch is twice as large.

Networks of common sizes; a step is a backward pass and one step of Adam, as the rule small-minibatches sees it. Each
figure is the ratio of a step to one of half the samples, measured in turns.

    python benchmarks/minibatches.py [--quick] [--json]
"""

from __future__ import annotations

import itertools
import statistics
import time
from collections.abc import Callable, Iterator

import torch
from torch import nn

from harness.report import Figure, Report, options, progress
from harness.spread import Spread

SAMPLES = (8, 16, 32, 64, 128, 256, 512, 1024)
ROUND_S = 0.05


def perceptron(width: int) -> nn.Module:
    return nn.Sequential(
        nn.Linear(16, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh(), nn.Linear(width, 4)
    )


def nature() -> nn.Module:
    """The network of Mnih et al., "Human-level control through deep reinforcement learning", Nature 2015."""
    layers = (nn.Conv2d(4, 32, 8, 4), nn.ReLU(), nn.Conv2d(32, 64, 4, 2), nn.ReLU(), nn.Conv2d(64, 64, 3))
    return nn.Sequential(*layers, nn.ReLU(), nn.Flatten(), nn.Linear(3136, 512), nn.ReLU(), nn.Linear(512, 4))


NETWORKS: dict[str, tuple[Callable[[], nn.Module], tuple[int, ...]]] = {
    "2 x 64": (lambda: perceptron(64), (16,)),
    "2 x 256": (lambda: perceptron(256), (16,)),
    "2 x 1024": (lambda: perceptron(1024), (16,)),
    "three convolutions": (nature, (4, 84, 84)),
}


def steps(network: nn.Module, shape: tuple[int, ...], samples: int) -> Callable[[], float]:
    """Return what takes gradient steps for some time, and tells how many milliseconds one takes."""
    optimizer, states = torch.optim.Adam(network.parameters()), torch.randn(samples, *shape)

    def take() -> float:
        count = took = 0
        while took < ROUND_S * 1e9:
            loss = network(states).pow(2).mean()
            optimizer.zero_grad()
            began = time.perf_counter_ns()
            loss.backward()
            optimizer.step()
            took += time.perf_counter_ns() - began
            count += 1
        return took / count / 1e6

    return take


def measure(rounds: int) -> Iterator[Figure]:
    for name, (make, shape) in NETWORKS.items():
        progress(name)
        takes = {samples: steps(make(), shape, samples) for samples in SAMPLES}
        took: dict[int, list[float]] = {samples: [] for samples in SAMPLES}
        for turn in range(-1, rounds):
            for samples, take in takes.items():
                ms = take()
                if turn >= 0:  # the first warms up
                    took[samples].append(ms)
        for half, samples in itertools.pairwise(SAMPLES):
            ratios = [more / less for more, less in zip(took[samples], took[half], strict=True)]
            also = {"ms with half": statistics.median(took[half])}
            yield Figure.of_spread(f"{name}, {samples} samples", Spread.of(ratios), "x", also=also)


def main() -> None:
    parser = options(__doc__)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    figures = list(measure(2 if arguments.quick else 12))
    Report("minibatches", "A gradient step, against one of half the samples", figures).print(
        as_json=arguments.json
    )


if __name__ == "__main__":
    main()
