# The declarations that the Cython side uses; the headers document them.
from cpython.object cimport PyObject, PyTypeObject
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t

cdef extern from "Python.h":
    ctypedef struct PyMethodDef:
        const char* ml_name
    ctypedef struct PyThreadState:
        pass
    Py_ssize_t refs_of "Py_REFCNT"(PyObject*)
    PyThreadState* PyThreadState_Get()
    uint64_t PyThreadState_GetID(PyThreadState*)
    object PyCFunction_New(PyMethodDef*, object)
    object PyMethod_New(object function, object instance)
    object PyObject_Call(object function, object args, PyObject* kwargs)

    PyObject* PyErr_GetHandledException()

cdef extern from "native/traceback.h":
    PyObject* tt_package_folder
    PyObject* tt_module_globals
    void tt_clean_tracebacks(PyTypeObject*, PyTypeObject*)
    void tt_drop_own_entries(PyObject*)

# First: it includes what the others need.
cdef extern from "native/host.h":
    pass

cdef extern from "native/builtins.h" nogil:
    ctypedef uint32_t tt_ref
    ctypedef PyObject** tt_args  # PyObject* const*, which Cython cannot express
    enum: TT_OPEN, TT_VOID, TT_COMPLETE
    enum: TT_NODE_WAIT, TT_NODE_NS, TT_NODE_DEVICE, TT_NODE_TIMED, TT_NODE_ON_DEVICE, TT_NODE_REMOTE
    enum: TT_NODE_DEVICE_KNOWN, TT_NODE_NO_LIBRARY, TT_NODE_NO_DEVICE, TT_NODE_NO_DEVICE_CLOCK, TT_NODE_ONLY_HOST
    enum: TT_NODE_IN_GRAPH, TT_FRAME_CPU, TT_FRAME_MEMORY, TT_FRAME_EXPERIMENT
    enum: TT_CLOCK_VIRTUAL, TT_HEADER_WAITED
    const uint32_t TT_NAMELESS
    enum: TT_NAME_LIMIT, TT_NAME_CAP, TT_FRAME_CAP, TT_DEPTH_CAP, TT_THREAD_NAME
    enum: TT_LOSS_NODES, TT_LOSS_NAMES_CUT, TT_LOSS_BAD_VALUES, TT_LOSS_MEMORY, TT_LOSS_DEVICE, TT_LOSS_CAPTURED

    ctypedef struct tt_field:
        const char *record
        const char *field
        const char *kind
        uint32_t record_bytes, offset, bytes
    ctypedef struct tt_constant:
        const char *name
        uint64_t value
    const tt_field *tt_fields
    const tt_constant *tt_constants
    const char **tt_loss_names
    const char **tt_clock_names
    uint32_t tt_layout_sum()
    ctypedef struct tt_header:
        uint64_t used_bytes, pid, process_start, parent_pid, parent_start
        uint64_t inner_cost, outer_cost, gc_ticks, gc_pauses, ns_per_tick, run_began_ns
        uint32_t flags, node_cap, incarnation, parent_incarnation
        tt_ref parent_node, process_name, role
        char boot_id[40]
    ctypedef struct tt_arena:
        uint8_t* base
        int fd
        uint64_t file_limit
    ctypedef struct tt_stats:
        uint64_t count, sum
    ctypedef struct tt_node:
        tt_stats stats
        uint32_t flags
        tt_ref name, site_file, site_function
        uint32_t site_line
    ctypedef struct tt_frame:
        uint64_t serial, start, covered, cover_start
        tt_ref node
        uint32_t flags, active
    ctypedef struct tt_reading:
        uint64_t now, min_peak, max_peak
    ctypedef struct tt_recorder
    ctypedef struct tt_section:
        tt_recorder* recorder
        uint32_t name_id, node_flags, frame_flags
        tt_ref cached_node
        PyObject* object
        PyObject* name
        tt_section* next
    ctypedef struct tt_thread
    ctypedef struct tt_snapshot
    ctypedef struct tt_channels
    ctypedef struct tt_wait:
        int counts
    const uint64_t TT_HASH_BEGIN
    ctypedef struct tt_thread_facts:
        tt_ref spawn_node
        tt_snapshot* path
        uint64_t native_id
        char name[48]
        PyObject* own_context
    ctypedef struct tt_origin:
        tt_frame* frame
        uint64_t serial
        tt_ref node
        uint32_t generation
        uint64_t captured_at
        tt_snapshot* path
    ctypedef struct tt_saved_parent:
        tt_thread* thread
    ctypedef struct tt_gauge
    ctypedef struct tt_recorder:
        bint recording
        bint forked
        bint is_fork_noted
        tt_ref fork_node, new_role
        uint32_t default_flags
        uint64_t event_capacity
        uint32_t generation, name_cap, frame_cap, depth_cap
        int clock
        uint64_t virtual_now
        tt_arena arena
        tt_header* header
        tt_section* sections
        PyObject* by_name
        PyObject* origin_var
        PyObject* watch_var
        PyObject* owner
        uint32_t users
        tt_channels* shared
        tt_channels* own
        tt_recorder* next
    ctypedef struct tt_timed:
        void* vectorcall
        void* call
        PyObject* function
        tt_section* section
    ctypedef struct tt_section_object:
        tt_section core
    ctypedef struct tt_recorder_object:
        tt_recorder* core

    tt_recorder* tt_recorders
    uint64_t tt_now(tt_recorder*)
    int CLOCK_MONOTONIC
    uint64_t tt_now_ns(tt_recorder*, int)
    const void* tt_at(tt_recorder*, tt_ref)
    tt_node* tt_node_at(tt_recorder*, tt_ref)
    int tt_clock_choose()
    uint64_t tt_clock_scale(int)
    uint64_t tt_ns_to_ticks(tt_recorder*, uint64_t)
    uint64_t tt_ticks_to_ns(tt_recorder*, uint64_t)
    void tt_lose(tt_recorder*, int)
    int tt_arena_open(tt_arena*, const char*, uint64_t)
    void tt_header_write(tt_recorder*, uint64_t, uint64_t, uint32_t)
    int64_t tt_name_intern(tt_recorder*, const char*, uint32_t)
    tt_ref tt_store_text(tt_recorder*, const char*, uint32_t)
    void tt_before_fork() noexcept
    void tt_after_fork() noexcept
    tt_channels* tt_channels_open(const char*, uint64_t)
    void tt_alias_put(tt_channels*, uint64_t, uint64_t)
    uint64_t tt_alias_get(tt_channels*, uint64_t)
    uint64_t tt_hash(uint64_t, const void*, size_t)
    uint64_t tt_hash_end(uint64_t)
    bint tt_ignores_waits(tt_recorder*)
    bint tt_thread_has_sections(tt_recorder*)
    int tt_is_silent
    void tt_leave_memory(tt_recorder*)
    void tt_threads_reap(tt_recorder*)
    void tt_recorder_end(tt_recorder*)
    void tt_recorder_release(tt_recorder*)
    void tt_section_link(tt_recorder*, tt_section*)
    void tt_section_unlink(tt_section*)
    void tt_anchor_renew(tt_recorder*)
    void tt_timeline_begin(tt_recorder*)
    const uint64_t TT_EVENTS_MAX

# These may run Python code (contexts, frames, finalisers): the GIL stays held.
cdef extern from "native/builtins.h":
    PyMethodDef tt_enter_def, tt_exit_def, tt_block_enter_def
    tt_ref tt_node_open_here(tt_recorder*)
    bint tt_add_methods(PyTypeObject*) except 0
    object tt_number_make(PyTypeObject*, uint64_t)
    PyObject* tt_timed_call(PyObject*, tt_args, size_t, PyObject*)
    PyObject* tt_calling_frame()
    const void* tt_manager_codes[2]
    void tt_timed_prepare(PyTypeObject*, Py_ssize_t)
    bint tt_enable(tt_recorder*)
    void tt_disable(tt_recorder*)
    void tt_reset(tt_recorder*)
    void tt_enter(tt_section*)
    void tt_leave(tt_section*)
    void tt_leave_by(tt_section*, uint32_t raised)
    uint32_t tt_raised(PyObject*)
    void tt_tick(tt_section*, double, uint64_t)
    ctypedef struct tt_amounts:
        uint64_t bytes, flops, items
    void tt_record(tt_section*, uint64_t, const tt_amounts*)
    void tt_work(tt_section*, const tt_amounts*)
    tt_gauge* tt_gauge_make(tt_recorder*, uint32_t)
    void tt_gauge_set(tt_recorder*, tt_gauge*, double)
    const uint64_t TT_WARMUP_FOUND
    bint tt_record_age(tt_section*, uint64_t, tt_section*, tt_frame*, uint64_t)
    tt_frame* tt_loop_boundary(tt_section*, tt_frame*, uint64_t*, double, uint64_t)
    void tt_loop_end_stages(tt_section*, tt_frame*, uint64_t)
    void tt_loop_has_item(tt_section*, const tt_frame*, uint64_t)
    void tt_loop_end_tick(tt_section*, tt_frame*, uint64_t, int)
    void tt_origin_capture(tt_recorder*, tt_origin*)
    void tt_note_fork(tt_recorder*)
    tt_thread* tt_thread_here(tt_recorder*)
    void tt_thread_role(tt_recorder*, tt_thread*, tt_ref)
    void tt_origin_capture_path(tt_recorder*, tt_origin*)
    void tt_path_of_fork(tt_recorder*)
    void tt_signal(tt_recorder*, tt_channels*, uint64_t)
    void tt_unblocked(tt_recorder*, tt_channels*, uint64_t, uint32_t)
    void tt_start_from(tt_recorder*, tt_channels*, uint64_t)
    tt_wait tt_wait_enter(tt_section*, bint, tt_channels*, uint64_t)
    bint tt_is_in_tick(tt_recorder*)
    void tt_wait_leave(tt_section*, tt_wait, tt_channels*, uint64_t, uint32_t)
    tt_saved_parent tt_submitted_begin(tt_recorder*, const tt_origin*)
    bint tt_thread_restore(tt_recorder*, const tt_saved_parent*)
    int tt_register_thread_key()
    void tt_keep_peak(bint)
    void tt_set_device_reader(bint)
    void tt_fold_device(const char*, const tt_reading*)

cdef extern from "experiments/blocks.h":
    enum: TT_TARGETS, TT_BLOCKS, TT_TARGET_TEXT
    ctypedef struct tt_plan:
        uint32_t intervention, target, percent
    ctypedef struct tt_block:
        uint64_t began_ns, ended_ns, ticks, owed_ns, delayed_ns, forgiven_ns, half_ns, half_owed_ns
        tt_plan plan
        uint64_t spent_ns[16]
    ctypedef struct tt_target:
        uint64_t calls, sleeping_calls, spent_ns, lasted_ns
        uint32_t length
        char path[1]
    ctypedef struct tt_ledger:
        uint32_t is_on, target_count, plan_count, rest_ticks, settle_ticks, block_ticks, block_count
        uint64_t block_most_ns, watch_until_ns
        tt_target* targets
        tt_plan* plans
        tt_block* blocks
    tt_ledger* tt_ledger_make(const char*)
    void tt_ledger_begin(tt_ledger*)
    void tt_ledger_stop(tt_ledger*)
    void tt_ledger_close(tt_ledger*)
    bint tt_experiment_begin(tt_recorder*, const char*)

cdef extern from "pthread.h":
    int pthread_atfork(void (*prepare)() noexcept, void (*parent)() noexcept, void (*child)() noexcept)

cdef extern from "Python.h":
    long long PyLong_AsLongLongAndOverflow(object, int*) except? -1
    void PyErr_SetObject(object, object)
    int PyErr_CheckSignals() except -1
    int Py_AddPendingCall(int (*)(void*) noexcept, void*)
    object PyVectorcall_Call(object, object, object)
    void* PyVectorcall_Function(PyObject*)

cdef extern from "native/pace.h" nogil:
    enum tt_pace_kind: TT_PACE_NONE, TT_PACE_SKIP, TT_PACE_CATCH_UP
    ctypedef struct tt_pace:
        double hz
        tt_pace_kind kind
        int64_t early_ns
    tt_pace tt_pace_of(double, tt_pace_kind)
    uint64_t tt_pace_claim(tt_pace*, uint64_t)
    void tt_pace_learn(tt_pace*, int64_t)
    bint tt_sleep_until(uint64_t)
    void tt_spin_until(uint64_t)
    uint64_t tt_monotonic_ns()

cdef extern from "wrapping/choice.h":
    ctypedef struct tt_choice:
        PyObject* (*choose)(tt_choice*, tt_args, size_t, PyObject*)
    ctypedef struct tt_section_cache:
        tt_choice choice
        PyObject* sections
    PyTypeObject* tt_section_type
    PyTypeObject* tt_attended_type
    PyObject* tt_choose_by_object(tt_choice*, tt_args, size_t, PyObject*)
    void tt_section_cache_clear(tt_section_cache*)
    ctypedef struct tt_call_sites:
        tt_choice choice
        tt_recorder* recorder
        unsigned calls
    PyObject* tt_choose_by_call_site(tt_choice*, tt_args, size_t, PyObject*)
    uint64_t tt_call_site_number_of_caller(const tt_call_sites*)
    int tt_call_sites_set(tt_call_sites*, uint64_t, PyObject*)
    void tt_call_sites_forget(tt_call_sites*, uint64_t)
    void tt_call_sites_forget_all(tt_call_sites*)
    ctypedef struct tt_idle:
        tt_choice choice
        PyObject* types
        PyObject* attributes
        PyObject* unless
        PyObject* calls
    PyObject* tt_choose_idle(tt_choice*, tt_args, size_t, PyObject*)

cdef extern from "wrapping/outermost.h":
    ctypedef struct tt_redirection:
        PyObject* handler
        uint32_t skip_calls
    ctypedef struct tt_flag:
        PyObject* variables
        PyObject* name
    ctypedef struct tt_outermost:
        uint64_t layer
        bint per_object
        PyObject* before
        tt_choice* choice
        tt_flag* unless
        tt_redirection* redirection
    Py_ssize_t tt_outermost_offset
    void tt_builtin_prepare(PyTypeObject*, const PyTypeObject*)
    PyObject* tt_outermost_call(PyObject*, tt_args, size_t, PyObject*)
    void tt_leave_layers() noexcept
    uint64_t tt_open_layers
    PyObject** tt_layer_object(uint64_t)

cdef extern from "wrapping/piping.h":
    ctypedef struct tt_pipe:
        tt_section* section
        uint32_t channel
        bint sends
        PyObject* attribute
        PyObject* resolve
    Py_ssize_t tt_pipe_offset
    PyObject* tt_pipe_call(PyObject*, tt_args, size_t, PyObject*)

cdef extern from "wrapping/unmarked.h":
    bint tt_unmarked_tick(tt_section*)
    void tt_unmarked_end(tt_section*)
    bint tt_is_inside(tt_recorder*)

cdef extern from "remote_parent/watch.h":
    enum: TT_FRAME_CALLING
    ctypedef struct tt_watch_row:
        tt_ref node
        uint64_t sum, concurrent
    ctypedef struct tt_watch:
        tt_watch_row* rows
        uint32_t count, lost, generation
        uint64_t sum
    bint tt_watch_begin(tt_recorder*, tt_watch*, tt_thread*, tt_frame*)
    tt_frame* tt_watch_open(tt_recorder*, tt_watch*)
    tt_frame* tt_watch_parent(tt_recorder*, tt_frame*)
    void tt_watch_free(tt_recorder*, tt_watch*)
    ctypedef struct tt_calling:
        tt_frame* frame
    tt_frame* tt_innermost_frame(tt_recorder*, tt_thread**)
    void tt_calling_begin(tt_recorder*, tt_calling*)
    tt_frame* tt_calling_open(tt_recorder*, tt_calling*)
    uint64_t tt_self_ticks(tt_recorder*, tt_frame*)
    void tt_graft_book(tt_section*, tt_frame*, tt_ref, uint64_t, uint64_t, uint64_t)
    uint64_t tt_ticks_since(tt_recorder*, uint64_t)
    tt_ref tt_parent_of(tt_recorder*, tt_ref)
    tt_ref tt_node_find(tt_section*, tt_ref)
    tt_ref tt_node_get(tt_section*, tt_ref)

cdef extern from "device_time/place.h":
    ctypedef struct tt_node_handle:
        tt_ref node
        uint32_t generation
    tt_node_handle tt_node_handle_now(tt_recorder*)
    bint tt_book_at(tt_recorder*, const tt_node_handle*, tt_section**, size_t, uint64_t, uint64_t)
    void tt_note_device_time(tt_recorder*, const tt_node_handle*, uint32_t)
    uint64_t tt_find_open_call(tt_section*, tt_node_handle*)
    bint tt_call_is_open(tt_recorder*, uint64_t)

cdef extern from "remote_parent/remote_work.h":
    ctypedef struct tt_channel_slot:
        uint64_t at_ns
    tt_saved_parent tt_remote_work_begin(tt_recorder*, tt_section**, size_t)
    void tt_remote_work_end(tt_recorder*, const tt_saved_parent*)
    void tt_remote_work_follow(tt_recorder*, tt_channels*, uint64_t)
    void tt_remote_work_origin(tt_recorder*, tt_section**, size_t, tt_origin*)
    tt_channel_slot* tt_slot_find(tt_channels*, uint64_t)

cdef extern from "core/description.h" nogil:
    bint tt_copy_once(const uint8_t*, uint8_t*, Py_ssize_t, const Py_ssize_t*, const Py_ssize_t*, Py_ssize_t)

# These may run Python code too: they look up code objects and call sites.
cdef extern from "focus/focus_events.h":
    ctypedef struct tt_focus_state:
        tt_recorder* recorder
        uint32_t depth, generation
        int c_functions, root_count, missing_roots, watches_all
        uint64_t warmup
        tt_section* roots[32]
    PyMethodDef tt_focus_callbacks[8]
    enum: TT_FOCUS_ROOTS, TT_FOCUS_CALLBACKS
    tt_focus_state tt_focus
    Py_ssize_t tt_code_extra_index
    PyObject* tt_monitoring_disable
    bint tt_code_wake(PyObject*)
    Py_ssize_t tt_request_extra_index(void (*)(void*) noexcept)
    void tt_focus_forget()
    void tt_focus_close_all(tt_recorder*)
    int tt_profile_on(int)
    int tt_profile_was_displaced()
    void tt_profile_off_here()
    PyObject* tt_opening_call(PyObject*, tt_args, size_t, PyObject*)
