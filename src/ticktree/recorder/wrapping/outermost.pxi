# Wrappers that instruments put around other people's functions: of calls that wrap each other only the outermost is
# recorded; and the wrapper of methods that read and write at the ends of pipes.

cdef uint64_t layers = 0  # the bits in use


@cython.no_gc_clear
cdef class Layer:
    """A kind of call that is recorded only at the outermost level on each thread: `env.step` of an env in wrappers.

    Args:
        of_each: A call on another object is recorded, too.
    """

    cdef uint64_t bit
    cdef bint per_object

    def __cinit__(self, *, of_each=False):
        global layers
        self.bit = ~layers & (layers + 1)  # the lowest free one; 0 after the last: recorded at every layer
        layers |= self.bit
        self.per_object = of_each

    @property
    def within(self):
        """The object of the innermost call that is open on this thread; None if there is no call."""
        if not tt_open_layers & self.bit:
            return None
        cdef PyObject* instance = tt_layer_object(self.bit)[0]
        return <object>instance if instance != NULL else None

    def __dealloc__(self):
        global layers
        layers &= ~self.bit


@cython.no_gc_clear
cdef class Redirection:
    """Sends calls to a handler instead of their function and its section: at once, after some calls, or not at all.

    So a handler in Python that needs only some of the calls costs nothing at the others.

    Attributes:
        way: Called with the function and the arguments; None: calls are not redirected.
        after: So many calls are not redirected yet.
    """

    cdef tt_redirection core
    cdef object handler

    @property
    def way(self):
        return self.handler

    @way.setter
    def way(self, way):
        self.core.handler = or_null(way)
        self.handler = way  # last: freeing the previous handler may make a call

    @property
    def after(self):
        return self.core.skip_calls

    @after.setter
    def after(self, uint32_t calls):
        self.core.skip_calls = calls


@cython.no_gc_clear
cdef class Flag:
    """A variable of a module that is True or not; an `OutermostFunction` reads it without a call.

    Args:
        module: The module.
        name: The variable's name. A missing variable is not True.
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
    """A function whose calls are in a section, except inside another call of its layer.

    Equal to the function: libraries keep sets of their functions, and look up those that they are called with.

    Args:
        function: The function.
        section: The section of its calls.
        layer: Which calls wrap each other; None: every call is recorded.
        before: Called with the first argument, right before an outermost call.
        choice: Chooses the section of a call, and whether it is recorded.
        unless: While it is True, a call is not recorded.
        redirection: Takes some of the outermost calls.
    """

    cdef tt_outermost outermost
    cdef object layer, before, choice, unless, redirection

    def __cinit__(self, function, Section section, Layer layer=None, before=None, *, SectionChoice choice=None,
                  Flag unless=None, Redirection redirection=None):
        self.core.vectorcall = <void*>tt_outermost_call
        self.layer, self.before, self.choice, self.unless, self.redirection = layer, before, choice, unless, redirection
        self.outermost.layer = layer.bit if layer is not None else 0
        self.outermost.per_object = layer is not None and layer.per_object
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
        # A class that is sent to another process by value (cloudpickle) takes its own function with it, which copy.copy
        # returns unchanged; that process wraps its functions itself.
        if self.__module__ in ("__main__", "__mp_main__") or "<locals>" in self.__qualname__:
            return copy.copy, (self._function,)
        return self.__qualname__


cdef class OutermostBuiltin(OutermostFunction):
    """Wraps a C function: neither it nor its wrapper is a method as an attribute of a class."""

    def __get__(self, instance, owner):
        return self


cdef PyObject* or_null(object value):
    return <PyObject*>value if value is not None else NULL


def _prepare_outermost():
    global tt_outermost_offset, tt_section_type, tt_attended_type
    cdef OutermostFunction function
    section = new_section(Recorder(virtual_clock=True), "", TT_NAMELESS, 0, 0)
    function = OutermostFunction.__new__(OutermostFunction, len, section, Layer())
    tt_timed_prepare(<PyTypeObject*>OutermostFunction, <char*>&function.core - <char*><PyObject*>function)
    tt_builtin_prepare(<PyTypeObject*>OutermostBuiltin, <PyTypeObject*>OutermostFunction)
    tt_outermost_offset = <char*>&function.outermost - <char*><PyObject*>function
    tt_section_type, tt_attended_type = <PyTypeObject*>Section, <PyTypeObject*>AttendedSection
    pthread_atfork(NULL, NULL, tt_leave_layers)


@cython.no_gc_clear
cdef class PipeFunction(TimedFunction):
    """A method of a pipe's end that receives or sends a message: it waits, and ends a wait at the other end.

    Args:
        function: The method.
        section: The section of the wait.
        channel: The channel on which messages arrive.
        attribute: Attribute of an end: the key of the channel that it receives from or sends to.
        resolve: Sets the attributes of an end, and returns this one; 0 if it is unknown.
        sends: Whether the method sends messages.
    """

    cdef tt_pipe pipe
    cdef Channel channel
    cdef object attribute, resolve

    def __cinit__(self, function, Section section, Channel channel, str attribute, resolve, *, bint sends):
        self.core.vectorcall = <void*>tt_pipe_call
        self.channel, self.attribute, self.resolve = channel, attribute, resolve
        self.pipe.section = &section.core
        self.pipe.channel = channel.name_id
        self.pipe.sends = sends
        self.pipe.attribute, self.pipe.resolve = <PyObject*>attribute, <PyObject*>resolve


cdef tt_channels* channels_of_run "tt_channels_of_run"(tt_recorder* core) noexcept:
    cdef Recorder recorder = <Recorder>core.owner
    return channels_of(recorder, False) if ready(recorder) else NULL


def _prepare_piping():
    global tt_pipe_offset
    cdef PipeFunction function
    recorder = Recorder(virtual_clock=True)
    section = new_section(recorder, "", TT_NAMELESS, 0, 0)
    function = PipeFunction.__new__(PipeFunction, len, section, Channel(recorder, ""), "", len, sends=False)
    tt_timed_prepare(<PyTypeObject*>PipeFunction, <char*>&function.core - <char*><PyObject*>function)
    tt_pipe_offset = <char*>&function.pipe - <char*><PyObject*>function
