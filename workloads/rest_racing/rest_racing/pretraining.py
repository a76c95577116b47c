"""Pilots that have learned: from the expert's drives, each in a car of its own, and one in all of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

import ticktree

from .car import garage
from .lessons import Lesson, lesson
from .perception import WINDOW
from .pilot import Pilot, columns_of

_BATCH = 64
_BLUR = 0.1


class Pilots(NamedTuple):
    """What there is after training.

    Attributes:
        many: One pilot for each car, which knows some of the columns.
        one: One that has driven all of them, and knows all columns.
    """

    many: list[Pilot]
    one: Pilot

    def save(self, path: Path) -> None:
        """Write them to a file."""
        torch.save({"many": [pilot.state_dict() for pilot in self.many], "one": self.one.state_dict()}, path)

    @classmethod
    def load(cls, path: Path) -> Pilots:
        """Read what `save` wrote."""
        found = torch.load(path, weights_only=True)
        return cls([_restored(state) for state in found["many"]], _restored(found["one"]))


class Plan(NamedTuple):
    """How to train.

    Attributes:
        cars: How many there are.
        steps: Of the expert's drive in each.
        epochs: Passes over them.
        frames: Of the game, for each action.
        seed: Of everything random.
    """

    cars: int
    steps: int
    epochs: int
    frames: int
    seed: int


def pretrain(plan: Plan) -> Pilots:
    """Train all pilots."""
    torch.manual_seed(plan.seed)
    with ticktree.section("expert drives"):
        lessons = [
            lesson(car, plan.steps, plan.frames, 100 * plan.seed + number)
            for number, car in enumerate(garage(plan.cars, plan.seed))
        ]
    with ticktree.section("fit many"):
        many = [
            _fitted(Pilot(columns_of(number, plan.seed)), [taught], lessons, plan.epochs)
            for number, taught in enumerate(lessons)
        ]
    with ticktree.section("fit one"):
        one = _fitted(Pilot(torch.arange(WINDOW)), lessons, lessons, plan.epochs)
    return Pilots(many, one)


def _fitted(pilot: Pilot, own: list[Lesson], lessons: list[Lesson], epochs: int) -> Pilot:
    """Teach a pilot what is common to all lessons, and above all its own; one lesson alone shows too little road."""
    windows, pictures, actions = _steps(lessons)
    of_own = torch.cat([torch.full((len(each.actions),), _is_among(each, own)) for each in lessons])
    known = windows[:, pilot.columns]
    with torch.no_grad():
        pilot.mean.copy_(known.mean(dim=0))
        # Of what hardly changed while it learned, it cannot know on what scale it changes.
        pilot.scale.copy_(known.std(dim=0).clamp_min(0.05))
    inputs = (known - pilot.mean) / pilot.scale
    mine = of_own.nonzero().flatten()

    def loss() -> Tensor:
        half = min(len(mine), _BATCH)
        rows = torch.cat([mine[torch.randperm(len(mine))[:half]], torch.randint(len(inputs), (half,))])
        return functional.mse_loss(pilot(_blurred(inputs[rows]), pictures[rows])[0], actions[rows])

    _descend(pilot, epochs, loss)
    _fit_auxiliary(pilot, own, epochs)
    return pilot.eval()


def _steps(lessons: list[Lesson]) -> tuple[Tensor, Tensor, Tensor]:
    return (
        torch.cat([each.windows for each in lessons]),
        torch.cat([each.pictures for each in lessons]),
        torch.cat([each.actions for each in lessons]),
    )


def _is_among(lesson: Lesson, others: list[Lesson]) -> bool:
    return any(lesson is other for other in others)


def _blurred(inputs: Tensor) -> Tensor:
    """Numbers are many, and steps are few: what holds only for exactly these is not to be learned."""
    return inputs + _BLUR * torch.randn_like(inputs)


def _fit_auxiliary(pilot: Pilot, lessons: list[Lesson], epochs: int) -> None:
    """Teach it how what is measured changes from one step to the next; the policy itself stays as it is."""
    told, changes = [], []
    for taught in lessons:
        with torch.no_grad():
            inputs = (taught.windows[:, pilot.columns] - pilot.mean) / pilot.scale
            _, states = pilot(inputs, taught.pictures)
        told.append(torch.cat([states, taught.done, taught.measured], dim=1)[:-1])
        changes.append(taught.measured[1:] - taught.measured[:-1])
    known, wanted = torch.cat(told), torch.cat(changes)
    _descend(pilot.auxiliary, epochs, lambda: functional.mse_loss(pilot.auxiliary(known), wanted))


def _descend(model: nn.Module, epochs: int, loss_of: Any) -> None:
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3, weight_decay=1e-4)
    for _ in range(epochs):
        optimizer.zero_grad()
        loss: Tensor = loss_of()
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()


def _restored(state: dict[str, Tensor]) -> Pilot:
    pilot = Pilot(state["columns"])
    pilot.load_state_dict(state)
    return pilot.eval()
