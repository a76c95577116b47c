/* Work done here for a section of another process: its rows are under the same names. */
#ifndef TICKTREE_ABROAD_H
#define TICKTREE_ABROAD_H

#include "critical_path/edge.h"

/* The node that `names` lead to in the calling thread's own tree, made where it is missing: it has no calls
 * here. The deepest that there is room for. */
static tt_ref tt_abroad_node(tt_recorder *recorder, tt_thread *thread, tt_section *const *names, size_t count)
{
    tt_ref at = thread->slot->root;
    for (size_t i = 0; i < count; i++) {
        tt_ref below = tt_node_find(names[i], at);
        if (!below) {
            tt_lose(recorder, TT_LOSS_NODES);
            break;
        }
        at = below;
    }
    return at;
}

/* From now on what this thread does hangs there; not inside anything that is open here. */
static tt_reparented tt_abroad_begin(tt_recorder *recorder, tt_section *const *names, size_t count)
{
    tt_thread *thread = tt_thread_here(recorder);
    if (!thread || thread->base.top || thread->stacks) return (tt_reparented){0};
    tt_parent parent = thread->base.parent;
    parent.home = tt_abroad_node(recorder, thread, names, count);
    parent.frame = NULL;
    return tt_thread_reparent(recorder, thread, thread->slot, parent, NULL);
}

static void tt_abroad_end(tt_recorder *recorder, const tt_reparented *before)
{
    tt_ref home = before->thread ? before->thread->base.parent.home : 0;
    if (!tt_thread_restore(recorder, before)) return;
    /* What was done below is looked for only where the nodes above say that something was. */
    for (tt_node *node = tt_node_at(recorder, home); !(node->flags & TT_NODE_ROOT) && !node->running;
         node = tt_node_at(recorder, node->parent))
        node->running = 1;
}

/* What the calling thread does from now on was called by the last signaller: the path that led here continues from there,
 * if that was after the thread last recorded: else it worked at something else meanwhile, and came to this after. A
 * thread that has been in no section yet was waiting for its first call. */
static void tt_abroad_follow(tt_recorder *recorder, tt_channels *channels, uint64_t key)
{
    tt_message message;
    tt_moment now = tt_moment_now(recorder);
    if (!tt_ask(recorder, channels, key, now, &message) || !message.path.count) return;
    tt_thread *thread = tt_thread_here(recorder);
    if (!thread || thread->base.top || thread->stacks) return;
    tt_path *path = tt_path_of(recorder, thread);
    int is_new = !tt_node_at(recorder, thread->slot->root)->first_child;
    if (!path || (!is_new && message.path.at_ns <= path->mark_ns)) return;
    tt_path_switch(recorder, thread, &message.path, thread->slot->tree, thread->slot->root, now);
}

/* The same place, for a task of this thread that is about to open its first section. */
static void tt_abroad_origin(tt_recorder *recorder, tt_section *const *names, size_t count, tt_origin *origin)
{
    tt_thread *thread = tt_thread_here(recorder);
    *origin = (tt_origin){0};
    if (!thread) return;
    origin->thread = thread;
    origin->node = tt_abroad_node(recorder, thread, names, count);
    origin->generation = recorder->generation;
    origin->made = tt_now(recorder);
}

#endif
