/* Random programs: sections, stages, ticks, generators and tasks in any order, within the caps and past them. */
#include "harness.h"

#define STEPS 300
#define GENERATORS 4
#define TASKS 4

typedef struct {
    tt_pyframe frame;
    int running;
} generator;

typedef struct {
    PyObject *context;
    tt_pyframe frame;
    tt_origin origin;
} task;

typedef struct {
    world w;
    generator generators[GENERATORS];
    task tasks[TASKS];
    tt_frame *tick; /* of a loop object */
    uint64_t tick_serial;
    tt_call call; /* of @timed */
    int is_called;
    PyObject *base_context; /* the thread's own context, while a task runs */
    task *running;
} program;

/* Any section but the loop's, whose calls are only ticks. */
static tt_section *any_section(program *p)
{
    unsigned index = draw(SECTIONS - 1);
    return &p->w.sections[index < 6 ? index : index + 1];
}

/* -- steps ---------------------------------------------------------------------------------------------------------- */

static void leave(program *p)
{
    tt_here here;
    tt_section *section = any_section(p);
    if (draw(4) && tt_arrive(p->w.recorder, &here)) { /* most programs leave what they entered last */
        const tt_frame *top = here.stack->top;
        if (top && !(top->flags & TT_FRAME_SOFT)) section = (tt_section *)(uintptr_t)top->section;
        tt_stack_rest(here.stack);
    }
    tt_leave_by(section, draw(8) ? 0 : TT_FRAME_RAISED);
}

static void resume_or_suspend(program *p)
{
    generator *g = &p->generators[draw(GENERATORS)];
    if (g->running) {
        if (virtual_state.frame != &g->frame) return;
        return_python(&g->frame);
        g->running = 0;
    } else if (!g->frame.is_generator) {
        call_python(&g->frame, 1);
        g->running = 1;
    } else {
        g->frame.previous = virtual_state.frame;
        virtual_state.frame = &g->frame;
        g->running = 1;
    }
}

static int runs_generator(const program *p)
{
    for (unsigned i = 0; i < GENERATORS; i++)
        if (p->generators[i].running) return 1;
    return 0;
}

/* An event loop: one task after the other, each in a context of its own, from the bottom of the thread. */
static void switch_task(program *p)
{
    if (runs_generator(p)) return;
    if (p->running) {
        p->running->context->previous = NULL;
        return_python(&p->running->frame);
        virtual_state.context = p->base_context;
        p->running = NULL;
        return;
    }
    task *next_task = &p->tasks[draw(TASKS)];
    if (!next_task->context) {
        PyObject *handle = virtual_object();
        next_task->context = virtual_object();
        next_task->context->is_task = 1;
        tt_origin_capture(p->w.recorder, &next_task->origin);
        handle->handle_origin = &next_task->origin;
        next_task->context->origin = handle;
    }
    p->base_context = virtual_state.context;
    next_task->context->previous = p->base_context;
    virtual_state.context = next_task->context;
    next_task->frame = (tt_pyframe){virtual_state.frame, 1, 0};
    virtual_state.frame = &next_task->frame;
    p->running = next_task;
}

static void end_task(program *p)
{
    task *t = &p->tasks[draw(TASKS)];
    if (!t->context || t == p->running) return;
    Py_CLEAR(t->context); /* it lives as long as it has open sections */
}

static void call(program *p)
{
    if (p->is_called) tt_call_end(&p->w.sections[0], &p->call, 0);
    else p->call = tt_call_begin(&p->w.sections[0]);
    p->is_called = !p->is_called;
}

static void loop_object(program *p)
{
    tt_section *loop = &p->w.sections[6];
    switch (draw(4)) {
    case 0:
        tt_loop_end_tick(loop, p->tick, p->tick_serial, TT_OPEN);
        p->tick = NULL;
        break;
    case 1:
        tt_loop_end_stages(loop, p->tick, p->tick_serial);
        break;
    default:
        p->tick = tt_loop_boundary(loop, p->tick, &p->tick_serial, 1e7, draw(2) ? 3 : TT_WARMUP_FOUND);
        if (draw(4)) tt_loop_has_item(loop, p->tick, p->tick_serial);
    }
}

static void step(program *p)
{
    switch (draw(17)) {
    case 0: case 1: case 2: case 3:
        tt_enter(any_section(p));
        break;
    case 4: case 5: case 6: case 7:
        leave(p);
        break;
    case 8:
        tt_stage(any_section(p));
        break;
    case 9:
        tt_tick(&p->w.sections[6], 1e7, TT_WARMUP_FOUND);
        break;
    case 10:
        loop_object(p);
        break;
    case 11:
        resume_or_suspend(p);
        break;
    case 12:
        switch_task(p);
        break;
    case 13:
        draw(3) ? call(p) : end_task(p);
        break;
    case 14:
        record(&p->w, &p->w.sections[draw(6)], draw(50));
        break;
    case 15:
        tt_work(any_section(p), &(tt_amounts){1, 2, 3});
        break;
    default:
        if (!draw(20)) world_reset(&p->w);
    }
}

/* -- programs --------------------------------------------------------------------------------------------------------- */

static void finish(program *p)
{
    for (unsigned i = 0; i < GENERATORS; i++) p->generators[i].running = 0;
    if (p->running) {
        virtual_state.context = p->base_context;
        p->running->context->previous = NULL;
    }
    virtual_state.frame = &p->w.main_frame;
    for (tt_thread *thread = p->w.recorder->threads; thread; thread = thread->next)
        while (thread->base.top) tt_pop(p->w.recorder, &thread->base, thread->base.top, p->w.recorder->virtual_now, TT_OPEN);
    note_open_calls(&p->w);
    for (tt_thread *thread = p->w.recorder->threads; thread; thread = thread->next)
        while (thread->stacks) {
            tt_stack *stack = thread->stacks;
            while (stack->top) tt_pop(p->w.recorder, stack, stack->top, p->w.recorder->virtual_now, TT_OPEN);
            stack->suspended = 0;
            stack->too_deep = 0;
            tt_stack_release(stack);
        }
    check_memory(&p->w);
    for (unsigned i = 0; i < TASKS; i++) Py_CLEAR(p->tasks[i].context);
}

/* Handles hold origins, which are in the program: live contexts must be released before it. */
static void run_program(const caps *limits)
{
    program *p = calloc(1, sizeof *p);
    world_open(&p->w, limits);
    for (unsigned i = 0; i < STEPS; i++) {
        step(p);
        advance(&p->w, draw(3) ? draw(50) : draw(2) ? 0 : draw(30000000));
    }
    finish(p);
    if (limits->node_cap == WIDE.node_cap) CHECK(!losses(&p->w, TT_LOSS_NODES) && !losses(&p->w, TT_LOSS_NAMES));
    tt_disable(p->w.recorder);
    for (tt_ref ref = p->w.recorder->header->frames; ref; ref = ((tt_frame *)tt_at(p->w.recorder, ref))->next)
        CHECK(!((tt_frame *)tt_at(p->w.recorder, ref))->serial);
    world_close(&p->w);
    free(p);
}

void test_random_programs(unsigned programs)
{
    for (unsigned number = 1; number <= programs; number++) {
        seed = number * 2654435761u + 1;
        caps limits = WIDE;
        if (number % 2) {
            limits.node_cap = 2 + draw(12);
            limits.depth_cap = 1 + draw(5);
            limits.name_cap = 3 + draw(6);
        }
        if (number % 3 == 0) limits.frame_cap = 2 + draw(6);
        if (number % 5 == 0) limits.events = 1 + draw(2000);
        run_program(&limits);
    }
}
