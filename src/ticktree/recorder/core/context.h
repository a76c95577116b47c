/* Which stack is this? One a thread, and one a context where tasks interleave. */
#ifndef TICKTREE_CONTEXT_H
#define TICKTREE_CONTEXT_H

#include "pyframe.h"
#include "thread.h"

/* Set by the Cython side. */
static tt_origin *(*tt_origin_of_object)(PyObject *);
static tt_watch *(*tt_watch_of_object)(PyObject *);
static int (*tt_rearm)(tt_recorder *); /* gives a forked child a file of its own; 0: cannot */

/* A context that can be entered is not inside a `Context.run`: it is the thread's own. Only then may a strong
 * reference be kept for good; a task's context must go when its task goes. */
static int tt_context_is_base(PyObject *context)
{
    if (PyContext_Enter(context) == 0) {
        PyContext_Exit(context);
        return 1;
    }
    PyErr_Clear();
    return 0;
}

/* A thread's context is NULL until some library first needs one; a section that is open by then would lose its
 * stack. So it is made now. */
static PyObject *tt_context_force(PyThreadState *state)
{
    if (!tt_context_now(state)) {
        PyObject *copy = PyContext_CopyCurrent();
        if (!copy) PyErr_Clear();
        Py_XDECREF(copy);
    }
    return tt_context_now(state);
}

static tt_stack *tt_stack_of_context(tt_thread *thread, const void *context)
{
    if (thread->base.context == context || thread->own_context == context) return &thread->base;
    tt_stack *stack = thread->stacks;
    while (stack && stack->context != context) stack = stack->next;
    return stack;
}

/* Hangs a new stack under an open frame, or, where none is, where the thread's own sections hang. */
static void tt_stack_hang(tt_stack *stack, tt_frame *parent)
{
    const tt_stack *base = &stack->thread->base;
    tt_frame *recorded = tt_frame_recorded(stack->thread->recorder, parent);
    stack->parent = parent ? recorded : base->parent;
    stack->parent_serial = recorded ? recorded->serial : base->parent_serial;
    stack->home = parent ? tt_home_of(parent) : base->home;
}

static inline tt_frame *tt_frame_around(const tt_recorder *recorder, const tt_stack *stack, tt_pyframe *now);

/* The innermost open section of the contexts that this one was entered in; of those of its own task, if it has one.
 * The stack used last says nothing: its task may be asleep. */
static tt_frame *tt_frame_beneath(const tt_stack *stack, tt_pyframe *now)
{
    for (PyObject *at = tt_context_beneath(stack->context); at; at = tt_context_beneath(at)) {
        tt_stack *outer = tt_stack_of_context(stack->thread, at);
        if (!outer || (stack->origin && outer->origin != stack->origin)) continue;
        tt_frame *frame = tt_frame_around(stack->thread->recorder, outer, now);
        if (frame) return frame;
    }
    return NULL;
}

static int tt_context_carries(tt_recorder *recorder, PyObject *context, const tt_origin *origin)
{
    PyObject *value = PyObject_CallMethod(context, "get", "O", recorder->origin_var);
    if (!value) PyErr_Clear();
    int carries = value && tt_origin_of_object(value) == origin;
    Py_XDECREF(value);
    return carries;
}

/* A task's own context is the outermost that carries its origin: a copy made in the task may be met first. */
static void tt_origin_claim(tt_recorder *recorder, tt_origin *origin, PyObject *context)
{
    PyObject *own = context;
    for (PyObject *at = tt_context_beneath(context); at; at = tt_context_beneath(at))
        if (tt_context_carries(recorder, at, origin)) own = at;
    origin->context = own;
}

/* Where a task was made. That call may be over: then the task's sections hang there still, and cover nobody. */
static void tt_stack_hang_at_origin(tt_stack *stack)
{
    stack->parent = stack->origin->frame;
    stack->parent_serial = stack->origin->serial;
    stack->home = stack->origin->node;
}

/* A context seen for the first time: a task's own (its origin is unclaimed), a copy made inside that task and run
 * there (`Context.run`, callbacks), or a context of nobody known to us that this thread runs synchronously. With no
 * section open in the task, a copy is where the task is. */
static void tt_stack_place(tt_thread *thread, tt_stack *stack, tt_pyframe *now)
{
    tt_origin *origin = stack->origin;
    tt_frame *open = NULL;
    if (origin && !origin->context) tt_origin_claim(thread->recorder, origin, stack->context);
    if (!origin || origin->context != stack->context) open = tt_frame_beneath(stack, now);
    if (!open && origin) {
        tt_stack *task = tt_stack_of_context(thread, origin->context);
        if (task) open = task->top;
    }
    if (open || !origin) tt_stack_hang(stack, open);
    else tt_stack_hang_at_origin(stack);
}

/* The origin set for this context's task, where that task belongs to this thread. */
static tt_origin *tt_origin_here(tt_recorder *recorder, tt_thread *thread)
{
    PyObject *value = NULL;
    if (!recorder->origin_var || PyContextVar_Get(recorder->origin_var, NULL, &value) < 0) {
        PyErr_Clear();
        return NULL;
    }
    if (!value) return NULL;
    tt_origin *origin = tt_origin_of_object(value);
    Py_DECREF(value); /* the context holds it */
    int ours = origin && origin->thread == thread && origin->generation == recorder->generation;
    return ours ? origin : NULL;
}

/* The request that this context was copied in, where another thread serves it: frameworks hand what may block to a
 * thread, and the context with it. */
static void tt_stack_serve(tt_recorder *recorder, tt_stack *stack)
{
    const tt_stack *base = &stack->thread->base;
    stack->afar = base->afar;
    stack->afar_serial = base->afar_serial;
    PyObject *value = NULL;
    if (stack->afar || !recorder->watch_var) return;
    if (PyContextVar_Get(recorder->watch_var, NULL, &value) < 0) PyErr_Clear();
    tt_watch *watch = value ? tt_watch_of_object(value) : NULL;
    tt_frame *served = watch ? tt_watch_open(recorder, watch) : NULL;
    if (served && watch->thread != stack->thread) {
        stack->afar = served;
        stack->afar_serial = watch->serial;
    }
    Py_XDECREF(value);
}

static void tt_stack_release(tt_stack *stack);

/* A task that ended with a stage, or anything else, open at its top: nobody but us holds its context any more.
 * Looked for when there are twice as many stacks as the last look left. */
static void tt_stacks_sweep(tt_recorder *recorder, tt_thread *thread)
{
    if (++thread->stacks_made < thread->sweep_at) return;
    uint32_t kept = 0;
    uint64_t now = tt_now(recorder);
    tt_stack **link = &thread->stacks, *gone = NULL;
    while (*link) {
        tt_stack *stack = *link;
        if (Py_REFCNT(stack->context) > 1) {
            link = &stack->next;
            kept++;
            continue;
        }
        *link = stack->next;
        stack->next = gone;
        gone = stack;
        if (tt_stack_abandon(recorder, stack, now)) tt_lose(recorder, TT_LOSS_UNWOUND);
    }
    thread->stacks_made = 0;
    thread->sweep_at = kept < 16 ? 16 : kept;
    for (tt_stack *next; gone; gone = next) { /* last: letting a context go may run any code */
        next = gone->next;
        tt_stack_release(gone);
    }
}

static tt_stack *tt_stack_make(tt_recorder *recorder, tt_thread *thread, PyObject *context)
{
    tt_stacks_sweep(recorder, thread);
    tt_stack *stack = thread->spare;
    tt_ref lane = stack ? stack->lane : 0;
    uint32_t number = stack ? stack->number : 0;
    if (stack) thread->spare = stack->next;
    else stack = malloc(sizeof *stack);
    if (!stack) return NULL;
    if (!number) number = ++thread->stacks_numbered;
    *stack = (tt_stack){.thread = thread, .context = context, .number = number};
    stack->lane = tt_lane_of_stack(recorder, thread, lane, number);
    Py_INCREF(context);
    stack->origin = tt_origin_here(recorder, thread);
    tt_stack_place(thread, stack, tt_pyframe_now(tt_thread_state()));
    tt_stack_serve(recorder, stack);
    stack->next = thread->stacks;
    thread->stacks = stack;
    return stack;
}

/* The slow way to the current stack; remembers it for the fast one. NULL: nothing can be recorded here. */
static __attribute__((noinline)) tt_stack *tt_stack_search(tt_recorder *recorder, PyThreadState *state)
{
    if (recorder->forked && !tt_rearm(recorder)) return NULL;
    if (!recorder->recording) return NULL;
    PyObject *context = tt_context_force(state);
    tt_thread *thread = context ? tt_thread_here(recorder) : NULL;
    if (!thread || !recorder->recording) {
        tt_lose(recorder, TT_LOSS_MEMORY);
        return NULL;
    }
    tt_state_watch(state);
    if (!thread->base.context && tt_context_is_base(context)) {
        Py_INCREF(context);
        thread->base.context = context;
    }
    tt_stack *stack = tt_stack_of_context(thread, context);
    if (!stack) stack = tt_stack_make(recorder, thread, context);
    if (!stack) {
        tt_lose(recorder, TT_LOSS_MEMORY);
        return NULL;
    }
    thread->last = stack;
    tt_cached = (tt_here){recorder, state, context, stack};
    return stack;
}

static inline tt_stack *tt_stack_now(tt_recorder *recorder, PyThreadState *state)
{
    if (TT_LIKELY(tt_cached.state == state && tt_cached.context == tt_context_now(state) &&
                  tt_cached.recorder == recorder))
        return tt_cached.stack;
    return tt_stack_search(recorder, state);
}

/* A context's stack is given up with its last frame. Dropping the context may run any code: it comes last. */
static void tt_stack_release(tt_stack *stack)
{
    if (!stack->context) return; /* letting another context go has run code that gave up this one */
    tt_thread *thread = stack->thread;
    tt_stack **link = &thread->stacks;
    while (*link && *link != stack) link = &(*link)->next;
    if (*link) *link = stack->next;
    if (tt_cached.stack == stack) tt_cache_clear();
    if (thread->last == stack) thread->last = &thread->base;
    PyObject *context = stack->context;
    stack->context = NULL;
    stack->next = thread->spare;
    thread->spare = stack;
    Py_XDECREF(context);
}

static inline void tt_stack_rest(tt_stack *stack)
{
    if (TT_UNLIKELY(!stack->top && stack != &stack->thread->base)) tt_stack_release(stack);
}

#endif
