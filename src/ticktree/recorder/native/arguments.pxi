# What programs pass: numbers of the core's, or one clear error.


cdef double as_double(object value):
    try:
        return float(value)
    except Exception:  # whatever the value's own conversion raises
        return float("nan")


cdef double checked_hz(object hz) except -1:
    if hz is None:
        return 0
    cdef double rate = float(hz)
    if not (isfinite(rate) and rate >= 1e-9):
        raise ValueError(f"hz must be a positive number of ticks a second, not {hz!r}")
    return rate


cdef uint64_t checked_warmup(object ticks) except? 0:
    if ticks is None:
        return TT_WARMUP_FOUND
    cdef uint64_t asked = ticks
    return min(asked, TT_WARMUP_FOUND - 1)
