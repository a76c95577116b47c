/* Threads and the trees they write, and which stack is this: one per thread, and one per context where tasks interleave. */
#include "hot.h"
#include <stdlib.h>
#include <string.h>

__thread tt_thread *tt_threads_here;
static pthread_key_t tt_thread_key;


/* Runs when the system's thread ends, without the GIL: it only marks the thread as ended, for tt_threads_reap. The
 * recorder may be freed meanwhile, so it is not read. */
static void tt_thread_ended(void *threads)
{
    for (tt_thread *thread = threads, *next; thread; thread = next) {
        next = thread->next_here; /* read first: once marked, the holder of the GIL may free it */
        thread->died = thread->clock == TT_CLOCK_VIRTUAL ? 0 : tt_clock_ticks(thread->clock);
        if (__atomic_fetch_or(&thread->gone, TT_THREAD_ENDED, __ATOMIC_ACQ_REL)) free(thread);
    }
}

/* Ends what is open in a stack that nothing will run in any more; returns how many sections were. */
static uint32_t tt_stack_abandon(tt_recorder *recorder, tt_stack *stack, uint64_t now)
{
    uint32_t sections = 0;
    while (stack->top) {
        uint32_t flags = stack->top->flags;
        sections += !(flags & TT_FRAME_SOFT);
        int stage = (flags & (TT_FRAME_SOFT | TT_FRAME_TICK)) == TT_FRAME_SOFT;
        tt_pop(recorder, stack, stack->top, now, stage ? TT_COMPLETE : TT_OPEN);
    }
    stack->too_deep = stack->suspended = 0;
    return sections;
}

/* Ends all that a thread has open. */
static void tt_thread_abandon(tt_recorder *recorder, tt_thread *thread, uint64_t now)
{
    uint32_t sections = tt_stack_abandon(recorder, &thread->base, now);
    for (tt_stack *stack = thread->stacks; stack; stack = stack->next)
        sections += tt_stack_abandon(recorder, stack, now);
    if (sections) tt_lose(recorder, TT_LOSS_THREADS);
}

/* Runs when a thread's Python state is cleared. What it has open ends now; its stacks stay, because letting a context go
 * may run any code. */
static void tt_state_ended(void *mark)
{
    if (mark != &tt_threads_here) return; /* another's: after a fork, or at the end */
    tt_cache_clear();
    for (tt_thread *thread = tt_threads_here; thread; thread = thread->next_here) {
        tt_recorder *recorder = thread->recorder;
        if (recorder && recorder->recording && !recorder->forked) tt_thread_abandon(recorder, thread, tt_now(recorder));
    }
}

/* Frees the stacks of a thread and lets its contexts go: that may run any code. */
void tt_thread_empty(tt_thread *thread)
{
    for (tt_stack *stack = thread->stacks, *next; stack; stack = next) {
        next = stack->next;
        Py_CLEAR(stack->context);
        free(stack);
    }
    for (tt_stack *stack = thread->spare, *next; stack; stack = next) {
        next = stack->next;
        free(stack);
    }
    thread->stacks = thread->spare = NULL;
    Py_CLEAR(thread->own_context);
    Py_CLEAR(thread->base.context);
}

/* Gives back what dead threads held: their trees, and the contexts that only the GIL's holder may release. */
void tt_threads_reap(tt_recorder *recorder)
{
    tt_thread **link = &recorder->threads, *ended = NULL;
    while (*link) {
        tt_thread *thread = *link;
        if (!__atomic_load_n(&thread->gone, __ATOMIC_ACQUIRE)) {
            link = &thread->next;
            continue;
        }
        *link = thread->next;
        thread->next = ended;
        ended = thread;
    }
    if (ended) tt_cache_clear();
    while (ended) {
        tt_thread *thread = ended;
        ended = thread->next;
        tt_thread_abandon(recorder, thread, thread->died ? thread->died : tt_now(recorder));
        for (tt_tree_slot *slot = recorder->slots; slot; slot = slot->next) {
            if (slot->owner == thread) tt_tree_release(recorder, slot);
            if (slot->last_owner == thread) slot->last_owner = NULL;
        }
        tt_thread_empty(thread); /* finalisers may enter sections: nothing is half done by now */
        free(thread);
    }
}

/* -- trees: each has one writer at a time, and is adopted when that writer ends -------------------------------------- */

/* A tree for a thread started under `spawn` (0: nowhere known). */
tt_tree_slot *tt_tree_make(tt_recorder *recorder, tt_ref spawn)
{
    tt_tree_slot *slot = calloc(1, sizeof *slot);
    tt_tree *tree = slot ? tt_allocate(recorder, sizeof *tree) : NULL;
    tt_node *root = tree ? tt_node_new(recorder, 0) : NULL;
    if (!root) {
        free(slot);
        return NULL;
    }
    root->flags = TT_NODE_ROOT;
    root->parent = spawn;
    root->depth = spawn ? tt_node_at(recorder, spawn)->depth : 0;
    root->tree = tt_ref_of(recorder, tree);
    tt_node_link(recorder, root);
    tree->root = tt_ref_of(recorder, root);
    tree->spawn_node = spawn;
    tree->next = recorder->header->trees;
    tt_link(recorder, &recorder->header->trees, tree);
    *slot = (tt_tree_slot){.tree = root->tree, .root = tree->root, .spawn = spawn, .next = recorder->slots};
    recorder->slots = slot;
    return slot;
}

/* A tree without a writer: this thread's of before, else one of a thread that has ended. Those of other threads stay
 * theirs, or what a pool's worker did would count as another's. */
tt_tree_slot *tt_tree_free(tt_recorder *recorder, const tt_thread *thread, tt_ref spawn, tt_ref role)
{
    tt_tree_slot *left = NULL;
    for (tt_tree_slot *slot = recorder->slots; slot; slot = slot->next) {
        if (slot->owner || slot->spawn != spawn || slot->role != role) continue;
        if (slot->last_owner == thread) return slot;
        if (!left && !slot->last_owner) left = slot;
    }
    return left;
}

/* A tree under `spawn` for this thread: one of the same role without a writer, or a new one. */
tt_tree_slot *tt_tree_claim(tt_recorder *recorder, tt_thread *thread, tt_ref spawn, tt_ref role,
                            const tt_thread_facts *facts)
{
    tt_tree_slot *slot = tt_tree_free(recorder, thread, spawn, role);
    int adopted = slot != NULL;
    if (!slot) slot = tt_tree_make(recorder, spawn);
    if (!slot) return NULL;
    tt_tree *tree = tt_at(recorder, slot->tree);
    slot->role = tree->role = role;
    tree->adoptions += (uint64_t)adopted;
    tree->thread_id = facts->native_id;
    memcpy(tree->thread_name, facts->name, sizeof tree->thread_name);
    tree->alive = 1;
    slot->owner = thread;
    return slot;
}

/* The same for what the calling thread does for another. */
tt_tree_slot *tt_tree_claim_here(tt_recorder *recorder, tt_thread *thread, tt_ref spawn)
{
    tt_thread_facts facts = {0, NULL, 0, "", NULL};
    tt_the_host.describe_thread(recorder, &facts);
    return tt_tree_claim(recorder, thread, spawn, thread->slot->role, &facts);
}

/* It has no writer any more. */
void tt_tree_release(tt_recorder *recorder, tt_tree_slot *slot)
{
    tt_tree *tree = tt_at(recorder, slot->tree);
    tree->alive = 0;
    tree->writer = 0;
    slot->last_owner = slot->owner;
    slot->owner = NULL;
}

static tt_thread *tt_thread_make(tt_recorder *recorder)
{
    tt_thread_facts facts = {0, NULL, 0, "", NULL};
    tt_the_host.describe_thread(recorder, &facts);
    tt_threads_reap(recorder);
    tt_thread *thread = calloc(1, sizeof *thread);
    if (!thread) return NULL;
    thread->slot = tt_tree_claim(recorder, thread, facts.spawn_node, recorder->role_of_new, &facts);
    if (!thread->slot) {
        free(thread);
        return NULL;
    }
    thread->recorder = recorder;
    ((tt_tree *)tt_at(recorder, thread->slot->tree))->writer = (uint64_t)(uintptr_t)thread;
    thread->self = pthread_self();
    thread->clock = recorder->clock;
    thread->base.thread = thread;
    thread->base.parent.home = thread->slot->root;
    Py_XINCREF(facts.own_context);
    thread->own_context = facts.own_context;
    thread->last = &thread->base;
    thread->base.lane = tt_lane_of(recorder, facts.native_id, facts.name, 0);
    thread->next = recorder->threads;
    recorder->threads = thread;
    thread->next_here = tt_threads_here;
    tt_threads_here = thread;
    pthread_setspecific(tt_thread_key, tt_threads_here);
    tt_the_host.thread_began(recorder, thread, facts.path);
    return thread;
}

/* This thread's part of the recorder; recorders that are gone are dropped from the list on the way. */
tt_thread *tt_thread_here(tt_recorder *recorder)
{
    tt_thread **link = &tt_threads_here;
    while (*link) {
        tt_thread *thread = *link;
        if (thread->recorder == recorder) return thread;
        if (thread->recorder) {
            link = &thread->next_here;
            continue;
        }
        *link = thread->next_here;
        free(thread); /* this thread lives, so no other frees it */
    }
    pthread_setspecific(tt_thread_key, tt_threads_here);
    return tt_thread_make(recorder);
}

/* This thread's part of the recorder, if it has one. */
tt_thread *tt_thread_known(const tt_recorder *recorder)
{
    tt_thread *thread = tt_threads_here;
    while (thread && thread->recorder != recorder) thread = thread->next_here;
    return thread;
}

int tt_register_thread_key(void) { return pthread_key_create(&tt_thread_key, tt_thread_ended); }

/* -- contexts: which stack is this? ------------------------------------------------------------------------------ */

static tt_stack *tt_stack_of_context(tt_thread *thread, const void *context)
{
    if (thread->base.context == context || thread->own_context == context) return &thread->base;
    tt_stack *stack = thread->stacks;
    while (stack && stack->context != context) stack = stack->next;
    return stack;
}

/* The stack of this thread that holds an open frame, or NULL. */
tt_stack *tt_stack_holding(tt_thread *thread, const tt_frame *wanted)
{
    for (tt_stack *stack = &thread->base; stack; stack = tt_stack_after(thread, stack))
        for (tt_frame *frame = stack->top; frame; frame = tt_below(frame))
            if (frame == wanted) return stack;
    return NULL;
}

/* The innermost open section of the contexts that this one was entered in; of those of its own task, if it has one.
 * The stack used last says nothing: its task may be asleep. */
static tt_frame *tt_frame_beneath(const tt_stack *stack, tt_pyframe *now)
{
    for (PyObject *at = tt_context_beneath(stack->context); at; at = tt_context_beneath(at)) {
        tt_stack *outer = tt_stack_of_context(stack->thread, at);
        if (!outer || (stack->origin && outer->origin != stack->origin)) continue;
        tt_frame *frame = tt_frame_around(stack->thread->recorder, outer, now);
        if (frame) return frame;
    }
    return NULL;
}

static int tt_context_carries(tt_recorder *recorder, PyObject *context, const tt_origin *origin)
{
    PyObject *value = tt_variable_in(context, recorder->origin_var);
    int carries = value && tt_the_host.origin_of(value) == origin;
    Py_XDECREF(value);
    return carries;
}

/* A task's own context is the outermost that carries its origin: a copy made in the task may be met first. */
static void tt_origin_claim(tt_recorder *recorder, tt_origin *origin, PyObject *context)
{
    PyObject *own = context;
    for (PyObject *at = tt_context_beneath(context); at; at = tt_context_beneath(at))
        if (tt_context_carries(recorder, at, origin)) own = at;
    origin->context = own;
}

/* Where a context's stack belongs when it is first met: a task's own (its origin is unclaimed), a copy made
 * inside that task and run there (`Context.run`, callbacks), or an unknown context that this thread runs
 * synchronously. With no section open in the task, a copy is where the task is. A task is a child of the call that it was
 * made in; that may be over: then the task's sections stay there, and cover no call. */
static tt_parent tt_stack_place(tt_thread *thread, const tt_stack *stack, tt_pyframe *now)
{
    tt_origin *origin = stack->origin;
    tt_parent parent = thread->base.parent;
    tt_frame *open = NULL;
    if (origin && !origin->context) tt_origin_claim(thread->recorder, origin, stack->context);
    if (!origin || origin->context != stack->context) open = tt_frame_beneath(stack, now);
    if (!open && origin) {
        tt_stack *task = tt_stack_of_context(thread, origin->context);
        if (task) open = task->top;
    }
    if (open) {
        tt_frame *recorded = tt_frame_recorded(thread->recorder, open);
        parent.home = tt_home_of(open);
        parent.frame = recorded;
        if (recorded) parent.serial = recorded->serial;
    } else if (origin) {
        parent.home = origin->node;
        parent.frame = origin->frame;
        parent.serial = origin->serial;
    }
    return parent;
}

/* The origin set for this context's task, where that task belongs to this thread. */
static tt_origin *tt_origin_here(tt_recorder *recorder, tt_thread *thread)
{
    PyObject *value = tt_variable_now(recorder->origin_var);
    if (!value) return NULL;
    tt_origin *origin = tt_the_host.origin_of(value);
    Py_DECREF(value); /* the context holds it */
    int ours = origin && origin->thread == thread && origin->generation == recorder->generation;
    return ours ? origin : NULL;
}

/* The request that this context was copied in, where another thread serves it: frameworks hand what may block to a
 * thread, and the context with it. */
static void tt_stack_serve(tt_recorder *recorder, tt_stack *stack)
{
    PyObject *value = stack->parent.afar ? NULL : tt_variable_now(recorder->watch_var);
    tt_frame *served = value ? tt_the_host.served_call(recorder, value, stack->thread) : NULL;
    if (served) {
        stack->parent.afar = served;
        stack->parent.afar_serial = served->serial;
    }
    Py_XDECREF(value);
}

/* A task that ended with a stage, or anything else, open at its top: we alone hold its context.
 * Looked for when there are twice as many stacks as the last look left. */
static void tt_stacks_sweep(tt_recorder *recorder, tt_thread *thread)
{
    if (++thread->stacks_made < thread->sweep_at) return;
    uint32_t kept = 0;
    uint64_t now = tt_now(recorder);
    tt_stack **link = &thread->stacks, *gone = NULL;
    while (*link) {
        tt_stack *stack = *link;
        if (Py_REFCNT(stack->context) > 1) {
            link = &stack->next;
            kept++;
            continue;
        }
        *link = stack->next;
        stack->next = gone;
        gone = stack;
        if (tt_stack_abandon(recorder, stack, now)) tt_lose(recorder, TT_LOSS_UNWOUND);
    }
    thread->stacks_made = 0;
    thread->sweep_at = kept < 16 ? 16 : kept;
    for (tt_stack *next; gone; gone = next) { /* last: letting a context go may run any code */
        next = gone->next;
        tt_stack_release(gone);
    }
}

static tt_stack *tt_stack_make(tt_recorder *recorder, tt_thread *thread, PyObject *context)
{
    tt_stacks_sweep(recorder, thread);
    tt_stack *stack = thread->spare;
    tt_ref lane = stack ? stack->lane : 0;
    uint32_t number = stack ? stack->number : 0;
    if (stack) thread->spare = stack->next;
    else stack = malloc(sizeof *stack);
    if (!stack) return NULL;
    if (!number) number = ++thread->stacks_numbered;
    *stack = (tt_stack){.thread = thread, .context = context, .number = number};
    stack->lane = tt_lane_of_stack(recorder, thread, lane, number);
    Py_INCREF(context);
    stack->origin = tt_origin_here(recorder, thread);
    stack->parent = tt_stack_place(thread, stack, tt_pyframe_now(tt_thread_state()));
    tt_stack_serve(recorder, stack);
    stack->next = thread->stacks;
    thread->stacks = stack;
    return stack;
}

/* The slow way to the current stack; remembers it for the fast one. NULL: nothing can be recorded here. */
tt_stack *tt_stack_search(tt_recorder *recorder, PyThreadState *state)
{
    if (recorder->forked && !tt_the_host.rearm(recorder)) return NULL;
    if (!recorder->recording) return NULL;
    PyObject *context = tt_context_force(state);
    tt_thread *thread = context ? tt_thread_here(recorder) : NULL;
    if (!thread || !recorder->recording) {
        tt_lose(recorder, TT_LOSS_MEMORY);
        return NULL;
    }
    tt_state_watch(state, &tt_threads_here, tt_state_ended);
    if (!thread->base.context && tt_context_is_base(context)) {
        Py_INCREF(context);
        thread->base.context = context;
    }
    tt_stack *stack = tt_stack_of_context(thread, context);
    if (!stack) stack = tt_stack_make(recorder, thread, context);
    if (!stack) {
        tt_lose(recorder, TT_LOSS_MEMORY);
        return NULL;
    }
    thread->last = stack;
    tt_cached = (tt_stack_cache){recorder, state, context, stack};
    return stack;
}

/* A context's stack is given up with its last frame. Dropping the context may run any code: it comes last. */
void tt_stack_release(tt_stack *stack)
{
    if (!stack->context) return; /* letting another context go has run code that gave up this one */
    tt_thread *thread = stack->thread;
    tt_stack **link = &thread->stacks;
    while (*link && *link != stack) link = &(*link)->next;
    if (*link) *link = stack->next;
    if (tt_cached.stack == stack) tt_cache_clear();
    if (thread->last == stack) thread->last = &thread->base;
    PyObject *context = stack->context;
    stack->context = NULL;
    stack->next = thread->spare;
    thread->spare = stack;
    Py_XDECREF(context);
}
