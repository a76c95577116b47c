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
    origin->node = frame ? tt_home_of(frame) : stack->home;
    origin->frame = frame = tt_frame_recorded(recorder, frame);
    origin->serial = frame ? frame->serial : 0;
    origin->generation = recorder->generation;
    origin->made = tt_now(recorder);
    tt_stack_rest(stack);
}

/* Just before a fork, in the parent: the place that the child hangs under, should it record. Only this thread will be
 * in the child; others may go on to run until then, and may be about to fork themselves. */
static void tt_note_fork(tt_recorder *recorder)
{
    tt_origin origin;
    if (recorder->forked) return; /* nothing of its own: its children hang where it would have */
    tt_origin_capture(recorder, &origin);
    recorder->fork_node = origin.node;
    recorder->fork_thread = pthread_self();
    recorder->fork_noted = recorder->recording;
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
    tt_tree_slot *slot = tt_tree_claim(recorder, thread, origin->node, thread->slot->role, &facts);
    if (!slot) {
        tt_lose(recorder, TT_LOSS_MEMORY);
        return none;
    }
    tt_errand errand = {thread, thread->slot, thread->base.parent, thread->base.parent_serial, recorder->generation};
    tt_path_move(recorder, thread, slot, origin->path);
    thread->slot = slot;
    thread->base.home = slot->root;
    thread->base.parent = NULL;
    thread->base.afar = origin->frame;
    thread->base.afar_serial = origin->serial;
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
    thread->base.afar = NULL;
}

/* What this thread does from now on, by the program's own word. A tree with nothing in it takes the role; else the
 * thread goes to a tree of that role, so that what threads of different roles did stays apart. With sections open the
 * tree they are in takes the role, all of it. */
static void tt_thread_role(tt_recorder *recorder, tt_thread *thread, tt_ref role)
{
    tt_tree_slot *slot = thread->slot;
    if (slot->role == role) return;
    int idle = !thread->base.top && !thread->stacks;
    int empty = !tt_node_at(recorder, slot->root)->first_child;
    tt_tree *tree = tt_at(recorder, slot->tree);
    if (idle && (!empty || tt_tree_free(recorder, slot->spawn, role))) {
        tt_thread_facts facts = {0, NULL, tree->thread_id, ""};
        memcpy(facts.name, tree->thread_name, sizeof facts.name);
        tt_tree_slot *other = tt_tree_claim(recorder, thread, slot->spawn, role, &facts);
        if (other) {
            tt_path_move(recorder, thread, other, NULL);
            tree->alive = 0;
            slot->owner = NULL;
            thread->slot = other;
            thread->base.home = other->root;
            return;
        }
    }
    slot->role = tree->role = role;
}

static int tt_register_thread_key(void) { return pthread_key_create(&tt_thread_key, tt_thread_ended); }

#endif
