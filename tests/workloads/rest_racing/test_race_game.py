from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
import requests
from rest_racing.action import Action
from rest_racing.car import STOCK, Car
from rest_racing.env import RestVisionEnv
from rest_racing.game import Game
from rest_racing.lessons import lesson
from rest_racing.perception import PICTURES, SIDE, WINDOW
from rest_racing.rest_client import RestClient
from rest_racing.server import LISTENING

from support.workloads import WORKLOADS, environment

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")
AHEAD = Action(0.1, 0.5)


@pytest.fixture
def server(tmp_path):
    """The address of a server, which is not recorded."""
    command = [
        sys.executable,
        str(WORKLOADS / "rest_racing" / "server.py"),
        "--port",
        "0",
        "--until-stdin-ends",
    ]
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment(tmp_path)
    )
    line = process.stdout.readline()
    assert line.startswith(LISTENING)
    yield f"http://127.0.0.1:{int(line.removeprefix(LISTENING))}"
    process.stdin.close()
    assert process.wait(30) == 0  # it ends with who started it
    process.stdout.close()


def drawn(draw, frames=3):
    game = Game(STOCK, frames, draw)
    pictures = []
    look = game._look

    def counted():
        look()
        pictures.append(game.picture)

    game._look = counted
    game.begin(3)
    for _ in range(2):
        game.advance(AHEAD)
    return game, pictures


def test_all_frames_are_drawn_or_only_the_one_that_is_looked_at():
    """And the game goes on in the same way: who draws changes nothing."""
    every, seen = drawn("all")
    last, seen_last = drawn("last")
    assert (len(seen), len(seen_last)) == (1 + 2 * 3, 1 + 2)
    assert every.observation() == last.observation()
    assert np.array_equal(seen[-1], seen_last[-1])
    assert not np.array_equal(seen[0], seen[-1])


def test_a_car_answers_to_its_controls_in_its_own_way():
    angles = []
    for car in (Car(0.6, 1.0), Car(1.4, 1.0)):
        game = Game(car, 10, "last")
        game.begin(0)
        game.advance(Action(0.2, 0.5))
        angles.append(abs(game.observation()["steering"]))
    assert 1.5 * angles[0] < angles[1]


def test_the_same_lesson_is_taught_again_for_the_same_seed():
    first, again = (lesson(STOCK, 4, 2, 7) for _ in range(2))
    assert all(np.array_equal(one, two) for one, two in zip(first, again))
    assert first.windows.shape == (4, WINDOW)
    assert first.pictures.shape == (4, PICTURES, SIDE, SIDE)
    assert first.actions.abs().max() <= 1.0


def test_the_game_behind_http_is_the_game(server):
    here = Game(STOCK, 2, "last")
    here.begin(5)
    rest = RestClient(server)
    env = RestVisionEnv(rest, 2, "last")
    first = env.reset(5)
    assert env.course_length == len(here.course())
    assert np.array_equal(first["image"], here.picture)
    for _ in range(2):
        here.advance(AHEAD)
        there = env.step(AHEAD)
    told = {name: there[name] for name in here.observation()}
    assert told == here.observation()  # to the last bit: JSON keeps a float as it is
    assert np.array_equal(there["image"], here.picture)
    assert there["derived"][9] > 0.0  # it gains speed, which only the observation before can tell
    rest.close()


def test_what_cannot_be_played_is_refused(server):
    assert requests.get(f"{server}/api/image/latest", timeout=30).status_code == 404
    assert requests.post(f"{server}/api/step", json=AHEAD._asdict(), timeout=30).status_code == 409
    for asked in ({}, {"seed": 1, "car": [1, 1], "frames": 0, "draw": "all"}, {"seed": 1, "car": 3}):
        assert requests.post(f"{server}/api/game", json=asked, timeout=30).status_code == 400


def test_a_port_that_is_taken_is_one_line(server, tmp_path):
    port = server.rpartition(":")[2]
    done = subprocess.run(
        [sys.executable, str(WORKLOADS / "rest_racing" / "server.py"), "--port", port],
        capture_output=True,
        text=True,
        timeout=500,
        env=environment(tmp_path),
    )
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith(f"server.py: port {port}: ")
