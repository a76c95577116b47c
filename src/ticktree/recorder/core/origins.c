/* Carrying the open node to where work continues: another task, another thread, an executor's worker. */
#include "hot.h"

/* Captures what is open here now. `node` 0: nothing is being recorded. */
void tt_origin_capture(tt_recorder *recorder, tt_origin *origin)
{
    tt_here here;
    *origin = (tt_origin){0};
    if (!tt_arrive(recorder, &here)) return;
    tt_frame *frame = tt_frame_around(recorder, here.stack, here.pyframe);
    if (!frame) frame = tt_bottom_parent(here.stack);
    tt_ref node = frame ? tt_home_of(frame) : here.stack->parent.home;
    frame = tt_frame_with_node(recorder, frame);
    *origin = (tt_origin){.thread = here.stack->thread, .node = node, .frame = frame, .serial = frame ? frame->serial : 0,
                          .generation = recorder->generation, .captured_at = tt_now(recorder)};
    tt_stack_rest(here.stack);
}

/* Just before a fork, in the parent: notes the child process's parent node, in case the child records. Only this thread
 * will exist in the child; others may run until then, and may be about to fork themselves. */
void tt_note_fork(tt_recorder *recorder)
{
    tt_origin origin;
    if (recorder->forked) return; /* it has no records: its children get the parent that it would have */
    tt_origin_capture(recorder, &origin);
    recorder->fork_node = origin.node;
    recorder->fork_thread = pthread_self();
    recorder->is_fork_noted = recorder->recording;
}

/* Makes `parent`, in the tree `slot`, the parent of all that this thread does next: the only way to move a thread.
 * `path`: the path that led there, if one came with the work. Returns the previous parent. */
tt_saved_parent tt_thread_reparent(tt_recorder *recorder, tt_thread *thread, tt_tree_slot *slot, tt_parent parent,
                                 const tt_snapshot *path)
{
    tt_saved_parent before = {thread, thread->slot, thread->base.parent, recorder->generation};
    if (slot != thread->slot) tt_host_functions.thread_moves(recorder, thread, slot, path);
    thread->slot = slot;
    thread->base.parent = parent;
    return before;
}

/* Restores the previous parent; 0: there is nothing to restore, or it is another process's. */
int tt_thread_restore(tt_recorder *recorder, const tt_saved_parent *before)
{
    tt_thread *thread = before->thread;
    if (!thread || before->generation != recorder->generation || recorder->forked) return 0;
    tt_tree_slot *slot = thread->slot;
    tt_thread_reparent(recorder, thread, before->slot, before->parent, NULL);
    if (slot != before->slot) tt_tree_release(recorder, slot);
    return 1;
}

/* Makes this thread's next sections children of `origin`, in a tree of their own. */
tt_saved_parent tt_submitted_begin(tt_recorder *recorder, const tt_origin *origin)
{
    tt_saved_parent none = {0};
    if (!recorder->recording || recorder->forked || !origin->node || origin->generation != recorder->generation)
        return none;
    tt_thread *thread = tt_thread_here(recorder);
    if (!thread || thread == origin->thread || thread->base.top || thread->stacks) return none;
    tt_tree_slot *slot = tt_tree_claim_here(recorder, thread, origin->node);
    if (!slot) {
        tt_lose(recorder, TT_LOSS_MEMORY);
        return none;
    }
    tt_parent parent = {.home = slot->root, .submitter = origin->frame, .submitter_serial = origin->serial};
    return tt_thread_reparent(recorder, thread, slot, parent, origin->path);
}

/* Sets the role of what this thread does next. An empty tree takes the role; otherwise the thread moves to a tree of
 * that role, which keeps the work of different roles apart. With open sections, their whole tree takes the role. */
void tt_thread_role(tt_recorder *recorder, tt_thread *thread, tt_ref role)
{
    tt_tree_slot *slot = thread->slot;
    if (slot->role == role) return;
    int idle = !thread->base.top && !thread->stacks;
    int empty = !tt_node_at(recorder, slot->root)->first_child;
    tt_tree *tree = tt_at(recorder, slot->tree);
    if (idle && (!empty || tt_tree_find_unclaimed(recorder, thread, slot->spawn, role))) {
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
