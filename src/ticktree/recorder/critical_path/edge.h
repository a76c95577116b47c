/* Wake edges: who ended a wait, recorded at the node that waited. */
#ifndef TICKTREE_EDGE_H
#define TICKTREE_EDGE_H

#include "channel.h"

/* -- edges --------------------------------------------------------------------------------------------------------- */

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
    *edge = (tt_edge){.node = node, .channel = channel, .start = from->start, .pid = from->pid,
                      .incarnation = from->incarnation, .by_node = from->node};
    TT_PREPEND(recorder, &header->edges, edge);
    header->edge_count++;
    return edge;
}

/* The edge of this node, channel and signaller, created if needed; NULL: past the cap. */
static tt_edge *tt_edge_find(tt_recorder *recorder, tt_ref node, tt_ref channel, const tt_message *from)
{
    uint64_t source[4] = {from->start, (uint64_t)from->pid << 32 | from->incarnation, (uint64_t)node << 32 | channel,
                       from->node};
    uint64_t key = tt_hash_end(tt_hash(TT_HASH_BEGIN, source, sizeof source)), ref;
    for (uint32_t step = 0; (ref = tt_map_next(&recorder->edges, key, &step));)
        if (tt_edge_is(tt_at(recorder, (tt_ref)ref), node, channel, from)) return tt_at(recorder, (tt_ref)ref);
    if (!channel || !tt_map_reserve(&recorder->edges)) return NULL;
    tt_edge *edge = tt_edge_make(recorder, node, channel, from);
    if (edge) tt_map_add(&recorder->edges, key, tt_ref_of(recorder, edge));
    return edge;
}

static void tt_edge_count(tt_recorder *recorder, tt_ref node, tt_ref channel, const tt_message *from, uint64_t waited_ns,
                          uint64_t latency_ns)
{
    tt_edge *edge = tt_edge_find(recorder, node, channel, from);
    if (!edge) {
        tt_lose(recorder, TT_LOSS_EDGES);
        return;
    }
    tt_write_begin(&edge->sequence);
    edge->count++;
    edge->waited_ns += waited_ns;
    edge->latency_ns += latency_ns;
    tt_write_end(&edge->sequence);
}

static void tt_edges_reset(tt_recorder *recorder)
{
    tt_edge *edge = tt_at_or_null(recorder, recorder->header->edges);
    for (; edge; edge = tt_at_or_null(recorder, edge->next)) {
        tt_write_begin(&edge->sequence);
        edge->count = edge->waited_ns = edge->latency_ns = 0;
        tt_write_end(&edge->sequence);
    }
}

/* -- signals ------------------------------------------------------------------------------------------------------- */

static tt_ref tt_open_node(const tt_stack *stack, const tt_frame *frame)
{
    if (!frame) frame = tt_bottom_parent(stack);
    return frame ? tt_home_of(frame) : stack->parent.home;
}

/* Leaves the signal for the thread that waits for `key`. `frame`: the innermost open frame. */
static void tt_signal_from(tt_recorder *recorder, const tt_stack *stack, const tt_frame *frame, tt_channels *channels,
                           uint64_t key, tt_moment now)
{
    tt_path *path = tt_path_update(recorder, stack->thread, now);
    if (path) {
        path->signals++;
        now.ns = path->mark_ns;
    }
    if (!channels || !tt_channel_put(recorder, channels, key, tt_open_node(stack, frame), path, now.ns))
        tt_lose(recorder, TT_LOSS_SIGNALS);
}

static void tt_signal(tt_recorder *recorder, tt_channels *channels, uint64_t key)
{
    tt_here here;
    tt_experiment_pay(recorder);
    if (!tt_arrive(recorder, &here)) return;
    tt_frame *parent = tt_frame_around(recorder, here.stack, here.pyframe);
    tt_signal_from(recorder, here.stack, parent, channels, key, tt_moment_now(recorder));
    tt_stack_rest(here.stack);
}

/* The wait that ends: the innermost open one, or else the innermost open section. */
static tt_frame *tt_waiting_frame(const tt_recorder *recorder, tt_frame *innermost)
{
    for (tt_frame *frame = innermost; frame; frame = tt_parent_frame(recorder, frame))
        if (frame->node && tt_node_at(recorder, frame->node)->flags & TT_NODE_WAIT) return frame;
    return tt_frame_with_node(recorder, innermost);
}

/* When a wait began, in nanoseconds since the run began. A wait that was woken before, and continues, began at that
 * moment. */
static uint64_t tt_waiting_since(const tt_recorder *recorder, const tt_thread *thread, uint64_t serial, uint64_t began,
                                 tt_moment now)
{
    uint64_t ns = tt_ticks_to_ns(recorder, now.ticks > began ? now.ticks - began : 0);
    uint64_t since_ns = now.ns > ns ? now.ns - ns : 0;
    return thread->unblocked_serial == serial && thread->unblocked_ns > since_ns ? thread->unblocked_ns : since_ns;
}

/* The wait for `channel` is over. `began`: its start, if it has no section; `channel` 0: record no edge. */
static void tt_unblock(tt_recorder *recorder, tt_stack *stack, tt_frame *waiting, uint64_t began, tt_ref channel,
                       const tt_message *from, tt_moment now)
{
    tt_thread *thread = stack->thread;
    if (from->path.at_ns > now.ns) now = tt_moment_now(recorder); /* the signal came during the search */
    uint64_t serial = waiting ? waiting->serial : 0, at_ns = from->path.at_ns;
    tt_ref node = tt_open_node(stack, waiting);
    uint64_t since_ns = tt_waiting_since(recorder, thread, serial, waiting ? waiting->start : began, now);
    int is_blocked = at_ns > since_ns && at_ns <= now.ns;
    uint64_t waited_ns = is_blocked ? now.ns - since_ns : 0, latency_ns = is_blocked ? now.ns - at_ns : 0;
    if (channel) tt_edge_count(recorder, node, channel, from, waited_ns, latency_ns);
    if (!is_blocked) return;
    tt_experiment_woken(recorder, serial, from->paid_ns);
    thread->unblocked_ns = now.ns;
    thread->unblocked_serial = serial;
    tt_path *path = tt_path_of(recorder, thread);
    /* If the thread itself signalled, or was unblocked, after that signal, it did not wait for that one last. */
    if (!path || !from->path.count || at_ns <= path->mark_ns) return;
    path->unblocks++;
    tt_path_switch(recorder, thread, &from->path, path->tree, node, now);
}

/* Reads the last signal of `key`; counts a loss if it is unknown. */
static int tt_signal_read(tt_recorder *recorder, tt_channels *channels, uint64_t key, tt_moment now, tt_message *message)
{
    enum tt_signal_status answer = channels ? tt_channel_get(recorder, channels, key, now.ns, message) : TT_SIGNAL_NONE;
    if (answer == TT_SIGNAL_LOST) tt_lose(recorder, TT_LOSS_SIGNALS);
    return answer == TT_SIGNAL_READ;
}

static void tt_unblocked(tt_recorder *recorder, tt_channels *channels, uint64_t key, uint32_t name_id)
{
    if (!recorder->recording) return;
    tt_message message;
    tt_moment now = tt_moment_now(recorder);
    if (!tt_signal_read(recorder, channels, key, now, &message)) return;
    tt_here here;
    if (!tt_arrive(recorder, &here)) return;
    tt_frame *waiting = tt_waiting_frame(recorder, tt_frame_around(recorder, here.stack, here.pyframe));
    tt_ref channel = name_id == TT_NAMELESS ? 0 : tt_name_ref(recorder, name_id);
    if (!channel) tt_lose(recorder, TT_LOSS_EDGES);
    tt_unblock(recorder, here.stack, waiting, 0, channel, &message, now);
    tt_stack_rest(here.stack);
}

/* The main thread of a new process continues from a signal of its parent: the time since then is its start-up. */
static void tt_start_from(tt_recorder *recorder, tt_channels *channels, uint64_t key)
{
    if (!recorder->recording) return;
    tt_message message;
    tt_moment now = tt_moment_now(recorder);
    if (!tt_signal_read(recorder, channels, key, now, &message) || !message.path.count) return;
    tt_thread *thread = tt_thread_here(recorder);
    if (!thread || (thread->path && thread->path->unblocks)) return;
    tt_path_switch(recorder, thread, &message.path, thread->slot->tree, thread->slot->root, now);
}

/* -- waits of libraries -------------------------------------------------------------------------------------------- */

/* Whether the running thread has been in a section. If not, its work and its waits are unknown (a pool's handlers wait
 * in C), and its path would count all of its time as work. */
static int tt_thread_has_sections(const tt_recorder *recorder)
{
    const tt_thread *thread = tt_thread_known(recorder);
    return thread && tt_node_at(recorder, thread->slot->root)->first_child;
}

/* Whether this thread's waits and signals are a library's own: another thread records the signals for it. */
static __thread int tt_is_silent;

/* Whether this thread's waits are not recorded, because a recorded wait contains them, or they are a library's own. */
static int tt_ignores_waits(const tt_recorder *recorder)
{
    const tt_thread *thread = recorder->forked ? NULL : tt_thread_known(recorder);
    return tt_is_silent || (thread && thread->wait_depth);
}

/* A call that may block begins. It has a row of its own inside an open section, or on the main thread, but not inside
 * another wait; it has no call site, because the caller is mostly the library itself. `by_thread`: another thread may
 * end it. `channels`: the table that first gets a signal of `key`, because the woken thread may continue before the
 * call returns; NULL: none. */
typedef struct {
    uint64_t start; /* its call's serial if it has a row, else its begin */
    int counts, row;
} tt_wait;

static tt_wait tt_wait_enter(tt_section *section, int by_thread, tt_channels *channels, uint64_t key)
{
    tt_recorder *recorder = section->recorder;
    tt_wait wait = {0, 0, 0};
    if (!recorder->recording || tt_is_silent) return wait;
    tt_thread *thread = recorder->forked ? NULL : tt_thread_known(recorder);
    if (thread && thread->wait_depth) return wait;
    tt_experiment_pay(recorder);
    if (by_thread) tt_experiment_wait_begin(recorder);
    wait.counts = 1;
    tt_moment now = channels ? tt_moment_now(recorder) : (tt_moment){.ticks = tt_now(recorder)};
    wait.start = now.ticks;
    /* A helper thread's wait is recorded only once another thread wakes it, or it signals. */
    if (!thread && !recorder->forked && !channels) return wait;
    tt_here here = {.now = wait.start};
    if (!tt_arrive(recorder, &here)) return wait;
    here.stack->thread->wait_depth++;
    tt_frame *parent = tt_frame_around(recorder, here.stack, here.pyframe);
    if (channels) tt_signal_from(recorder, here.stack, parent, channels, key, now);
    int is_main = here.stack->thread->base.parent.frame != NULL;
    if (parent ? parent->flags & TT_FRAME_WAITING || !parent->node : !is_main) {
        tt_stack_rest(here.stack);
        return wait;
    }
    tt_frame *frame = tt_push(recorder, &here, parent, section, TT_FRAME_CALL);
    if (!frame) return wait;
    wait.row = 1;
    wait.start = frame->serial;
    return wait;
}

/* Whether the innermost open section of the running code is a tick: a sleep here separates the work of two ticks. */
static int tt_is_in_tick(tt_recorder *recorder)
{
    if (!recorder->recording || recorder->forked || tt_is_silent) return 0;
    tt_thread *thread = tt_thread_known(recorder);
    tt_here here = {.now = 0};
    if (!thread || thread->wait_depth || !tt_arrive(recorder, &here)) return 0;
    tt_frame *frame = tt_frame_around(recorder, here.stack, here.pyframe);
    int is_tick = frame && frame->node && frame->flags & TT_FRAME_TICK && !(frame->flags & TT_FRAME_WAITING);
    tt_stack_rest(here.stack);
    return is_tick;
}

/* A wait ends; `channels` NULL: without the event that it waited for. */
static void tt_wait_leave(tt_section *section, tt_wait wait, tt_channels *channels, uint64_t key, uint32_t name_id)
{
    tt_recorder *recorder = section->recorder;
    tt_thread *thread = tt_thread_known(recorder);
    if (thread && thread->wait_depth) thread->wait_depth--;
    tt_experiment_wait_end(recorder);
    if (!recorder->recording) return;
    tt_message message;
    tt_moment now = channels ? tt_moment_now(recorder) : (tt_moment){0, 0};
    int is_signalled = channels && tt_signal_read(recorder, channels, key, now, &message);
    if (!is_signalled && !wait.row) return;
    tt_here here;
    if (!tt_arrive(recorder, &here)) return;
    tt_frame *frame = wait.row ? here.stack->top : NULL;
    while (frame && frame->serial != wait.start) frame = tt_below(frame);
    if (is_signalled) {
        tt_frame *waiting = frame;
        if (!waiting) waiting = tt_waiting_frame(recorder, tt_frame_around(recorder, here.stack, here.pyframe));
        tt_ref channel = waiting && name_id != TT_NAMELESS ? tt_name_ref(recorder, name_id) : 0;
        tt_unblock(recorder, here.stack, waiting, wait.row ? now.ticks : wait.start, channel, &message, now);
    }
    if (frame) tt_end(recorder, here.stack, frame, here.pyframe, tt_now(recorder), TT_COMPLETE);
    tt_stack_rest(here.stack);
}

/* The recorder is gone. */
static void tt_signals_end(tt_recorder *recorder)
{
    free(recorder->growths);
    free(recorder->fork_path);
    tt_channels_close(recorder->shared);
    tt_channels_close(recorder->own);
}

#endif
