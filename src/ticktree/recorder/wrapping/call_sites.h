/* Call sites, distinguished by numbers; calls from some of them are in an own section. */
#ifndef TICKTREE_CALL_SITES_H
#define TICKTREE_CALL_SITES_H

#include "choice.h"
#include "core/hot.h"

typedef struct {
    uint64_t number;
    PyObject *section;
} tt_named_call_site;

typedef struct {
    tt_choice choice;
    tt_recorder *recorder;
    unsigned calls;         /* that a number is made of */
    size_t count;
    tt_named_call_site *named; /* few: they are gone through one by one */
} tt_call_sites;

/* A number for where `frame` is: the node open here, the instruction it executes, and those of the calls around it. */
static uint64_t tt_call_sites_of(const tt_call_sites *call_sites, tt_pyframe *frame)
{
    tt_ref node = tt_node_open_here(call_sites->recorder);
    uint64_t hash = tt_hash(TT_HASH_BEGIN, &node, sizeof node);
    for (unsigned calls = call_sites->calls; frame && calls; calls--, frame = tt_pyframe_python_caller(frame)) {
        uint64_t site = tt_pyframe_site(frame);
        hash = tt_hash(hash, &site, sizeof site);
    }
    return tt_hash_end(hash);
}

/* That of the caller of the running Python function. */
static uint64_t tt_call_sites_of_caller(const tt_call_sites *call_sites)
{
    return tt_call_sites_of(call_sites, tt_pyframe_python_caller(tt_pyframe_now(tt_thread_state())));
}

static tt_named_call_site *tt_call_sites_find(const tt_call_sites *call_sites, uint64_t number)
{
    for (size_t at = 0; at < call_sites->count; at++)
        if (call_sites->named[at].number == number) return &call_sites->named[at];
    return NULL;
}

/* Has calls from there be in `section`. Returns -1 where there is no memory. */
static int tt_call_sites_name(tt_call_sites *call_sites, uint64_t number, PyObject *section)
{
    tt_named_call_site *known = tt_call_sites_find(call_sites, number);
    PyObject *old = known ? known->section : NULL;
    if (!known) {
        tt_named_call_site *more = PyMem_Realloc(call_sites->named, (call_sites->count + 1) * sizeof *more);
        if (!more) return -1;
        call_sites->named = more;
        known = &more[call_sites->count++];
        known->number = number;
    }
    Py_INCREF(section);
    known->section = section;
    Py_XDECREF(old);
    return 0;
}

/* Has calls from there be in no other section than all are. */
static void tt_call_sites_forget(tt_call_sites *call_sites, uint64_t number)
{
    tt_named_call_site *known = tt_call_sites_find(call_sites, number);
    if (!known) return;
    PyObject *old = known->section;
    *known = call_sites->named[--call_sites->count];
    Py_DECREF(old);
}

static void tt_call_sites_forget_all(tt_call_sites *call_sites)
{
    while (call_sites->count) Py_DECREF(call_sites->named[--call_sites->count].section);
    PyMem_Free(call_sites->named);
    call_sites->named = NULL;
}

/* A tt_choice: the section of calls from where the running Python function makes this one, if they have one. */
static PyObject *tt_call_sites_section(tt_choice *choice, PyObject *const *args, size_t count, PyObject *names)
{
    (void)args, (void)count, (void)names;
    const tt_call_sites *call_sites = (const tt_call_sites *)choice;
    if (!call_sites->count || call_sites->recorder->forked) return NULL;
    tt_named_call_site *known = tt_call_sites_find(call_sites, tt_call_sites_of(call_sites, tt_pyframe_now(tt_thread_state())));
    if (!known) return NULL;
    Py_INCREF(known->section);
    return known->section;
}

#endif
