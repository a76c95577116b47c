"""The environment as the driver meets it: a game behind an HTTP interface, and features of its observations."""

from __future__ import annotations

import io
from typing import Any, NamedTuple

import numpy as np
import requests
from numpy.typing import NDArray
from PIL import Image


class Action(NamedTuple):
    """One setting of the controls, kept until the next.

    Attributes:
        steer: From -1, left, to 1, right.
        pedal: From -1, the brake, to 1, the gas.
    """

    steer: float
    pedal: float


CARS = 19


class Car(NamedTuple):
    """Gains of a car's controls.

    Attributes:
        steering: Gain of the steering.
        power: Gain of the engine.
    """

    steering: float
    power: float


# No policy is trained on this one, in the middle of all the others.
STOCK = Car(1.0, 1.0)


def make_cars(cars: int, seed: int) -> list[Car]:
    """Make random cars; the first ones do not depend on their number."""
    rng = np.random.default_rng((seed, 19))
    values = rng.uniform((0.6, 0.6), (1.4, 1.2), (cars, 2))
    return [Car(float(steering), float(power)) for steering, power in values]


LOOKAHEAD = 20  # points of the track, from where the car is
MOTION = ("speed", "forward", "sideways", "yaw rate", "steering")
OWN_FEATURES = len(MOTION) + 4 + 3 + 2  # and the slip of four wheels, three accelerations, offset and heading
FEATURES = OWN_FEATURES + 2 * LOOKAHEAD + (LOOKAHEAD - 2)
# Columns that the auxiliary models predict.
MEASURED = [1, 3]
_WHEEL_RADIUS = 0.54
_FRAME_S = 0.02

Vector = NDArray[np.float64]


class FeatureExtractor:
    """Computes features in the car's frame.

    Args:
        course: The middle of the track, (points, 2).
        frames: Of the game, from one observation to the next.
    """

    def __init__(self, course: Any, frames: int) -> None:
        self._course = np.asarray(course, np.float64)
        self._seconds = frames * _FRAME_S

    def compute(self, raw: dict[str, Any], before: Vector | None) -> Vector:
        """Return an observation's features; `before` are the previous observation's, None for the first."""
        frame = _frame(raw["angle"])  # rows: to the right, forward
        sideways, forward = frame @ np.asarray(raw["velocity"])
        motion = [np.hypot(sideways, forward), forward, sideways, raw["angular_velocity"], raw["steering"]]
        slip = _WHEEL_RADIUS * np.asarray(raw["wheel_speeds"]) - forward
        acceleration = (
            np.zeros(3) if before is None else (np.asarray(motion[1:4]) - before[1:4]) / self._seconds
        )

        ahead = self._ahead(np.asarray(raw["position"])) @ frame.T
        along = np.diff(ahead, axis=0)
        heading = np.arctan2(along[:, 0], along[:, 1])
        offset = float(ahead[0] @ (np.cos(heading[0]), -np.sin(heading[0])))
        bends = (np.diff(heading) + np.pi) % (2 * np.pi) - np.pi
        return np.concatenate([motion, slip, acceleration, [offset, heading[0]], ahead.ravel(), bends])

    def _ahead(self, position: Vector) -> Vector:
        """The points of the track from the nearest on, relative to the car, not rotated."""
        away = self._course - position
        nearest = int(np.argmin(np.einsum("ij,ij->i", away, away)))
        return away[(nearest + np.arange(LOOKAHEAD)) % len(away)]


def _frame(angle: float) -> Vector:
    cos, sin = np.cos(angle), np.sin(angle)
    return np.array([[cos, sin], [-sin, cos]])


RawObs = dict[str, Any]
_TIMEOUT_S = 60.0


class RestClient:
    """One connection to a game's server.

    Args:
        address: Such as `http://127.0.0.1:8737`.
    """

    def __init__(self, address: str) -> None:
        self._address = address
        self._session = requests.Session()

    def begin(self, seed: int, car: Car, frames: int, draw: str) -> RawObs:
        """Begin a game; the first observation contains the track's course."""
        return self._post("/api/game", {"seed": seed, "car": list(car), "frames": frames, "draw": draw})

    def execute_and_wait_for_obs(self, action: Action) -> RawObs:
        """Act, and wait for the observation."""
        return self._post("/api/step", action._asdict())

    def latest_image(self) -> NDArray[np.uint8]:
        """Fetch the latest image: (height, width, 3)."""
        response = self._session.get(f"{self._address}/api/image/latest", timeout=_TIMEOUT_S)
        response.raise_for_status()
        return np.asarray(Image.open(io.BytesIO(response.content)))

    def close(self) -> None:
        """Close the connection."""
        self._session.close()

    def _post(self, path: str, body: dict[str, Any]) -> RawObs:
        response = self._session.post(f"{self._address}{path}", json=body, timeout=_TIMEOUT_S)
        response.raise_for_status()
        obs: RawObs = response.json()
        return obs


Obs = dict[str, Any]


class RestEnv:
    """A game's observations with derived features.

    Args:
        rest: The connection to its server.
        frames: Of the game per action.
        draw: Draw "all" of them, or the "last" one.
        car: The car to drive.
    """

    def __init__(self, rest: RestClient, frames: int, draw: str, car: Car = STOCK) -> None:
        self.rest = rest
        self._frames = frames
        self._draw = draw
        self._car = car
        self._features: FeatureExtractor | None = None
        self.course_length = 0

    def _begin(self, seed: int) -> Obs:
        raw_obs = self.rest.begin(seed, self._car, self._frames, self._draw)
        course = raw_obs.pop("course")
        self.course_length = len(course)
        self._features = FeatureExtractor(course, self._frames)
        self._add_derived_to_obs(raw_obs, {})
        return raw_obs

    def _act_and_get_obs(self, action: Action, prev_obs: Obs) -> Obs:
        raw_obs = self.rest.execute_and_wait_for_obs(action)
        self._add_derived_to_obs(raw_obs, prev_obs)
        return raw_obs

    def _add_derived_to_obs(self, raw_obs: Obs, prev_obs: Obs) -> None:
        if self._features is None:
            raise RuntimeError("no game: reset() begins one")
        raw_obs["derived"] = self._features.compute(raw_obs, prev_obs.get("derived"))


class RestVisionEnv(RestEnv):
    """The same with the game's latest image."""

    _obs: Obs

    def reset(self, seed: int) -> Obs:
        """Begin a game."""
        self._obs = self._begin(seed)
        self._add_latest_image_to_obs(self._obs)
        return self._obs

    def step(self, action: Action) -> Obs:
        """Act, and return the observation."""
        prev_obs = self._obs
        self._obs = self._act_and_get_obs_extended(action, prev_obs)
        return self._obs

    def _act_and_get_obs_extended(self, action: Action, prev_obs: Obs) -> Obs:
        obs = super()._act_and_get_obs(action, prev_obs)
        self._add_latest_image_to_obs(obs)
        return obs

    def _add_latest_image_to_obs(self, obs: Obs) -> None:
        obs["image"] = self.rest.latest_image()
