/* Where calls come from, told apart by numbers; calls from some of these places are in a section of their own. */
#ifndef TICKTREE_WHENCE_H
#define TICKTREE_WHENCE_H

#include "core/lifecycle.h"

typedef struct {
    uint64_t number;
    PyObject *section;
} tt_named_whence;

typedef struct {
    tt_recorder *recorder;
    unsigned calls;         /* that a number is made of */
    size_t count;
    tt_named_whence *named; /* few: they are gone through one by one */
} tt_whence;

/* A number for where `frame` is: the node open here, the instruction it executes, and those of the calls around it. */
static uint64_t tt_whence_of(const tt_whence *whence, tt_pyframe *frame)
{
    tt_ref node = tt_node_open_here(whence->recorder);
    uint64_t hash = tt_hash(TT_HASH_BEGIN, &node, sizeof node);
    for (unsigned calls = whence->calls; frame && calls; calls--, frame = tt_pyframe_python_caller(frame)) {
        uint64_t site = tt_pyframe_site(frame);
        hash = tt_hash(hash, &site, sizeof site);
    }
    return tt_hash_end(hash);
}

/* That of who called the running Python function. */
static uint64_t tt_whence_of_caller(const tt_whence *whence)
{
    return tt_whence_of(whence, tt_pyframe_python_caller(tt_pyframe_now(tt_thread_state())));
}

static tt_named_whence *tt_whence_find(const tt_whence *whence, uint64_t number)
{
    for (size_t at = 0; at < whence->count; at++)
        if (whence->named[at].number == number) return &whence->named[at];
    return NULL;
}

/* Has calls from there be in `section`. Returns -1 where there is no memory. */
static int tt_whence_name(tt_whence *whence, uint64_t number, PyObject *section)
{
    tt_named_whence *known = tt_whence_find(whence, number);
    PyObject *old = known ? known->section : NULL;
    if (!known) {
        tt_named_whence *more = PyMem_Realloc(whence->named, (whence->count + 1) * sizeof *more);
        if (!more) return -1;
        whence->named = more;
        known = &more[whence->count++];
        known->number = number;
    }
    Py_INCREF(section);
    known->section = section;
    Py_XDECREF(old);
    return 0;
}

/* Has calls from there be in no other section than all are. */
static void tt_whence_forget(tt_whence *whence, uint64_t number)
{
    tt_named_whence *known = tt_whence_find(whence, number);
    if (!known) return;
    PyObject *old = known->section;
    *known = whence->named[--whence->count];
    Py_DECREF(old);
}

static void tt_whence_forget_all(tt_whence *whence)
{
    while (whence->count) Py_DECREF(whence->named[--whence->count].section);
    PyMem_Free(whence->named);
    whence->named = NULL;
}

/* The section of a call that the running Python function makes; borrowed, or NULL: it has none of its own. */
static inline PyObject *tt_whence_section(const tt_whence *whence)
{
    if (!whence || !whence->count || whence->recorder->forked) return NULL;
    tt_named_whence *known = tt_whence_find(whence, tt_whence_of(whence, tt_pyframe_now(tt_thread_state())));
    return known ? known->section : NULL;
}

#endif
