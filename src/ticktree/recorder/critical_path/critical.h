/* Critical paths, found while the program runs.
 *
 * Every thread carries a bounded account of how the time since the run began was spent along the chain of events that
 * led to its now. While it works, its own sections are added; when it was blocked and another thread's signal woke
 * it, the account becomes the signaller's, as it was when it signalled, and what passed from there on. So at any
 * moment the account of a thread is the path that set how late it is: nothing but a shorter path makes it earlier.
 * This is Hollingsworth's method of piggybacking the path's profile on the messages (J. K. Hollingsworth, "Critical
 * path profiling of message passing and shared-memory programs", IEEE Transactions on Parallel and Distributed Systems
 * 9(10), 1998): no trace is kept, and memory does not grow with the run.
 *
 * Sections do nothing for it. A node keeps a mark: its self time when the path was last brought up to date. That is done
 * where something is signalled, unblocked, started or ended, by looking at the nodes that have grown since.
 */
#ifndef TICKTREE_CRITICAL_H
#define TICKTREE_CRITICAL_H

#include "core/hot.h"

#include <stdlib.h>

#define TT_FOLD (TT_SHARES / 4) /* places given up at a time: a new one gets time to grow before the next are */

typedef struct {
    uint64_t ticks;
    uint64_t ns; /* since the run began; by CLOCK_MONOTONIC itself, which all processes read alike */
} tt_moment;

/* What one node has grown since a path was last brought up to date. */
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

/* Gives up the smallest places: their time is added to that of all such places. */
static void tt_path_fold(tt_path *path)
{
    for (unsigned times = 0; times < TT_FOLD; times++) {
        uint32_t least = 1;
        for (uint32_t at = 2; at < path->count; at++)
            if (path->shares[at].ns < path->shares[least].ns) least = at;
        path->shares[0].ns += path->shares[least].ns;
        path->shares[least] = path->shares[--path->count];
    }
}

/* Adds to the share of a node of this process. */
static void tt_path_add(tt_recorder *recorder, tt_path *path, tt_ref node_ref, uint64_t ns)
{
    if (!ns) return;
    tt_node *node = tt_node_at(recorder, node_ref);
    uint32_t at = node->path_hint;
    if (!at || at >= path->count || !tt_share_is(recorder, &path->shares[at], node_ref)) {
        for (at = 1; at < path->count && !tt_share_is(recorder, &path->shares[at], node_ref);) at++;
        if (at == TT_SHARES) {
            tt_path_fold(path);
            at = path->count;
        }
        if (at == path->count) {
            const tt_header *header = recorder->header;
            path->shares[path->count++] = (tt_share){.start = header->process_start, .pid = (uint32_t)header->pid,
                                                     .incarnation = header->incarnation, .node = node_ref};
        }
        node->path_hint = at;
    }
    path->shares[at].ns += ns;
}

static void tt_growth_note(tt_recorder *recorder, uint32_t *count, tt_ref node, uint64_t ticks)
{
    tt_growth *growths = tt_grown(recorder->growths, *count, &recorder->growth_room, 256, sizeof *growths);
    if (!growths) return; /* it then counts as its root's: outside sections */
    recorder->growths = growths;
    recorder->growths[(*count)++] = (tt_growth){node, ticks};
}

/* Notes in its node how long an open call has been running by itself, and in those above that they are to be visited. */
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

static void tt_running_notes(tt_recorder *recorder, tt_thread *thread, tt_ref tree, uint64_t now)
{
    const tt_stack *stack = &thread->base;
    for (; stack; stack = tt_stack_after(thread, stack))
        for (tt_frame *frame = stack->top; frame; frame = tt_below(frame))
            tt_running_note(recorder, frame, tree, now);
}

/* Marks a node; true where anything has happened in it since its last mark. */
static int tt_node_mark(tt_recorder *recorder, tt_node *node, uint32_t *count)
{
    int64_t own = node->own + (node->running ? (int64_t)node->running - 1 : 0);
    if (!node->running && own == node->marked_own && node->stats.count == node->marked_count) return 0;
    if (own > node->marked_own && !(node->flags & TT_NODE_NS))
        tt_growth_note(recorder, count, tt_ref_of(recorder, node), (uint64_t)(own - node->marked_own));
    node->marked_own = own;
    node->marked_count = node->stats.count;
    node->running = 0;
    return 1;
}

/* Marks a thread's tree and notes what has grown; returns how many nodes have. Below a node in which nothing happened
 * nothing did, so that the cost is that of what is in use, not of the whole tree. */
static uint32_t tt_tree_mark(tt_recorder *recorder, tt_thread *thread, tt_ref tree, uint64_t now)
{
    uint32_t count = 0;
    tt_ref root = ((tt_tree *)tt_at(recorder, tree))->root, at = tt_node_at(recorder, root)->first_child;
    tt_running_notes(recorder, thread, tree, now);
    while (at) {
        tt_node *node = tt_node_at(recorder, at);
        if (tt_node_mark(recorder, node, &count) && node->first_child) {
            at = node->first_child;
            continue;
        }
        while (!node->sibling && node->parent != root) node = tt_node_at(recorder, node->parent);
        at = node->sibling;
    }
    return count;
}

/* Shares out the time since the last mark: to each node what it has grown, the rest to the root, which is outside of
 * sections. Tasks that were open side by side on one thread have grown more than it has: they get it in proportion. */
static void tt_path_share_out(tt_recorder *recorder, tt_path *path, uint32_t grown, tt_moment now)
{
    uint64_t left = now.ns > path->mark_ns ? now.ns - path->mark_ns : 0, passed = left, sum = 0;
    for (uint32_t at = 0; at < grown; at++) sum += recorder->growths[at].ticks;
    uint64_t ticks = now.ticks > path->mark_ticks ? now.ticks - path->mark_ticks : 0;
    if (sum > ticks) ticks = sum;
    for (uint32_t at = 0; at < grown; at++) {
        uint64_t ns = (uint64_t)((unsigned __int128)recorder->growths[at].ticks * passed / ticks);
        tt_path_add(recorder, path, recorder->growths[at].node, ns);
        left -= ns;
    }
    tt_path_add(recorder, path, ((tt_tree *)tt_at(recorder, path->tree))->root, left);
}

/* Sets the moment that path and marks are of. Time never runs back, though two cores' clocks may be a hair apart. */
static void tt_path_set(tt_path *path, tt_moment now)
{
    path->mark_ticks = now.ticks;
    if (now.ns > path->mark_ns) path->mark_ns = now.ns;
}

/* The path of a thread, made at need; NULL where there is no memory. A new one knows nothing but the marks of its tree:
 * all that was before is its root's. */
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
    uint32_t grown = tt_tree_mark(recorder, thread, path->tree, now.ticks);
    tt_path_share_out(recorder, path, grown, now);
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

/* From now on the thread's path is another's, as it was then, and what passed since, at `node`. Marks are of `tree`: the
 * one that the thread writes from here on. `from` NULL: nothing is known of what was before, and all of it is `node`'s. */
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
    uint64_t known = 0;
    if (from && from->count && from->at_ns <= now.ns) {
        memcpy(path->shares, from->shares, from->count * sizeof *path->shares);
        path->count = from->count;
        known = from->at_ns;
    }
    path->mark_ns = 0;
    tt_path_set(path, now);
    tt_path_add(recorder, path, node, now.ns - known);
    tt_write_end(&path->sequence);
}

/* A thread begins: with its starter's path, and new marks in a tree that another thread has left. */
static void tt_path_begin(tt_recorder *recorder, tt_thread *thread, const tt_snapshot *from)
{
    const tt_tree_slot *slot = thread->slot;
    if (!from && !((tt_tree *)tt_at(recorder, slot->tree))->adoptions) return; /* made at need */
    tt_path_switch(recorder, thread, from, slot->tree, slot->root, tt_moment_now(recorder));
}

/* The thread now writes another tree: its path continues in it. That of a submitted call continues from the thread that submitted
 * it, if that was after the thread last recorded: then it is the call that it was waiting for. */
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

/* The path that led to an origin: for threads and submitted calls, whose own path continues from it. */
static void tt_origin_capture_path(tt_recorder *recorder, tt_origin *origin)
{
    if (!origin->thread) return;
    tt_path *path = tt_path_update(recorder, origin->thread, tt_moment_now(recorder));
    /* Only as long as what it holds: a program may have a hundred thousand submitted calls waiting. */
    if (path) origin->path = malloc(offsetof(tt_snapshot, shares) + path->count * sizeof *path->shares);
    if (path && origin->path) tt_path_take(path, origin->path);
}

/* In the parent, before it forks: the child continues from here, and does not learn what we do meanwhile. */
static void tt_path_before_fork(tt_recorder *recorder, tt_thread *thread)
{
    tt_path *path = thread ? tt_path_update(recorder, thread, tt_moment_now(recorder)) : NULL;
    if (!recorder->forked_from) recorder->forked_from = calloc(1, sizeof *recorder->forked_from);
    if (!recorder->forked_from) return;
    recorder->forked_from->count = 0;
    if (path) tt_path_take(path, recorder->forked_from);
}

/* In a forked child, once it has its own file: its path is that of the thread that forked. */
static void tt_path_of_fork(tt_recorder *recorder)
{
    tt_thread *thread = recorder->forked_from && recorder->forked_from->count ? tt_thread_here(recorder) : NULL;
    if (thread) tt_path_begin(recorder, thread, recorder->forked_from);
}

/* Everything is forgotten: until now all time was spent outside of what is recorded. */
static void tt_paths_reset(tt_recorder *recorder)
{
    for (tt_ref ref = recorder->header->nodes; ref; ref = tt_node_at(recorder, ref)->next) {
        tt_node *node = tt_node_at(recorder, ref);
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
