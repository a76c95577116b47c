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
