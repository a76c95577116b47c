# What reads and writes at the ends of pipes.


@cython.no_gc_clear
cdef class PipeFunction(TimedFunction):
    """A method of pipes' ends that receives or sends a message: a wait, and at the other end the end of one.

    Args:
        function: The method.
        section: Of the wait.
        channel: By which messages arrive.
        attribute: Of an end: the key of the channel where it receives messages, or where those go that it sends.
        resolve: Gives an end its attributes, and returns this one; 0 where it is not known.
        sends: Whether messages are sent.
    """

    cdef tt_piping piping
    cdef Channel channel
    cdef object attribute, resolve

    def __cinit__(self, function, Section section, Channel channel, str attribute, resolve, *, bint sends):
        self.core.vectorcall = <void*>tt_piping_call
        self.channel, self.attribute, self.resolve = channel, attribute, resolve
        self.piping.section = &section.core
        self.piping.channel = channel.name_id
        self.piping.sends = sends
        self.piping.attribute, self.piping.resolve = <PyObject*>attribute, <PyObject*>resolve


cdef tt_channels* channels_of_run "tt_channels_of_run"(tt_recorder* core) noexcept:
    cdef Recorder recorder = <Recorder>core.owner
    return channels_of(recorder, False) if ready(recorder) else NULL


def _prepare_piping():
    global tt_piping_offset
    cdef PipeFunction one
    recorder = Recorder(virtual_clock=True)
    section = new_section(recorder, "", TT_NAMELESS, 0, 0)
    one = PipeFunction.__new__(PipeFunction, len, section, Channel(recorder, ""), "", len, sends=False)
    tt_timed_prepare(<PyTypeObject*>PipeFunction, <char*>&one.core - <char*><PyObject*>one)
    tt_piping_offset = <char*>&one.piping - <char*><PyObject*>one
