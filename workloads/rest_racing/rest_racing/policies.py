"""The policies: small networks, each trained on an expert's drives of one car."""

from __future__ import annotations

import warnings
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

import ticktree

from .env import FEATURES, LOOKAHEAD, MEASURED, OWN_FEATURES, Action, Car, FeatureExtractor, Vector, make_cars
from .server import Game

HISTORY = 8
IMAGE_STACK, IMAGE_SIZE = 2, 24
WINDOW = HISTORY * FEATURES

Images = NDArray[np.float32]
_GREY = np.array([0.299, 0.587, 0.114], np.float32)


class ObsHistory:
    """The last observations and images of a game."""

    def __init__(self) -> None:
        self._derived: deque[Vector] = deque(maxlen=HISTORY)
        self._images: deque[Images] = deque(maxlen=IMAGE_STACK)

    def add(self, derived: Vector, image: NDArray[np.uint8]) -> None:
        """Add an observation; the first one fills the history."""
        self._derived.extend([derived] * (1 if self._derived else HISTORY))
        self._images.extend([downsample(image)] * (1 if self._images else IMAGE_STACK))

    @property
    def window(self) -> Vector:
        """The observations, oldest first: (WINDOW,)."""
        return np.concatenate(self._derived)

    @property
    def images(self) -> Images:
        """The images, oldest first: (IMAGE_STACK, IMAGE_SIZE, IMAGE_SIZE)."""
        return np.stack(self._images)


def downsample(image: NDArray[np.uint8]) -> Images:
    """Downsample a colour image, (96, 96, 3), to grey means of squares, from 0 to 1."""
    grey = image.astype(np.float32) @ _GREY / np.float32(255.0)
    side = grey.shape[0] // IMAGE_SIZE
    squares: Images = grey.reshape(IMAGE_SIZE, side, IMAGE_SIZE, side).mean(axis=(1, 3), dtype=np.float32)
    return squares


STATE_DIM = 64
_IMAGE_FEATURES = 32
MEASURED_DIM = 2


class Policy(nn.Module):
    """A policy with an auxiliary model that predicts the car's motion.

    Args:
        columns: The features of the window that it was trained on.
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
            nn.Conv2d(IMAGE_STACK, 8, 4, 2), nn.ReLU(), nn.Conv2d(8, 8, 3, 2), nn.ReLU(), nn.Flatten()
        )
        self.image = nn.Linear(200, _IMAGE_FEATURES)
        self.body = nn.Linear(width, STATE_DIM)
        self.mix = nn.Linear(STATE_DIM + _IMAGE_FEATURES, STATE_DIM)
        self.head = nn.Linear(STATE_DIM, 2)
        self.direct = nn.Linear(width, 2)
        self.auxiliary = nn.Sequential(
            nn.Linear(STATE_DIM + 2 + MEASURED_DIM, 32), nn.Tanh(), nn.Linear(32, MEASURED_DIM)
        )

    def forward(self, inputs: Tensor, images: Tensor) -> tuple[Tensor, Tensor]:
        """Return actions, (batch, 2), and states, (batch, STATE_DIM)."""
        x = torch.cat([self.body(inputs), self.image(self.vision(images))], dim=1)
        state = torch.tanh(self.mix(torch.tanh(x)))
        return self.head(state) + self.direct(inputs), state

    def widen(self) -> Policy:
        """Return the same policy for the whole window: the weights of other columns are 0."""
        wide = Policy(torch.arange(WINDOW))
        state = {name: tensor for name, tensor in self.state_dict().items() if not name.startswith(_SLICED)}
        wide.load_state_dict(state, strict=False)
        with torch.no_grad():
            wide.mean[self.columns] = self.mean
            wide.scale[self.columns] = self.scale
            for source, target in ((self.body, wide.body), (self.direct, wide.direct)):
                target.weight.zero_()
                target.weight[:, self.columns] = source.weight
        return wide.eval()


# The tensors that are as wide as the inputs.
_SLICED = ("columns", "mean", "scale", "body.weight", "direct.weight")


def random_columns(policy: int, seed: int) -> Tensor:
    """The columns of a policy: the car's motion and a random part of the track ahead, of each observation."""
    generator = torch.Generator().manual_seed(1000 * seed + policy)
    ahead = OWN_FEATURES + torch.randperm(FEATURES - OWN_FEATURES, generator=generator)[:24].sort().values
    columns = torch.cat([torch.arange(OWN_FEATURES), ahead])
    return torch.cat([columns + FEATURES * step for step in range(HISTORY)])


# Metres per second, radians per second: scales to about 1.
_MEASURED_SCALE = np.array([20.0, 1.0])


class PreparedObs:
    """An observation as the policies take it.

    Attributes:
        inputs: By policy, (1, its columns).
        images: For all policies.
        measured: The current values of what the auxiliary models predict.
    """

    __slots__ = ("images", "inputs", "measured")

    def __init__(self, inputs: Sequence[Tensor], images: Tensor, measured: Tensor) -> None:
        self.inputs = inputs
        self.images = images
        self.measured = measured


class Normalizer:
    """Selects and normalizes a policy's columns."""

    def __init__(self, policy: Policy) -> None:
        columns: NDArray[np.int64] = policy.columns.numpy()
        self._columns = None if np.array_equal(columns, np.arange(len(columns))) else columns
        self._mean = policy.mean.double().numpy()
        self._scale = policy.scale.double().numpy()

    def normalize(self, window: Vector) -> Tensor:
        """Return the inputs of the policy."""
        x = window if self._columns is None else window[self._columns]
        return torch.from_numpy(((x - self._mean) / self._scale).astype(np.float32)).unsqueeze(0)


def measured(window: Vector) -> NDArray[np.float32]:
    """The values that the auxiliary models predict, of the newest observation."""
    values: NDArray[np.float32] = (window[-FEATURES:][MEASURED] / _MEASURED_SCALE).astype(np.float32)
    return values


def prepare_obs(normalizers: Sequence[Normalizer], window: Vector, images: Images) -> PreparedObs:
    """Prepare an observation for all policies."""
    inputs = [normalizer.normalize(window) for normalizer in normalizers]
    return PreparedObs(inputs, torch.from_numpy(images).unsqueeze(0), torch.from_numpy(measured(window)))


_LOOKAHEAD = 5  # points ahead
_MAX_SPEED, _MIN_SPEED = 45.0, 18.0  # metres a second


def expert(derived: Vector, car: Car) -> Action:
    """Drive by rule: steer for a point ahead, at a speed that depends on the bends."""
    x, y = derived[OWN_FEATURES : OWN_FEATURES + 2 * LOOKAHEAD].reshape(LOOKAHEAD, 2)[_LOOKAHEAD]
    bends = derived[OWN_FEATURES + 2 * LOOKAHEAD :]
    target = _MAX_SPEED - 40.0 * float(np.abs(bends[:14].sum()) + np.abs(bends[:7].sum())) / 2
    steer = 1.6 * np.arctan2(x, max(y, 1.0)) + 0.08 * derived[3]
    pedal = 0.12 * (max(target, _MIN_SPEED) - derived[1])
    return Action(
        float(np.clip(steer / car.steering, -1.0, 1.0)), float(np.clip(pedal / car.power, -0.6, 0.8))
    )


_NOISE_EVERY = 6


class Demonstration(NamedTuple):
    """An expert's drive, step by step; all float32.

    Attributes:
        windows: (steps, WINDOW).
        images: (steps, IMAGE_STACK, IMAGE_SIZE, IMAGE_SIZE).
        actions: The expert's, (steps, 2).
        executed: With noise, (steps, 2).
        measured: What the auxiliary models predict, (steps, 2).
    """

    windows: Tensor
    images: Tensor
    actions: Tensor
    executed: Tensor
    measured: Tensor


def record_demonstration(car: Car, steps: int, frames: int, seed: int) -> Demonstration:
    """Let the expert drive, with noise now and then so that there is something to correct."""
    rng = np.random.default_rng(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of Box2D's bindings
        game = Game(car, frames, "last")
    game.begin(seed)
    features, history, derived_features = FeatureExtractor(game.course(), frames), ObsHistory(), None
    rows: list[tuple[object, ...]] = []
    noise = np.zeros(2)
    for step in range(steps):
        derived_features = features.compute(game.observation(), derived_features)
        assert game.picture is not None
        history.add(derived_features, game.picture)
        target = expert(derived_features, car)
        if step % _NOISE_EVERY == 0:
            noise = rng.normal(0.0, (0.25, 0.15)) if step % (2 * _NOISE_EVERY) else np.zeros(2)
        action = Action(*np.clip(np.asarray(target) + noise, -1.0, 1.0).tolist())
        rows.append((history.window, history.images, target, action, measured(history.window)))
        game.advance(action)
        if game.over:
            break
    game.close()  # type: ignore[no-untyped-call]
    return Demonstration(
        *(torch.from_numpy(np.asarray(column, np.float32)) for column in zip(*rows, strict=True))
    )


_BATCH = 64
_NOISE_STD = 0.1


class PolicySet(NamedTuple):
    """All trained policies.

    Attributes:
        many: One policy per car, each with some of the columns.
        one: One policy for all cars, with all columns.
    """

    many: list[Policy]
    one: Policy

    def save(self, path: Path) -> None:
        """Write them to a file."""
        torch.save(
            {"many": [policy.state_dict() for policy in self.many], "one": self.one.state_dict()}, path
        )

    @classmethod
    def load(cls, path: Path) -> PolicySet:
        """Read what `save` wrote."""
        states = torch.load(path, weights_only=True)
        return cls([_restore(state) for state in states["many"]], _restore(states["one"]))


class PretrainConfig(NamedTuple):
    """How to train.

    Attributes:
        cars: Number of cars.
        steps: Of the expert's drive in each.
        epochs: Of training.
        frames: Of the game per action.
    """

    cars: int
    steps: int
    epochs: int
    frames: int
    seed: int


def pretrain(config: PretrainConfig) -> PolicySet:
    """Record the demonstrations and train all policies on them."""
    torch.manual_seed(config.seed)
    with ticktree.section("expert drives"):
        demonstrations = [
            record_demonstration(car, config.steps, config.frames, 100 * config.seed + number)
            for number, car in enumerate(make_cars(config.cars, config.seed))
        ]
    with ticktree.section("fit many"):
        many = [
            _fit(Policy(random_columns(number, config.seed)), [demonstration], demonstrations, config.epochs)
            for number, demonstration in enumerate(demonstrations)
        ]
    with ticktree.section("fit one"):
        one = _fit(Policy(torch.arange(WINDOW)), demonstrations, demonstrations, config.epochs)
    return PolicySet(many, one)


def _fit(
    policy: Policy, own: list[Demonstration], demonstrations: list[Demonstration], epochs: int
) -> Policy:
    """Fit a policy: half of each batch are its own demonstrations, which alone show too little road."""
    windows, images, actions = (
        torch.cat([getattr(demo, name) for demo in demonstrations])
        for name in ("windows", "images", "actions")
    )
    is_own = [any(demo is own_demo for own_demo in own) for demo in demonstrations]
    own_rows = torch.cat(
        [
            torch.full((len(d.actions),), is_own_row)
            for d, is_own_row in zip(demonstrations, is_own, strict=True)
        ]
    )
    own_rows = own_rows.nonzero().flatten()
    x = windows[:, policy.columns]
    with torch.no_grad():
        policy.mean.copy_(x.mean(dim=0))
        # The scale of a feature that hardly changed in training is unknown.
        policy.scale.copy_(x.std(dim=0).clamp_min(0.05))
    inputs = (x - policy.mean) / policy.scale

    def loss() -> Tensor:
        half = min(len(own_rows), _BATCH)
        rows = torch.cat(
            [own_rows[torch.randperm(len(own_rows))[:half]], torch.randint(len(inputs), (half,))]
        )
        return F.mse_loss(policy(_add_noise(inputs[rows]), images[rows])[0], actions[rows])

    _train(policy, epochs, loss)
    _fit_auxiliary(policy, own, epochs)
    return policy.eval()


def _add_noise(inputs: Tensor) -> Tensor:
    """Augment: there are many features and few steps."""
    return inputs + _NOISE_STD * torch.randn_like(inputs)


def _fit_auxiliary(policy: Policy, demonstrations: list[Demonstration], epochs: int) -> None:
    """Fit the auxiliary model to the change of the measured values; the policy itself does not change."""
    input_rows, changes = [], []
    for demonstration in demonstrations:
        with torch.no_grad():
            inputs = (demonstration.windows[:, policy.columns] - policy.mean) / policy.scale
            _, states = policy(inputs, demonstration.images)
        input_rows.append(torch.cat([states, demonstration.executed, demonstration.measured], dim=1)[:-1])
        changes.append(demonstration.measured[1:] - demonstration.measured[:-1])
    x, target = torch.cat(input_rows), torch.cat(changes)
    _train(policy.auxiliary, epochs, lambda: F.mse_loss(policy.auxiliary(x), target))


def _train(model: nn.Module, epochs: int, compute_loss: Callable[[], Tensor]) -> None:
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3, weight_decay=1e-4)
    for _ in range(epochs):
        optimizer.zero_grad()
        loss = compute_loss()
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()


def _restore(state: dict[str, Tensor]) -> Policy:
    policy = Policy(state["columns"])
    policy.load_state_dict(state)
    return policy.eval()
