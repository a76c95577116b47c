/* Threads and the trees they write: a tree has one writer at a time, and is adopted when that writer ends. */
#ifndef TICKTREE_THREAD_H
#define TICKTREE_THREAD_H

#include "critical_path/critical.h"
#include "timeline.h"
#include <pthread.h>

/* Set by the Cython side: what the threading module knows of the running thread. */
typedef struct {
    tt_ref spawn_node; /* open where the thread was started; 0: unknown */
    const tt_snapshot *path; /* of its starter as it was started; NULL: unknown */
    uint64_t native_id;
    char name[TT_THREAD_NAME + 1];
    PyObject *own_context; /* that the threading module runs it in, from Python 3.14 on; borrowed, or NULL */
} tt_thread_facts;
static void (*tt_describe_thread)(tt_recorder *, tt_thread_facts *);

static pthread_key_t tt_thread_key;

/* Runs when the system's thread ends, without the GIL: it only marks the thread as ended, for tt_threads_reap. The
 * recorder may be freed meanwhile, so it is not read. */
static void tt_thread_ended(void *threads)
{
    for (tt_thread *thread = threads, *next; thread; thread = next) {
        next = thread->next_here; /* read first: once marked, it may be freed by whoever holds the GIL */
        thread->died = thread->clock == TT_CLOCK_VIRTUAL ? 0 : tt_clock_ticks(thread->clock);
        if (__atomic_fetch_or(&thread->gone, TT_THREAD_ENDED, __ATOMIC_ACQ_REL)) free(thread);
    }
}

/* Ends what is open in a stack that nothing will run in any more; returns how many sections were. */
static uint32_t tt_stack_abandon(tt_recorder *recorder, tt_stack *stack, uint64_t now)
{
    uint32_t sections = 0;
    while (stack->top) {
        uint32_t flags = stack->top->flags;
        sections += !(flags & TT_FRAME_SOFT);
        int stage = (flags & (TT_FRAME_SOFT | TT_FRAME_TICK)) == TT_FRAME_SOFT;
        tt_pop(recorder, stack, stack->top, now, stage ? TT_COMPLETE : TT_OPEN);
    }
    stack->too_deep = stack->suspended = 0;
    return sections;
}

/* Ends all that a thread has open. */
static void tt_thread_abandon(tt_recorder *recorder, tt_thread *thread, uint64_t now)
{
    uint32_t sections = tt_stack_abandon(recorder, &thread->base, now);
    for (tt_stack *stack = thread->stacks; stack; stack = stack->next)
        sections += tt_stack_abandon(recorder, stack, now);
    if (sections) tt_lose(recorder, TT_LOSS_THREADS);
}

/* Runs when a thread's Python state is cleared: with the GIL, on the thread itself, and before anybody who joins it
 * continues. What it has open ends now; its stacks stay, because letting a context go may run any code. */
static void tt_state_ended(PyObject *mark)
{
    if (PyCapsule_GetPointer(mark, NULL) != &tt_threads_here) return; /* another's: after a fork, or at the end */
    tt_cache_clear();
    for (tt_thread *thread = tt_threads_here; thread; thread = thread->next_here) {
        tt_recorder *recorder = thread->recorder;
        if (recorder && recorder->recording && !recorder->forked) tt_thread_abandon(recorder, thread, tt_now(recorder));
    }
}

/* Leaves a mark in the thread's Python state that is dropped when the state is cleared. A finaliser may come here after
 * that: then there is nothing to leave it in. */
static inline void tt_state_watch(PyThreadState *state)
{
    static __thread uint64_t watched;
    if (TT_LIKELY(watched == PyThreadState_GetID(state))) return;
    watched = PyThreadState_GetID(state);
    PyObject *kept = PyThreadState_GetDict();
    PyObject *mark = kept ? PyCapsule_New(&tt_threads_here, NULL, tt_state_ended) : NULL;
    if (!mark || PyDict_SetItemString(kept, "ticktree", mark)) PyErr_Clear();
    Py_XDECREF(mark);
}

/* Frees the stacks of a thread and lets its contexts go: that may run any code. */
static void tt_thread_empty(tt_thread *thread)
{
    for (tt_stack *stack = thread->stacks, *next; stack; stack = next) {
        next = stack->next;
        Py_CLEAR(stack->context);
        free(stack);
    }
    for (tt_stack *stack = thread->spare, *next; stack; stack = next) {
        next = stack->next;
        free(stack);
    }
    thread->stacks = thread->spare = NULL;
    Py_CLEAR(thread->own_context);
    Py_CLEAR(thread->base.context);
}

/* Gives back what dead threads held: their trees, and the contexts that only the GIL's holder may release. */
static void tt_threads_reap(tt_recorder *recorder)
{
    tt_thread **link = &recorder->threads, *ended = NULL;
    while (*link) {
        tt_thread *thread = *link;
        if (!__atomic_load_n(&thread->gone, __ATOMIC_ACQUIRE)) {
            link = &thread->next;
            continue;
        }
        *link = thread->next;
        thread->next = ended;
        ended = thread;
    }
    if (ended) tt_cache_clear();
    while (ended) {
        tt_thread *thread = ended;
        ended = thread->next;
        tt_thread_abandon(recorder, thread, thread->died ? thread->died : tt_now(recorder));
        for (tt_tree_slot *slot = recorder->slots; slot; slot = slot->next)
            if (slot->owner == thread) {
                slot->owner = NULL;
                ((tt_tree *)tt_at(recorder, slot->tree))->alive = 0;
            }
        tt_thread_empty(thread); /* finalisers may enter sections: nothing is half done by now */
        free(thread);
    }
}

static tt_tree_slot *tt_tree_free(tt_recorder *recorder, tt_ref spawn, tt_ref role)
{
    tt_tree_slot *slot = recorder->slots;
    while (slot && (slot->owner || slot->spawn != spawn || slot->role != role)) slot = slot->next;
    return slot;
}

/* A tree under `spawn` for this thread: one of the same role that nobody writes any more, or a new one. */
static tt_tree_slot *tt_tree_claim(tt_recorder *recorder, tt_thread *thread, tt_ref spawn, tt_ref role,
                                   const tt_thread_facts *facts)
{
    tt_tree_slot *slot = tt_tree_free(recorder, spawn, role);
    int adopted = slot != NULL;
    if (!slot) slot = tt_tree_make(recorder, spawn);
    if (!slot) return NULL;
    tt_tree *tree = tt_at(recorder, slot->tree);
    slot->role = tree->role = role;
    tree->adoptions += (uint64_t)adopted;
    tree->thread_id = facts->native_id;
    memcpy(tree->thread_name, facts->name, sizeof tree->thread_name);
    tree->alive = 1;
    slot->owner = thread;
    return slot;
}

static tt_thread *tt_thread_make(tt_recorder *recorder)
{
    tt_thread_facts facts = {0, NULL, 0, ""};
    tt_describe_thread(recorder, &facts);
    tt_threads_reap(recorder);
    tt_thread *thread = calloc(1, sizeof *thread);
    if (!thread) return NULL;
    thread->slot = tt_tree_claim(recorder, thread, facts.spawn_node, recorder->role_of_new, &facts);
    if (!thread->slot) {
        free(thread);
        return NULL;
    }
    thread->recorder = recorder;
    thread->self = pthread_self();
    thread->clock = recorder->clock;
    thread->base.thread = thread;
    thread->base.home = thread->slot->root;
    thread->own_context = Py_XNewRef(facts.own_context);
    thread->last = &thread->base;
    thread->base.lane = tt_lane_of(recorder, facts.native_id, facts.name, 0);
    thread->next = recorder->threads;
    recorder->threads = thread;
    thread->next_here = tt_threads_here;
    tt_threads_here = thread;
    pthread_setspecific(tt_thread_key, tt_threads_here);
    tt_path_begin(recorder, thread, facts.path);
    return thread;
}

/* This thread's part of the recorder; recorders that are gone are dropped from the list on the way. */
static tt_thread *tt_thread_here(tt_recorder *recorder)
{
    tt_thread **link = &tt_threads_here;
    while (*link) {
        tt_thread *thread = *link;
        if (thread->recorder == recorder) return thread;
        if (thread->recorder) {
            link = &thread->next_here;
            continue;
        }
        *link = thread->next_here;
        free(thread); /* this thread lives, so nobody else does */
    }
    pthread_setspecific(tt_thread_key, tt_threads_here);
    return tt_thread_make(recorder);
}

#endif
