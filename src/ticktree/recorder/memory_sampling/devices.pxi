# Reads the memory of devices, by Python code that knows the libraries that allocate it; memory_sampling/peaks.h reads the
# process's own from the kernel.

cdef object device_reader = None
cdef enum: DEVICE_NAME = 63


def read_devices_by(reader):
    """Set the reader of device memory, which is called when calls that measure memory begin and end.

    Args:
        reader: Returns a list of (name, bytes in use, peak since the last call), one per device; None if they cannot
            be read, and should not be read again. If it raises, a signal handler has: the exception is raised again
            later, in the main thread. None instead of a reader: there are no devices.
    """
    global device_reader
    device_reader = reader
    tt_set_device_reader(reader is not None)


def keep_high_water_mark(bint keep):
    """Measure as if the process's high-water mark could not be reset; for tests."""
    tt_keep_peak(keep)


cdef int devices_ask "tt_read_devices"() noexcept:
    cdef tt_reading reading
    try:
        readings = device_reader()
        if readings is None:
            read_devices_by(None)
            return 0
        for name, now, peak in readings:
            encoded = (<str?>name).encode("utf-8", "backslashreplace")[:DEVICE_NAME]
            reading.now = now
            reading.min_peak = reading.max_peak = max(now, peak)
            tt_fold_device(<const char*>encoded, &reading)
        return 1
    except BaseException as error:
        Py_INCREF(error)
        Py_AddPendingCall(raise_now, <void*>error)
        return 0


cdef int raise_now(void* error) noexcept:
    held = <object>error
    PyErr_SetObject(type(held), held)
    Py_DECREF(held)
    return -1
