from __future__ import annotations

import textwrap

import pytest

from ticktree.analysis import Settings
from ticktree.analysis.finding import Thresholds, Weights
from ticktree.configuration import ConfigurationError, ConfigurationTable, configuration, settings


@pytest.fixture
def project(tmp_path):
    """Writes a pyproject.toml, and says what is in it."""

    def write(text, folder=tmp_path):
        folder.mkdir(exist_ok=True, parents=True)
        (folder / "pyproject.toml").write_text(textwrap.dedent(text), encoding="utf-8")
        return folder

    return write


def refused(folder):
    with pytest.raises(ConfigurationError) as error_info:
        settings(configuration(folder))
    message = str(error_info.value)
    assert "\n" not in message
    assert message.startswith(f"{folder / 'pyproject.toml'}: ")
    return message.removeprefix(f"{folder / 'pyproject.toml'}: ")


def test_where_nothing_is_said_the_defaults_hold(project):
    folder = project('[tool.other]\nname = "x"\n[tool.ticktree]\n')
    assert dict(configuration(folder)) == {}
    assert settings(configuration(folder)) == settings(ConfigurationTable({})) == Settings()


def test_the_nearest_file_upwards_that_speaks_of_ticktree_is_the_one(project, tmp_path):
    project('[tool.ticktree.categories]\nrobot = ["wheel"]\n')
    inner = project('[project]\nname = "inner"\n', tmp_path / "a" / "b")
    assert settings(configuration(inner / "c")).categories == {"robot": ("wheel",)}
    project('[tool.ticktree.categories]\nrobot = ["claw"]\n', tmp_path / "a")
    assert settings(configuration(inner)).categories == {"robot": ("claw",)}


def test_everything_that_can_be_said_is_heard(project):
    folder = project(
        """
        [tool.ticktree.categories]
        physics = ["mj*", "solve contacts"]

        [tool.ticktree.score]
        weights = { time = 1, call = "50%", memory = 0, device_memory = 0.25 }
        thresholds = { critical = "20%", slow = "5 ms", memory = "1 GiB", device_memory = "500 MB" }
        """
    )
    assert settings(configuration(folder)) == Settings(
        categories={"physics": ("mj*", "solve contacts")},
        weights=Weights(time=1, call=0.5, memory=0, device_memory=0.25),
        thresholds=Thresholds(
            critical_share=0.2, slow_ns=5_000_000, memory_bytes=2**30, device_memory_bytes=500_000_000
        ),
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[tool.ticktree.scores]", "[tool.ticktree] scores: there is no such key; did you mean score?"),
        (
            "[tool.ticktree.zebra]",
            "[tool.ticktree] zebra: there is no such key; there are budgets, categories, score",
        ),
        ("[tool.ticktree]\nscore = 3", "[tool.ticktree] score: should be a table, not 3"),
        ("[tool]\nticktree = 3", "[tool] ticktree: should be a table, not 3"),
        (
            "[tool.ticktree.score.thresholds]\nslow = 100",
            '[tool.ticktree.score.thresholds] slow: should be a time such as "25 ms", not 100',
        ),
        (
            "[tool.ticktree.score.thresholds]\nslwo = '1 s'",
            "[tool.ticktree.score.thresholds] slwo: there is no such key; did you mean slow?",
        ),
        (
            "[tool.ticktree.score.weights]\ntime = true",
            '[tool.ticktree.score.weights] time: should be a share such as "5%" or 0.05, not True',
        ),
        (
            "[tool.ticktree.categories]\nenv = 'env'",
            '[tool.ticktree.categories] env: should be a list of patterns such as ["env", "draw*"], not \'env\'',
        ),
        (
            "[tool.ticktree.categories]\nenv = ['_']",
            "[tool.ticktree.categories] env: the pattern '_' has no words",
        ),
        (
            "[tool.ticktree.score.weights]\ntime=0\ncall=0\nmemory=0\ndevice_memory=0",
            "[tool.ticktree.score.weights] time, call, memory, device_memory: one of them must be more than 0",
        ),
        ("[tool.ticktree", "not TOML: "),
    ],
)
def test_what_is_not_understood_is_said_in_one_line_with_the_file_and_the_key(project, text, message):
    assert refused(project(text)).startswith(message)


def test_a_file_that_is_no_text_is_refused_by_its_name(project, tmp_path):
    folder = project("")
    (folder / "pyproject.toml").write_bytes(b"\xff\xfe[tool]")
    assert refused(folder).startswith("not TOML: ")
