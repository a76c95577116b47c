# Where memory is read: the process's own from the kernel (memory_sampling/peaks.h), that of devices by Python code that knows
# the libraries that hand it out.

cdef object device_reader = None
cdef enum: DEVICE_NAME = 63


def read_devices_by(reader):
    """Sets what reads the memory of devices where calls that measure memory begin and end.

    Args:
        reader: () -> a list of (name, bytes in use, the most in use since it was called last), one per device; None
            where they cannot be read, and are not to be read again. None instead of it: there is nothing to read.
            What it raises is raised in the main thread, later: it is some signal handler's.
    """
    global device_reader
    device_reader = reader
    tt_devices_changed(reader is not None)


def keep_high_water_mark(bint keep):
    """Measures as where the process's high-water mark cannot be reset; for tests."""
    tt_keep_high(keep)


cdef int devices_ask "tt_devices_ask"() noexcept:
    cdef tt_reading reading
    try:
        found = device_reader()
        if found is None:
            read_devices_by(None)
            return 0
        for name, now, peak in found:
            encoded = (<str?>name).encode("utf-8", "backslashreplace")[:DEVICE_NAME]
            reading.now = now
            reading.least = reading.most = max(now, peak)
            tt_device_fold(<const char*>encoded, &reading)
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
