# What the C side asks of Python, under the names by which native/host.h and native/builtins.h declare it: off the hot
# path, and never raising into it.

cdef void describe_thread "tt_describe_thread"(tt_recorder* core, tt_thread_facts* facts) noexcept:
    """What the threading module knows of this thread: its name, and where it was started."""
    cdef Origin origin
    try:
        thread = threading._active.get(threading.get_ident())
        facts.native_id = threading.get_native_id()
        if thread is None:
            return
        text = thread.name.encode("utf-8", "backslashreplace")[:TT_THREAD_NAME]
        memcpy(facts.name, <const char*>text, len(text))
        own = getattr(thread, "_context", None)
        facts.own_context = NULL if own is None else <PyObject*>own
        for given in getattr(thread, "_ticktree_origins", ()):
            origin = <Origin?>given
            if origin.recorder.core == core and origin.core.generation == core.generation:
                facts.spawn_node = origin.core.node
                facts.path = origin.core.path
    except Exception:
        pass


cdef void note_site "tt_note_site"(tt_recorder* core, tt_node* node, tt_section* section) noexcept:
    """Where a section is entered from: file, line and function, once per node."""
    cdef PyObject* frame
    try:
        site = (<Section>section.object).site
        if site is None:
            frame = tt_calling_frame()
            if frame == NULL or is_instruments(<object>frame):
                return
            code = (<object>frame).f_code
            site = (code.co_filename, (<object>frame).f_lineno, getattr(code, "co_qualname", code.co_name))
        keep_site(core, node, site)
    except Exception:
        pass


cdef keep_site(tt_recorder* core, tt_node* node, tuple site):
    """Notes file, line and function; nothing where there is no file: then no place in the program is known."""
    cdef Recorder recorder = <Recorder>core.owner
    if site[0]:
        node.site_file = store_text(core, recorder.texts, site[0])
        node.site_function = store_text(core, recorder.texts, site[2])
        node.site_line = site[1] or 0


cdef bint is_instruments(object frame):
    """Whether it is ticktree that enters a section there, for a library: no line of the program's."""
    return str(frame.f_globals.get("__name__")).startswith("ticktree.instruments")


cdef PyObject* section_make "tt_section_make"(PyObject* recorder, PyObject* name) noexcept:
    try:
        section = (<Recorder>recorder)._make(<object>name)
        Py_INCREF(section)
        return <PyObject*>section
    except BaseException as error:
        return raised(error)


cdef PyObject* section_ask "tt_section_ask"(PyObject* recorder, tt_args args, Py_ssize_t count, PyObject* names) noexcept:
    """`section(...)` with more than a name, or with a name not met before."""
    try:
        options = {}
        if names != NULL:
            for at, key in enumerate(<tuple>names):
                options[key] = <object>args[count + at]
        section = (<Recorder>recorder)._section(*[<object>args[at] for at in range(count)], **options)
        Py_INCREF(section)
        return <PyObject*>section
    except TypeError as error:
        return raised(TypeError(str(error).replace("_section()", "section()")))
    except BaseException as error:
        return raised(error)


cdef PyObject* raised(object error) noexcept:
    PyErr_SetObject(type(error), error)
    return NULL


cdef tt_origin* origin_of_object "tt_origin_of_object"(PyObject* value) noexcept:
    return &(<Origin>value).core if isinstance(<object>value, Origin) else NULL


cdef tt_watch* watch_of_object "tt_watch_of_object"(PyObject* value) noexcept:
    return &(<Watch>value).core if isinstance(<object>value, Watch) else NULL


cdef bint rearm "tt_rearm"(tt_recorder* core) noexcept:
    try:
        return take_own_memory(<Recorder>core.owner)
    except Exception:
        core.forked = False
        core.recording = False
        return False


cdef void before_fork() noexcept nogil:
    tt_before_fork()


cdef void after_fork() noexcept nogil:
    tt_after_fork()


def _note_manager(int at, kind, name):
    code = getattr(getattr(kind, name, None), "__code__", None)
    tt_manager_codes[at] = <const void*><PyObject*>code if code is not None else NULL


def _install():
    _note_manager(0, contextlib._GeneratorContextManager, "__enter__")
    _note_manager(1, contextlib._AsyncGeneratorContextManager, "__aenter__")
    if tt_register_thread_key() != 0:
        raise ImportError("ticktree: no thread-specific data left in this process")
    # Before any hook of Python's own: another library's may already enter a section.
    pthread_atfork(before_fork, NULL, after_fork)


def _check_layout():
    """native/builtins.h declares how these classes begin; a compiler that lays them out otherwise must not run."""
    cdef Recorder recorder = Recorder(virtual_clock=True)
    cdef Section section = recorder.section("check")
    if <void*>&section.core != <void*>&(<tt_section_object*><PyObject*>section).core:
        raise ImportError("ticktree: Section is not laid out as native/builtins.h says")
    if recorder.core != (<tt_recorder_object*><PyObject*>recorder).core:
        raise ImportError("ticktree: Recorder is not laid out as native/builtins.h says")


# Tracebacks of the program, without what stands between its calls.


def drop_own_frames():
    """In an `except` clause: takes ticktree's calls out of the traceback of what is handled there.

    So what a wrapper then raises again, by a bare `raise`, has the program's own calls only.
    """
    cdef PyObject* error = PyErr_GetHandledException()
    if error != NULL:
        if error != <PyObject*>None:
            tt_drop_own_entries(error)
        Py_DECREF(<object>error)


def _prepare_tracebacks():
    global tt_own_folder, tt_own_globals
    folder = os.path.join(os.path.dirname(os.path.dirname(__file__)), "")
    own = globals()
    Py_INCREF(folder)
    Py_INCREF(own)
    tt_own_folder, tt_own_globals = <PyObject*>folder, <PyObject*>own
    tt_keep_entries_inside(<PyTypeObject*>Loop, <PyTypeObject*>SubmittedCall)


_install()
_prepare_tracebacks()
tt_add_methods(<PyTypeObject*>Recorder)
_check_layout()
_prepare_timed()
_prepare_focus()
_prepare_outermost()
_prepare_piping()
