/* Threads, the trees they write, and their stacks: one per thread, and one per context where tasks interleave. */
#include "hot.h"
#include <stdlib.h>

__thread tt_thread *tt_thread_records;
static pthread_key_t tt_thread_key;

/* Runs when the system's thread ends, without the GIL: it only marks the thread as ended, for tt_threads_reap. The
 * recorder may be freed meanwhile, so it is not read. */
static void tt_on_thread_end(void *threads)
{
    for (tt_thread *thread = threads, *next; thread; thread = next) {
        next = thread->next_record; /* read first: once it is marked, the holder of the GIL may free it */
        thread->ended_at = thread->clock == TT_CLOCK_VIRTUAL ? 0 : tt_clock_ticks(thread->clock);
        if (__atomic_fetch_or(&thread->gone, TT_THREAD_ENDED, __ATOMIC_ACQ_REL)) free(thread);
    }
}

/* Ends what is open in a stack that will not run again; returns how many sections were. */
static uint32_t tt_stack_abandon(tt_recorder *recorder, tt_stack *stack, uint64_t now)
{
    uint32_t sections = 0;
    while (stack->top) {
        uint32_t flags = stack->top->flags;
        sections += !(flags & TT_FRAME_SOFT);
        int is_stage = (flags & (TT_FRAME_SOFT | TT_FRAME_TICK)) == TT_FRAME_SOFT;
        tt_pop(recorder, stack, stack->top, now, is_stage ? TT_COMPLETE : TT_OPEN);
    }
    stack->too_deep = stack->suspended = 0;
    return sections;
}

/* Ends everything that a thread has open. */
static void tt_thread_abandon(tt_recorder *recorder, tt_thread *thread, uint64_t now)
{
    uint32_t sections = tt_stack_abandon(recorder, &thread->base, now);
    for (tt_stack *stack = thread->stacks; stack; stack = stack->next)
        sections += tt_stack_abandon(recorder, stack, now);
    if (sections) tt_lose(recorder, TT_LOSS_THREADS);
}

/* Runs when a thread's Python state is cleared. Its open sections end now; its stacks stay, because releasing a context
 * may run any code. */
static void tt_on_state_clear(void *mark)
{
    if (mark != &tt_thread_records) return; /* another thread's: after a fork, or at the end */
    tt_cache_clear();
    for (tt_thread *thread = tt_thread_records; thread; thread = thread->next_record) {
        tt_recorder *recorder = thread->recorder;
        if (recorder && recorder->recording && !recorder->forked) tt_thread_abandon(recorder, thread, tt_now(recorder));
    }
}

static void tt_stacks_free(tt_stack *stacks)
{
    for (tt_stack *stack = stacks, *next; stack; stack = next) {
        next = stack->next;
        Py_CLEAR(stack->context); /* a spare stack has none */
        free(stack);
    }
}

/* Frees the stacks of a thread and releases its contexts, which may run any code. */
void tt_thread_free_stacks(tt_thread *thread)
{
    tt_stacks_free(thread->stacks);
    tt_stacks_free(thread->spare);
    thread->stacks = thread->spare = NULL;
    Py_CLEAR(thread->own_context);
    Py_CLEAR(thread->base.context);
}

/* Releases what ended threads held: their trees, and the contexts that only the GIL's holder may release. */
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
        tt_thread_abandon(recorder, thread, thread->ended_at ? thread->ended_at : tt_now(recorder));
        for (tt_tree_slot *slot = recorder->slots; slot; slot = slot->next) {
            if (slot->owner == thread) tt_tree_release(recorder, slot);
            if (slot->last_owner == thread) slot->last_owner = NULL;
        }
        tt_thread_free_stacks(thread); /* last: finalisers may enter sections, which must find consistent records */
        free(thread);
    }
}

/* -- trees: each has one writer at a time; another thread adopts it once that writer ends -------------------------- */

/* A tree for a thread started below `spawn` (0: unknown). */
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
    TT_PREPEND(recorder, &recorder->header->trees, tree);
    *slot = (tt_tree_slot){.tree = root->tree, .root = tree->root, .spawn = spawn, .next = recorder->slots};
    recorder->slots = slot;
    return slot;
}

/* A tree without a writer: this thread's earlier one, or one of a thread that has ended. Trees of other live threads
 * stay theirs, or the work of one pool worker would count as another's. */
tt_tree_slot *tt_tree_find_unclaimed(tt_recorder *recorder, const tt_thread *thread, tt_ref spawn, tt_ref role)
{
    tt_tree_slot *unowned = NULL;
    for (tt_tree_slot *slot = recorder->slots; slot; slot = slot->next) {
        if (slot->owner || slot->spawn != spawn || slot->role != role) continue;
        if (slot->last_owner == thread) return slot;
        if (!unowned && !slot->last_owner) unowned = slot;
    }
    return unowned;
}

/* A tree below `spawn` for this thread: one of the same role without a writer, or a new one. */
tt_tree_slot *tt_tree_claim(tt_recorder *recorder, tt_thread *thread, tt_ref spawn, tt_ref role,
                            const tt_thread_facts *facts)
{
    tt_tree_slot *slot = tt_tree_find_unclaimed(recorder, thread, spawn, role);
    int is_adopted = slot != NULL;
    if (!slot) slot = tt_tree_make(recorder, spawn);
    if (!slot) return NULL;
    tt_tree *tree = tt_at(recorder, slot->tree);
    slot->role = tree->role = role;
    tree->adoptions += (uint64_t)is_adopted;
    tree->thread_id = facts->native_id;
    memcpy(tree->thread_name, facts->name, sizeof tree->thread_name);
    tree->alive = 1;
    slot->owner = thread;
    return slot;
}

/* The same for work that the calling thread does for another one. */
tt_tree_slot *tt_tree_claim_here(tt_recorder *recorder, tt_thread *thread, tt_ref spawn)
{
    tt_thread_facts facts = {0, NULL, 0, "", NULL};
    tt_host_functions.describe_thread(recorder, &facts);
    return tt_tree_claim(recorder, thread, spawn, thread->slot->role, &facts);
}

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
    tt_host_functions.describe_thread(recorder, &facts);
    tt_threads_reap(recorder);
    tt_thread *thread = malloc(sizeof *thread);
    tt_tree_slot *slot = thread ? tt_tree_claim(recorder, thread, facts.spawn_node, recorder->new_role, &facts) : NULL;
    if (!slot) {
        free(thread);
        return NULL;
    }
    ((tt_tree *)tt_at(recorder, slot->tree))->writer = (uint64_t)(uintptr_t)thread;
    Py_XINCREF(facts.own_context);
    *thread = (tt_thread){
        .recorder = recorder, .slot = slot, .self = pthread_self(), .clock = recorder->clock, .last = &thread->base,
        .base = {.thread = thread, .parent = {.home = slot->root},
                 .lane = tt_lane_of(recorder, facts.native_id, facts.name, 0)},
        .own_context = facts.own_context, .next = recorder->threads, .next_record = tt_thread_records};
    recorder->threads = tt_thread_records = thread;
    pthread_setspecific(tt_thread_key, tt_thread_records);
    tt_host_functions.thread_began(recorder, thread, facts.path);
    return thread;
}

/* The calling thread's record of this recorder, created if needed; records of freed recorders are dropped. */
tt_thread *tt_thread_here(tt_recorder *recorder)
{
    tt_thread **link = &tt_thread_records;
    while (*link) {
        tt_thread *thread = *link;
        if (thread->recorder == recorder) return thread;
        if (thread->recorder) {
            link = &thread->next_record;
            continue;
        }
        *link = thread->next_record;
        free(thread); /* this thread is alive, so no other one frees it */
    }
    pthread_setspecific(tt_thread_key, tt_thread_records);
    return tt_thread_make(recorder);
}

/* The calling thread's record of this recorder, or NULL. */
tt_thread *tt_thread_known(const tt_recorder *recorder)
{
    tt_thread *thread = tt_thread_records;
    while (thread && thread->recorder != recorder) thread = thread->next_record;
    return thread;
}

int tt_register_thread_key(void) { return pthread_key_create(&tt_thread_key, tt_on_thread_end); }

/* -- contexts: the stack of each ---------------------------------------------------------------------------------- */

static tt_stack *tt_stack_of_context(tt_thread *thread, const void *context)
{
    if (thread->base.context == context || thread->own_context == context) return &thread->base;
    tt_stack *stack = thread->stacks;
    while (stack && stack->context != context) stack = stack->next;
    return stack;
}

/* The stack of this thread that holds an open frame, or NULL. */
tt_stack *tt_stack_of_frame(tt_thread *thread, const tt_frame *target)
{
    for (tt_stack *stack = &thread->base; stack; stack = tt_stack_after(thread, stack))
        for (tt_frame *frame = stack->top; frame; frame = tt_below(frame))
            if (frame == target) return stack;
    return NULL;
}

/* The innermost open section of the contexts that this one was entered in; if it has a task, of that task's contexts
 * only. The stack used last does not help: its task may be asleep. */
static tt_frame *tt_frame_of_outer_context(const tt_stack *stack, tt_pyframe *now)
{
    for (PyObject *context = tt_context_previous(stack->context); context; context = tt_context_previous(context)) {
        tt_stack *stack_of_context = tt_stack_of_context(stack->thread, context);
        if (!stack_of_context || (stack->origin && stack_of_context->origin != stack->origin)) continue;
        tt_frame *frame = tt_frame_around(stack->thread->recorder, stack_of_context, now);
        if (frame) return frame;
    }
    return NULL;
}

static int tt_context_carries(tt_recorder *recorder, PyObject *context, const tt_origin *origin)
{
    PyObject *value = tt_variable_in(context, recorder->origin_var);
    int carries = value && tt_host_functions.origin_of(value) == origin;
    Py_XDECREF(value);
    return carries;
}

/* A task's own context is the outermost one that carries its origin: a copy made in the task may run first. */
static void tt_origin_claim(tt_recorder *recorder, tt_origin *origin, PyObject *context)
{
    PyObject *task_context = context;
    for (PyObject *outer = tt_context_previous(context); outer; outer = tt_context_previous(outer))
        if (tt_context_carries(recorder, outer, origin)) task_context = outer;
    origin->context = task_context;
}

/* The parent of a context's stack when the context is first seen: a task's own context (its origin is unclaimed), a
 * copy made inside that task and run there (`Context.run`, callbacks), or an unknown context that this thread runs
 * synchronously. If the task has no open section, a copy has the task's parent. A task is a child of the call that
 * created it; if that call is over, the task's sections stay below its node and cover no call. */
static tt_parent tt_stack_parent(tt_thread *thread, const tt_stack *stack, tt_pyframe *now)
{
    tt_origin *origin = stack->origin;
    tt_parent parent = thread->base.parent;
    tt_frame *open_frame = NULL;
    if (origin && !origin->context) tt_origin_claim(thread->recorder, origin, stack->context);
    if (!origin || origin->context != stack->context) open_frame = tt_frame_of_outer_context(stack, now);
    if (!open_frame && origin) {
        tt_stack *task_stack = tt_stack_of_context(thread, origin->context);
        if (task_stack) open_frame = task_stack->top;
    }
    if (open_frame) {
        tt_frame *frame = tt_frame_with_node(thread->recorder, open_frame);
        parent.home = tt_home_of(open_frame);
        parent.frame = frame;
        if (frame) parent.serial = frame->serial;
    } else if (origin) {
        parent.home = origin->node;
        parent.frame = origin->frame;
        parent.serial = origin->serial;
    }
    return parent;
}

/* The origin of this context's task, if that task belongs to this thread. */
static tt_origin *tt_origin_here(tt_recorder *recorder, tt_thread *thread)
{
    PyObject *value = tt_variable_now(recorder->origin_var);
    if (!value) return NULL;
    tt_origin *origin = tt_host_functions.origin_of(value);
    Py_DECREF(value); /* the context holds it */
    int is_own = origin && origin->thread == thread && origin->generation == recorder->generation;
    return is_own ? origin : NULL;
}

/* Finds the request that this context was copied in, if another thread serves it: frameworks run blocking work on a
 * thread, in a copy of the request's context. */
static void tt_stack_find_request(tt_recorder *recorder, tt_stack *stack)
{
    PyObject *value = stack->parent.submitter ? NULL : tt_variable_now(recorder->watch_var);
    tt_frame *served = value ? tt_host_functions.served_call(recorder, value, stack->thread) : NULL;
    if (served) {
        stack->parent.submitter = served;
        stack->parent.submitter_serial = served->serial;
    }
    Py_XDECREF(value);
}

/* Releases stacks of tasks that ended with something open: only the recorder still holds their contexts.
 * Runs when the number of stacks has doubled since the last sweep. */
static void tt_stacks_sweep(tt_recorder *recorder, tt_thread *thread)
{
    if (++thread->stacks_since_sweep < thread->sweep_at) return;
    uint32_t live_count = 0;
    uint64_t now = tt_now(recorder);
    tt_stack **link = &thread->stacks, *released = NULL;
    while (*link) {
        tt_stack *stack = *link;
        if (Py_REFCNT(stack->context) > 1) {
            link = &stack->next;
            live_count++;
            continue;
        }
        *link = stack->next;
        stack->next = released;
        released = stack;
        if (tt_stack_abandon(recorder, stack, now)) tt_lose(recorder, TT_LOSS_UNWOUND);
    }
    thread->stacks_since_sweep = 0;
    thread->sweep_at = live_count < 16 ? 16 : live_count;
    for (tt_stack *next; released; released = next) { /* last: releasing a context may run any code */
        next = released->next;
        tt_stack_release(released);
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
    stack->parent = tt_stack_parent(thread, stack, tt_pyframe_now(tt_thread_state()));
    tt_stack_find_request(recorder, stack);
    stack->next = thread->stacks;
    thread->stacks = stack;
    return stack;
}

/* The slow way to the current stack; caches it for the fast one. NULL: nothing can be recorded here. */
tt_stack *tt_stack_search(tt_recorder *recorder, PyThreadState *state)
{
    if (recorder->forked && !tt_host_functions.rearm(recorder)) return NULL;
    if (!recorder->recording) return NULL;
    PyObject *context = tt_context_force(state);
    tt_thread *thread = context ? tt_thread_here(recorder) : NULL;
    if (!thread || !recorder->recording) {
        tt_lose(recorder, TT_LOSS_MEMORY);
        return NULL;
    }
    tt_state_watch(state, &tt_thread_records, tt_on_state_clear);
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
    tt_cache = (tt_stack_cache){recorder, state, context, stack};
    return stack;
}

/* Releases a context's stack after its last frame. Dropping the context may run any code, so it comes last. */
void tt_stack_release(tt_stack *stack)
{
    if (!stack->context) return; /* releasing another context ran code that released this one */
    tt_thread *thread = stack->thread;
    tt_stack **link = &thread->stacks;
    while (*link && *link != stack) link = &(*link)->next;
    if (*link) *link = stack->next;
    if (tt_cache.stack == stack) tt_cache_clear();
    if (thread->last == stack) thread->last = &thread->base;
    PyObject *context = stack->context;
    stack->context = NULL;
    stack->next = thread->spare;
    thread->spare = stack;
    Py_XDECREF(context);
}
