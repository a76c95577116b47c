import subprocess
import sys

import numpy as np
import pytest
import requests
from rest_racing.env import STOCK, Action, Car, RestClient, RestVisionEnv
from rest_racing.policies import IMAGE_SIZE, IMAGE_STACK, WINDOW, record_demonstration
from rest_racing.server import LISTENING, Game

from support.workloads import WORKLOADS, environment

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")
FULL_AHEAD = Action(0.1, 0.5)


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
    images = []
    look = game._draw

    def counted():
        look()
        images.append(game.picture)

    game._draw = counted
    game.begin(3)
    for _ in range(2):
        game.advance(FULL_AHEAD)
    return game, images


def test_all_frames_are_drawn_or_only_the_one_that_is_looked_at():
    """And the game goes on in the same way: who draws changes nothing."""
    every, last_frames = drawn("all")
    last, seen_last = drawn("last")
    assert (len(last_frames), len(seen_last)) == (1 + 2 * 3, 1 + 2)
    assert every.observation() == last.observation()
    assert np.array_equal(last_frames[-1], seen_last[-1])
    assert not np.array_equal(last_frames[0], last_frames[-1])


def test_a_car_answers_to_its_controls_in_its_own_way():
    angles = []
    for car in (Car(0.6, 1.0), Car(1.4, 1.0)):
        game = Game(car, 10, "last")
        game.begin(0)
        game.advance(Action(0.2, 0.5))
        angles.append(abs(game.observation()["steering"]))
    assert 1.5 * angles[0] < angles[1]


def test_the_same_lesson_is_taught_again_for_the_same_seed():
    first, again = (record_demonstration(STOCK, 4, 2, 7) for _ in range(2))
    assert all(np.array_equal(left, right) for left, right in zip(first, again))
    assert first.windows.shape == (4, WINDOW)
    assert first.images.shape == (4, IMAGE_STACK, IMAGE_SIZE, IMAGE_SIZE)
    assert first.actions.abs().max() <= 1.0


def test_the_game_behind_http_is_the_game(server):
    game = Game(STOCK, 2, "last")
    game.begin(5)
    client = RestClient(server)
    env = RestVisionEnv(client, 2, "last")
    first = env.reset(5)
    assert env.course_length == len(game.course())
    assert np.array_equal(first["image"], game.picture)
    for _ in range(2):
        game.advance(FULL_AHEAD)
        response = env.step(FULL_AHEAD)
    remote = {name: response[name] for name in game.observation()}
    assert remote == game.observation()  # to the last bit: JSON keeps a float as it is
    assert np.array_equal(response["image"], game.picture)
    assert response["derived"][9] > 0.0  # it gains speed, which only the observation before can tell
    client.close()


def test_what_cannot_be_played_is_refused(server):
    assert requests.get(f"{server}/api/image/latest", timeout=30).status_code == 404
    assert requests.post(f"{server}/api/step", json=FULL_AHEAD._asdict(), timeout=30).status_code == 409
    for body in ({}, {"seed": 1, "car": [1, 1], "frames": 0, "draw": "all"}, {"seed": 1, "car": 3}):
        assert requests.post(f"{server}/api/game", json=body, timeout=30).status_code == 400


@pytest.mark.slow
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
