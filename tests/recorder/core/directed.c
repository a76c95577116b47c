/* Single behaviours that the random programs do not reach, or do not compare. */
#include "harness.h"

#include <unistd.h>

static void in_world(void (*test)(world *))
{
    world w;
    world_open(&w, &WIDE);
    test(&w);
    world_close(&w);
}

static void a_section_costs_its_parent_its_own_time(world *w)
{
    tt_enter(&w->sections[0]);
    advance(w, 10);
    tt_enter(&w->sections[1]);
    advance(w, 5);
    tt_leave(&w->sections[1]);
    advance(w, 1);
    tt_leave(&w->sections[0]);
    check_memory(w);
    const tt_node *a = node_of(w, &w->sections[0], 0), *b = node_of(w, &w->sections[1], tt_ref_of(w->recorder, a));
    CHECK(a->own == 11 && a->stats.sum == 16 && b->own == 5 && b->concurrent == 0);
}

static void an_outer_leave_unwinds(world *w)
{
    for (unsigned i = 0; i < 4; i++) tt_enter(&w->sections[i]);
    advance(w, 3);
    tt_leave(&w->sections[0]);
    CHECK(losses(w, TT_LOSS_UNWOUND) == 3);
    check_memory(w);
}

static void recursion_ends_at_the_caps_and_is_counted(void)
{
    world w;
    caps limits = WIDE;
    limits.depth_cap = 10;
    limits.frame_cap = 20; /* the run's own is one */
    world_open(&w, &limits);
    for (unsigned i = 0; i < 50; i++) {
        tt_enter(&w.sections[0]);
        advance(&w, 1);
    }
    for (unsigned i = 0; i < 50; i++) {
        tt_leave(&w.sections[0]);
        advance(&w, 1);
    }
    check_memory(&w);
    CHECK(losses(&w, TT_LOSS_NODES) == 9 && losses(&w, TT_LOSS_FRAMES) == 31 && !losses(&w, TT_LOSS_UNMATCHED));
    CHECK(node_of(&w, &w.sections[0], 0)->stats.sum == 99);
    world_close(&w);
}

static void a_loop_past_the_caps_has_no_ticks(void)
{
    world w;
    caps limits = WIDE;
    limits.node_cap = 2;
    world_open(&w, &limits);
    tt_enter(&w.sections[0]);
    for (unsigned i = 0; i < 10; i++) {
        tt_tick(&w.sections[6], 100, 0);
        tt_stage(&w.sections[1]);
        advance(&w, 7);
    }
    tt_leave(&w.sections[0]);
    check_memory(&w);
    CHECK(!w.recorder->header->loops && losses(&w, TT_LOSS_NODES) == 20);
    world_close(&w);
}

static void ticks_stages_and_waits_sum_exactly(world *w)
{
    uint64_t serial = 0;
    tt_frame *tick = NULL;
    for (unsigned i = 0; i < 12; i++) {
        tick = tt_loop_boundary(&w->sections[6], tick, &serial, 1e8, 2); /* a budget of 10 ns */
        tt_loop_has_item(&w->sections[6], tick, serial);
        tt_stage(&w->sections[0]);
        advance(w, i % 3 == 0 ? 12 : 4);
        tt_enter(&w->sections[7]);
        advance(w, 3);
        tt_leave(&w->sections[7]);
    }
    tt_loop_end_tick(&w->sections[6], tick, serial, TT_COMPLETE);
    check_memory(w);
    const tt_loop *loop = tt_at(w->recorder, w->recorder->header->loops);
    const tt_loop_sums *sums = tt_at(w->recorder, loop->sums);
    CHECK(loop->ticks == 12 && loop->warmup_ticks == 2 && loop->missed == 3 && loop->late_sum == 6);
    CHECK(sums->waited == 30 && sums->missed_sum == 45);
}

/* A tick without an item of the iterable does not count: its time stays in its parent. */
static void a_void_tick_leaves_no_trace(world *w)
{
    uint64_t serial = 0;
    tt_enter(&w->sections[0]);
    tt_frame *tick = tt_loop_boundary(&w->sections[6], NULL, &serial, 0, 0);
    w->open_count = 0; /* not compared: its calls do not count */
    w->recorder->virtual_now += 4;
    tt_loop_end_tick(&w->sections[6], tick, serial, TT_VOID);
    tt_leave(&w->sections[0]);
    const tt_node *a = node_of(w, &w->sections[0], 0), *loop = node_of(w, &w->sections[6], tt_ref_of(w->recorder, a));
    CHECK(a->own == 4 && !loop->own && !loop->stats.count);
}

/* A section entered in a generator stays open while that sleeps, and is concurrent then. */
static void generators_sleep(world *w)
{
    tt_pyframe generator;
    call_python(&generator, 1);
    tt_enter(&w->sections[1]);
    advance(w, 2);
    return_python(&generator);
    tt_enter(&w->sections[0]);
    advance(w, 5);
    tt_leave(&w->sections[0]);
    call_python(&generator, 1);
    tt_leave(&w->sections[1]);
    return_python(&generator);
    check_memory(w);
    const tt_node *a = node_of(w, &w->sections[0], 0), *b = node_of(w, &w->sections[1], 0);
    CHECK(a && b && a->stats.sum == 5 && b->stats.sum == 7);
}

/* The last exit releases a task's stack and its context. */
static void a_stack_is_released_with_its_last_frame(world *w)
{
    tt_enter(&w->sections[0]);
    PyObject *base_context = virtual_state.context, *task = virtual_object();
    task->is_task = 1;
    task->previous = base_context;
    virtual_state.context = task;
    tt_enter(&w->sections[1]);
    advance(w, 2);
    CHECK(Py_REFCNT(task) == 2);
    tt_leave(&w->sections[1]);
    CHECK(Py_REFCNT(task) == 1 && !w->recorder->threads->stacks);
    virtual_state.context = base_context;
    Py_XDECREF(task);
    tt_leave(&w->sections[0]);
    check_memory(w);
    const tt_node *a = node_of(w, &w->sections[0], 0), *b = node_of(w, &w->sections[1], tt_ref_of(w->recorder, a));
    CHECK(b && b->stats.sum == 2 && !a->own); /* code in a copy of the context is in the open call */
}

/* Tasks that ended with an open stage: only the recorder holds their contexts, until the sweep. */
static void abandoned_stacks_are_swept(world *w)
{
    PyObject *base_context = tt_context_force(&virtual_state);
    for (unsigned i = 0; i < 200; i++) {
        PyObject *task = virtual_object();
        task->is_task = 1;
        task->previous = base_context;
        virtual_state.context = task;
        tt_stage(&w->sections[0]);
        advance(w, 1);
        task->previous = NULL;
        virtual_state.context = base_context;
        Py_XDECREF(task);
    }
    unsigned stacks = 0;
    for (const tt_stack *stack = w->recorder->threads->stacks; stack; stack = stack->next) stacks++;
    CHECK(stacks <= 32);
}

static void reset_begins_again_with_what_is_open(world *w)
{
    tt_enter(&w->sections[0]);
    advance(w, 100);
    world_reset(w);
    advance(w, 7);
    tt_leave(&w->sections[0]);
    check_memory(w);
    CHECK(node_of(w, &w->sections[0], 0)->stats.sum == 7);
}

static void a_file_that_is_full_loses_and_counts(const char *path)
{
    world w;
    caps limits = WIDE;
    limits.file_limit = 64 * 1024;
    limits.path = path;
    unlink(path);
    world_open(&w, &limits);
    for (unsigned turn = 0; turn < 3; turn++) {
        for (unsigned i = 0; i < 100; i++) {
            tt_enter(&w.sections[i % 5]);
            advance(&w, 1u << i % 20);
        }
        for (unsigned i = 100; i-- > 0;) tt_leave(&w.sections[i % 5]);
    }
    check_memory(&w);
    tt_disable(w.recorder);
    CHECK(losses(&w, TT_LOSS_MEMORY) && w.recorder->arena.backed <= 64 * 1024);
    world_close(&w);
    unlink(path);
}

static void gauges_keep_their_extremes(world *w)
{
    tt_gauge *gauge = tt_gauge_make(w->recorder, 0);
    for (int i = -40; i <= 40; i++) tt_gauge_set(w->recorder, gauge, i * 0.37);
    CHECK(gauge->count == 81 && gauge->zeros == 1 && gauge->minimum == -40 * 0.37 && gauge->maximum == 40 * 0.37);
}

static void gauges_keep_their_trend_in_windows_that_double(world *w)
{
    tt_gauge *gauge = tt_gauge_make(w->recorder, 0);
    uint64_t began = w->recorder->virtual_now;
    for (uint64_t i = 0; i < 4 * TT_WINDOWS; i++) { /* one reading in each window of the first width */
        w->recorder->virtual_now = began + i * TT_WINDOW_NS;
        tt_gauge_set(w->recorder, gauge, (double)i);
    }
    CHECK(gauge->window_shift == 2);
    for (uint64_t i = 0; i < TT_WINDOWS; i++) {
        tt_gauge_window window = gauge->windows[i];
        CHECK(window.count == 4 && window.minimum == (double)(4 * i) && window.maximum == (double)(4 * i + 3));
    }
}

/* A key may be the hash of what is compared: all entries of a key are found, however often the table grew. */
static void the_hash_table_keeps_all_of_one_key(void)
{
    tt_map map = {NULL, 0, 0};
    CHECK(!tt_map_get(&map, 7));
    for (uint64_t value = 1; value <= 500; value++) {
        CHECK(tt_map_reserve(&map));
        tt_map_add(&map, value % 50, value);
    }
    for (uint64_t key = 0; key < 50; key++) {
        uint64_t sum = 0, value, expected = 0;
        for (uint32_t step = 0; (value = tt_map_next(&map, key, &step));) sum += value;
        for (value = 1; value <= 500; value++) expected += value % 50 == key ? value : 0;
        CHECK(sum == expected);
    }
    tt_map_clear(&map);
    CHECK(!tt_map_get(&map, 7) && !map.count);
    tt_map_free(&map);
}

void test_directed(void)
{
    char path[64];
    snprintf(path, sizeof path, "/dev/shm/ticktree-core-%ld", (long)getpid());
    in_world(a_section_costs_its_parent_its_own_time);
    in_world(an_outer_leave_unwinds);
    recursion_ends_at_the_caps_and_is_counted();
    a_loop_past_the_caps_has_no_ticks();
    in_world(ticks_stages_and_waits_sum_exactly);
    in_world(a_void_tick_leaves_no_trace);
    in_world(generators_sleep);
    in_world(a_stack_is_released_with_its_last_frame);
    in_world(abandoned_stacks_are_swept);
    in_world(reset_begins_again_with_what_is_open);
    a_file_that_is_full_loses_and_counts(path);
    in_world(gauges_keep_their_extremes);
    in_world(gauges_keep_their_trend_in_windows_that_double);
    the_hash_table_keeps_all_of_one_key();
}

int main(int count, char **arguments)
{
    CHECK(!tt_register_thread_key());
    seed = 1;
    test_directed();
    test_threads();
    test_forks();
    test_random_programs(count > 1 ? (unsigned)atoi(arguments[1]) : 1000);
    puts("core: all tests passed");
    return 0;
}
