/* The host of the core: the table of functions of the Cython side and of the optional parts that the core calls. */
#ifndef TICKTREE_HOST_H
#define TICKTREE_HOST_H

#include "core/description.h"
#include "critical_path/edge.h"
#include "experiments/blocks.h"
#include "memory_sampling/sample.h"
#include "remote_parent/watch.h"

const void *tt_manager_codes[2]; /* set in callbacks.pxi */

/* In callbacks.pxi. */
static TT_NOINLINE int tt_rearm(tt_recorder *recorder);
static void tt_describe_thread(tt_recorder *recorder, tt_thread_facts *facts);
static TT_NOINLINE void tt_note_site(tt_recorder *recorder, tt_node *node, tt_section *section);
static tt_origin *tt_origin_of_object(PyObject *value);
static tt_watch *tt_watch_of_object(PyObject *value);

/* The call of another thread whose context, a request's, was copied. */
static tt_frame *tt_served_call(tt_recorder *recorder, PyObject *value, const tt_thread *thread)
{
    tt_watch *watch = tt_watch_of_object(value);
    return watch && watch->thread != thread ? tt_watch_open(recorder, watch) : NULL;
}

/* Called first where calls of measured sections begin and end; `tt_parts_finish` is called last. */
static TT_NOINLINE int tt_parts_prepare(const tt_section *section)
{
    tt_experiment_pay(section->recorder);
    return section->frame_flags & TT_FRAME_MEMORY ? tt_sample_prepare(section) : section->recorder->recording;
}

static void tt_parts_finish(const tt_section *section)
{
    if (section->frame_flags & TT_FRAME_MEMORY) tt_sample_done();
    tt_experiment_delay(section->recorder);
}

static int tt_parts_enter(tt_recorder *recorder, tt_frame *frame, uint32_t flags)
{
    uint32_t samples = flags & (TT_FRAME_CPU | TT_FRAME_MEMORY);
    int sampled = samples && tt_sample_enter(recorder, frame, samples);
    return (flags & TT_FRAME_EXPERIMENT && tt_experiment_enter(recorder, frame)) || sampled;
}

static void tt_parts_reset(tt_recorder *recorder)
{
    tt_edges_reset(recorder);
    tt_paths_reset(recorder);
    tt_footprints_reset(recorder);
    tt_peaks_reset(recorder);
}

static void tt_parts_end(tt_recorder *recorder)
{
    tt_peaks_forget(recorder);
    tt_signals_end(recorder);
    tt_experiment_end(recorder);
}

const tt_host tt_host_functions = {
    .rearm = tt_rearm,
    .describe_thread = tt_describe_thread,
    .note_site = tt_note_site,
    .origin_of = tt_origin_of_object,
    .sample_prepare = tt_parts_prepare,
    .sample_done = tt_parts_finish,
    .sample_enter = tt_parts_enter,
    .sample_leave = tt_sample_leave,
    .sample_book = tt_sample_book,
    .experiment_leave = tt_experiment_leave,
    .watch_close = tt_watch_close,
    .served_call = tt_served_call,
    .thread_began = tt_path_begin,
    .thread_moves = tt_path_move,
    .before_fork = tt_path_before_fork,
    .after_fork = tt_peaks_after_fork,
    .was_reset = tt_parts_reset,
    .ends = tt_parts_end,
};

#endif
