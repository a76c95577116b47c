# What instruments wrap other people's functions with: only the outermost of calls that wrap each other is recorded;
# and what reads and writes at the ends of pipes.

cdef uint64_t layers = 0  # the bits that are taken


@cython.no_gc_clear
cdef class Layer:
    """A kind of call of which, on each thread, only the outermost is recorded: `env.step` of an env in its wrappers.

    Args:
        of_each: The outermost on each object: within one on another object it is recorded too.
    """

    cdef uint64_t bit
    cdef bint of_each

    def __cinit__(self, *, of_each=False):
        global layers
        self.bit = ~layers & (layers + 1)  # the lowest that is free; 0 after the last: recorded at every layer
        layers |= self.bit
        self.of_each = of_each

    @property
    def within(self):
        """What the innermost call that this thread is in is called on; None where it is in none."""
        if not tt_inside & self.bit:
            return None
        cdef PyObject* within = tt_within(self.bit)[0]
        return <object>within if within != NULL else None

    def __dealloc__(self):
        global layers
        layers &= ~self.bit


@cython.no_gc_clear
cdef class Redirection:
    """Where calls go instead of to their function and its section: at once, after some more calls, or not at all.

    So what must look at some calls in Python costs nothing at the others.

    Attributes:
        way: Called with the function and the arguments; None while there is no redirection.
        after: So many calls more go the plain way first.
    """

    cdef tt_redirection core
    cdef object kept

    @property
    def way(self):
        return self.kept

    @way.setter
    def way(self, way):
        self.core.way = or_null(way)
        self.kept = way  # the last: what goes with the way before may make a call

    @property
    def after(self):
        return self.core.after

    @after.setter
    def after(self, uint32_t calls):
        self.core.after = calls


@cython.no_gc_clear
cdef class Flag:
    """A variable of a module that is True or not; an `OutermostFunction` looks at it without a call.

    Args:
        module: Whose.
        name: The variable's. It need not be there: then it is not True.
    """

    cdef tt_flag core
    cdef dict variables
    cdef str name

    def __cinit__(self, module, str name):
        self.variables, self.name = vars(module), name
        self.core.variables, self.core.name = <PyObject*>self.variables, <PyObject*>self.name

    def __call__(self):
        return self.variables.get(self.name) is True


@cython.no_gc_clear
cdef class OutermostFunction(TimedFunction):
    """A function that is a section where it is called from outside the calls of its layer.

    Equal to the function: libraries keep sets of their functions, and look for those they are called by.

    Args:
        function: What is called.
        section: It is in it.
        layer: Which calls wrap each other; None: every call is recorded.
        before: Called with the first argument, right before an outermost call.
        choice: Which section a call is in, and whether it is recorded.
        unless: While it is True, a call is not recorded.
        redirection: Takes outermost calls now and then.
    """

    cdef tt_outermost outermost
    cdef object layer, before, choice, unless, redirection

    def __cinit__(self, function, Section section, Layer layer=None, before=None, *, SectionChoice choice=None,
                  Flag unless=None, Redirection redirection=None):
        self.core.vectorcall = <void*>tt_outermost_call
        self.layer, self.before, self.choice, self.unless, self.redirection = layer, before, choice, unless, redirection
        self.outermost.layer = layer.bit if layer is not None else 0
        self.outermost.of_each = layer is not None and layer.of_each
        self.outermost.before = or_null(before)
        self.outermost.choice = choice.choice if choice is not None else NULL
        self.outermost.unless = &unless.core if unless is not None else NULL
        self.outermost.redirection = &redirection.core if redirection is not None else NULL

    def __eq__(self, other):
        return self._function == (other._function if isinstance(other, OutermostFunction) else other)

    def __hash__(self):
        return hash(self._function)

    def __repr__(self):
        return repr(self._function)

    def __reduce__(self):
        if isinstance(self._function, type(str.join)):
            return self._function.__reduce__()
        # A class that is sent to another process by its value (cloudpickle) takes its own function with it, which
        # copy.copy gives as it is; that process wraps what it wants itself.
        if self.__module__ in ("__main__", "__mp_main__") or "<locals>" in self.__qualname__:
            return copy.copy, (self._function,)
        return self.__qualname__


cdef class OutermostBuiltin(OutermostFunction):
    """A function of C: as an attribute of a class it is no method, and neither is this."""

    def __get__(self, instance, owner):
        return self


cdef PyObject* or_null(object thing):
    return <PyObject*>thing if thing is not None else NULL


cdef void set_outermost(Py_ssize_t offset):
    global tt_outermost_offset, tt_section_type, tt_attended_type
    tt_outermost_offset = offset
    tt_section_type, tt_attended_type = <PyTypeObject*>Section, <PyTypeObject*>AttendedSection


def _prepare_outermost():
    cdef OutermostFunction one
    section = new_section(Recorder(virtual_clock=True), "", TT_NAMELESS, 0, 0)
    one = OutermostFunction.__new__(OutermostFunction, len, section, Layer())
    tt_timed_prepare(<PyTypeObject*>OutermostFunction, <char*>&one.core - <char*><PyObject*>one)
    tt_builtin_prepare(<PyTypeObject*>OutermostBuiltin, <PyTypeObject*>OutermostFunction)
    set_outermost(<char*>&one.outermost - <char*><PyObject*>one)
    pthread_atfork(NULL, NULL, tt_outside)


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
