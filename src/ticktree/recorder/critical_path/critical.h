/* Critical paths, computed while the program runs.
 *
 * Every thread carries a path: a bounded account of how the time since the run began was spent along the chain of
 * events that led to the thread's present. While the thread works, its own sections are added; when another thread's
 * signal wakes it from being blocked, its path becomes the signaller's at the signal, plus the time since. So the path
 * of a thread always determines how late it is: only a shorter path makes it earlier. This is Hollingsworth's method of
 * piggybacking the path's profile on the messages (J. K. Hollingsworth, "Critical path profiling of message passing and
 * shared-memory programs", IEEE Transactions on Parallel and Distributed Systems 9(10), 1998): it keeps no trace, and
 * its memory does not grow with the run.
 *
 * Sections do no work for it. A node has a mark: its self time at the last update of the path. Updates happen at
 * signals, wake-ups, starts and ends, and read the nodes that have grown since.
 */
#ifndef TICKTREE_CRITICAL_H
#define TICKTREE_CRITICAL_H

#include "core/hot.h"

#include <stdlib.h>

#define TT_FOLD (TT_SHARES / 4) /* shares merged at a time, so that new ones can grow before the next merge */

typedef struct {
    uint64_t ticks;
    uint64_t ns; /* since the run began; by CLOCK_MONOTONIC itself, which all processes share */
} tt_moment;

/* The growth of one node since the last update of a path. */
struct tt_growth {
    tt_ref node;
    uint64_t ticks;
};

static tt_moment tt_moment_now(const tt_recorder *recorder)
{
    tt_moment now = {tt_now(recorder), recorder->virtual_now};
    if (recorder->clock == TT_CLOCK_VIRTUAL || !recorder->header) return now;
    uint64_t ns = tt_clock_ns(CLOCK_MONOTONIC), began = recorder->header->run_began_ns;
    now.ns = ns > began ? ns - began : 0;
    return now;
}

static int tt_share_is(const tt_recorder *recorder, const tt_share *share, tt_ref node)
{
    const tt_header *header = recorder->header;
    return share->node == node && share->pid == (uint32_t)header->pid && share->start == header->process_start &&
           share->incarnation == header->incarnation;
}

/* Merges the smallest shares into the first. */
static void tt_path_fold(tt_path *path)
{
    for (unsigned round = 0; round < TT_FOLD; round++) {
        uint32_t smallest = 1;
        for (uint32_t i = 2; i < path->count; i++)
            if (path->shares[i].ns < path->shares[smallest].ns) smallest = i;
        path->shares[0].ns += path->shares[smallest].ns;
        path->shares[smallest] = path->shares[--path->count];
    }
}

/* Adds to the share of a node of this process. */
static void tt_path_add(tt_recorder *recorder, tt_path *path, tt_ref node_ref, uint64_t ns)
{
    if (!ns) return;
    tt_node *node = tt_node_at(recorder, node_ref);
    uint32_t i = node->path_hint;
    if (!i || i >= path->count || !tt_share_is(recorder, &path->shares[i], node_ref)) {
        for (i = 1; i < path->count && !tt_share_is(recorder, &path->shares[i], node_ref);) i++;
        if (i == TT_SHARES) {
            tt_path_fold(path);
            i = path->count;
        }
        if (i == path->count) {
            const tt_header *header = recorder->header;
            path->shares[path->count++] = (tt_share){.start = header->process_start, .pid = (uint32_t)header->pid,
                                                     .incarnation = header->incarnation, .node = node_ref};
        }
        node->path_hint = i;
    }
    path->shares[i].ns += ns;
}

static void tt_growth_note(tt_recorder *recorder, uint32_t *count, tt_ref node, uint64_t ticks)
{
    tt_growth *growths = tt_grown(recorder->growths, *count, &recorder->growth_room, 256, sizeof *growths);
    if (!growths) return; /* its time then counts as the root's: outside sections */
    recorder->growths = growths;
    recorder->growths[(*count)++] = (tt_growth){node, ticks};
}

/* Adds the self time of an open call to its node's `running`, and marks the nodes above it for the visit. */
static void tt_running_note(tt_recorder *recorder, const tt_frame *frame, tt_ref tree, uint64_t now)
{
    tt_node *node = frame->node ? tt_node_at(recorder, frame->node) : NULL;
    if (!node || node->tree != tree || node->flags & TT_NODE_ROOT) return;
    uint64_t until = frame->active ? frame->cover_start : now;
    uint64_t passed = until > frame->start ? until - frame->start : 0;
    node->running += (node->running ? 0 : 1) + (passed > frame->covered ? passed - frame->covered : 0);
    for (node = tt_node_at(recorder, node->parent); !(node->flags & TT_NODE_ROOT) && !node->running;
         node = tt_node_at(recorder, node->parent))
        node->running = 1;
}

/* Marks a node; returns whether anything has happened in it since its last mark. */
static int tt_node_mark(tt_recorder *recorder, tt_node *node, uint32_t *count)
{
    int64_t self_ticks = node->own + (node->running ? (int64_t)node->running - 1 : 0);
    if (!node->running && self_ticks == node->marked_own && node->stats.count == node->marked_count) return 0;
    if (self_ticks > node->marked_own && !(node->flags & TT_NODE_NS))
        tt_growth_note(recorder, count, tt_ref_of(recorder, node), (uint64_t)(self_ticks - node->marked_own));
    node->marked_own = self_ticks;
    node->marked_count = node->stats.count;
    node->running = 0;
    return 1;
}

/* Marks a thread's tree and lists the nodes that have grown; returns how many. Skips the nodes below one in which
 * nothing happened, so the cost depends on the nodes in use, not on the size of the tree. */
static uint32_t tt_tree_mark(tt_recorder *recorder, tt_thread *thread, tt_ref tree, uint64_t now)
{
    uint32_t count = 0;
    tt_ref root = ((tt_tree *)tt_at(recorder, tree))->root, ref = tt_node_at(recorder, root)->first_child;
    for (const tt_stack *stack = &thread->base; stack; stack = tt_stack_after(thread, stack))
        for (tt_frame *frame = stack->top; frame; frame = tt_below(frame))
            tt_running_note(recorder, frame, tree, now);
    while (ref) {
        tt_node *node = tt_node_at(recorder, ref);
        if (tt_node_mark(recorder, node, &count) && node->first_child) {
            ref = node->first_child;
            continue;
        }
        while (!node->sibling && node->parent != root) node = tt_node_at(recorder, node->parent);
        ref = node->sibling;
    }
    return count;
}

/* Distributes the time since the last mark: each node gets its growth, and the root, which is outside of sections, gets
 * the rest. Concurrent tasks on one thread have grown more than the thread: they share its time in proportion. */
static void tt_path_share_out(tt_recorder *recorder, tt_path *path, uint32_t growth_count, tt_moment now)
{
    uint64_t remaining = now.ns > path->mark_ns ? now.ns - path->mark_ns : 0, passed = remaining, sum = 0;
    for (uint32_t i = 0; i < growth_count; i++) sum += recorder->growths[i].ticks;
    uint64_t ticks = now.ticks > path->mark_ticks ? now.ticks - path->mark_ticks : 0;
    if (sum > ticks) ticks = sum;
    for (uint32_t i = 0; i < growth_count; i++) {
        uint64_t ns = (uint64_t)((unsigned __int128)recorder->growths[i].ticks * passed / ticks);
        tt_path_add(recorder, path, recorder->growths[i].node, ns);
        remaining -= ns;
    }
    tt_path_add(recorder, path, ((tt_tree *)tt_at(recorder, path->tree))->root, remaining);
}

/* Sets the moment of path and marks. Time never runs backwards, though the clocks of two cores may differ slightly. */
static void tt_path_set(tt_path *path, tt_moment now)
{
    path->mark_ticks = now.ticks;
    if (now.ns > path->mark_ns) path->mark_ns = now.ns;
}

/* The path of a thread, created if needed; NULL: no memory. A new path has only the marks of its tree: all earlier time
 * counts as its root's. */
static tt_path *tt_path_of(tt_recorder *recorder, tt_thread *thread)
{
    if (TT_LIKELY(thread->path != NULL)) return thread->path;
    tt_tree *tree = tt_at(recorder, thread->slot->tree);
    if (tree->path) return thread->path = tt_at(recorder, tree->path);
    tt_path *path = tt_allocate(recorder, sizeof *path);
    if (!path) return NULL;
    path->tree = thread->slot->tree;
    path->count = 1;
    path->mark_ticks = recorder->header->first.ticks;
    tt_moment first = {path->mark_ticks, recorder->header->first.monotonic_ns - recorder->header->run_began_ns};
    tt_path_add(recorder, path, tree->root, first.ns);
    tt_path_set(path, first);
    tt_link(recorder, &tree->path, path);
    return thread->path = path;
}

/* Brings a thread's path up to now. NULL: there is none. */
static tt_path *tt_path_update(tt_recorder *recorder, tt_thread *thread, tt_moment now)
{
    tt_path *path = tt_path_of(recorder, thread);
    if (!path) return NULL;
    tt_write_begin(&path->sequence);
    uint32_t growth_count = tt_tree_mark(recorder, thread, path->tree, now.ticks);
    tt_path_share_out(recorder, path, growth_count, now);
    tt_path_set(path, now);
    tt_write_end(&path->sequence);
    return path;
}

static void tt_path_take(const tt_path *path, tt_snapshot *snapshot)
{
    snapshot->at_ns = path->mark_ns;
    snapshot->count = path->count;
    memcpy(snapshot->shares, path->shares, path->count * sizeof *path->shares);
}

/* Replaces the thread's path by another one, `from`, plus the time since then at `node`. Marks are those of `tree`,
 * which the thread writes next. `from` NULL: the past is unknown, and all of it counts as `node`'s. */
static void tt_path_switch(tt_recorder *recorder, tt_thread *thread, const tt_snapshot *from, tt_ref tree, tt_ref node,
                           tt_moment now)
{
    tt_path *path = tt_path_of(recorder, thread);
    if (!path) return;
    tt_write_begin(&path->sequence);
    path->tree = tree;
    tt_tree_mark(recorder, thread, tree, now.ticks);
    path->shares[0] = (tt_share){0};
    path->count = 1;
    uint64_t known_ns = 0;
    if (from && from->count && from->at_ns <= now.ns) {
        memcpy(path->shares, from->shares, from->count * sizeof *path->shares);
        path->count = from->count;
        known_ns = from->at_ns;
    }
    path->mark_ns = 0;
    tt_path_set(path, now);
    tt_path_add(recorder, path, node, now.ns - known_ns);
    tt_write_end(&path->sequence);
}

/* A thread begins: with its starter's path, and with new marks if it adopts a tree. */
static void tt_path_begin(tt_recorder *recorder, tt_thread *thread, const tt_snapshot *from)
{
    const tt_tree_slot *slot = thread->slot;
    if (!from && !((tt_tree *)tt_at(recorder, slot->tree))->adoptions) return; /* created when needed */
    tt_path_switch(recorder, thread, from, slot->tree, slot->root, tt_moment_now(recorder));
}

/* The thread now writes another tree: its path continues there. The path of a submitted call continues from the
 * submitting thread, if the submission came after the thread's last record: then the thread was waiting for this
 * call. */
static void tt_path_move(tt_recorder *recorder, tt_thread *thread, const tt_tree_slot *to, const tt_snapshot *submitted)
{
    static tt_snapshot own_path; /* scratch; the GIL is held */
    tt_path *path = tt_path_of(recorder, thread);
    if (!path) return;
    uint64_t last_mark_ns = path->mark_ns;
    tt_moment now = tt_moment_now(recorder);
    tt_path_update(recorder, thread, now);
    tt_path_take(path, &own_path);
    int is_newer = submitted && submitted->at_ns > last_mark_ns;
    tt_path_switch(recorder, thread, is_newer ? submitted : &own_path, to->tree, to->root, now);
}

/* Captures the path that led to an origin, from which the path of a thread or submitted call continues. */
static void tt_origin_capture_path(tt_recorder *recorder, tt_origin *origin)
{
    if (!origin->thread) return;
    tt_path *path = tt_path_update(recorder, origin->thread, tt_moment_now(recorder));
    /* No larger than its shares: a program may have a hundred thousand submitted calls waiting. */
    if (path) origin->path = malloc(offsetof(tt_snapshot, shares) + path->count * sizeof *path->shares);
    if (path && origin->path) tt_path_take(path, origin->path);
}

/* In the parent, before it forks: stores the path from which the child continues. */
static void tt_path_before_fork(tt_recorder *recorder, tt_thread *thread)
{
    tt_path *path = thread ? tt_path_update(recorder, thread, tt_moment_now(recorder)) : NULL;
    if (!recorder->fork_path) recorder->fork_path = calloc(1, sizeof *recorder->fork_path);
    if (!recorder->fork_path) return;
    recorder->fork_path->count = 0;
    if (path) tt_path_take(path, recorder->fork_path);
}

/* In a forked child, once it has its own file: its path continues that of the thread that forked. */
static void tt_path_of_fork(tt_recorder *recorder)
{
    tt_thread *thread = recorder->fork_path && recorder->fork_path->count ? tt_thread_here(recorder) : NULL;
    if (thread) tt_path_begin(recorder, thread, recorder->fork_path);
}

/* Discards all paths: until now all time counts as spent outside of sections. */
static void tt_paths_reset(tt_recorder *recorder)
{
    tt_node *node = tt_at_or_null(recorder, recorder->header->nodes);
    for (; node; node = tt_at_or_null(recorder, node->next)) {
        node->marked_own = 0;
        node->marked_count = node->running = 0;
    }
    tt_moment now = tt_moment_now(recorder);
    for (tt_thread *thread = recorder->threads; thread; thread = thread->next) {
        if (!thread->path) continue;
        tt_path_switch(recorder, thread, NULL, thread->path->tree, thread->slot->root, now);
        thread->path->signals = thread->path->unblocks = 0;
    }
}

#endif
