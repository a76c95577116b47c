"""A profile with samples goes through every command as any other does, and keeps them where it is kept."""

from __future__ import annotations

import json

import pytest

from support.command_line import run_in_process
from support.example_samples import sampled_training, unmarked
from ticktree.outputs import EXPORTS, OUTPUTS
from ticktree.profile import Profile

MAKERS = {"sections": sampled_training, "no sections": unmarked}
# What shows single calls needs a timeline; what writes tables of several files, a directory.
FORMATS = [name for name, each in EXPORTS.items() if not each.needs_events]


@pytest.fixture(params=MAKERS)
def saved(request, tmp_path, monkeypatch):
    """A saved profile with samples, and the profile."""
    monkeypatch.chdir(tmp_path)
    profile = MAKERS[request.param]()
    (tmp_path / "saved.json").write_text(profile.to_json())
    return tmp_path / "saved.json", profile


@pytest.mark.parametrize("form", OUTPUTS)
def test_it_is_reported_in_every_format(form, saved, tmp_path):
    path, _ = saved
    for words in ((), ("--all",)):
        status, _, err = run_in_process("report", "--format", form, "-o", "report.out", *words, str(path))
        assert (status, err) == (0, "")


@pytest.mark.parametrize("form", FORMATS)
def test_it_is_exported_in_every_format(form, saved, tmp_path):
    path, _ = saved
    status, _, err = run_in_process("export", "--to", form, "-o", "export.out", str(path))
    assert (status, err) == (0, "")
    assert (tmp_path / "export.out").stat().st_size or form == "prometheus"


def test_its_own_json_is_read_back_with_its_samples(saved):
    path, profile = saved
    status, out, _ = run_in_process("export", "--to", "json", str(path))
    assert status == 0
    assert Profile.from_json(out) == profile
    path.write_text(out)
    status, again, _ = run_in_process("report", "--format", "json", str(path))
    assert again == out


def test_merged_its_samples_are_added(saved, tmp_path):
    path, profile = saved
    # Of another run: the same one is refused.
    other = profile.to_json().replace("20260704-101500-train", "20260704-111500-train")
    (tmp_path / "other.json").write_text(other)
    status, _, err = run_in_process("merge", "-o", "both.json", str(path), "other.json")
    assert status == 0, err
    both = Profile.from_json((tmp_path / "both.json").read_bytes())
    assert both.samples.count == 2 * profile.samples.count
    assert both.samples.rounds == 2 * profile.samples.rounds


def test_it_is_compared_checked_and_queried(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "saved.json").write_text(sampled_training().to_json())
    status, out, _ = run_in_process("compare", "--format", "json", "saved.json", "saved.json")
    assert {each["verdict"] for each in json.loads(out)["entries"]} <= {"no difference", "inconclusive"}
    assert run_in_process("check", "--budget", "train/update p99 <= 100 s", "saved.json")[0] == 0
    status, out, _ = run_in_process("query", "--format", "csv", "saved.json", "select count(*) from nodes")
    assert (status, out.splitlines()[1]) == (0, str(sum(1 for _ in sampled_training().root.walk())))
