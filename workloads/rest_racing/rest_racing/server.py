"""The game, gymnasium's CarRacing; its HTTP interface; and the process that serves it."""

from __future__ import annotations

import argparse
import asyncio
import errno
import io
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from aiohttp import web
from gymnasium.envs.box2d.car_racing import CarRacing
from numpy.typing import NDArray
from PIL import Image

import ticktree
import ticktree.remote.aiohttp

from .env import Action, Car

DRAW = ("all", "last")


class Game(CarRacing):
    """CarRacing whose `step()` does not draw: simulation and rendering are separate, and rendering is optional.

    Args:
        car: Gains of the car's controls.
        frames: Of the game per action.
        draw: Draw "all" frames, as a game with a screen does, or only the "last" one of an action.
    """

    def __init__(self, car: Car, frames: int, draw: str) -> None:
        super().__init__()
        self.picture: NDArray[np.uint8] | None = None
        self.over = False
        self.total_reward = 0.0
        self._car_config = car
        self._frames = frames
        self._draw_all = draw == "all"

    def begin(self, seed: int) -> None:
        """Generate a track and put the car at its start."""
        self.over, self.total_reward = False, 0.0
        with ticktree.section("lay out track"):
            self.reset(seed=seed)
        self._draw()

    def advance(self, action: Action) -> None:
        """Advance the game by one action, or to its end."""
        controls = self._controls(action)
        for frame in range(1, self._frames + 1):
            with ticktree.section("simulate"):
                _, reward, self.over, _, _ = self.step(controls)
            self.total_reward += float(reward)
            if self._draw_all or self.over or frame == self._frames:
                self._draw()
            if self.over:
                return

    def observation(self) -> dict[str, Any]:
        """Return the observation, without the image, as JSON."""
        car = self.car
        assert car is not None
        hull = car.hull
        return {
            "position": [*hull.position],
            "velocity": [*hull.linearVelocity],
            "angle": hull.angle,
            "angular_velocity": hull.angularVelocity,
            "wheel_speeds": [wheel.omega for wheel in car.wheels],
            "steering": car.wheels[0].joint.angle,
            "tiles": self.tile_visited_count,
            "reward": self.total_reward,
            "over": self.over,
        }

    def course(self) -> list[list[float]]:
        """Return the middle of the track, point by point: x, y."""
        return [[x, y] for _, _, x, y in self.track]

    def _controls(self, action: Action) -> NDArray[np.float32]:
        steer = np.clip(action.steer * self._car_config.steering, -1.0, 1.0)
        pedal = np.clip(action.pedal, -1.0, 1.0)
        gas = max(pedal, 0.0) * self._car_config.power
        return np.array([steer, min(gas, 1.0), max(-pedal, 0.0)], np.float32)

    def _draw(self) -> None:
        with ticktree.section("render"):
            self.picture = super()._render("state_pixels")

    def _render(self, mode: str) -> Any:
        if mode == "state_pixels":
            return self.picture  # step() asks for one; advance() decides when to draw
        return super()._render(mode)


LISTENING = "listening on port "
# The same in every run, so that a request has the same name in all of them and runs can be compared.
PORT = 8737


class GameServer:
    """One game at a time, over REST: begin it, act and observe, fetch the latest image."""

    def __init__(self) -> None:
        self._game: Game | None = None
        self._png = b""

    def routes(self) -> list[web.RouteDef]:
        """Return the routes."""
        return [
            web.post("/api/game", self.begin),
            web.post("/api/step", self.step),
            web.get("/api/image/latest", self.latest_image),
        ]

    async def begin(self, request: web.Request) -> web.Response:
        """Begin a game: `{seed, car: [steering, power], frames, draw}`."""
        body = await request.json()
        try:
            draw, frames = str(body["draw"]), int(body["frames"])
            if draw not in DRAW or frames < 1:
                raise ValueError
            game = Game(Car(*body["car"]), frames, draw)
            game.begin(int(body["seed"]))
        except (KeyError, TypeError, ValueError):
            raise web.HTTPBadRequest(text="a game needs a seed, a car, frames and what to draw") from None
        self._game = game
        with ticktree.section("encode"):
            return self._answer(game, course=game.course())

    async def step(self, request: web.Request) -> web.Response:
        """Act, `{steer, pedal}`, and wait for the observation; the picture is there to be fetched then."""
        game = self._game
        if game is None or game.over:
            raise web.HTTPConflict(text="there is no game to play: begin one")
        body = await request.json()
        # On the loop's own thread: there is one player, who waits for this answer before asking anything else.
        game.advance(Action(float(body["steer"]), float(body["pedal"])))
        with ticktree.section("encode"):
            return self._answer(game)

    async def latest_image(self, _request: web.Request) -> web.Response:
        """Return the latest picture, a PNG."""
        if not self._png:
            raise web.HTTPNotFound(text="there is no picture before the first game")
        return web.Response(body=self._png, content_type="image/png")

    def _answer(self, game: Game, **more: object) -> web.Response:
        assert game.picture is not None  # begin() has drawn one
        file = io.BytesIO()
        Image.fromarray(game.picture).save(file, "PNG", compress_level=1)
        self._png = file.getvalue()
        text = json.dumps({**game.observation(), **more})
        return web.Response(text=text, content_type="application/json")


def main(arguments: list[str] | None = None) -> int:
    """Serve the game on this machine until it is ended, or until its parent is gone."""
    options = _parser().parse_args(arguments)
    ticktree.focus()  # what is in focus in the driver's process is not in this one: nothing to look for at every call
    os.environ.setdefault("SDL_VIDEODRIVER", "dummy")
    middlewares: list[Any] = [ticktree.remote.aiohttp.server_timing()] if options.server_timing else []
    app = web.Application(middlewares=middlewares)
    app.add_routes(GameServer().routes())
    if options.until_stdin_ends:
        app.on_startup.append(_end_with_stdin)
    listener = _listener(options.port, options.or_any_port)
    print(f"{LISTENING}{listener.getsockname()[1]}", flush=True)
    web.run_app(app, sock=listener, print=None, access_log=None)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="server.py", description="Serve CarRacing over HTTP, on this machine."
    )
    parser.add_argument(
        "--port", type=int, default=PORT, help="0 for any that is free (default: %(default)s)"
    )
    parser.add_argument("--or-any-port", action="store_true", help="take another port if that one is taken")
    parser.add_argument(
        "--no-server-timing",
        dest="server_timing",
        action="store_false",
        help="say nothing of what took how long in the answers",
    )
    parser.add_argument("--until-stdin-ends", action="store_true", help="end when standard input is closed")
    return parser


def _listener(port: int, or_any: bool) -> socket.socket:
    try:
        return socket.create_server(("127.0.0.1", port))
    except OSError as error:
        if error.errno != errno.EADDRINUSE or not or_any:
            raise SystemExit(f"server.py: port {port}: {error.strerror}") from None
    return socket.create_server(("127.0.0.1", 0))


async def _end_with_stdin(_app: web.Application) -> None:
    def readable() -> None:
        if not os.read(sys.stdin.fileno(), 1024):
            asyncio.get_running_loop().remove_reader(sys.stdin.fileno())
            signal.raise_signal(signal.SIGTERM)

    asyncio.get_running_loop().add_reader(sys.stdin.fileno(), readable)


SCRIPT = Path(__file__).parents[1] / "server.py"
_STOP_TIMEOUT_S = 10


@contextmanager
def game_server(*, server_timing: bool) -> Iterator[str]:
    """Start a server, and end it afterwards; what comes out is its address.

    Raises:
        RuntimeError: It did not start.
    """
    command = [sys.executable, str(SCRIPT), "--or-any-port", "--until-stdin-ends"]
    if not server_timing:
        command.append("--no-server-timing")
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        line = process.stdout.readline()
        if not line.startswith(LISTENING):
            raise RuntimeError(f"the game's server did not start: it ended with status {process.wait()}")
        yield f"http://127.0.0.1:{int(line.removeprefix(LISTENING))}"
    finally:
        process.stdin.close()  # which ends it, as our own end would
        try:
            process.wait(_STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        process.stdout.close()
