/* Wake edges: what a wait was for, filed under the node that waited. */
#ifndef TICKTREE_EDGE_H
#define TICKTREE_EDGE_H

#include "channel.h"

/* -- edges ---------------------------------------------------------------------------------------------------------- */

static int tt_edge_is(const tt_edge *edge, tt_ref node, tt_ref channel, const tt_message *from)
{
    return edge->node == node && edge->channel == channel && edge->by_node == from->node && edge->pid == from->pid &&
           edge->start == from->start && edge->incarnation == from->incarnation;
}

static tt_edge *tt_edge_make(tt_recorder *recorder, tt_ref node, tt_ref channel, const tt_message *from)
{
    tt_header *header = recorder->header;
    tt_edge *edge = header->edge_count < TT_EDGE_CAP ? tt_allocate(recorder, sizeof *edge) : NULL;
    if (!edge) return NULL;
    edge->node = node;
    edge->channel = channel;
    edge->start = from->start;
    edge->pid = from->pid;
    edge->incarnation = from->incarnation;
    edge->by_node = from->node;
    edge->next = header->edges;
    tt_link(recorder, &header->edges, edge);
    header->edge_count++;
    return edge;
}

/* The edge of these, made at need; NULL past the cap. */
static tt_edge *tt_edge_find(tt_recorder *recorder, tt_ref node, tt_ref channel, const tt_message *from)
{
    uint64_t source[4] = {from->start, (uint64_t)from->pid << 32 | from->incarnation, (uint64_t)node << 32 | channel,
                       from->node};
    uint64_t key = tt_hash_end(tt_hash(TT_HASH_BEGIN, source, sizeof source)), ref;
    for (uint32_t at = 0; (ref = tt_map_next(&recorder->edges, key, &at));)
        if (tt_edge_is(tt_at(recorder, (tt_ref)ref), node, channel, from)) return tt_at(recorder, (tt_ref)ref);
    if (!channel || !tt_map_reserve(&recorder->edges)) return NULL;
    tt_edge *edge = tt_edge_make(recorder, node, channel, from);
    if (edge) tt_map_add(&recorder->edges, key, tt_ref_of(recorder, edge));
    return edge;
}

static void tt_edge_count(tt_recorder *recorder, tt_ref node, tt_ref channel, const tt_message *from, uint64_t waited_ns,
                          uint64_t handover_ns)
{
    tt_edge *edge = tt_edge_find(recorder, node, channel, from);
    if (!edge) {
        tt_lose(recorder, TT_LOSS_EDGES);
        return;
    }
    tt_write_begin(&edge->sequence);
    edge->count++;
    edge->waited_ns += waited_ns;
    edge->handover_ns += handover_ns;
    tt_write_end(&edge->sequence);
}

static void tt_edges_reset(tt_recorder *recorder)
{
    for (tt_ref ref = recorder->header->edges; ref;) {
        tt_edge *edge = tt_at(recorder, ref);
        tt_write_begin(&edge->sequence);
        edge->count = edge->waited_ns = edge->handover_ns = 0;
        tt_write_end(&edge->sequence);
        ref = edge->next;
    }
}

/* -- signals -------------------------------------------------------------------------------------------------------- */

static tt_ref tt_open_node(const tt_stack *stack, const tt_frame *frame)
{
    if (!frame) frame = tt_bottom_parent(stack);
    return frame ? tt_home_of(frame) : stack->parent.home;
}

/* Leaves the signal for the thread that waits for `key`. `around`: the innermost open frame. */
static void tt_signal_from(tt_recorder *recorder, const tt_stack *stack, const tt_frame *around, tt_channels *channels,
                           uint64_t key, tt_moment now)
{
    tt_path *path = tt_path_update(recorder, stack->thread, now);
    if (path) {
        path->signals++;
        now.ns = path->mark_ns;
    }
    if (!channels || !tt_channel_put(recorder, channels, key, tt_open_node(stack, around), path, now.ns))
        tt_lose(recorder, TT_LOSS_SIGNALS);
}

static void tt_signal(tt_recorder *recorder, tt_channels *channels, uint64_t key)
{
    tt_here here;
    tt_experiment_pay(recorder);
    if (!tt_arrive(recorder, &here)) return;
    tt_frame *around = tt_frame_around(recorder, here.stack, here.pyframe);
    tt_signal_from(recorder, here.stack, around, channels, key, tt_moment_now(recorder));
    tt_stack_rest(here.stack);
}

/* The wait that ends: the innermost open one, failing that the innermost open section. */
static tt_frame *tt_waiting_frame(const tt_recorder *recorder, tt_frame *around)
{
    for (tt_frame *frame = around; frame; frame = tt_parent_frame(recorder, frame))
        if (frame->node && tt_node_at(recorder, frame->node)->flags & TT_NODE_WAIT) return frame;
    return tt_frame_recorded(recorder, around);
}

/* Since when a wait lasts, in nanoseconds since the run began. One that was woken before, and continues, began then. */
static uint64_t tt_waiting_since(const tt_recorder *recorder, const tt_thread *thread, uint64_t serial, uint64_t began,
                                 tt_moment now)
{
    uint64_t ns = tt_ticks_to_ns(recorder, now.ticks > began ? now.ticks - began : 0);
    uint64_t since = now.ns > ns ? now.ns - ns : 0;
    return thread->unblocked_serial == serial && thread->unblocked_ns > since ? thread->unblocked_ns : since;
}

/* The wait for `channel` is over. `began` is when it began where no section says so; `channel` 0: no edge is filed. */
static void tt_unblock(tt_recorder *recorder, tt_stack *stack, tt_frame *waiting, uint64_t began, tt_ref channel,
                       const tt_message *from, tt_moment now)
{
    tt_thread *thread = stack->thread;
    if (from->path.at_ns > now.ns) now = tt_moment_now(recorder); /* it came while we looked */
    uint64_t serial = waiting ? waiting->serial : 0, at_ns = from->path.at_ns;
    tt_ref node = tt_open_node(stack, waiting);
    uint64_t since = tt_waiting_since(recorder, thread, serial, waiting ? waiting->start : began, now);
    int blocked = at_ns > since && at_ns <= now.ns;
    if (channel) tt_edge_count(recorder, node, channel, from, blocked ? now.ns - since : 0, blocked ? now.ns - at_ns : 0);
    if (!blocked) return;
    tt_experiment_woken(recorder, serial, from->paid_ns);
    thread->unblocked_ns = now.ns;
    thread->unblocked_serial = serial;
    tt_path *path = tt_path_of(recorder, thread);
    /* Where the thread itself signalled, or was unblocked, after that, it was not this that it waited for last. */
    if (!path || !from->path.count || at_ns <= path->mark_ns) return;
    path->unblocks++;
    tt_path_switch(recorder, thread, &from->path, path->tree, node, now);
}

/* What the last signal of `key` was; counts it as a loss where that is not known. */
static int tt_ask(tt_recorder *recorder, tt_channels *channels, uint64_t key, tt_moment now, tt_message *message)
{
    enum tt_answer answer = channels ? tt_channel_get(recorder, channels, key, now.ns, message) : TT_ANSWER_NONE;
    if (answer == TT_ANSWER_BUSY) tt_lose(recorder, TT_LOSS_SIGNALS);
    return answer == TT_ANSWER_FOUND;
}

static void tt_unblocked(tt_recorder *recorder, tt_channels *channels, uint64_t key, uint32_t name_id)
{
    if (!recorder->recording) return;
    tt_message message;
    tt_moment now = tt_moment_now(recorder);
    if (!tt_ask(recorder, channels, key, now, &message)) return;
    tt_here here;
    if (!tt_arrive(recorder, &here)) return;
    tt_frame *waiting = tt_waiting_frame(recorder, tt_frame_around(recorder, here.stack, here.pyframe));
    tt_ref channel = name_id == TT_NAMELESS ? 0 : tt_name_ref(recorder, name_id);
    if (!channel) tt_lose(recorder, TT_LOSS_EDGES);
    tt_unblock(recorder, here.stack, waiting, 0, channel, &message, now);
    tt_stack_rest(here.stack);
}

/* The main thread of a new process continues from a signal of its parent: all since is its start. */
static void tt_start_from(tt_recorder *recorder, tt_channels *channels, uint64_t key)
{
    if (!recorder->recording) return;
    tt_message message;
    tt_moment now = tt_moment_now(recorder);
    if (!tt_ask(recorder, channels, key, now, &message) || !message.path.count) return;
    tt_thread *thread = tt_thread_here(recorder);
    if (!thread || (thread->path && thread->path->unblocks)) return;
    tt_path_switch(recorder, thread, &message.path, thread->slot->tree, thread->slot->root, now);
}

/* -- waits that are recorded from outside ---------------------------------------------------------------------------- */

/* Whether the running thread has been in a section. Of one that has not, it is not known what it worked at and what it
 * waited for (a pool's handlers wait in C), and its path would tell all of that as its work. */
static int tt_thread_tells(const tt_recorder *recorder)
{
    const tt_thread *thread = tt_thread_known(recorder);
    return thread && tt_node_at(recorder, thread->slot->root)->first_child;
}

/* Whether the waits and signals of this thread are a library's own: another thread records the signals for it. */
static __thread int tt_silent;

/* Whether the waits of this thread are not recorded: a recorded wait contains them, or they are a library's own. */
static int tt_ignores_waits(const tt_recorder *recorder)
{
    const tt_thread *thread = recorder->forked ? NULL : tt_thread_known(recorder);
    return tt_silent || (thread && thread->wait_depth);
}

/* A call that may block begins. It is an own row inside an open section, or on the main thread, but not inside
 * another wait; it has no call site, since the caller is mostly the library itself. `by_others`: another thread may
 * end it. `channels`: where a signal of `key` is left first, since who gets it may continue before the call returns;
 * NULL: none. */
typedef struct {
    uint64_t since; /* its call's serial if it has a row, else when it began */
    int counts, row;
} tt_wait;

static tt_wait tt_wait_enter(tt_section *section, int by_others, tt_channels *channels, uint64_t key)
{
    tt_recorder *recorder = section->recorder;
    tt_wait wait = {0, 0, 0};
    if (!recorder->recording || tt_silent) return wait;
    tt_thread *thread = recorder->forked ? NULL : tt_thread_known(recorder);
    if (thread && thread->wait_depth) return wait;
    tt_experiment_pay(recorder);
    if (by_others) tt_experiment_away(recorder);
    wait.counts = 1;
    tt_moment now = channels ? tt_moment_now(recorder) : (tt_moment){.ticks = tt_now(recorder)};
    wait.since = now.ticks;
    /* A helper's: known once another thread woke it, or it signals. */
    if (!thread && !recorder->forked && !channels) return wait;
    tt_here here = {.now = wait.since};
    if (!tt_arrive(recorder, &here)) return wait;
    here.stack->thread->wait_depth++;
    tt_frame *around = tt_frame_around(recorder, here.stack, here.pyframe);
    if (channels) tt_signal_from(recorder, here.stack, around, channels, key, now);
    int is_main = here.stack->thread->base.parent.frame != NULL;
    if (around ? around->flags & TT_FRAME_WAITING || !around->node : !is_main) {
        tt_stack_rest(here.stack);
        return wait;
    }
    tt_frame *frame = tt_push(recorder, &here, around, section, TT_FRAME_CALL);
    if (!frame) return wait;
    wait.row = 1;
    wait.since = frame->serial;
    return wait;
}

/* Whether the innermost open section of the running code is a tick: what sleeps here lets time pass between two ticks' work. */
static int tt_is_in_tick(tt_recorder *recorder)
{
    if (!recorder->recording || recorder->forked || tt_silent) return 0;
    tt_thread *thread = tt_thread_known(recorder);
    tt_here here = {.now = 0};
    if (!thread || thread->wait_depth || !tt_arrive(recorder, &here)) return 0;
    tt_frame *around = tt_frame_around(recorder, here.stack, here.pyframe);
    int is_tick = around && around->node && around->flags & TT_FRAME_TICK && !(around->flags & TT_FRAME_WAITING);
    tt_stack_rest(here.stack);
    return is_tick;
}

static tt_frame *tt_frame_by_serial(const tt_stack *stack, uint64_t serial)
{
    tt_frame *frame = stack->top;
    while (frame && frame->serial != serial) frame = tt_below(frame);
    return frame;
}

/* A wait ends; `channels` NULL: without a signal, since what was waited for did not come. */
static void tt_wait_leave(tt_section *section, tt_wait wait, tt_channels *channels, uint64_t key, uint32_t name_id)
{
    tt_recorder *recorder = section->recorder;
    tt_thread *thread = tt_thread_known(recorder);
    if (thread && thread->wait_depth) thread->wait_depth--;
    tt_experiment_back(recorder);
    if (!recorder->recording) return;
    tt_message message;
    tt_moment now = channels ? tt_moment_now(recorder) : (tt_moment){0, 0};
    int found = channels && tt_ask(recorder, channels, key, now, &message);
    if (!found && !wait.row) return;
    tt_here here;
    if (!tt_arrive(recorder, &here)) return;
    tt_frame *frame = wait.row ? tt_frame_by_serial(here.stack, wait.since) : NULL;
    if (found) {
        tt_frame *waiting = frame;
        if (!waiting) waiting = tt_waiting_frame(recorder, tt_frame_around(recorder, here.stack, here.pyframe));
        tt_ref channel = waiting && name_id != TT_NAMELESS ? tt_name_ref(recorder, name_id) : 0;
        tt_unblock(recorder, here.stack, waiting, wait.row ? now.ticks : wait.since, channel, &message, now);
    }
    if (frame) tt_end(recorder, here.stack, frame, here.pyframe, tt_now(recorder), TT_COMPLETE);
    tt_stack_rest(here.stack);
}

/* The recorder is gone. */
static void tt_signals_end(tt_recorder *recorder)
{
    free(recorder->growths);
    free(recorder->forked_from);
    tt_channels_close(recorder->shared);
    tt_channels_close(recorder->own);
}

#endif
