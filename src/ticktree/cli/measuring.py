"""What `ticktree doctor --measure` measures: the machine's ceilings, each the best of many rounds.

A ceiling is a maximum: other activity of the machine makes a round slower, never faster.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from timeit import Timer

import numpy as np

from ticktree.cli.machine_checks import NAMES, amount
from ticktree.cli.screen import progress
from ticktree.errors import TicktreeError
from ticktree.machine import processor
from ticktree.machine.ceilings import MeasuredCeilings
from ticktree.outputs.writing.document import Entry, Head, Table
from ticktree.recorder import OFF_VARIABLE

_LEAST_ROUNDS = 5
# The resolution of the clock; no round takes no time.
_SHORTEST_S = 1e-9


def best_s(round_: Callable[[], object], seconds: float) -> float:
    """Return the seconds of the shortest of the rounds that fit in `seconds`, at least five."""
    (shortest_s,) = bests_s([round_], seconds)
    return shortest_s


def bests_s(pieces: Sequence[Callable[[], object]], seconds: float) -> list[float]:
    """Return the shortest seconds of each of the pieces that a round consists of, over rounds as in `best_s`."""
    clock = time.perf_counter
    best, rounds, end = [float("inf")] * len(pieces), 0, clock() + seconds
    while rounds < _LEAST_ROUNDS or clock() < end:
        for at, piece in enumerate(pieces):
            began = clock()
            piece()
            best[at] = min(best[at], clock() - began)
        rounds += 1
    return [max(seconds_of_piece, _SHORTEST_S) for seconds_of_piece in best]


# Beyond the caches of most machines.
MEMORY_BYTES = 64 << 20
# It is copied piece by piece, and the shortest time of each piece counts: a busy machine interrupts a program before
# it has copied the whole. A piece has left the caches when it is copied again.
_PIECE_BYTES = 1 << 20
# Sizes that fit in the first cache of every processor, in the second, and in the second of larger processors: which is
# the fastest differs, because a call of numpy takes as long as copying some kilobytes.
_CACHE_BYTES = (16 << 10, 64 << 10, 256 << 10)
_COPIES = 50
_READS = 1000


def memcpy_bytes_per_s(seconds: float) -> float:
    """Return how many bytes per second one thread copies onto memory that is already allocated."""
    # Ones, not zeros: memory that was never written is one page of the kernel, mapped many times.
    source, target = np.ones(MEMORY_BYTES, np.uint8), np.ones(MEMORY_BYTES, np.uint8)
    pieces = range(0, MEMORY_BYTES, _PIECE_BYTES)
    copies = [
        partial(np.copyto, target[at : at + _PIECE_BYTES], source[at : at + _PIECE_BYTES]) for at in pieces
    ]
    return MEMORY_BYTES / sum(bests_s(copies, seconds))


def cache_copy_bytes_per_s(seconds: float) -> float:
    """Return how many bytes per second one thread copies within its caches."""
    return max(_cached(size, seconds / len(_CACHE_BYTES)) for size in _CACHE_BYTES)


def _cached(size: int, seconds: float) -> float:
    copies = Timer(partial(np.copyto, np.ones(size, np.uint8), np.ones(size, np.uint8)))
    return size * _COPIES / best_s(partial(copies.timeit, _COPIES), seconds)


def clock_read_ns(seconds: float) -> float:
    """Return what `time.perf_counter_ns()` costs, in nanoseconds."""
    reads = Timer("now()", "now = clock", globals={"clock": time.perf_counter_ns})
    return best_s(partial(reads.timeit, _READS), seconds) * 1e9 / _READS


# How many float32 operations per second this machine does: numpy's product of matrices, in another process, because
# numpy's library reads the number of threads only when it is loaded.

# Each library that numpy may come with (OpenBLAS, MKL, BLIS, Accelerate) has its variable; those built with OpenMP
# read the first.
_THREADS = (
    *("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS"),
    "VECLIB_MAXIMUM_THREADS",
)
# Inherited settings must not pin or limit threads that wait for one another.
_NOT_INHERITED = {
    *("OMP_PROC_BIND", "OMP_PLACES", "OMP_DYNAMIC", "OMP_THREAD_LIMIT"),
    *("GOMP_CPU_AFFINITY", "KMP_AFFINITY"),
}
_TIMEOUT_S = 60.0

# A product of two n x n matrices is n ** 2 sums of n products: 2 n ** 3 operations. Larger ones keep more threads
# busy, until a round takes too long to have several.
_PROGRAM = """
import sys, time
import numpy as np

seconds, size, best = float(sys.argv[1]), 512, 0.0
end = time.perf_counter() + seconds
while True:
    a = np.full((size, size), 0.5, np.float32)
    b, c = a.copy(), a.copy()
    rounds = 0
    while rounds < 3 or time.perf_counter() < end - seconds / 2:
        began = time.perf_counter()
        np.matmul(a, b, out=c)
        took = time.perf_counter() - began
        best = max(best, 2.0 * size**3 / took)
        rounds += 1
        if took > seconds:
            break
    left = end - time.perf_counter()
    if 8 * took * 3 > left or size >= 4096:
        break
    size *= 2
    seconds = left
print(best)
"""


def flops_per_s(threads: int, seconds: float) -> float:
    """Return the float32 operations per second of numpy on so many threads.

    Raises:
        TicktreeError: It cannot be measured here; the message has the reason.
    """
    environment = {key: value for key, value in os.environ.items() if key not in _NOT_INHERITED}
    environment |= dict.fromkeys(_THREADS, str(threads)) | {OFF_VARIABLE: "1"}
    try:
        process = subprocess.run(
            [sys.executable, "-c", _PROGRAM, str(seconds)],
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_TIMEOUT_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise TicktreeError(f"numpy did not multiply two matrices within {_TIMEOUT_S:.0f} s") from None
    except OSError as error:
        raise TicktreeError(f"cannot start a process to measure numpy: {error.strerror}") from None
    try:
        return float(process.stdout)
    except ValueError:
        complaint = process.stderr.strip().splitlines() or [f"it ended with status {process.returncode}"]
        raise TicktreeError(f"numpy could not multiply: {complaint[-1]}") from None


# Per ceiling and measurement. A busy machine often stays busy for seconds, so two measurements some time apart find
# more than one that is twice as long.
_SECONDS = 0.6
_TIMES = 2


def measure(seconds: float = _SECONDS) -> MeasuredCeilings:
    """Measure every ceiling twice, about `seconds` each time; return the best of both, as one measurement.

    Raises:
        TicktreeError: This machine cannot be measured; the message has the reason.
    """
    first, *repeats = (_once(seconds) for _ in range(_TIMES))
    best = dict(sum(repeats, start=first).ceilings)
    # All threads together can do at least what one thread can.
    best["flops_per_s"] = max(best["flops_per_s"], best["flops_per_s_thread"])
    return MeasuredCeilings(best, time.time())


def _once(seconds: float) -> MeasuredCeilings:
    values = {}
    for name, doing, find in _ceilings(seconds):
        with progress(doing):
            values[name] = find()
    return MeasuredCeilings(values, time.time())


def _ceilings(seconds: float) -> tuple[tuple[str, str, Callable[[], float]], ...]:
    """Return the name of each ceiling, the words of its progress line, and the function that measures it."""
    cores = processor.usable_cores()
    return (
        ("clock_read_ns", "reading the clock", lambda: clock_read_ns(seconds / 5)),
        ("memcpy_bytes_per_s", "copying memory", lambda: memcpy_bytes_per_s(seconds)),
        ("cache_copy_bytes_per_s", "copying in caches", lambda: cache_copy_bytes_per_s(seconds / 2)),
        ("flops_per_s_thread", "multiplying on one core", lambda: flops_per_s(1, seconds)),
        ("flops_per_s", "multiplying on all cores", lambda: flops_per_s(cores, seconds)),
    )


def table(now: MeasuredCeilings, best: MeasuredCeilings) -> Table:
    """Return a table of this measurement, and of the best of this and earlier ones, which is kept."""
    entries = [
        Entry(title, [amount(name, now.ceilings[name]), amount(name, best.ceilings[name])])
        for name, (title, _) in NAMES.items()
        if name in now.ceilings
    ]
    return Table("ceilings", "ceiling", (Head("this time", 1), Head("kept", 0)), entries)
