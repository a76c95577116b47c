"""A run that is damaged, or was made to stop whoever reads it, among good ones."""

from __future__ import annotations

import gzip
import json
import os
import resource
import shutil

import pytest

from support.command_line import assert_one_clear_line


def memory_with_a_zero_byte(folder):
    facts = json.loads((folder / "run.json").read_text())
    (folder / "run.json").write_text(json.dumps({**facts, "memory": "x\0y"}))


def a_link_to_a_device(folder):
    (folder / "run.json").unlink()
    (folder / "run.json").symlink_to("/dev/zero")


def a_pipe(folder):
    (folder / "run.json").unlink()
    os.mkfifo(folder / "run.json")


def a_huge_number(folder):
    facts = json.loads((folder / "run.json").read_text())
    (folder / "run.json").write_text(json.dumps({**facts, "started_ns": 10**400}))


def no_number(folder):
    text = (folder / "run.json").read_text()
    (folder / "run.json").write_text(text.replace('"metadata": {', '"metadata": {"x": 1e400, '))


@pytest.mark.slow
@pytest.mark.parametrize(
    "damage", [memory_with_a_zero_byte, a_link_to_a_device, a_pipe, a_huge_number, no_number]
)
def test_a_damaged_run_is_named_and_the_good_ones_are_read(recorded, damage):
    (good,) = recorded.runs()
    bad = good.with_name("20200101-000000-bad")
    shutil.copytree(good, bad)
    damage(bad)
    listed = recorded.ticktree("list")
    assert listed.returncode == 0, listed.stderr
    (row,) = [line for line in listed.stdout.splitlines() if line.startswith(bad.name)]
    assert " damaged " in row
    assert good.name in listed.stdout
    remembered = recorded.ticktree("history")
    assert remembered.returncode == 0, remembered.stderr
    assert f"Not in the history: {bad.name}: " in remembered.stderr
    merged = recorded.ticktree("merge", "ticktree-runs", "-o", "job.json")
    assert merged.returncode == 0, merged.stderr
    assert f"Left out: ticktree-runs/{bad.name}/run.json: " in merged.stderr
    assert json.loads((recorded.directory / "job.json").read_text())["losses"]["profiles_not_merged"] == 1
    assert_one_clear_line(recorded.ticktree("report", str(bad)), "run.json: ")
    assert_one_clear_line(recorded.ticktree("merge", str(good), str(bad), "-o", "job.json"), "run.json: ")
    assert recorded.ticktree("merge", str(good), str(bad), "--skip", "-o", "job.json").returncode == 0


def limited() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))


@pytest.mark.slow
def test_a_bomb_is_one_clear_line_at_a_bounded_memory(recorded):
    with gzip.open(recorded.directory / "bomb.json.gz", "wb", compresslevel=9) as file:
        for _ in range(3 << 10):
            file.write(b" " * (1 << 20))
    (run,) = recorded.runs()
    (run / "job").mkdir()
    shutil.copy(recorded.directory / "bomb.json.gz", run / "job" / "x.json.gz")
    for words in (("report", "bomb.json.gz"), ("merge", str(run), "-o", "x")):
        done = recorded.ticktree(*words, preexec_fn=limited)
        assert_one_clear_line(done, "json.gz: a compressed file of more than 1 GiB")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["pipe", "zero"])
def test_what_is_no_file_is_refused_at_once(recorded, name):
    os.mkfifo(recorded.directory / "pipe")
    (recorded.directory / "zero").symlink_to("/dev/zero")
    for words in (
        ("report", name),
        ("export", name, "--to", "chrome", "-o", "x"),
        ("merge", name, "-o", "x"),
    ):
        assert_one_clear_line(recorded.ticktree(*words), f"{name}: it is not a regular file")
