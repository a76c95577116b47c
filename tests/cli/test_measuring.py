"""`ticktree doctor --measure`, and what `ticktree doctor` says of what it kept."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from support.command_line import CommandLine
from ticktree.cli import doctor, machine_checks, main, measuring
from ticktree.errors import TicktreeError
from ticktree.machine import ceilings
from ticktree.machine.ceilings import MeasuredCeilings, fingerprint

FOUND = {
    "memcpy_bytes_per_s": 10.2e9,
    "cache_copy_bytes_per_s": 52e9,
    "flops_per_s_thread": 98e9,
    "flops_per_s": 187e9,
    "clock_read_ns": 41.5,
}


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(ceilings, "flops_per_s", lambda: 1_250_000_000_000)
    return tmp_path


class Outcome(NamedTuple):
    """How a command ended, and what it said."""

    exit_code: object
    stdout: str
    stderr: str


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., Outcome]:
    """Runs the command on a machine that is found to do what the test says."""

    def run(**found: float) -> Outcome:
        monkeypatch.setattr(doctor, "measure_all", lambda: MeasuredCeilings({**FOUND, **found}, time.time()))
        monkeypatch.setattr("sys.argv", ["ticktree", "doctor", "--measure"])
        with pytest.raises(SystemExit) as ended:
            main()
        return Outcome(ended.value.code, *capsys.readouterr())

    return run


def said() -> str:
    return " ".join(machine_checks.limits())


def test_what_was_found_is_a_table_and_is_kept(machine: Callable[..., Outcome]) -> None:
    done = machine()
    assert not done.exit_code
    rows = [line.split("  ") for line in done.stdout.splitlines()]
    assert [row[0] for row in rows[1:6]] == [what for what, _ in machine_checks.NAMES.values()]
    assert "187 GFLOP/s" in done.stdout
    (path,) = ceilings.folder().iterdir()
    assert str(path) in " ".join(done.stdout.split())
    found = ceilings.load(fingerprint())
    assert found is not None
    assert dict(found.ceilings) == FOUND


def test_measured_again_the_best_stays_and_both_are_shown(machine: Callable[..., Outcome]) -> None:
    machine()
    done = machine(flops_per_s=95e9, memcpy_bytes_per_s=12e9)
    assert "95.0 GFLOP/s" in done.stdout
    assert "187 GFLOP/s" in done.stdout
    assert "the best of 2" in " ".join(done.stdout.split())
    found = ceilings.load(fingerprint())
    assert found is not None
    assert found.ceilings["memcpy_bytes_per_s"] == 12e9
    assert found.ceilings["flops_per_s"] == 187e9


def test_a_damaged_file_is_replaced_and_that_is_said_in_one_line(machine: Callable[..., Outcome]) -> None:
    machine()
    ceilings.ceilings_path(fingerprint()).write_text("{")
    done = machine()
    assert done.stderr.count("\n") == 1
    assert "is damaged" in done.stderr
    assert ceilings.load(fingerprint()) is not None


def test_a_cache_that_cannot_be_written_is_one_clear_line(
    tmp_path: Path, machine: Callable[..., Outcome], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    done = machine()
    assert done.exit_code == 2
    assert done.stderr.startswith("ticktree: the ceilings cannot be kept in ")
    assert done.stderr.count("\n") == 1


def test_measuring_is_about_the_machine_and_not_about_a_run(here: CommandLine) -> None:
    (here.directory / "some-run").mkdir()
    done = here.ticktree("doctor", "--measure", "some-run")
    assert done.returncode == 2
    assert "takes no RUN" in done.stderr


def test_the_doctor_says_what_is_kept_and_how_old_it_is() -> None:
    ceilings.save(fingerprint(), MeasuredCeilings(FOUND, time.time() - 3 * 86400 - 60, 4))
    assert "memcpy, one thread: 10.2 GB/s;" in said()
    assert "reading the clock: 41.5 ns." in said()
    assert "Measured 3 days ago: the best of 4." in said()
    assert "reckoned" not in said()


def test_the_doctor_says_that_nothing_was_measured_and_what_is_reckoned() -> None:
    assert said().startswith("Not measured: `ticktree doctor --measure`")
    assert "impossible above 1.25 TFLOP/s" in said()


def test_the_doctor_says_that_what_is_kept_is_of_another_machine() -> None:
    ceilings.save({**fingerprint(), "cpu": "Z80"}, MeasuredCeilings(FOUND, 1.0))
    assert "Kept measurements are of 1 other machine." in said()


def test_the_doctor_says_once_that_what_is_kept_is_damaged() -> None:
    ceilings.save(fingerprint(), MeasuredCeilings(FOUND, 1.0)).write_text("[]")
    assert said().count("is damaged") == 1
    assert "it is ignored" in said()


def test_the_doctor_says_that_numpy_multiplies_too_slowly_to_tell() -> None:
    ceilings.save(fingerprint(), MeasuredCeilings({**FOUND, "flops_per_s": 2e9}, time.time()))
    assert "numpy multiplies too slowly here" in said()


def test_of_each_piece_the_shortest_round_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    lengths: Iterator[float] = iter([3.0, 9.0, 5.0, 1.0, 4.0, 4.0, 7.0, 7.0, 8.0, 8.0])

    def piece() -> None:
        now[0] += next(lengths)

    monkeypatch.setattr(measuring.time, "perf_counter", lambda: now[0])
    assert measuring.bests_s([piece, piece], 0.0) == [3.0, 1.0]


def test_all_threads_can_do_what_one_can(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measuring, "flops_per_s", lambda threads, _: 90e9 if threads == 1 else 7e9)
    monkeypatch.setattr("ticktree.machine.processor.usable_cores", lambda: 2)
    found = measuring.measure(0.001)
    assert found.ceilings["flops_per_s"] == 90e9
    assert found.measurements == 1
    assert set(found.ceilings) == set(machine_checks.NAMES)


def test_what_is_measured_is_a_positive_number() -> None:
    assert measuring.memcpy_bytes_per_s(0.0) > 0
    assert measuring.cache_copy_bytes_per_s(0.0) > 0
    assert measuring.clock_read_ns(0.0) > 0


def test_matrices_are_multiplied_in_a_process_with_so_many_threads() -> None:
    assert measuring.flops_per_s(1, 0.01) > 0


def test_a_process_that_cannot_multiply_is_one_clear_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measuring, "_PROGRAM", "raise SystemExit('no numpy')")
    with pytest.raises(TicktreeError, match=r"^numpy could not multiply: no numpy$"):
        measuring.flops_per_s(1, 0.01)
    monkeypatch.setattr(measuring, "_PROGRAM", "raise SystemExit(3)")
    with pytest.raises(TicktreeError, match="it ended with status 3"):
        measuring.flops_per_s(1, 0.01)


def test_the_child_is_told_how_many_threads_and_is_not_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_PROC_BIND", "true")
    program = (
        "import os; e = os.environ; print(sum(int(e[k]) for k in e if 'NUM_THREADS' in k and e[k] == '3')"
    )
    program += " + 100 * ('OMP_PROC_BIND' in e) + 1000 * (e['TICKTREE_OFF'] != '1'))"
    monkeypatch.setattr(measuring, "_PROGRAM", program)
    assert measuring.flops_per_s(3, 0.01) == 12


@pytest.mark.slow
def test_this_machine_is_measured(here: CommandLine) -> None:
    done = here.ticktree("doctor", "--measure")
    assert done.returncode == 0, done.stderr
    assert "float32, all threads" in done.stdout
    here.write("train.py")
    here.ticktree("run", "--quiet", "train.py")
    assert "Measured just now: once." in " ".join(here.ticktree("doctor", "-v").stdout.split())
