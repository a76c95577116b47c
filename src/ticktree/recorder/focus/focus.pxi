# Focus: the native side of recorder/focus, which knows what a call site is called and what reports calls.


cdef object focus_eye = None  # of recorder/focus: answers in Python, once per code object or call site


def focus_begin(Recorder recorder, object eye, uint32_t depth, uint32_t roots, bint c_functions, bint keeps_looking,
                warmup=None):
    """From now on calls under so many roots are recorded, where they are reported; see `begin_focus`.

    The eye is called for what is met for the first time: `which`, `meet`, `want`, `sleep`, `name`, `wrap`, `alone`. If it
    `keeps_looking`, functions that are not under a root are reported again and again.
    """
    global focus_eye
    cdef uint64_t count = checked_warmup(warmup)
    focus_end()
    focus_eye = eye
    tt_focus.depth = depth
    tt_focus.root_count = tt_focus.unfound = roots
    tt_focus.c_functions = c_functions
    tt_focus.keeps_looking = keeps_looking
    tt_focus.warmup = count
    tt_focus.generation = recorder.core.generation
    tt_focus.recorder = recorder.core


def focus_end():
    """Nothing is in focus any more; what is open there is left at this moment, without counting as completed."""
    global focus_eye
    if tt_focus.recorder != NULL:
        tt_focus_close_all(tt_focus.recorder)
    tt_focus.recorder = NULL
    for at in range(TT_FOCUS_ROOTS):
        if tt_focus.roots[at] != NULL:
            tt_section_unlink(tt_focus.roots[at])
            free(tt_focus.roots[at])
    tt_focus_forget()
    focus_eye = None


def focus_callbacks(object disable):
    """What is to be called for which event, by name; each returns `disable` where it need not be called again."""
    global tt_monitoring_disable
    Py_INCREF(disable)
    tt_monitoring_disable = <PyObject*>disable
    made = {}
    for at in range(TT_FOCUS_CALLBACKS):
        made[tt_focus_callbacks[at].ml_name.decode()] = PyCFunction_New(&tt_focus_callbacks[at], None)
    return made


def focus_root(Recorder recorder, uint32_t root, name, site):
    """Sets the name of a root where nothing in focus calls it; it is found now."""
    cdef tt_section* section = <tt_section*>calloc(1, sizeof(tt_section))
    if section == NULL:
        raise MemoryError
    section.recorder = recorder.core
    section.name_id = name_id_of(recorder, name)
    section.object = <PyObject*>site  # the eye holds it
    tt_section_link(recorder.core, section)
    tt_focus.roots[root] = section
    tt_focus.unfound -= 1


def focus_wake(code):
    """A code object that is asleep is looked at again; whether it was asleep."""
    cdef tt_code_info* info = tt_code_info_of(<PyObject*>code, 0)
    if info == NULL or not info.state & TT_CODE_ASLEEP:
        return False
    info.state = (info.state & ~<uint32_t>TT_CODE_ASLEEP) | TT_CODE_SLEEPY
    return True


cdef int focus_which "tt_focus_which"(PyObject* code) noexcept:
    try:
        return focus_eye.which(<object>code)
    except Exception:
        return -1


cdef void focus_tell "tt_focus_tell"(const char* what, PyObject* code) noexcept:
    """Calls a method of the eye with a code object; `code` NULL: with nothing."""
    try:
        method = getattr(focus_eye, what.decode())
        if code != NULL:
            method(<object>code)
        else:
            method()
    except Exception:
        pass


cdef tt_section focus_named


cdef tt_section* focus_name "tt_focus_name"(PyObject* caller, int offset, PyObject* callee, const void* key) noexcept:
    """What a call site is called, and where it is; the eye holds what its key is of."""
    cdef Recorder recorder
    try:
        recorder = <Recorder>tt_focus.recorder.owner
        name, site = focus_eye.name(<object>caller if caller != NULL else None, offset, <object>callee)
        name_id = name_id_of(recorder, name)
        memset(&focus_named, 0, sizeof(tt_section))
        focus_named.name_id = name_id
        focus_named.recorder = recorder.core
        focus_named.object = <PyObject*>site
        return &focus_named
    except Exception:
        return NULL


cdef void focus_note_site "tt_focus_note"(tt_recorder* core, tt_node* node, tt_section* section) noexcept:
    try:
        keep_site(core, node, <tuple>section.object)
    except Exception:
        pass


cdef bint focus_wrap "tt_focus_wrap"(PyObject* code, int root) noexcept:
    try:
        return focus_eye.wrap(<object>code, root)
    except Exception:
        return False


def focus_profile_on(bint displace=False):
    """The calling thread's calls are reported by a profile function; False where it has another.

    That stays, unless we are to `displace` it: then it is one of ours.
    """
    return bool(tt_profile_on(displace))


def focus_profile_is_gone():
    """Whether the calling thread's calls were all reported, and another profiler has ended that."""
    return bool(tt_profile_is_gone())


def focus_profile_off():
    """Takes the calling thread's profile function back, if it is ours."""
    tt_profile_off_here()


@cython.no_gc_clear
cdef class Opening(WrappedFunction):
    """A function whose thread is looked at while it runs.

    The program did not make it: so it has all attributes of the function, its class included.
    """

    def __cinit__(self, function):
        self.core.vectorcall = <void*>tt_opening_call

    @property
    def __class__(self):  # what isinstance() asks
        return type(self._function)

    def __repr__(self):
        return repr(self.__wrapped__)


def _prepare_focus():
    cdef Opening one = Opening.__new__(Opening, len)
    tt_timed_prepare(<PyTypeObject*>Opening, <char*>&one.core - <char*><PyObject*>one)
    global tt_code_extra_index
    tt_code_extra_index = tt_request_extra_index(<void (*)(void*) noexcept>free)
