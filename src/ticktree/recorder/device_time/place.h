/* Durations that others measured, booked below a node that was remembered earlier. */
#ifndef TICKTREE_PLACE_H
#define TICKTREE_PLACE_H

#include "core/hot.h"

/* A node, and the memory it is in. It outlives the call that was open when it was taken. */
typedef struct {
    tt_ref node; /* 0: nothing was being recorded */
    uint32_t generation;
} tt_spot;

static tt_spot tt_spot_now(tt_recorder *recorder)
{
    tt_origin origin;
    tt_origin_capture(recorder, &origin);
    return (tt_spot){origin.node, origin.generation};
}

static tt_tree_slot *tt_slot_of(const tt_recorder *recorder, tt_ref tree)
{
    tt_tree_slot *slot = recorder->slots;
    while (slot && slot->tree != tree) slot = slot->next;
    return slot;
}

/* Where the calling thread may write what belongs below `node`: there, in its own tree or that of a thread
 * that has ended; else in a child tree of it, like those of threads started under it. `*lent` is that tree, to be
 * given back; 0: nowhere. */
static tt_ref tt_spot_here(tt_recorder *recorder, tt_thread *thread, tt_ref node, tt_tree_slot **lent)
{
    *lent = NULL;
    tt_tree_slot *slot = tt_slot_of(recorder, tt_node_at(recorder, node)->tree);
    if (slot && slot->owner == thread) return node;
    tt_threads_reap(recorder);
    if (slot && !slot->owner) { /* whose it was has ended: it stays that thread's */
        slot->owner = thread;
        *lent = slot;
        return node;
    }
    *lent = tt_tree_claim_here(recorder, thread, node);
    return *lent ? (*lent)->root : 0;
}

/* Books a call of `ns` nanoseconds in the node that `names` lead to, all of it concurrent to what is around it, but for what
 * it `covered` of the booked call around it: that is taken from that node's self time, as far as there is any. */
static void tt_book_call(tt_recorder *recorder, tt_ref at, tt_section *const *names, size_t count, uint64_t ns,
                         uint64_t covered)
{
    tt_ref above = 0;
    for (size_t i = 0; at && i < count; i++) {
        above = at;
        at = tt_node_find(names[i], at);
    }
    if (!at) {
        tt_lose(recorder, TT_LOSS_NODES);
        return;
    }
    tt_node *node = tt_node_at(recorder, at), *around = tt_node_at(recorder, above);
    int64_t taken = (int64_t)(covered < ns ? covered : ns);
    if (!(around->flags & TT_NODE_NS) || around->own < 0) taken = 0;
    else if (taken > around->own) taken = around->own;
    if (taken) {
        tt_write_begin(&around->sequence);
        around->own -= taken;
        tt_write_end(&around->sequence);
    }
    tt_write_begin(&node->sequence);
    node->own += (int64_t)ns;
    node->concurrent += (int64_t)ns - taken;
    tt_book(recorder, node, ns, ns, tt_now(recorder));
    tt_write_end(&node->sequence);
}

/* False where the place is of a memory that is gone, or nothing is being recorded. */
static int tt_book_at(tt_recorder *recorder, const tt_spot *place, tt_section *const *names, size_t count, uint64_t ns,
                      uint64_t covered)
{
    if (!recorder->recording || recorder->forked || !place->node || place->generation != recorder->generation) return 0;
    tt_thread *thread = tt_thread_here(recorder);
    if (!thread) {
        tt_lose(recorder, TT_LOSS_MEMORY);
        return 0;
    }
    tt_tree_slot *lent;
    tt_ref at = tt_spot_here(recorder, thread, place->node, &lent);
    if (at) tt_book_call(recorder, at, names, count, ns, covered);
    else tt_lose(recorder, TT_LOSS_MEMORY);
    if (lent) tt_tree_release(recorder, lent);
    return 1;
}

/* Sets on a node what is known of the requested device time. */
static void tt_spot_says(tt_recorder *recorder, const tt_spot *place, uint32_t flags)
{
    if (recorder->forked || !recorder->header || !place->node || place->generation != recorder->generation) return;
    tt_node_at(recorder, place->node)->flags |= TT_NODE_DEVICE | flags;
}

/* The call of `section` that an exit here would end: its serial, 0 where there is none, and its node. */
static uint64_t tt_call_open_here(tt_section *section, tt_spot *spot)
{
    tt_recorder *recorder = section->recorder;
    *spot = (tt_spot){0, recorder->generation};
    tt_here here;
    if (!tt_arrive(recorder, &here)) return 0;
    tt_frame *frame = here.stack->too_deep ? NULL : tt_frame_of(recorder, here.stack, section, here.pyframe);
    uint64_t serial = frame && frame->node ? frame->serial : 0;
    if (serial) *spot = (tt_spot){frame->node, recorder->generation};
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
