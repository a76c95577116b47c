/* Carrying a place in the tree to where work continues: another task, another thread, an executor's worker. */
#include "hot.h"

/* What is open here now. `node` 0: nothing is being recorded. */
void tt_origin_capture(tt_recorder *recorder, tt_origin *origin)
{
    tt_here here;
    *origin = (tt_origin){0};
    if (!tt_arrive(recorder, &here)) return;
    tt_frame *frame = tt_frame_around(recorder, here.stack, here.pyframe);
    if (!frame) frame = tt_bottom_parent(here.stack);
    origin->thread = here.stack->thread;
    origin->node = frame ? tt_home_of(frame) : here.stack->parent.home;
    origin->frame = frame = tt_frame_recorded(recorder, frame);
    origin->serial = frame ? frame->serial : 0;
    origin->generation = recorder->generation;
    origin->made = tt_now(recorder);
    tt_stack_rest(here.stack);
}

/* Just before a fork, in the parent: the node that the child is a child of, should it record. Only this thread will be
 * in the child; others may continue to run until then, and may be about to fork themselves. */
void tt_note_fork(tt_recorder *recorder)
{
    tt_origin origin;
    if (recorder->forked) return; /* it has no records: its children are where it would have been */
    tt_origin_capture(recorder, &origin);
    recorder->fork_node = origin.node;
    recorder->fork_thread = pthread_self();
    recorder->fork_noted = recorder->recording;
}

/* From now on what this thread does is a child of `parent`, in the tree `slot`: the one way in which the sections of a
 * thread get another parent. `given`: the path that led there, if one came with the work. Returns what was before. */
tt_reparented tt_thread_reparent(tt_recorder *recorder, tt_thread *thread, tt_tree_slot *slot, tt_parent parent,
                                 const tt_snapshot *given)
{
    tt_reparented before = {thread, thread->slot, thread->base.parent, recorder->generation};
    if (slot != thread->slot) tt_the_host.thread_moves(recorder, thread, slot, given);
    thread->slot = slot;
    thread->base.parent = parent;
    return before;
}

/* Undoes that; 0 where there is nothing to undo, or it is another process's. */
int tt_thread_restore(tt_recorder *recorder, const tt_reparented *before)
{
    tt_thread *thread = before->thread;
    if (!thread || before->generation != recorder->generation || recorder->forked) return 0;
    tt_tree_slot *slot = thread->slot;
    tt_thread_reparent(recorder, thread, before->slot, before->parent, NULL);
    if (slot != before->slot) tt_tree_release(recorder, slot);
    return 1;
}

/* From now on this thread's sections are children of `origin`, in an own tree. */
tt_reparented tt_submitted_begin(tt_recorder *recorder, const tt_origin *origin)
{
    tt_reparented none = {0};
    if (!recorder->recording || recorder->forked || !origin->node || origin->generation != recorder->generation)
        return none;
    tt_thread *thread = tt_thread_here(recorder);
    if (!thread || thread == origin->thread || thread->base.top || thread->stacks) return none;
    tt_tree_slot *slot = tt_tree_claim_here(recorder, thread, origin->node);
    if (!slot) {
        tt_lose(recorder, TT_LOSS_MEMORY);
        return none;
    }
    tt_parent parent = {.home = slot->root, .afar = origin->frame, .afar_serial = origin->serial};
    return tt_thread_reparent(recorder, thread, slot, parent, origin->path);
}

void tt_submitted_end(tt_recorder *recorder, const tt_reparented *before) { tt_thread_restore(recorder, before); }

/* What this thread does from now on, by the program's own word. A tree with nothing in it takes the role; else the
 * thread goes to a tree of that role, so that what threads of different roles did stays apart. With sections open the
 * tree they are in takes the role, all of it. */
void tt_thread_role(tt_recorder *recorder, tt_thread *thread, tt_ref role)
{
    tt_tree_slot *slot = thread->slot;
    if (slot->role == role) return;
    int idle = !thread->base.top && !thread->stacks;
    int empty = !tt_node_at(recorder, slot->root)->first_child;
    tt_tree *tree = tt_at(recorder, slot->tree);
    if (idle && (!empty || tt_tree_free(recorder, thread, slot->spawn, role))) {
        tt_thread_facts facts = {0, NULL, tree->thread_id, "", NULL};
        memcpy(facts.name, tree->thread_name, sizeof facts.name);
        tt_tree_slot *other = tt_tree_claim(recorder, thread, slot->spawn, role, &facts);
        if (other) {
            tt_parent parent = thread->base.parent;
            parent.home = other->root;
            tt_thread_reparent(recorder, thread, other, parent, NULL);
            tt_tree_release(recorder, slot);
            return;
        }
    }
    slot->role = tree->role = role;
}
