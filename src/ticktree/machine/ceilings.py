"""Ceilings of a machine: the most that its processor and memory can do, and where they are saved."""

from __future__ import annotations

import hashlib
import json
import os
import platform
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias, TypeGuard

from ticktree.errors import TicktreeError
from ticktree.files.atomic import write_atomically
from ticktree.files.guarded import MAX_FACTS_BYTES, FileError, MissingFileError, parse_json, read_bytes
from ticktree.machine import processor

Fingerprint: TypeAlias = dict[str, str | int | bool]

# Kernels reserve slightly different amounts: a machine must have the same fingerprint after an update.
_MEMORY_STEP = 1 << 28


def fingerprint() -> Fingerprint:
    """Return the facts that decide how fast this machine is, as far as they are known without measuring.

    The host name is not among them: containers and cloud machines get a new one each time, and machines are replaced
    by faster ones of the same name.
    """
    memory = processor.memory_bytes()
    flags = processor.flags()
    facts: Fingerprint = {
        "architecture": platform.machine(),
        "system": platform.system(),
        "cpu": processor.model(),
        "cores": os.cpu_count() or 1,
        "cores_usable": processor.usable_cores(),
        "hypervisor": "hypervisor" in flags,
        "instructions": _digest(" ".join(sorted(flags))),
    }
    if memory is not None:
        facts["memory_256_mib"] = round(memory / _MEMORY_STEP)
    return facts


def digest(machine: Fingerprint) -> str:
    """Return a short name for a fingerprint, fit for a file name."""
    return _digest(json.dumps(machine, sort_keys=True))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


# The reckoned bound: the float32 operations per second that no processor of this kind can exceed, by arithmetic alone.
#
# It identifies impossible numbers on a machine that was not measured, and is not a promise: real programs stay far
# below it. It errs upwards wherever processors differ.

# Required flags, and what they are worth; the highest value first.
_Widths: TypeAlias = tuple[tuple[set[str], int], ...]

# No processor on sale has a faster clock: the fastest desktop processors boost to 6.2 GHz.
_CLOCK_HZ = 6_500_000_000

# float32 operations that a core can do per cycle, by the widest instructions it has. x86-64: two units that multiply
# and add (2 operations in each lane) and two that only add, with 16 lanes in AVX-512, with 8 in AVX2 and FMA; before
# FMA one that multiplies and one that adds. No core by Intel or AMD has more (Intel 64 and IA-32 Architectures
# Optimization Reference Manual; AMD, Software Optimization Guides for the Zen 3, 4 and 5 microarchitectures). The
# usual figures, 64 and 32, omit the units that only add.
_X86: _Widths = (({"avx512f"}, 96), ({"avx2", "fma"}, 48), ({"avx"}, 16), (set(), 8))
# AArch64: six units of 4 lanes that multiply and add in the widest cores with 128-bit vectors (Arm Cortex-X925
# Software Optimization Guide), two of 16 with 512-bit SVE (Fujitsu A64FX Microarchitecture Manual), and a matrix of
# 16 x 16 lanes with SME (Arm Architecture Reference Manual, SME: FMOPA, 512-bit vectors).
_ARM: _Widths = (({"sme"}, 512), ({"sve"}, 64), (set(), 48))
_WIDTHS = {"x86_64": _X86, "AMD64": _X86, "aarch64": _ARM, "arm64": _ARM}

# How many times as many operations in narrower formats than in float32: two per lane for bfloat16 and float16, four
# for matrix products of bfloat16 on AArch64 (BFMMLA), and with AMX 1,024 per cycle instead of AVX-512's 64 (Intel's
# manual).
_NARROW: _Widths = (
    ({"amx_tile"}, 16),
    ({"bf16"}, 4),
    ({"asimdhp"}, 2),
    ({"avx512_bf16"}, 2),
    ({"avx512_fp16"}, 2),
)


def flops_per_s(architecture: str = "", flags: frozenset[str] | None = None, cores: int = 0) -> int | None:
    """Return the float32 operations per second that this machine's usable cores cannot exceed together.

    Args:
        architecture: Like `platform.machine()`; "" for this machine's.
        flags: The instruction sets; None for this machine's. If none are known, the widest are assumed.
        cores: How many; 0 for those that this process may use.

    Returns:
        None for other architectures than x86-64 and AArch64.
    """
    widths = _WIDTHS.get(architecture or platform.machine())
    if widths is None:
        return None
    flags = processor.flags() if flags is None else flags
    cores = cores or processor.usable_cores()
    matches = (per_cycle for required, per_cycle in widths if required <= flags)
    return cores * _CLOCK_HZ * (next(matches) if flags else widths[0][1])


def low_precision_factor(flags: frozenset[str] | None = None) -> int:
    """Return how many times as fast as float32 this machine's narrower formats are at most."""
    flags = processor.flags() if flags is None else flags
    if not flags:
        return _NARROW[0][1]
    return max((factor for required, factor in _NARROW if required <= flags), default=1)


# Measured ceilings: results of `ticktree doctor --measure`, one small file per machine in the user's cache.
#
# History of the format:
#
# 1   The first. One JSON object: `schema`, `fingerprint`, `ceilings` (NAME: positive number), `measured_wall_s` (of
#     the last measurement), `measurements` (how many there were).

SCHEMA = "ticktree-ceilings/1"
# Costs are merged by their minimum, everything else by its maximum.
_COSTS = {"clock_read_ns"}


@dataclass(frozen=True, slots=True)
class MeasuredCeilings:
    """The measured ceilings of a machine.

    Attributes:
        ceilings: by name: rates per second; `clock_read_ns` is a cost.
    """

    ceilings: Mapping[str, float]
    measured_wall_s: float
    measurements: int = 1

    def __add__(self, other: MeasuredCeilings) -> MeasuredCeilings:
        """Return the best of both: a ceiling is the most a machine can do, however rarely it reaches it."""
        ceilings = dict(self.ceilings)
        for name, value in other.ceilings.items():
            best = min if name in _COSTS else max
            ceilings[name] = best(ceilings.get(name, value), value)
        return MeasuredCeilings(
            ceilings,
            max(self.measured_wall_s, other.measured_wall_s),
            self.measurements + other.measurements,
        )


class CeilingsError(TicktreeError):
    """A file of measured ceilings that cannot be used; the message says why."""


def folder() -> Path:
    """Return the directory of the ceilings."""
    cache = Path(os.environ.get("XDG_CACHE_HOME", ""))
    if cache.is_absolute():  # the XDG Base Directory Specification ignores other paths
        return cache / "ticktree"
    try:
        return Path.home() / ".cache" / "ticktree"
    except RuntimeError:
        raise CeilingsError("there is no home directory, and XDG_CACHE_HOME is not set") from None


def ceilings_path(machine: Fingerprint) -> Path:
    """Return the file of a machine; machines may share a home directory, so each has its own file."""
    return folder() / f"ceilings-{digest(machine)}.json"


def load(machine: Fingerprint) -> MeasuredCeilings | None:
    """Return the saved ceilings of `machine`; None if there are none.

    Raises:
        NotUsableError: The file cannot be read, is damaged, or is of another machine.
    """
    path = ceilings_path(machine)
    try:
        text = read_bytes(path, MAX_FACTS_BYTES)
    except MissingFileError:
        return None
    except FileError as error:
        raise CeilingsError(f"{path} cannot be read: {error.reason}") from None
    try:
        value = parse_json(text)
    except ValueError:
        raise CeilingsError(f"{path} is damaged: it is not JSON") from None
    ceilings = _decode(value)
    if ceilings is None:
        raise CeilingsError(f"{path} is damaged: it holds no ceilings of {SCHEMA}")
    if value.get("fingerprint") != machine:
        raise CeilingsError(f"{path} is of another machine")
    return ceilings


def save(machine: Fingerprint, measured: MeasuredCeilings) -> Path:
    """Save the ceilings of `machine` in place of earlier ones; return the file.

    Raises:
        NotUsableError: They cannot be saved there.
    """
    path = ceilings_path(machine)
    value = {
        "schema": SCHEMA,
        "fingerprint": machine,
        "ceilings": dict(measured.ceilings),
        "measured_wall_s": measured.measured_wall_s,
        "measurements": measured.measurements,
    }
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, json.dumps(value, indent=1).encode() + b"\n")
    except OSError as error:
        raise CeilingsError(f"the ceilings cannot be kept in {path.parent}: {error.strerror}") from None
    return path


def count_other_machines(machine: Fingerprint) -> int:
    """Return how many other machines have ceilings in the same directory."""
    try:
        own_name = ceilings_path(machine).name
        return sum(1 for path in folder().glob("ceilings-*.json") if path.name != own_name)
    except (CeilingsError, OSError):
        return 0


def _decode(value: Any) -> MeasuredCeilings | None:
    """Return the ceilings in a file's JSON; None if it is not of this format."""
    if not isinstance(value, dict) or value.get("schema") != SCHEMA:
        return None
    ceilings, wall_s, count = value.get("ceilings"), value.get("measured_wall_s"), value.get("measurements")
    if not isinstance(ceilings, dict) or not ceilings:
        return None
    if not (_is_amount(wall_s) and _is_amount(count) and all(map(_is_amount, ceilings.values()))):
        return None
    return MeasuredCeilings(
        {str(name): number for name, number in ceilings.items()}, float(wall_s), int(count)
    )


def _is_amount(value: object) -> TypeGuard[float]:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 < value < 1e300


# numpy may use a library that multiplies a hundred times slower than the processor could; then the measurement says
# nothing about the machine. Good libraries reach a tenth or more of the generous reckoned bound.
MIN_SHARE_OF_BOUND = 1 / 30


def ceiling_facts() -> Iterator[tuple[str, int | float | str]]:
    """Yield the ceilings of this machine as facts about a run, `ceiling.NAME`.

    `ceiling.source` is the source of those of FLOP/s: "measured" or "reckoned". The ceilings of memory copies and of
    the clock exist only if they were measured: the speed of a machine's memory does not follow from its processor.
    """
    try:
        saved = load(fingerprint())
    except CeilingsError:  # `ticktree doctor` reports it; a run continues without
        saved = None
    measured = dict(saved.ceilings) if saved else {}
    bound = flops_per_s()
    if not is_plausible(measured.get("flops_per_s"), bound):
        measured.pop("flops_per_s", None)
        measured.pop("flops_per_s_thread", None)
    if "flops_per_s" in measured:
        yield "ceiling.source", "measured"
    elif bound is not None:
        yield "ceiling.source", "reckoned"
        yield "ceiling.flops_per_s", bound
    if "flops_per_s" in measured or bound is not None:
        yield "ceiling.low_precision_factor", low_precision_factor()
    for name, value in sorted(measured.items()):
        yield f"ceiling.{name}", round(value) if value >= 1000 else round(value, 2)
    cache = processor.largest_cache_bytes()
    if cache is not None and "memcpy_bytes_per_s" in measured:
        yield "ceiling.cache_bytes", cache


def is_plausible(flops_per_s: float | None, bound: float | None) -> bool:
    """Return whether a measured rate is plausible for a machine with that reckoned bound."""
    return flops_per_s is not None and (bound is None or flops_per_s >= MIN_SHARE_OF_BOUND * bound)
