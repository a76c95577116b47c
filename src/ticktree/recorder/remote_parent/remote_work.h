/* Work done here for a section of another process: its rows have the same names. */
#ifndef TICKTREE_REMOTE_WORK_H
#define TICKTREE_REMOTE_WORK_H

#include "critical_path/edge.h"

/* The node at the path `names` in the calling thread's own tree, created if missing: it has no calls here. Past the
 * caps, the deepest that has room. */
static tt_ref tt_remote_work_node(tt_recorder *recorder, tt_thread *thread, tt_section *const *names, size_t count)
{
    tt_ref node = thread->slot->root;
    for (size_t i = 0; i < count; i++) {
        tt_ref child = tt_node_find(names[i], node);
        if (!child) {
            tt_lose(recorder, TT_LOSS_NODES);
            break;
        }
        node = child;
    }
    return node;
}

/* Makes that node the parent of what this thread does next, unless the thread has something open. */
static tt_saved_parent tt_remote_work_begin(tt_recorder *recorder, tt_section *const *names, size_t count)
{
    tt_thread *thread = tt_thread_here(recorder);
    if (!thread || thread->base.top || thread->stacks) return (tt_saved_parent){0};
    tt_parent parent = thread->base.parent;
    parent.home = tt_remote_work_node(recorder, thread, names, count);
    parent.frame = NULL;
    return tt_thread_reparent(recorder, thread, thread->slot, parent, NULL);
}

static void tt_remote_work_end(tt_recorder *recorder, const tt_saved_parent *before)
{
    tt_ref home = before->thread ? before->thread->base.parent.home : 0;
    if (!tt_thread_restore(recorder, before)) return;
    /* The path's update visits nodes only below those that are marked as running. */
    for (tt_node *node = tt_node_at(recorder, home); !(node->flags & TT_NODE_ROOT) && !node->running;
         node = tt_node_at(recorder, node->parent))
        node->running = 1;
}

/* The last signaller called what the calling thread does next, so the thread's path continues from the signal, if that
 * came after the thread's last record: otherwise the thread was busy with something else. A thread that has not been in
 * a section yet was waiting for its first call. */
static void tt_remote_work_follow(tt_recorder *recorder, tt_channels *channels, uint64_t key)
{
    tt_message message;
    tt_moment now = tt_moment_now(recorder);
    if (!tt_signal_read(recorder, channels, key, now, &message) || !message.path.count) return;
    tt_thread *thread = tt_thread_here(recorder);
    if (!thread || thread->base.top || thread->stacks) return;
    tt_path *path = tt_path_of(recorder, thread);
    int is_new = !tt_node_at(recorder, thread->slot->root)->first_child;
    if (!path || (!is_new && message.path.at_ns <= path->mark_ns)) return;
    tt_path_switch(recorder, thread, &message.path, thread->slot->tree, thread->slot->root, now);
}

/* The same node as the origin of a task of this thread that is about to open its first section. */
static void tt_remote_work_origin(tt_recorder *recorder, tt_section *const *names, size_t count, tt_origin *origin)
{
    tt_thread *thread = tt_thread_here(recorder);
    *origin = (tt_origin){0};
    if (!thread) return;
    *origin = (tt_origin){.thread = thread, .node = tt_remote_work_node(recorder, thread, names, count),
                          .generation = recorder->generation, .captured_at = tt_now(recorder)};
}

#endif
