# For readers: the layout of the records, and copying a record that another process is writing (guarded by its sequence
# number).


def memory_layout():
    """Describes the records of this build's memory files, as core/description.h lists them.

    Returns:
        Per record its bytes and fields, each with its name, kind, offset and bytes; a record comes after those that it
        contains. The constants by name, without TT_; the names of losses and clocks, in their order; and the checksum of
        the layout that files store.
    """
    cdef const tt_field* field = tt_fields
    cdef const tt_constant* constant = tt_constants
    records, constants = {}, {}
    while field.record:
        _, fields = records.setdefault(field.record.decode(), (field.record_bytes, []))
        fields.append((field.field.decode(), field.kind.decode(), field.offset, field.bytes))
        field += 1
    while constant.name:
        constants[constant.name.decode()] = constant.value
        constant += 1
    losses, clocks = decode_names(<const char**>tt_loss_names), decode_names(<const char**>tt_clock_names)
    return records, constants, losses, clocks, tt_layout_sum()


cdef tuple decode_names(const char** names):
    result = []
    while names[len(result)]:
        result.append(names[len(result)].decode())
    return tuple(result)


def copy_settled(const uint8_t[::1] source, uint8_t[::1] target, Py_ssize_t at, list parts, int tries):
    """Copies a record and its parts, again and again until nothing was written during the copy.

    Args:
        source: The memory being written.
        target: The memory to copy to, at the same offsets.
        at: The offset of the record's sequence number.
        parts: (start, stop) of each range to copy, within both.
        tries: The maximum number of copies.

    Returns:
        Whether the last copy is consistent; the target holds it either way.
    """
    cdef Py_ssize_t count = len(parts), i
    cdef bytearray bounds = bytearray(2 * count * sizeof(Py_ssize_t))
    cdef Py_ssize_t* starts = <Py_ssize_t*><char*>bounds
    cdef Py_ssize_t* sizes = starts + count
    cdef int attempt
    for i in range(count):
        starts[i], stop = parts[i]
        sizes[i] = stop - starts[i]
        if starts[i] < 0 or sizes[i] < 0 or stop > source.shape[0] or stop > target.shape[0]:
            raise ValueError("a part lies outside the memory")
    if at < 0 or at + 4 > source.shape[0]:
        raise ValueError("a part lies outside the memory")
    cdef bint is_consistent = False
    with nogil:
        for attempt in range(tries):
            is_consistent = tt_copy_once(&source[0], &target[0], at, starts, sizes, count)
            if is_consistent:
                break
    return is_consistent
