"""A small model that drives one car: what it looks at, what it makes of it, and what it expects to happen."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from .derived import OWN, WIDTH
from .perception import HISTORY, PICTURES, WINDOW

STATE = 64
_SEEN = 32
MEASURED_WIDTH = 2


class Pilot(nn.Module):
    """A policy with the auxiliary model that was trained beside it.

    Args:
        columns: Which numbers of the window it was trained on.
    """

    columns: Tensor
    mean: Tensor
    scale: Tensor

    def __init__(self, columns: Tensor) -> None:
        super().__init__()
        width = len(columns)
        self.register_buffer("columns", columns)
        self.register_buffer("mean", torch.zeros(width))
        self.register_buffer("scale", torch.ones(width))
        self.vision = nn.Sequential(
            nn.Conv2d(PICTURES, 8, 4, 2), nn.ReLU(), nn.Conv2d(8, 8, 3, 2), nn.ReLU(), nn.Flatten()
        )
        self.picture = nn.Linear(200, _SEEN)
        self.body = nn.Linear(width, STATE)
        self.mix = nn.Linear(STATE + _SEEN, STATE)
        self.head = nn.Linear(STATE, 2)
        self.direct = nn.Linear(width, 2)
        self.auxiliary = nn.Sequential(
            nn.Linear(STATE + 2 + MEASURED_WIDTH, 32), nn.Tanh(), nn.Linear(32, MEASURED_WIDTH)
        )

    def forward(self, inputs: Tensor, pictures: Tensor) -> tuple[Tensor, Tensor]:
        """Return the action, (batch, 2), and what it rests on, (batch, STATE)."""
        seen = torch.cat([self.body(inputs), self.picture(self.vision(pictures))], dim=1)
        state = torch.tanh(self.mix(torch.tanh(seen)))
        return self.head(state) + self.direct(inputs), state

    def widened(self) -> Pilot:
        """The same pilot for inputs that were not sliced: of columns it was not trained on it takes nothing."""
        wide = Pilot(torch.arange(WINDOW))
        own = {name: tensor for name, tensor in self.state_dict().items() if not name.startswith(_SLICED)}
        wide.load_state_dict(own, strict=False)
        with torch.no_grad():
            wide.mean[self.columns] = self.mean
            wide.scale[self.columns] = self.scale
            for mine, theirs in ((self.body, wide.body), (self.direct, wide.direct)):
                theirs.weight.zero_()
                theirs.weight[:, self.columns] = mine.weight
        return wide.eval()


# What is as wide as the inputs are.
_SLICED = ("columns", "mean", "scale", "body.weight", "direct.weight")


def columns_of(pilot: int, seed: int) -> Tensor:
    """Which columns a pilot looks at: all of the car's motion, and some of the track ahead; in each observation."""
    generator = torch.Generator().manual_seed(1000 * seed + pilot)
    ahead = OWN + torch.randperm(WIDTH - OWN, generator=generator)[:24].sort().values
    once = torch.cat([torch.arange(OWN), ahead])
    return torch.cat([once + WIDTH * at for at in range(HISTORY)])
