"""The machine a run is on: its processor, what it can do at most, and where that is kept."""

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
from ticktree.files.guarded import MOST_OF_FACTS, FileError, MissingFileError, json_in, read_bytes
from ticktree.machine import processor

Fingerprint: TypeAlias = dict[str, str | int | bool]

# Kernels differ in the last pages that they keep for themselves: the same machine after an update is the same.
_MEMORY_STEP = 1 << 28


def fingerprint() -> Fingerprint:
    """Return what decides how fast this machine is, as far as it is known without measuring.

    The host's name is no part of it: containers and cloud machines get a new one each time, and machines of one name
    are replaced by faster ones.
    """
    memory = processor.memory_bytes()
    flags = processor.flags()
    found: Fingerprint = {
        "architecture": platform.machine(),
        "system": platform.system(),
        "cpu": processor.model(),
        "cores": os.cpu_count() or 1,
        "cores_usable": processor.usable_cores(),
        "hypervisor": "hypervisor" in flags,
        "instructions": _digest(" ".join(sorted(flags))),
    }
    if memory is not None:
        found["memory_256_mib"] = round(memory / _MEMORY_STEP)
    return found


def digest(of: Fingerprint) -> str:
    """Return a short name for a fingerprint, fit for a file."""
    return _digest(json.dumps(of, sort_keys=True))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


# Reckoned: how many float32 operations a second no processor of this kind can exceed, by arithmetic alone.
#
# A bound for calling impossible numbers impossible on a machine that was not measured, and no promise: real
# programs stay far below it. It errs upwards wherever processors differ.

# Flags that are needed, and what they are worth; the most first.
_Widths: TypeAlias = tuple[tuple[set[str], int], ...]

# No processor that is sold has a faster clock: the fastest desktop ones boost to 6.2 GHz.
_CLOCK_HZ = 6_500_000_000

# float32 operations a core can do in a cycle, by the widest instructions it has. x86-64: two units that multiply and
# add (2 operations in each lane) and two that only add, of 16 lanes with AVX-512, of 8 with AVX2 and FMA; before FMA
# one that multiplies and one that adds. No core of Intel's or AMD's has more (Intel 64 and IA-32 Architectures
# Optimization Reference Manual; AMD, Software Optimization Guides for the Zen 3, 4 and 5 microarchitectures). The
# usual figures, 64 and 32, leave out the units that only add.
_X86: _Widths = (({"avx512f"}, 96), ({"avx2", "fma"}, 48), ({"avx"}, 16), (set(), 8))
# AArch64: six units of 4 lanes that multiply and add in the widest cores with 128-bit vectors (Arm Cortex-X925
# Software Optimization Guide), two of 16 with 512-bit SVE (Fujitsu A64FX Microarchitecture Manual), and a matrix of
# 16 x 16 lanes with SME (Arm Architecture Reference Manual, SME: FMOPA, 512-bit vectors).
_ARM: _Widths = (({"sme"}, 512), ({"sve"}, 64), (set(), 48))

# How many times as many operations in narrower formats than float32: two in a lane for bfloat16 and float16, four for
# the matrix products of bfloat16 on AArch64 (BFMMLA), and of AMX 1,024 a cycle where AVX-512 has 64 (Intel's manual).
_NARROW: _Widths = (
    ({"amx_tile"}, 16),
    ({"bf16"}, 4),
    ({"asimdhp"}, 2),
    ({"avx512_bf16"}, 2),
    ({"avx512_fp16"}, 2),
)


def flops_per_s(architecture: str = "", flags: frozenset[str] | None = None, cores: int = 0) -> int | None:
    """Return the float32 operations a second that this machine's usable cores cannot exceed together.

    Args:
        architecture: As `platform.machine` says it; "" for this machine's.
        flags: The instruction sets; None for this machine's. Where none are known, the widest are assumed.
        cores: How many; 0 for those this process may use.

    Returns:
        None for other architectures than x86-64 and AArch64.
    """
    architecture = architecture or platform.machine()
    flags = processor.flags() if flags is None else flags
    cores = cores or processor.usable_cores()
    if architecture in ("x86_64", "AMD64"):
        widths = _X86
    elif architecture in ("aarch64", "arm64"):
        widths = _ARM
    else:
        return None
    known = (per_cycle for needed, per_cycle in widths if needed <= flags)
    return cores * _CLOCK_HZ * (next(known) if flags else widths[0][1])


def low_precision_factor(flags: frozenset[str] | None = None) -> int:
    """Return how many times as fast as float32 this machine's narrower formats are at most."""
    flags = processor.flags() if flags is None else flags
    if not flags:
        return _NARROW[0][1]
    return max((factor for needed, factor in _NARROW if needed <= flags), default=1)


# Kept ceilings: what `ticktree doctor --measure` found, a small file for each machine in the user's cache.
#
# History of the format:
#
# 1   The first. One JSON object: `schema`, `fingerprint`, `ceilings` (NAME: positive number), `measured_wall_s` (of
#     the last measurement), `measurements` (how many there were).

SCHEMA = "ticktree-ceilings/1"
# Costs are kept at their minimum, everything else at its maximum.
_LOWEST = {"clock_read_ns"}


@dataclass(frozen=True, slots=True)
class Kept:
    """What a machine was found able to do.

    Attributes:
        ceilings: by name: rates a second, `clock_read_ns` a cost.
    """

    ceilings: Mapping[str, float]
    measured_wall_s: float
    measurements: int = 1

    def __add__(self, other: Kept) -> Kept:
        """Return the best of both: a ceiling is what a machine can do, however seldom it gets to."""
        ceilings = dict(self.ceilings)
        for name, value in other.ceilings.items():
            better = min if name in _LOWEST else max
            ceilings[name] = better(ceilings.get(name, value), value)
        return Kept(
            ceilings,
            max(self.measured_wall_s, other.measured_wall_s),
            self.measurements + other.measurements,
        )


class NotUsableError(TicktreeError):
    """A file of kept ceilings that cannot be used; the message says why."""


def folder() -> Path:
    """Return where ceilings are kept."""
    cache = Path(os.environ.get("XDG_CACHE_HOME", ""))
    if cache.is_absolute():  # others are to be ignored, says the XDG Base Directory Specification
        return cache / "ticktree"
    try:
        return Path.home() / ".cache" / "ticktree"
    except RuntimeError:
        raise NotUsableError("there is no home directory, and XDG_CACHE_HOME is not set") from None


def path_for(machine: Fingerprint) -> Path:
    """Return the file of a machine; homes are shared between machines, so each has its own."""
    return folder() / f"ceilings-{digest(machine)}.json"


def load(machine: Fingerprint) -> Kept | None:
    """Return what is kept of `machine`; None where nothing is.

    Raises:
        NotUsableError: What is kept cannot be read, is damaged, or is of another machine.
    """
    path = path_for(machine)
    try:
        text = read_bytes(path, MOST_OF_FACTS)
    except MissingFileError:
        return None
    except FileError as error:
        raise NotUsableError(f"{path} cannot be read: {error.reason}") from None
    try:
        value = json_in(text)
    except ValueError:
        raise NotUsableError(f"{path} is damaged: it is not JSON") from None
    kept = _kept(value)
    if kept is None:
        raise NotUsableError(f"{path} is damaged: it holds no ceilings of {SCHEMA}")
    if value.get("fingerprint") != machine:
        raise NotUsableError(f"{path} is of another machine")
    return kept


def save(machine: Fingerprint, kept: Kept) -> Path:
    """Keep the ceilings of `machine`, in place of what was kept of it; return where.

    Raises:
        NotUsableError: They cannot be kept there.
    """
    path = path_for(machine)
    value = {
        "schema": SCHEMA,
        "fingerprint": machine,
        "ceilings": dict(kept.ceilings),
        "measured_wall_s": kept.measured_wall_s,
        "measurements": kept.measurements,
    }
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, json.dumps(value, indent=1).encode() + b"\n")
    except OSError as error:
        raise NotUsableError(f"the ceilings cannot be kept in {path.parent}: {error.strerror}") from None
    return path


def of_others(machine: Fingerprint) -> int:
    """Return how many other machines ceilings are kept of, in the same place."""
    try:
        mine = path_for(machine).name
        return sum(1 for path in folder().glob("ceilings-*.json") if path.name != mine)
    except (NotUsableError, OSError):
        return 0


def _kept(value: Any) -> Kept | None:
    """Return what a file says; None where it says anything else."""
    if not isinstance(value, dict) or value.get("schema") != SCHEMA:
        return None
    found, when, times = value.get("ceilings"), value.get("measured_wall_s"), value.get("measurements")
    if not isinstance(found, dict) or not found:
        return None
    if not (_is_amount(when) and _is_amount(times) and all(map(_is_amount, found.values()))):
        return None
    return Kept({str(name): number for name, number in found.items()}, float(when), int(times))


def _is_amount(value: object) -> TypeGuard[float]:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 < value < 1e300


# numpy may come with a library that multiplies a hundred times slower than the processor could, and then what was
# measured says nothing of the machine. Good ones reach a tenth or more of what was reckoned so generously.
LEAST_OF_RECKONED = 1 / 30


def ceiling_facts() -> Iterator[tuple[str, int | float | str]]:
    """Yield the ceilings of this machine as facts about a run, `ceiling.NAME`.

    `ceiling.source` says where those of FLOP/s are from: "measured" or "reckoned". What copies memory, and the clock,
    is there only where it was measured: what a machine's memory can do does not follow from its processor.
    """
    try:
        found = load(fingerprint())
    except NotUsableError:  # `ticktree doctor` reports it; a run continues without
        found = None
    measured = dict(found.ceilings) if found else {}
    bound = flops_per_s()
    if not can_be(measured.get("flops_per_s"), bound):
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


def can_be(flops_per_s: float | None, bound: float | None) -> bool:
    """Tell whether so many operations a second may be what a machine of that reckoned bound can do."""
    return flops_per_s is not None and (bound is None or flops_per_s >= LEAST_OF_RECKONED * bound)
