"""The game as its HTTP interface shows it."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import requests
from numpy.typing import NDArray
from PIL import Image

from .action import Action
from .car import Car

RawObservation = dict[str, Any]
_SECONDS_AT_MOST = 60.0


class RestClient:
    """One connection to a game's server.

    Args:
        address: Such as `http://127.0.0.1:8737`.
    """

    def __init__(self, address: str) -> None:
        self._address = address
        self._session = requests.Session()

    def begin(self, seed: int, car: Car, frames: int, draw: str) -> RawObservation:
        """Begin a game; the first observation has the track's course with it."""
        return self._post("/api/game", {"seed": seed, "car": list(car), "frames": frames, "draw": draw})

    def execute_and_wait_for_obs(self, action: Action) -> RawObservation:
        """Act, and wait until the game has gone on for it."""
        return self._post("/api/step", action._asdict())

    def latest_image(self) -> NDArray[np.uint8]:
        """Fetch the latest picture: (height, width, 3)."""
        response = self._session.get(f"{self._address}/api/image/latest", timeout=_SECONDS_AT_MOST)
        response.raise_for_status()
        return np.asarray(Image.open(io.BytesIO(response.content)))

    def close(self) -> None:
        """Close the connection."""
        self._session.close()

    def _post(self, path: str, body: dict[str, Any]) -> RawObservation:
        response = self._session.post(f"{self._address}{path}", json=body, timeout=_SECONDS_AT_MOST)
        response.raise_for_status()
        said: RawObservation = response.json()
        return said
