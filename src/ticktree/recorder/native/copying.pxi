# For readers: what the records are, and how to copy what another process is writing (the other end of the sequence
# numbers).


def memory_layout():
    """Describes the records of this build's memory files, as core/description.h lists them.

    Returns:
        For each record its bytes and fields, each with its name, kind, offset and bytes; a record comes after those that
        it holds. The constants by name, without TT_; what losses and clocks are called, in their order; and the checksum
        that files have of all of it.
    """
    cdef int at = 0
    records = {}
    while tt_fields[at].record:
        size, fields = records.setdefault(tt_fields[at].record.decode(), (tt_fields[at].record_bytes, []))
        fields.append((tt_fields[at].field.decode(), tt_fields[at].kind.decode(), tt_fields[at].offset, tt_fields[at].bytes))
        at += 1
    constants = {}
    at = 0
    while tt_constants[at].name:
        constants[tt_constants[at].name.decode()] = tt_constants[at].value
        at += 1
    return records, constants, names_in(<const char**>tt_loss_names), names_in(<const char**>tt_clock_names), tt_layout_sum()


cdef tuple names_in(const char** names):
    found = []
    while names[len(found)]:
        found.append(names[len(found)].decode())
    return tuple(found)


def copy_settled(const uint8_t[::1] source, uint8_t[::1] target, Py_ssize_t at, list parts, int tries):
    """Copies a record and what belongs to it until no write fell into the copy.

    Args:
        source: The memory being written.
        target: Where to copy to, to the same places.
        at: Where the record's sequence number lies.
        parts: (start, stop) of each range to copy, within both.
        tries: How often at most.

    Returns:
        Whether a copy was free of writes; the target holds the last one either way.
    """
    cdef Py_ssize_t count = len(parts), part
    cdef bytearray bounds = bytearray(2 * count * sizeof(Py_ssize_t))
    cdef Py_ssize_t* starts = <Py_ssize_t*><char*>bounds
    cdef Py_ssize_t* sizes = starts + count
    cdef int attempt
    for part in range(count):
        starts[part], stop = parts[part]
        sizes[part] = stop - starts[part]
        if starts[part] < 0 or sizes[part] < 0 or stop > source.shape[0] or stop > target.shape[0]:
            raise ValueError("a part lies outside the memory")
    if at < 0 or at + 4 > source.shape[0]:
        raise ValueError("a part lies outside the memory")
    cdef bint settled = False
    with nogil:
        for attempt in range(tries):
            settled = tt_copy_once(&source[0], &target[0], at, starts, sizes, count)
            if settled:
                break
    return settled
