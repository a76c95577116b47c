"""Reckoned: how many float32 operations a second no processor of this kind can exceed, by arithmetic alone.

A bound for calling impossible numbers impossible on a machine that nobody has measured, and no promise: real programs
stay far below it. It errs upwards wherever processors differ.
"""

from __future__ import annotations

import platform
from typing import TypeAlias

from ticktree.machine.ceilings import processor

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
    """Return how many times as fast as float32 this machine's narrower formats are at most.

    Args:
        flags: The instruction sets; None for this machine's.
    """
    flags = processor.flags() if flags is None else flags
    if not flags:
        return _NARROW[0][1]
    return max((factor for needed, factor in _NARROW if needed <= flags), default=1)
