/* Threads that alternate under a lock, as under the GIL, and end without it; and forks. */
#include "harness.h"

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#define THREADS 6
#define TURNS 400
#define ROUNDS 3

static pthread_mutex_t gil = PTHREAD_MUTEX_INITIALIZER;

typedef struct {
    world *w;
    unsigned seed;
    tt_origin origin;
} worker;

static void turn(world *w, unsigned number)
{
    tt_section *section = &w->sections[number % 4];
    switch (number / 4 % 5) {
    case 0: case 1:
        tt_enter(section);
        break;
    case 2: case 3:
        tt_leave(section);
        break;
    default:
        tt_stage(section);
    }
    advance(w, number % 7);
}

/* Does what the interpreter does when it clears a thread's state. */
static void end_state(void)
{
    if (virtual_state.on_clear) virtual_state.on_clear(virtual_state.mark);
}

static void *work(void *argument)
{
    worker *worker_data = argument;
    unsigned number = worker_data->seed;
    tt_pyframe frame = {NULL, 1, 0};
    virtual_state.frame = &frame;
    for (unsigned i = 0; i < TURNS; i++) {
        number = number * 1103515245u + 12345u;
        pthread_mutex_lock(&gil);
        spawn_of_next = worker_data->origin.node;
        turn(worker_data->w, number >> 8);
        pthread_mutex_unlock(&gil);
    }
    pthread_mutex_lock(&gil);
    end_state();
    note_open_calls(worker_data->w);
    Py_CLEAR(virtual_state.context);
    pthread_mutex_unlock(&gil);
    return NULL;
}

static void start_all(world *w, pthread_t *threads, worker *workers)
{
    for (unsigned i = 0; i < THREADS; i++) {
        workers[i] = (worker){.w = w, .seed = i + 1};
        tt_origin_capture(w->recorder, &workers[i].origin);
        pthread_create(&threads[i], NULL, work, &workers[i]);
    }
}

void test_threads(void)
{
    world w;
    pthread_t threads[THREADS];
    worker workers[THREADS];
    world_open(&w, &WIDE);
    for (unsigned round = 0; round < ROUNDS; round++) {
        pthread_mutex_lock(&gil);
        spawn_of_next = 0;
        tt_enter(&w.sections[5]);
        start_all(&w, threads, workers);
        pthread_mutex_unlock(&gil);
        for (unsigned i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
        spawn_of_next = 0;
        tt_leave(&w.sections[5]);
        tt_threads_reap(w.recorder);
        check_memory(&w);
    }
    uint64_t trees = 0, adoptions = 0;
    for (tt_ref ref = w.recorder->header->trees; ref; trees++) {
        const tt_tree *tree = tt_at(w.recorder, ref);
        adoptions += tree->adoptions;
        ref = tree->next;
    }
    /* Trees of ended threads are reused: there are as many as simultaneous threads, and the run's. */
    CHECK(trees <= 1 + THREADS && trees - 1 + adoptions == ROUNDS * THREADS);
    world_close(&w);
}

/* A thread that ends with an open section in a context of its own: its stacks and the context are released. */
static void *end_in_a_task(void *argument)
{
    world *w = argument;
    PyObject *base_context = tt_context_force(&virtual_state), *task = virtual_object();
    tt_pyframe frame = {NULL, 1, 0};
    virtual_state.frame = &frame;
    tt_enter(&w->sections[0]);
    task->is_task = 1;
    task->previous = base_context;
    virtual_state.context = task;
    tt_enter(&w->sections[1]);
    advance(w, 6);
    virtual_state.context = base_context;
    Py_XDECREF(task);
    end_state();
    note_open_calls(w);
    Py_CLEAR(virtual_state.context);
    return NULL;
}

static void test_ends(void)
{
    world w;
    pthread_t thread;
    world_open(&w, &WIDE);
    spawn_of_next = 0;
    pthread_create(&thread, NULL, end_in_a_task, &w);
    pthread_join(thread, NULL);
    tt_threads_reap(w.recorder);
    CHECK(!w.recorder->threads->next && losses(&w, TT_LOSS_THREADS) == 1);
    check_memory(&w);
    world_close(&w);
}

/* -- an executor's worker ---------------------------------------------------------------------------------------------- */

static void *run_submitted(void *argument)
{
    worker *worker_data = argument;
    tt_pyframe frame = {NULL, 1, 0};
    virtual_state.frame = &frame;
    spawn_of_next = 0;
    tt_saved_parent before = tt_submitted_begin(worker_data->w->recorder, &worker_data->origin);
    CHECK(before.thread && before.thread->base.parent.submitter == worker_data->origin.frame);
    tt_enter(&worker_data->w->sections[1]);
    advance(worker_data->w, 5);
    tt_leave(&worker_data->w->sections[1]);
    tt_thread_restore(worker_data->w->recorder, &before);
    CHECK(before.thread->slot == before.slot && !before.thread->base.parent.submitter);
    end_state();
    note_open_calls(worker_data->w);
    Py_CLEAR(virtual_state.context);
    return NULL;
}

static void test_submitted_calls(void)
{
    world w;
    pthread_t thread;
    world_open(&w, &WIDE);
    tt_enter(&w.sections[0]);
    for (unsigned i = 0; i < 3; i++) {
        worker worker_data = {.w = &w};
        tt_origin_capture(w.recorder, &worker_data.origin);
        pthread_create(&thread, NULL, run_submitted, &worker_data);
        pthread_join(thread, NULL);
    }
    tt_leave(&w.sections[0]);
    tt_threads_reap(w.recorder);
    check_memory(&w);
    const tt_node *a = node_of(&w, &w.sections[0], 0);
    CHECK(a->stats.sum == 15 && a->own == 15); /* another thread's work does not cover this one */
    unsigned trees = 0;
    for (tt_ref ref = w.recorder->header->trees; ref; ref = ((tt_tree *)tt_at(w.recorder, ref))->next) trees++;
    CHECK(trees == 3); /* the run's, the workers' own, and that of the submitted calls, adopted twice */
    world_close(&w);
}

/* -- forks ----------------------------------------------------------------------------------------------------------- */

static void forget(world *w)
{
    w->open_count = 0;
    w->last_serial = 0;
    if (w->times) memset(w->times, 0, w->times_room * sizeof *w->times);
}

/* The child leaves the parent's open sections, and records in a memory of its own. */
static void child_of(world *w, uint64_t parent_used)
{
    CHECK(w->recorder->forked && w->recorder->fork_node);
    forget(w);
    tt_enter(&w->sections[2]);
    CHECK(!w->recorder->forked && w->recorder->header->used_bytes != parent_used);
    advance(w, 9);
    tt_leave(&w->sections[2]);
    tt_leave(&w->sections[1]);
    tt_leave(&w->sections[0]);
    CHECK(!losses(w, TT_LOSS_UNMATCHED));
    tt_leave(&w->sections[0]);
    CHECK(losses(w, TT_LOSS_UNMATCHED) == 1);
    check_memory(w);
    CHECK(node_of(w, &w->sections[2], 0)->stats.sum == 9);
    world_close(w);
}

void test_forks(void)
{
    world w;
    int status = -1;
    world_open(&w, &WIDE);
    for (unsigned i = 0; i < 2; i++) tt_enter(&w.sections[i]);
    for (unsigned i = 2; i < SECTIONS; i++) tt_enter(&w.sections[i]);
    for (unsigned i = SECTIONS; i-- > 2;) tt_leave(&w.sections[i]);
    tt_note_fork(w.recorder);
    tt_before_fork();
    pid_t child = fork();
    if (!child) {
        uint64_t used = w.recorder->header->used_bytes;
        tt_after_fork();
        child_of(&w, used);
        exit(0); /* runs the leak checker */
    }
    CHECK(waitpid(child, &status, 0) == child && !status);
    tt_leave(&w.sections[1]);
    tt_leave(&w.sections[0]);
    check_memory(&w);
    world_close(&w);
    test_submitted_calls();
    test_ends();
}
