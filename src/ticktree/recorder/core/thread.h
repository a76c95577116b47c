/* Threads and the trees they write: a tree has one writer at a time, and is adopted when that writer ends. */
#ifndef TICKTREE_THREAD_H
#define TICKTREE_THREAD_H

#include "critical.h"
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

/* Runs as the thread ends, without the GIL: it may only leave word. Who needs a tree next does the rest. */
static void tt_thread_ended(void *threads)
{
    for (tt_thread *thread = threads, *next; thread; thread = next) {
        next = thread->next_here; /* read first: once marked, it may be freed by whoever holds the GIL */
        thread->died = thread->recorder ? tt_now(thread->recorder) : 0;
        __atomic_store_n(&thread->dead, 1, __ATOMIC_RELEASE);
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
    return sections;
}

/* Gives back what dead threads held: their trees, and the contexts that only the GIL's holder may release. */
static void tt_threads_reap(tt_recorder *recorder)
{
    tt_thread **link = &recorder->threads, *ended = NULL;
    while (*link) {
        tt_thread *thread = *link;
        if (!__atomic_load_n(&thread->dead, __ATOMIC_ACQUIRE)) {
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
        uint32_t sections = tt_stack_abandon(recorder, &thread->base, thread->died);
        for (tt_stack *stack = thread->stacks; stack; stack = stack->next)
            sections += tt_stack_abandon(recorder, stack, thread->died);
        if (sections) tt_lose(recorder, TT_LOSS_THREADS);
        for (tt_tree_slot *slot = recorder->slots; slot; slot = slot->next)
            if (slot->owner == thread) {
                slot->owner = NULL;
                ((tt_tree *)tt_at(recorder, slot->tree))->alive = 0;
            }
        for (tt_stack *stack = thread->stacks, *next; stack; stack = next) {
            next = stack->next;
            Py_CLEAR(stack->context);
            free(stack);
        }
        for (tt_stack *stack = thread->spare, *next; stack; stack = next) {
            next = stack->next;
            free(stack);
        }
        PyObject *context = thread->base.context, *own = thread->own_context;
        free(thread);
        Py_XDECREF(own);
        Py_XDECREF(context); /* may run finalisers that enter sections: nothing is half done by now */
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
        free(thread);
    }
    pthread_setspecific(tt_thread_key, tt_threads_here);
    return tt_thread_make(recorder);
}

#endif
