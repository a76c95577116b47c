from __future__ import annotations

import importlib.util

import pytest
from rgb_convlstm import selftest

from support.workloads.rgb_convlstm import run_script

CHARTS = importlib.util.find_spec("matplotlib") is not None


@pytest.mark.slow
def test_the_self_test_passes_and_leaves_its_files(tmp_path):
    process = run_script("test_profiling.py", cwd=tmp_path)
    assert process.returncode == 0, process.stdout + process.stderr
    assert process.stdout.splitlines()[-1] == "profiling works"
    files = {path.name for path in (tmp_path / "profiling_test_files").iterdir()}
    charts = {"performance.png"} if CHARTS else set()
    assert files == {"profiling_report.json", "analysis.txt", "detailed_analysis.json"} | charts


@pytest.mark.slow
def test_cleanup_leaves_nothing(tmp_path):
    process = run_script("test_profiling.py", "--cleanup", cwd=tmp_path)
    assert process.returncode == 0, process.stdout + process.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("line", "trouble"),
    [
        ("training_total 1 1.0 1.0 1.0 1.0 - -", "not env_rgb_observation_generation"),
        (None, None),
    ],
)
def test_an_operation_that_is_missing_fails_it(line, trouble):
    names = (
        *(
            *selftest.ENVIRONMENT,
            *selftest.MODEL,
            *selftest.POLICY,
            *selftest.TRAINING,
            *selftest.SIMULATED_OPERATIONS,
        ),
    )
    lines = [line] if line else [f"{name} {selftest.STEPS} 1.0 1.0 1.0 1.0 - -" for name in names]
    problem = selftest._check_operations("\n".join(["", "", "", "", *lines, "---"]))
    assert problem is None if trouble is None else problem.startswith(trouble)


def test_a_column_that_is_missing_fails_it():
    assert selftest._check_columns("\n\nOperation  Calls") is not None
    assert selftest._check_columns("\n\n" + "  ".join(selftest.COLUMNS)) is None


def test_a_report_that_cannot_be_read_fails_it(tmp_path):
    assert "analyzer:" in selftest._check_printed(tmp_path / "none.json")
