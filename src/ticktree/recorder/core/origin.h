/* Carrying a place in the tree to where work goes on: another task, another thread, an executor's worker. */
#ifndef TICKTREE_ORIGIN_H
#define TICKTREE_ORIGIN_H

#include "lifecycle.h"

/* What is open here now. `node` 0: nothing is being recorded. */
static void tt_origin_capture(tt_recorder *recorder, tt_origin *origin)
{
    *origin = (tt_origin){0};
    if (!recorder->recording) return;
    PyThreadState *state = tt_thread_state();
    tt_stack *stack = tt_stack_now(recorder, state);
    if (!stack) return;
    tt_frame *frame = tt_frame_around(recorder, stack, tt_pyframe_now(state));
    if (!frame) frame = tt_bottom_parent(stack);
    origin->thread = stack->thread;
    origin->frame = frame;
    origin->serial = frame ? frame->serial : 0;
    origin->node = frame && frame->node ? frame->node : stack->home;
    origin->generation = recorder->generation;
    tt_stack_rest(stack);
}

/* As above, and the path that led here: for threads and errands, whose own path goes on from it. */
static void tt_origin_capture_path(tt_recorder *recorder, tt_origin *origin)
{
    if (!origin->thread) return;
    tt_path *path = tt_path_update(recorder, origin->thread, tt_moment_now(recorder));
    /* Only as long as what it holds: a program may have a hundred thousand errands waiting. */
    if (path) origin->path = malloc(offsetof(tt_snapshot, shares) + path->count * sizeof *path->shares);
    if (path && origin->path) tt_path_take(path, origin->path);
}

/* The thread now writes another tree: its path goes on in it. That of an errand goes on from who gave it, if that was
 * after the thread was last heard of: then it is the errand that it was waiting for. */
static void tt_path_move(tt_recorder *recorder, tt_thread *thread, const tt_tree_slot *to, const tt_snapshot *given)
{
    static tt_snapshot own; /* scratch; the GIL is held */
    tt_path *path = tt_path_of(recorder, thread);
    if (!path) return;
    uint64_t heard_ns = path->mark_ns;
    tt_moment now = tt_moment_now(recorder);
    tt_path_update(recorder, thread, now);
    tt_path_take(path, &own);
    tt_path_switch(recorder, thread, given && given->at_ns > heard_ns ? given : &own, to->tree, to->root, now);
}

/* What a thread was doing before it began to work for somebody else. */
typedef struct {
    tt_thread *thread; /* NULL: nothing to restore */
    tt_tree_slot *slot;
    tt_frame *parent;
    uint64_t parent_serial;
    uint32_t generation;
} tt_errand;

/* From now on this thread's sections hang under `origin`, in a tree of their own. */
static tt_errand tt_errand_begin(tt_recorder *recorder, const tt_origin *origin)
{
    tt_errand none = {0};
    if (!recorder->recording || recorder->forked || !origin->node || origin->generation != recorder->generation)
        return none;
    tt_thread *thread = tt_thread_here(recorder);
    if (!thread || thread == origin->thread || thread->base.top || thread->stacks) return none;
    tt_thread_facts facts = {0, NULL, 0, ""};
    tt_describe_thread(recorder, &facts);
    tt_tree_slot *slot = tt_tree_claim(recorder, thread, origin->node, &facts);
    if (!slot) {
        tt_lose(recorder, TT_LOSS_MEMORY);
        return none;
    }
    tt_errand errand = {thread, thread->slot, thread->base.parent, thread->base.parent_serial, recorder->generation};
    tt_path_move(recorder, thread, slot, origin->path);
    thread->slot = slot;
    thread->base.home = slot->root;
    thread->base.parent = NULL;
    return errand;
}

static void tt_errand_end(tt_recorder *recorder, tt_errand *errand)
{
    tt_thread *thread = errand->thread;
    if (!thread || errand->generation != recorder->generation || recorder->forked) return;
    tt_path_move(recorder, thread, errand->slot, NULL);
    ((tt_tree *)tt_at(recorder, thread->slot->tree))->alive = 0;
    thread->slot->owner = NULL;
    thread->slot = errand->slot;
    thread->base.home = errand->slot->root;
    thread->base.parent = errand->parent;
    thread->base.parent_serial = errand->parent_serial;
}

static int tt_register_thread_key(void) { return pthread_key_create(&tt_thread_key, tt_thread_ended); }

#endif
