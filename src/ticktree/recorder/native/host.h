/* What the core asks of its host: which functions of the Cython side and of the optional parts answer. */
#ifndef TICKTREE_HOST_H
#define TICKTREE_HOST_H

#include "core/description.h"
#include "critical_path/edge.h"
#include "memory_sampling/sample.h"
#include "remote_parent/watch.h"

const void *tt_manager_codes[2]; /* set in callbacks.pxi */

/* In callbacks.pxi. */
static TT_NOINLINE int tt_rearm(tt_recorder *recorder);
static void tt_describe_thread(tt_recorder *recorder, tt_thread_facts *facts);
static TT_NOINLINE void tt_note_site(tt_recorder *recorder, tt_node *node, tt_section *section);
static tt_origin *tt_origin_of_object(PyObject *value);
static tt_watch *tt_watch_of_object(PyObject *value);

/* The call of another thread that a request's context is copied from. */
static tt_frame *tt_served_call(tt_recorder *recorder, PyObject *value, const tt_thread *thread)
{
    tt_watch *watch = tt_watch_of_object(value);
    return watch && watch->thread != thread ? tt_watch_open(recorder, watch) : NULL;
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
}

const tt_host tt_the_host = {
    .rearm = tt_rearm,
    .describe_thread = tt_describe_thread,
    .note_site = tt_note_site,
    .origin_of = tt_origin_of_object,
    .sample_prepare = tt_sample_prepare,
    .sample_done = tt_sample_done,
    .sample_enter = tt_sample_enter,
    .sample_leave = tt_sample_leave,
    .sample_book = tt_sample_book,
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
