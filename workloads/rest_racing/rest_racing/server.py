"""The game's HTTP interface, and the process that serves it."""

from __future__ import annotations

import argparse
import asyncio
import errno
import io
import json
import os
import signal
import socket
import sys
from typing import Any

from aiohttp import web
from PIL import Image

import ticktree
import ticktree.remote.aiohttp

from .action import Action
from .car import Car
from .game import DRAW, Game

LISTENING = "listening on port "
# The same in every run, so that a request has the same name in all of them and runs can be compared.
PORT = 8737


class GameServer:
    """One game at a time, over REST: begin it, act and hear what came of it, look at the latest picture."""

    def __init__(self) -> None:
        self._game: Game | None = None
        self._png = b""

    def routes(self) -> list[web.RouteDef]:
        """Return what can be asked."""
        return [
            web.post("/api/game", self.begin),
            web.post("/api/step", self.step),
            web.get("/api/image/latest", self.latest_image),
        ]

    async def begin(self, request: web.Request) -> web.Response:
        """Begin a game: `{seed, car: [steering, power], frames, draw}`."""
        asked = await request.json()
        try:
            draw, frames = str(asked["draw"]), int(asked["frames"])
            if draw not in DRAW or frames < 1:
                raise ValueError
            game = Game(Car(*asked["car"]), frames, draw)
            game.begin(int(asked["seed"]))
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
        asked = await request.json()
        # On the loop's own thread: there is one player, who waits for this answer before asking anything else.
        game.advance(Action(float(asked["steer"]), float(asked["pedal"])))
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
    """Serve the game on this machine until told to end, or until whoever started it is gone."""
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
    parser.add_argument(
        "--until-stdin-ends", action="store_true", help="end with whoever holds standard input"
    )
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
