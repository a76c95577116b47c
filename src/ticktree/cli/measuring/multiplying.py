"""How many float32 operations a second this machine does: numpy's product of matrices, in a process of its own.

Of its own, because numpy's library reads how many threads it may use when it is loaded, and never again.
"""

from __future__ import annotations

import os
import subprocess
import sys

from ticktree.errors import TicktreeError
from ticktree.recorder import OFF_VARIABLE

# Every library that numpy may come with has a variable of its own: OpenBLAS, MKL, BLIS, Accelerate; the first is read
# by those that are built with OpenMP.
_THREADS = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
)
# Threads that wait for one another must not be kept from each other by what they inherited.
_NOT_INHERITED = {
    *("OMP_PROC_BIND", "OMP_PLACES", "OMP_DYNAMIC", "OMP_THREAD_LIMIT"),
    "GOMP_CPU_AFFINITY",
    "KMP_AFFINITY",
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
    """Return the float32 operations a second of numpy with so many threads.

    Args:
        threads: How many.
        seconds: About how long to try.

    Raises:
        TicktreeError: It cannot be found out here; says why.
    """
    environment = {key: value for key, value in os.environ.items() if key not in _NOT_INHERITED}
    environment |= dict.fromkeys(_THREADS, str(threads)) | {OFF_VARIABLE: "1"}
    try:
        done = subprocess.run(
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
        raise TicktreeError(f"no process can be started to multiply in: {error.strerror}") from None
    try:
        return float(done.stdout)
    except ValueError:
        complaint = done.stderr.strip().splitlines() or [f"it ended with status {done.returncode}"]
        raise TicktreeError(f"numpy could not multiply: {complaint[-1]}") from None
