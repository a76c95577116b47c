# Focus: the native side of recorder/focus.


cdef object focus_observer = None  # a CallObserver, called once per code object or call site


def focus_begin(Recorder recorder, object observer, uint32_t depth, uint32_t roots, bint c_functions, bint watches_all,
                warmup=None):
    """Begin to record reported calls under a number of roots; see `begin_focus`.

    The observer's methods are called for new code objects and call sites. If it `watches_all`, functions that are not
    under a root are reported on every call.
    """
    global focus_observer
    cdef uint64_t count = checked_warmup(warmup)
    focus_end()
    focus_observer = observer
    tt_focus.depth = depth
    tt_focus.root_count = tt_focus.missing_roots = roots
    tt_focus.c_functions = c_functions
    tt_focus.watches_all = watches_all
    tt_focus.warmup = count
    tt_focus.generation = recorder.core.generation
    tt_focus.recorder = recorder.core


def focus_end():
    """End focus; open calls end at this moment, and do not count as completed."""
    global focus_observer
    if tt_focus.recorder != NULL:
        tt_focus_close_all(tt_focus.recorder)
    tt_focus.recorder = NULL
    for i in range(TT_FOCUS_ROOTS):
        if tt_focus.roots[i] != NULL:
            tt_section_unlink(tt_focus.roots[i])
            free(tt_focus.roots[i])
    tt_focus_forget()
    focus_observer = None


def focus_callbacks(object disable):
    """Return the callbacks by name; each returns `disable` if it need not be called again."""
    global tt_monitoring_disable
    Py_INCREF(disable)
    tt_monitoring_disable = <PyObject*>disable
    callbacks = {}
    for i in range(TT_FOCUS_CALLBACKS):
        callbacks[tt_focus_callbacks[i].ml_name.decode()] = PyCFunction_New(&tt_focus_callbacks[i], None)
    return callbacks


def focus_root(Recorder recorder, uint32_t root, name, site):
    """Set the name of a root, for calls that do not come from focus; the root has been found."""
    cdef tt_section* section = <tt_section*>calloc(1, sizeof(tt_section))
    if section == NULL:
        raise MemoryError
    section.recorder = recorder.core
    section.name_id = name_id_of(recorder, name)
    section.object = <PyObject*>site  # the observer keeps it alive
    tt_section_link(recorder.core, section)
    tt_focus.roots[root] = section
    tt_focus.missing_roots -= 1


def focus_wake(code):
    """Wake a code object that is ignored; return whether it was."""
    return tt_code_wake(<PyObject*>code)


cdef int focus_identify "tt_focus_identify"(PyObject* code) noexcept:
    try:
        return focus_observer.identify(<object>code)
    except Exception:
        return -1


cdef void focus_notify "tt_focus_notify"(const char* method, PyObject* code) noexcept:
    """Call a method of the observer with a code object; `code` NULL: without arguments."""
    try:
        arguments = (<object>code,) if code != NULL else ()
        getattr(focus_observer, method.decode())(*arguments)
    except Exception:
        pass


cdef tt_section focus_site_section


cdef tt_section* focus_name_site "tt_focus_name_site"(PyObject* caller, int offset, PyObject* callee,
                                                      const void* key) noexcept:
    """Return a section with a call site's name and position; the observer keeps what its key is made of alive."""
    cdef Recorder recorder
    try:
        recorder = <Recorder>tt_focus.recorder.owner
        name, site = focus_observer.name_call_site(<object>caller if caller != NULL else None, offset, <object>callee)
        name_id = name_id_of(recorder, name)
        memset(&focus_site_section, 0, sizeof(tt_section))
        focus_site_section.name_id = name_id
        focus_site_section.recorder = recorder.core
        focus_site_section.object = <PyObject*>site
        return &focus_site_section
    except Exception:
        return NULL


cdef void focus_note_site "tt_focus_note_site"(tt_recorder* core, tt_node* node, tt_section* section) noexcept:
    try:
        keep_site(core, node, <tuple>section.object)
    except Exception:
        pass


cdef bint focus_wrap "tt_focus_wrap"(PyObject* code, int root) noexcept:
    try:
        return focus_observer.wrap_root(<object>code, root)
    except Exception:
        return False


def focus_profile_on(bint displace=False):
    """Report the calling thread's calls by a profile function; return False if it has another one.

    That one stays, unless we may `displace` it because it is our own.
    """
    return bool(tt_profile_on(displace))


def focus_profile_was_displaced():
    """Return whether another profiler has ended the reports of the calling thread's calls."""
    return bool(tt_profile_was_displaced())


def focus_profile_off():
    """Remove the calling thread's profile function, if it is ours."""
    tt_profile_off_here()


@cython.no_gc_clear
cdef class Opening(WrappedFunction):
    """A wrapped root: its thread's calls are recorded while it runs.

    The program does not know about it: so it has all attributes of the function, including its class.
    """

    def __cinit__(self, function):
        self.core.vectorcall = <void*>tt_opening_call

    @property
    def __class__(self):  # isinstance() reads it
        return type(self._function)

    def __repr__(self):
        return repr(self.__wrapped__)


def _prepare_focus():
    cdef Opening function = Opening.__new__(Opening, len)
    tt_timed_prepare(<PyTypeObject*>Opening, <char*>&function.core - <char*><PyObject*>function)
    global tt_code_extra_index
    tt_code_extra_index = tt_request_extra_index(<void (*)(void*) noexcept>free)
