/* Durations measured by others, booked below a node that was remembered earlier. */
#ifndef TICKTREE_PLACE_H
#define TICKTREE_PLACE_H

#include "core/hot.h"

/* A node, and the generation of its memory. It outlives the call that was open when it was taken. */
typedef struct {
    tt_ref node; /* 0: nothing was recorded */
    uint32_t generation;
} tt_node_handle;

static tt_node_handle tt_node_handle_now(tt_recorder *recorder)
{
    tt_origin origin;
    tt_origin_capture(recorder, &origin);
    return (tt_node_handle){origin.node, origin.generation};
}

static tt_tree_slot *tt_find_slot(const tt_recorder *recorder, tt_ref tree)
{
    tt_tree_slot *slot = recorder->slots;
    while (slot && slot->tree != tree) slot = slot->next;
    return slot;
}

/* Returns where the calling thread may write children of `node`: below it, in its own tree or in the tree of a thread that
 * has ended; else in a child tree, like those of threads started below it. `*claimed` is a tree to be released afterwards.
 * 0: there is no memory. */
static tt_ref tt_claim_node(tt_recorder *recorder, tt_thread *thread, tt_ref node, tt_tree_slot **claimed)
{
    *claimed = NULL;
    tt_tree_slot *slot = tt_find_slot(recorder, tt_node_at(recorder, node)->tree);
    if (slot && slot->owner == thread) return node;
    tt_threads_reap(recorder);
    if (slot && !slot->owner) { /* its thread has ended, and its rows stay that thread's */
        slot->owner = thread;
        *claimed = slot;
        return node;
    }
    *claimed = tt_tree_claim_here(recorder, thread, node);
    return *claimed ? (*claimed)->root : 0;
}

/* Books a call of `ns` nanoseconds in the node at the path `names`. It is concurrent to the node above, except for what it
 * `covered` of a booked call there: that is taken from that node's self time, as far as there is any. */
static void tt_book_call(tt_recorder *recorder, tt_ref node_ref, tt_section *const *names, size_t count, uint64_t ns,
                         uint64_t covered)
{
    tt_ref parent_ref = 0;
    for (size_t i = 0; node_ref && i < count; i++) {
        parent_ref = node_ref;
        node_ref = tt_node_find(names[i], node_ref);
    }
    if (!node_ref) {
        tt_lose(recorder, TT_LOSS_NODES);
        return;
    }
    tt_node *node = tt_node_at(recorder, node_ref), *parent = tt_node_at(recorder, parent_ref);
    int64_t taken = (int64_t)(covered < ns ? covered : ns);
    if (!(parent->flags & TT_NODE_NS) || parent->own < 0) taken = 0;
    else if (taken > parent->own) taken = parent->own;
    if (taken) {
        tt_write_begin(&parent->sequence);
        parent->own -= taken;
        tt_write_end(&parent->sequence);
    }
    tt_write_begin(&node->sequence);
    node->own += (int64_t)ns;
    node->concurrent += (int64_t)ns - taken;
    tt_book(recorder, node, ns, ns, tt_now(recorder));
    tt_write_end(&node->sequence);
}

/* Returns 0 if the node is in memory that was released, or nothing is being recorded. */
static int tt_book_at(tt_recorder *recorder, const tt_node_handle *handle, tt_section *const *names, size_t count,
                      uint64_t ns, uint64_t covered)
{
    if (!recorder->recording || recorder->forked || !handle->node || handle->generation != recorder->generation) return 0;
    tt_thread *thread = tt_thread_here(recorder);
    if (!thread) {
        tt_lose(recorder, TT_LOSS_MEMORY);
        return 0;
    }
    tt_tree_slot *claimed;
    tt_ref node_ref = tt_claim_node(recorder, thread, handle->node, &claimed);
    if (node_ref) tt_book_call(recorder, node_ref, names, count, ns, covered);
    else tt_lose(recorder, TT_LOSS_MEMORY);
    if (claimed) tt_tree_release(recorder, claimed);
    return 1;
}

/* Sets a node's flags about its requested device time. */
static void tt_note_device_time(tt_recorder *recorder, const tt_node_handle *handle, uint32_t flags)
{
    if (recorder->forked || !recorder->header || !handle->node || handle->generation != recorder->generation) return;
    tt_node_at(recorder, handle->node)->flags |= TT_NODE_DEVICE | flags;
}

/* Finds the call of `section` that an exit here would end: its serial, 0 if there is none, and its node. */
static uint64_t tt_find_open_call(tt_section *section, tt_node_handle *handle)
{
    tt_recorder *recorder = section->recorder;
    *handle = (tt_node_handle){0, recorder->generation};
    tt_here here;
    if (!tt_arrive(recorder, &here)) return 0;
    tt_frame *frame = here.stack->too_deep ? NULL : tt_frame_of(recorder, here.stack, section, here.pyframe);
    uint64_t serial = frame && frame->node ? frame->serial : 0;
    if (serial) *handle = (tt_node_handle){frame->node, recorder->generation};
    tt_stack_rest(here.stack);
    return serial;
}

static int tt_call_is_open(const tt_recorder *recorder, uint64_t serial)
{
    tt_ref ref = recorder->header ? recorder->header->frames : 0;
    while (ref && ((tt_frame *)tt_at(recorder, ref))->serial != serial) ref = ((tt_frame *)tt_at(recorder, ref))->next;
    return ref != 0;
}

#endif
