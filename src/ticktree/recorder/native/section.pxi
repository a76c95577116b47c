# Sections: one object per name, each of its own type (native/builtins.h tells why).


@cython.no_gc_clear
cdef class Section:
    """A named piece of code; `with section:` times it, and so does `@section`. Made by `Recorder.section`."""

    cdef tt_section core
    cdef readonly str name
    cdef readonly object site  # (file, line, function) of a decorated function; None where entered by `with`
    cdef object device  # the name of the device whose time is measured; None for none
    # Both hold this section, and are held in lists: those the garbage collector can empty, as it cannot a section.
    cdef list tick_kind  # [of a loop of this name that is over: to be used again by the next]
    cdef list boundary  # [what `tick` gives]

    @property
    def recorder(self):
        """The recorder that made it; None once that is gone: then the section does nothing."""
        cdef PyObject* owner = self.core.recorder.owner
        return <object>owner if owner != NULL and refs_of(owner) else None  # 0: it is going

    def work(self, *, bytes=0, flops=0, items=0):
        """Adds work done by the innermost open call of this section; readers turn it into rates.

        Args:
            bytes: moved, in bytes.
            flops: floating-point operations.
            items: samples, frames, tokens: whatever the section handles several of.

        Negative and non-finite values are not recorded, and counted as losses.

        Raises:
            TypeError: If one of them is not a number.
        """
        cdef tt_amounts amounts
        if not take_amounts(bytes, flops, items, &amounts):
            if not self.core.recorder.forked:
                tt_lose(self.core.recorder, TT_LOSS_BAD_VALUES)
            return
        tt_work(&self.core, &amounts)

    def results(self, value):
        """Names what the section's work on a device will give, and returns it.

        Nothing is waited for, but in a run that asks for it (`--device-sync`), and of devices whose time can only be
        had so: there it returns when `value` is there.

        Args:
            value: Whatever the device's library can wait for.
        """
        return value

    def __call__(self, function):
        """Makes a function a section of this name, as `timed` does; with this section's options."""
        from ticktree.recorder.timed import decorated, in_section

        if self.core.name_id == TT_NAMELESS:
            return in_section(function, self)
        return decorated(
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


cdef bint take_amounts(object bytes, object flops, object items, tt_amounts* into) except -1:
    """Takes work as a program says it; False where one of the three is no amount, a TypeError where it is no number."""
    try:
        into.bytes, into.flops, into.items = int(bytes), int(flops), int(items)
    except Exception:  # whatever the amount's own conversion raises
        check_amounts(bytes, flops, items)
        return False
    if not (type(bytes) is int and type(flops) is int and type(items) is int):
        check_amounts(bytes, flops, items)  # int() reads text
    return True


cdef object check_amounts(object bytes, object flops, object items):
    for what, amount in (("bytes", bytes), ("flops", flops), ("items", items)):
        as_double(amount, what)


def _global_section(name):
    """What a pickled section becomes where it is unpickled: that process's section of the name."""
    import ticktree

    return ticktree.section(name)


cdef Section new_section(Recorder recorder, str name, uint32_t name_id, uint32_t node_flags, uint32_t frame_flags,
                         device=None):
    """A section of its own type, whose `__enter__` and `__exit__` carry it as their self."""
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
        section.core.frame_flags |= recorder.core.always & (TT_FRAME_EXPERIMENT if node_flags & TT_NODE_WAIT else ~0)
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


# Blocks: sections whose `with` gives something else than the section, and tells it where in the tree it is.


cdef class Entered:
    """What `with` on a block gives; a base class for blocks with more to tell."""

    cdef readonly object holder  # what the block was made with
    cdef readonly uint32_t node  # the reference of the node that was entered; 0 where nothing is being recorded


cdef class Block:
    """A section that is entered under another's name: as cheap, and with the same call site. Made by `make_block`."""

    cdef readonly Section section
    cdef object gives, holder


def make_block(Section section, kind, gives, holder):
    """A block of its own type, as sections are.

    Args:
        section: What is entered and left.
        kind: The type it derives from: Block, or one derived from that.
        gives: What `with` gives: Entered, or a type derived from that.
        holder: What that is to know.
    """
    cdef object own = type(kind.__name__, (kind,), {"__slots__": (), "__module__": kind.__module__})
    cdef Block block = own.__new__(own)
    block.section, block.gives, block.holder = section, gives, holder
    own.__enter__ = PyCFunction_New(&tt_block_enter_def, block)
    own.__exit__ = type(section).__exit__
    return block


cdef PyObject* block_enter "tt_block_enter"(PyObject* given) noexcept:
    """Enters the block's section; NULL where what it gives cannot be made, and then nothing is entered."""
    cdef Block block = <Block>given
    cdef Entered entered
    try:
        entered = <Entered?>block.gives()
    except BaseException as error:
        return raised(error)
    entered.holder = block.holder
    cdef tt_recorder* core = block.section.core.recorder
    tt_enter(&block.section.core)
    if core.recording:
        entered.node = tt_node_open_here(core)
    Py_INCREF(entered)
    return <PyObject*>entered
