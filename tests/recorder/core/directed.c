/* One behaviour each: what the random programs do not reach, or do not compare. */
#include "harness.h"

#include <unistd.h>

static void a_section_costs_its_parent_its_own_time(void)
{
    world w;
    world_open(&w, &WIDE);
    tt_enter(&w.sections[0]);
    advance(&w, 10);
    tt_enter(&w.sections[1]);
    advance(&w, 5);
    tt_leave(&w.sections[1]);
    advance(&w, 1);
    tt_leave(&w.sections[0]);
    check_memory(&w);
    const tt_node *a = node_of(&w, &w.sections[0], 0), *b = node_of(&w, &w.sections[1], tt_ref_of(w.recorder, a));
    CHECK(a->own == 11 && a->stats.sum == 16 && b->own == 5 && b->concurrent == 0);
    world_close(&w);
}

static void an_outer_leave_unwinds(void)
{
    world w;
    world_open(&w, &WIDE);
    for (unsigned at = 0; at < 4; at++) tt_enter(&w.sections[at]);
    advance(&w, 3);
    tt_leave(&w.sections[0]);
    CHECK(losses(&w, TT_LOSS_UNWOUND) == 3);
    check_memory(&w);
    world_close(&w);
}

static void recursion_ends_at_the_caps_and_is_counted(void)
{
    world w;
    caps limits = WIDE;
    limits.depth_cap = 10;
    limits.frame_cap = 20; /* the run's own is one */
    world_open(&w, &limits);
    for (unsigned at = 0; at < 50; at++) {
        tt_enter(&w.sections[0]);
        advance(&w, 1);
    }
    for (unsigned at = 0; at < 50; at++) {
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
    for (unsigned at = 0; at < 10; at++) {
        tt_tick(&w.sections[6], 100, 0);
        tt_stage(&w.sections[1]);
        advance(&w, 7);
    }
    tt_leave(&w.sections[0]);
    check_memory(&w);
    CHECK(!w.recorder->header->loops && losses(&w, TT_LOSS_NODES) == 20);
    world_close(&w);
}

static void ticks_stages_and_waits_add_up(void)
{
    world w;
    uint64_t serial = 0;
    tt_frame *tick = NULL;
    world_open(&w, &WIDE);
    for (unsigned at = 0; at < 12; at++) {
        tick = tt_loop_boundary(&w.sections[6], tick, &serial, 1e8, 2); /* a budget of 10 ns */
        tt_loop_has_item(&w.sections[6], tick, serial);
        tt_stage(&w.sections[0]);
        advance(&w, at % 3 == 0 ? 12 : 4);
        tt_enter(&w.sections[7]);
        advance(&w, 3);
        tt_leave(&w.sections[7]);
    }
    tt_loop_end_tick(&w.sections[6], tick, serial, TT_COMPLETE);
    check_memory(&w);
    const tt_loop *loop = tt_at(w.recorder, w.recorder->header->loops);
    const tt_loop_sums *sums = tt_at(w.recorder, loop->sums);
    CHECK(loop->ticks == 12 && loop->warmup_ticks == 2 && loop->missed == 3 && loop->late_sum == 6);
    CHECK(sums->waited == 30 && sums->missed_sum == 45);
    world_close(&w);
}

/* A tick for which the iterable had no item is none: its time stays in what is around it. */
static void a_void_tick_leaves_nothing(void)
{
    world w;
    uint64_t serial = 0;
    world_open(&w, &WIDE);
    tt_enter(&w.sections[0]);
    tt_frame *tick = tt_loop_boundary(&w.sections[6], NULL, &serial, 0, 0);
    w.open_count = 0; /* not compared: its calls come to nothing */
    w.recorder->virtual_now += 4;
    tt_loop_end_tick(&w.sections[6], tick, serial, TT_VOID);
    tt_leave(&w.sections[0]);
    const tt_node *a = node_of(&w, &w.sections[0], 0), *loop = node_of(&w, &w.sections[6], tt_ref_of(w.recorder, a));
    CHECK(a->own == 4 && !loop->own && !loop->stats.count);
    world_close(&w);
}

/* What is entered in a generator is open while that sleeps, and is concurrent then. */
static void generators_sleep(void)
{
    world w;
    tt_pyframe generator;
    world_open(&w, &WIDE);
    call_python(&generator, 1);
    tt_enter(&w.sections[1]);
    advance(&w, 2);
    return_python(&generator);
    tt_enter(&w.sections[0]);
    advance(&w, 5);
    tt_leave(&w.sections[0]);
    call_python(&generator, 1);
    tt_leave(&w.sections[1]);
    return_python(&generator);
    check_memory(&w);
    const tt_node *a = node_of(&w, &w.sections[0], 0), *b = node_of(&w, &w.sections[1], 0);
    CHECK(a && b && a->stats.sum == 5 && b->stats.sum == 7);
    world_close(&w);
}

/* The last leave gives a task's stack up, and lets go of the context that it held. */
static void a_stack_is_released_with_its_last_frame(void)
{
    world w;
    world_open(&w, &WIDE);
    tt_enter(&w.sections[0]);
    PyObject *own = virtual_state.context, *other = virtual_object();
    other->is_task = 1;
    other->beneath = own;
    virtual_state.context = other;
    tt_enter(&w.sections[1]);
    advance(&w, 2);
    CHECK(Py_REFCNT(other) == 2);
    tt_leave(&w.sections[1]);
    CHECK(Py_REFCNT(other) == 1 && !w.recorder->threads->stacks);
    virtual_state.context = own;
    Py_XDECREF(other);
    tt_leave(&w.sections[0]);
    check_memory(&w);
    const tt_node *a = node_of(&w, &w.sections[0], 0), *b = node_of(&w, &w.sections[1], tt_ref_of(w.recorder, a));
    CHECK(b && b->stats.sum == 2 && !a->own); /* what runs in a copy of the context is in the call that is open */
    world_close(&w);
}

/* Tasks that ended with a stage open: their contexts are held by nobody else, and go as more are made. */
static void abandoned_stacks_are_swept(void)
{
    world w;
    world_open(&w, &WIDE);
    PyObject *own = tt_context_force(&virtual_state);
    for (unsigned at = 0; at < 200; at++) {
        PyObject *task = virtual_object();
        task->is_task = 1;
        task->beneath = own;
        virtual_state.context = task;
        tt_stage(&w.sections[0]);
        advance(&w, 1);
        task->beneath = NULL;
        virtual_state.context = own;
        Py_XDECREF(task);
    }
    unsigned stacks = 0;
    for (const tt_stack *stack = w.recorder->threads->stacks; stack; stack = stack->next) stacks++;
    CHECK(stacks <= 32);
    world_close(&w);
}

static void reset_begins_again_with_what_is_open(void)
{
    world w;
    world_open(&w, &WIDE);
    tt_enter(&w.sections[0]);
    advance(&w, 100);
    world_reset(&w);
    advance(&w, 7);
    tt_leave(&w.sections[0]);
    check_memory(&w);
    CHECK(node_of(&w, &w.sections[0], 0)->stats.sum == 7);
    world_close(&w);
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
        for (unsigned at = 0; at < 100; at++) {
            tt_enter(&w.sections[at % 5]);
            advance(&w, 1u << at % 20);
        }
        for (unsigned at = 100; at-- > 0;) tt_leave(&w.sections[at % 5]);
    }
    check_memory(&w);
    tt_disable(w.recorder);
    CHECK(losses(&w, TT_LOSS_MEMORY) && w.recorder->arena.backed <= 64 * 1024);
    world_close(&w);
    unlink(path);
}

static void gauges_keep_their_extremes(void)
{
    world w;
    world_open(&w, &WIDE);
    tt_gauge *gauge = tt_gauge_make(w.recorder, 0);
    for (int at = -40; at <= 40; at++) tt_gauge_set(w.recorder, gauge, at * 0.37);
    CHECK(gauge->count == 81 && gauge->zeros == 1 && gauge->minimum == -40 * 0.37 && gauge->maximum == 40 * 0.37);
    world_close(&w);
}

static void gauges_keep_their_course_in_windows_that_double(void)
{
    world w;
    world_open(&w, &WIDE);
    tt_gauge *gauge = tt_gauge_make(w.recorder, 0);
    uint64_t began = w.recorder->virtual_now;
    for (uint64_t at = 0; at < 4 * TT_WINDOWS; at++) { /* one reading in each window of the first width */
        w.recorder->virtual_now = began + at * TT_WINDOW_NS;
        tt_gauge_set(w.recorder, gauge, (double)at);
    }
    CHECK(gauge->window_shift == 2);
    for (uint64_t at = 0; at < TT_WINDOWS; at++) {
        tt_gauge_window window = gauge->windows[at];
        CHECK(window.count == 4 && window.minimum == (double)(4 * at) && window.maximum == (double)(4 * at + 3));
    }
    world_close(&w);
}

/* A key may be the hash of what is compared: all of one key are found, however often the table grew. */
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
        for (uint32_t at = 0; (value = tt_map_next(&map, key, &at));) sum += value;
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
    a_section_costs_its_parent_its_own_time();
    an_outer_leave_unwinds();
    recursion_ends_at_the_caps_and_is_counted();
    a_loop_past_the_caps_has_no_ticks();
    ticks_stages_and_waits_add_up();
    a_void_tick_leaves_nothing();
    generators_sleep();
    a_stack_is_released_with_its_last_frame();
    abandoned_stacks_are_swept();
    reset_begins_again_with_what_is_open();
    a_file_that_is_full_loses_and_counts(path);
    gauges_keep_their_extremes();
    gauges_keep_their_course_in_windows_that_double();
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
