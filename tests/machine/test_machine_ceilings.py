"""Ceilings of a machine: its fingerprint, measured and reckoned ceilings, and those in a run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ticktree.machine import ceilings, processor
from ticktree.machine.ceilings import CeilingsError, MeasuredCeilings, ceiling_facts, digest, fingerprint
from ticktree.run.facts import describe_program

MEASURED = {
    "memcpy_bytes_per_s": 10.2e9,
    "flops_per_s_thread": 1e14,
    "flops_per_s": 2e14,
    "clock_read_ns": 41.537,
}

CPUINFO = """processor\t: 0
model name\t: Some CPU @ 3 GHz
flags\t\t: fpu sse2 avx avx2 fma
processor\t: 1
model name\t: Another
"""


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "ticktree"


@pytest.fixture
def wide(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine for which 1e14 operations per second are plausible."""
    monkeypatch.setattr(ceilings, "flops_per_s", lambda: 10**15)


def test_a_fingerprint_is_reproducible_and_without_the_host_name(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    fingerprint_before = fingerprint()
    monkeypatch.setattr("platform.node", lambda: "elsewhere")
    assert fingerprint() == fingerprint_before
    assert digest(fingerprint()) == digest(fingerprint_before)
    assert "host" not in fingerprint_before


@pytest.mark.parametrize(("of", "value"), [("usable_cores", 77), ("model", "Z80"), ("memory_bytes", 1 << 45)])
def test_another_processor_core_count_or_memory_is_another_machine(
    monkeypatch: pytest.MonkeyPatch, of: str, value: object
) -> None:
    fingerprint_before = digest(fingerprint())
    monkeypatch.setattr(processor, of, lambda: value)
    assert digest(fingerprint()) != fingerprint_before


def test_the_processor_is_read_from_cpuinfo(tmp_path: Path) -> None:
    (tmp_path / "cpuinfo").write_text(CPUINFO)
    assert processor.model(tmp_path / "cpuinfo") == "Some CPU @ 3 GHz"
    assert processor.flags(tmp_path / "cpuinfo") == {"fpu", "sse2", "avx", "avx2", "fma"}
    assert processor.flags(tmp_path / "nothing") == frozenset()
    for index, size in enumerate(["32K\n", "1M\n", "nonsense", ""]):
        (tmp_path / f"index{index}").mkdir()
        (tmp_path / f"index{index}" / "size").write_text(size)
    assert processor.largest_cache_bytes(tmp_path) == 1 << 20
    assert processor.largest_cache_bytes(tmp_path / "nothing") is None
    (tmp_path / "gpus" / "0000:01:00.0").mkdir(parents=True)
    assert (processor.gpu_count(tmp_path / "gpus"), processor.gpu_count(tmp_path / "nothing")) == (1, 0)
    assert processor.gpu_model(tmp_path / "gpus") == processor.gpu_model(tmp_path / "nothing") == ""
    (tmp_path / "gpus" / "0000:01:00.0" / "information").write_text(
        "Model: \t\t NVIDIA H200\nIRQ:   \t\t 18\n"
    )
    assert processor.gpu_model(tmp_path / "gpus") == "NVIDIA H200"


def test_saved_ceilings_are_loaded_again(cache: Path) -> None:
    machine = fingerprint()
    assert ceilings.load(machine) is None
    path = ceilings.save(machine, MeasuredCeilings(MEASURED, 1000.0, 2))
    assert path.parent == cache
    assert ceilings.load(machine) == MeasuredCeilings(MEASURED, 1000.0, 2)
    assert list(cache.iterdir()) == [path], "no temporary file is left"


def test_a_second_measurement_keeps_the_best_of_both() -> None:
    first = MeasuredCeilings({"flops_per_s": 5.0, "clock_read_ns": 40.0, "a": 1.0}, 10.0)
    second = MeasuredCeilings({"flops_per_s": 4.0, "clock_read_ns": 60.0, "b": 2.0}, 20.0)
    merged = MeasuredCeilings({"flops_per_s": 5.0, "clock_read_ns": 40.0, "a": 1.0, "b": 2.0}, 20.0, 2)
    assert first + second == merged
    assert second + first == merged


DAMAGED = {
    "not JSON": "{",
    "no object": "[]",
    "nothing": "",
    "another schema": json.dumps({"schema": "ticktree-ceilings/9"}),
    "no ceilings": json.dumps(
        {"schema": ceilings.SCHEMA, "ceilings": {}, "measured_wall_s": 1, "measurements": 1}
    ),
    "deep": "[" * 100_000,
    **{
        f"a ceiling of {value!r}": json.dumps(
            {"schema": ceilings.SCHEMA, "ceilings": {"x": value}, "measured_wall_s": 1, "measurements": 1}
        )
        for value in (0, -1, "1", True, None, float("inf"), float("nan"))
    },
}


@pytest.mark.parametrize("text", DAMAGED.values(), ids=DAMAGED)
def test_a_damaged_file_is_named_and_a_run_continues_without(text: str) -> None:
    machine = fingerprint()
    path = ceilings.save(machine, MeasuredCeilings(MEASURED, 1000.0))
    path.write_text(text)
    with pytest.raises(CeilingsError, match="is damaged"):
        ceilings.load(machine)
    assert "ceiling.memcpy_bytes_per_s" not in dict(ceiling_facts())


def test_a_file_that_is_not_text_is_named() -> None:
    machine = fingerprint()
    ceilings.save(machine, MeasuredCeilings(MEASURED, 1000.0)).write_bytes(b"\xff\xfe")
    with pytest.raises(CeilingsError, match="is damaged: it is not JSON"):
        ceilings.load(machine)


def test_the_file_of_another_machine_is_not_used(wide: None) -> None:
    machine, other = fingerprint(), {**fingerprint(), "cpu": "Z80"}
    other_path = ceilings.save(other, MeasuredCeilings(MEASURED, 1000.0))
    assert ceilings.load(machine) is None
    assert ceilings.count_other_machines(machine) == 1
    other_path.rename(ceilings.ceilings_path(machine))
    with pytest.raises(CeilingsError, match="of another machine"):
        ceilings.load(machine)
    assert dict(ceiling_facts())["ceiling.source"] == "reckoned"


def test_a_read_only_directory_gives_one_clear_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    with pytest.raises(CeilingsError, match="cannot be kept in") as error:
        ceilings.save(fingerprint(), MeasuredCeilings(MEASURED, 1000.0))
    assert "\n" not in str(error.value)


def test_a_relative_cache_path_is_ignored(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert ceilings.folder() == tmp_path / ".cache" / "ticktree"


@pytest.mark.parametrize(
    ("architecture", "flags", "per_core"),
    [
        ("x86_64", {"avx512f", "avx2", "fma", "avx"}, 96),
        ("x86_64", {"avx2", "fma", "avx"}, 48),
        ("x86_64", {"avx"}, 16),
        ("x86_64", {"sse2"}, 8),
        ("x86_64", set(), 96),
        ("aarch64", {"asimd"}, 48),
        ("aarch64", {"asimd", "sve"}, 64),
        ("arm64", set(), 512),
    ],
)
def test_the_bound_follows_from_the_widest_instructions(
    architecture: str, flags: set[str], per_core: int
) -> None:
    assert ceilings.flops_per_s(architecture, frozenset(flags), 3) == 3 * per_core * 6_500_000_000


def test_an_unknown_processor_has_no_reckoned_bound() -> None:
    assert ceilings.flops_per_s("riscv64", frozenset({"v"}), 3) is None


@pytest.mark.parametrize(
    ("flags", "factor"), [({"avx2"}, 1), ({"avx512_bf16"}, 2), ({"amx_tile", "avx512_bf16"}, 16), (set(), 16)]
)
def test_narrower_formats_are_faster_if_there_are_instructions_for_them(flags: set[str], factor: int) -> None:
    assert ceilings.low_precision_factor(frozenset(flags)) == factor


def test_a_run_has_the_measured_ceilings_of_its_machine(wide: None) -> None:
    ceilings.save(fingerprint(), MeasuredCeilings(MEASURED, 1000.0))
    facts = describe_program(["train.py"])
    assert facts["ceiling.source"] == "measured"
    assert facts["ceiling.memcpy_bytes_per_s"] == 10_200_000_000
    assert facts["ceiling.flops_per_s"] == 2 * 10**14
    assert facts["ceiling.clock_read_ns"] == 41.54


def test_a_run_on_an_unmeasured_machine_has_the_reckoned_bound(wide: None) -> None:
    facts = {
        key: value for key, value in describe_program(["train.py"]).items() if key.startswith("ceiling.")
    }
    factor = facts.pop("ceiling.low_precision_factor")
    assert factor >= 1
    assert facts == {"ceiling.source": "reckoned", "ceiling.flops_per_s": 10**15}


def test_a_measurement_with_a_far_too_slow_library_is_not_used(wide: None) -> None:
    ceilings.save(
        fingerprint(), MeasuredCeilings({**MEASURED, "flops_per_s": 2e9, "flops_per_s_thread": 1e9}, 1000.0)
    )
    facts = dict(ceiling_facts())
    assert (facts["ceiling.source"], facts["ceiling.flops_per_s"]) == ("reckoned", 10**15)
    assert "ceiling.flops_per_s_thread" not in facts
    assert facts["ceiling.memcpy_bytes_per_s"] == 10_200_000_000


def test_a_run_on_an_unknown_machine_has_no_ceilings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ceilings, "flops_per_s", lambda: None)
    assert dict(ceiling_facts()) == {}
