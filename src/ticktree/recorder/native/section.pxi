# Sections: one object per name, each of its own type (native/builtins.h explains why).


@cython.no_gc_clear
cdef class Section:
    """A named piece of code; `with section:` times it, and so does `@section`. Made by `Recorder.section`."""

    cdef tt_section core
    cdef readonly str name
    cdef readonly object site  # (file, line, function) of a decorated function; None where entered by `with`
    cdef object device  # the name of the device whose time is measured; None for none
    # Both hold this section, and are in lists, which the garbage collector can clear, unlike a section.
    cdef list tick_kind  # [of an ended loop of this name: the next one reuses it]
    cdef list boundary  # [the result of `tick`]

    @property
    def recorder(self):
        """The recorder that created it; None once that is gone: then the section does nothing."""
        cdef PyObject* owner = self.core.recorder.owner
        return <object>owner if owner != NULL and refs_of(owner) else None  # 0: it is being freed

    def work(self, *, bytes=0, flops=0, items=0):
        """Adds work done by the innermost open call of this section; readers turn it into rates.

        Args:
            bytes: Bytes moved.
            flops: Floating-point operations.
            items: Samples, frames, tokens or other items that the section handles.

        Negative and non-finite values are not recorded, and counted as losses.

        Raises:
            TypeError: If one of them is not a number.
        """
        cdef tt_amounts amounts
        if not read_amounts(bytes, flops, items, &amounts):
            if not self.core.recorder.forked:
                tt_lose(self.core.recorder, TT_LOSS_BAD_VALUES)
            return
        tt_work(&self.core, &amounts)

    def results(self, value):
        """Declares the result of the section's work on a device, and returns it.

        It waits for `value` only in a run with `--device-sync`, and on devices whose time cannot be measured otherwise.

        Args:
            value: Anything that the device's library can wait for.
        """
        return value

    def __call__(self, function):
        """Makes a function a section of this name, as `timed` does, with this section's options."""
        from ticktree.recorder.timed import decorate, wrap_in_section

        if self.core.name_id == TT_NAMELESS:
            return wrap_in_section(function, self)
        return decorate(
            self.recorder,
            function,
            self.name,
            wait=bool(self.core.node_flags & TT_NODE_WAIT),
            memory=bool(self.core.frame_flags & TT_FRAME_MEMORY),
            cpu=bool(self.core.frame_flags & TT_FRAME_CPU),
            device=self.device,
        )

    def __dealloc__(self):
        if self.core.recorder != NULL:
            tt_section_unlink(&self.core)
            tt_recorder_release(self.core.recorder)

    def __repr__(self):
        return f"<ticktree section {self.name!r}>"

    def __reduce__(self):
        return _global_section, (self.name,)


cdef bint read_amounts(object bytes, object flops, object items, tt_amounts* amounts) except -1:
    """Reads work that a program declares; False if one of the three is no amount, a TypeError if it is no number."""
    try:
        amounts.bytes, amounts.flops, amounts.items = int(bytes), int(flops), int(items)
    except Exception:  # whatever the amount's own conversion raises
        check_amounts(bytes, flops, items)
        return False
    if not (type(bytes) is int and type(flops) is int and type(items) is int):
        check_amounts(bytes, flops, items)  # int() reads text
    return True


cdef object check_amounts(object bytes, object flops, object items):
    for label, amount in (("bytes", bytes), ("flops", flops), ("items", items)):
        as_double(amount, label)


def _global_section(name):
    """Unpickles a section: as that process's section of the name."""
    import ticktree

    return ticktree.section(name)


cdef Section new_section(Recorder recorder, str name, uint32_t name_id, uint32_t node_flags, uint32_t frame_flags,
                         device=None):
    """Creates a section of its own type, whose `__enter__` and `__exit__` hold it as their self."""
    cdef object kind = type("Section", (Section,), {"__slots__": (), "__module__": "ticktree"})
    cdef Section section = kind.__new__(kind)
    section_begin(section, recorder, name, name_id, node_flags, frame_flags, device)
    kind.__enter__ = PyCFunction_New(&tt_enter_def, section)
    kind.__exit__ = PyCFunction_New(&tt_exit_def, section)
    return section


cdef section_begin(Section section, Recorder recorder, str name, uint32_t name_id, uint32_t node_flags,
                   uint32_t frame_flags, device):
    section.name, section.device = name, device
    section.core.recorder = recorder.core
    recorder.core.users += 1
    section.core.name_id = name_id
    section.core.node_flags = node_flags
    section.core.frame_flags = frame_flags
    if not node_flags & TT_NODE_NS:
        section.core.frame_flags |= recorder.core.default_flags & (TT_FRAME_EXPERIMENT if node_flags & TT_NODE_WAIT else ~0)
    section.core.object = <PyObject*>section
    section.core.name = <PyObject*>name
    tt_section_link(recorder.core, &section.core)


cdef object name_id_of(Recorder recorder, str text, object kind=0):
    """The number of a section's name in its recorder; TT_NAMELESS past the cap."""
    cdef bint cut = False
    encoded = name_bytes(text, &cut)
    if cut and not recorder.core.forked:
        tt_lose(recorder.core, TT_LOSS_NAMES_CUT)
    key = (kind, encoded) if kind else encoded
    name_id = recorder.name_ids.get(key)
    if name_id is None:
        name_id = tt_name_intern(recorder.core, <const char*>encoded, <uint32_t>len(encoded))
        if name_id < 0:
            return TT_NAMELESS
        recorder.name_ids[key] = name_id
    return name_id


# Blocks: sections whose `with` gives another object, which knows its position in the tree.


cdef class Entered:
    """The value of `with` on a block; a base class for blocks that offer more."""

    cdef readonly object holder  # the block's
    cdef readonly uint32_t node  # the reference of the node that was entered; 0 if nothing is being recorded


cdef class Block:
    """Enters a section and gives another object: as cheap, and with the same call site. Created by `make_block`."""

    cdef readonly Section section
    cdef object entry_type, holder


def make_block(Section section, kind, entry_type, holder):
    """Creates a block of its own type, like sections.

    Args:
        section: The section that it enters and leaves.
        kind: The base type: Block, or a type derived from it.
        entry_type: The type of the `with` value: Entered, or a type derived from it.
        holder: An object for that value.
    """
    cdef object block_type = type(kind.__name__, (kind,), {"__slots__": (), "__module__": kind.__module__})
    cdef Block block = block_type.__new__(block_type)
    block.section, block.entry_type, block.holder = section, entry_type, holder
    block_type.__enter__ = PyCFunction_New(&tt_block_enter_def, block)
    block_type.__exit__ = type(section).__exit__
    return block


cdef PyObject* block_enter "tt_block_enter"(PyObject* self_object, tt_args args, Py_ssize_t count) noexcept:
    """Enters the block's section; NULL, without entering it, if the value cannot be created."""
    cdef Block block = <Block>self_object
    cdef Entered entered
    try:
        entered = <Entered?>block.entry_type()
    except BaseException as error:
        return set_error(error)
    entered.holder = block.holder
    cdef tt_recorder* core = block.section.core.recorder
    tt_enter(&block.section.core)
    if core.recording:
        entered.node = tt_node_open_here(core)
    Py_INCREF(entered)
    return <PyObject*>entered
