"""What `ticktree doctor` says of devices: by what is installed, with nothing imported and no device woken."""

from __future__ import annotations

import sys

import pytest

from ticktree.cli import machine_checks


@pytest.fixture
def installed(monkeypatch, tmp_path):
    """Says which packages there are, and what torch was built for."""

    def install(built_for="", **versions):
        (tmp_path / "version.py").write_text(
            f"__version__ = '9'\ncuda: str | None = {built_for!r}\nhip: str | None = None\n"
            if built_for
            else "cuda: str | None = None\nhip: str | None = None\n"
        )
        monkeypatch.setattr(machine_checks, "_version", lambda name: versions.get(name.replace("-", "_")))
        monkeypatch.setattr(machine_checks.util, "find_spec", lambda name: Spec())

    class Spec:
        submodule_search_locations = (str(tmp_path),)

    return install


def said(gpus=0):
    return " ".join(machine_checks.devices(gpus))


def test_a_torch_built_for_cuda_measures_it(installed):
    installed("12.8", torch="2.13.0")
    assert "measured by events of torch 2.13.0 (cuda 12.8)" in said()
    assert "the driver lists 2 from NVIDIA" in said(gpus=2)
    assert "lists none from NVIDIA" in said()


def test_a_torch_built_without_does_not(installed):
    installed(torch="2.13.0+cpu")
    assert "cuda: not measured: torch 2.13.0+cpu was built without it." in said()


def test_what_is_not_installed_is_said(installed):
    installed()
    assert "cuda: not measured: torch is not installed." in said()
    assert "jax: not measured: jax is not installed." in said()
    assert "pip install 'ticktree[nvidia]'" in said()


def test_jax_and_the_counters_are_named_where_they_are(installed):
    installed(jax="0.9", nvidia_ml_py="13.0")
    assert "until its results are available (jax 0.9)" in said()
    assert "Counters of NVIDIA GPUs are read by `ticktree run`" in said()


def test_on_a_mac_metal_is_measured_on_demand(installed, monkeypatch):
    installed(torch="2.13.0")
    assert "this is not a Mac" in said()
    monkeypatch.setattr("platform.system", lambda: "Darwin")
    monkeypatch.setattr("platform.machine", lambda: "arm64")
    assert "mps: measured only with --device-sync" in said()


def test_the_installed_torch_is_not_imported(monkeypatch):
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    assert list(machine_checks.devices())
    assert "torch" not in sys.modules
