/* Which section a call is in, where that is not always the function's own. */
#ifndef TICKTREE_CHOICE_H
#define TICKTREE_CHOICE_H

#include "mistake.h"

/* The first member of whatever chooses: by the first argument (section_cache.h), by where the call comes from
 * (call_sites.h), by whether the call does anything (idle.h). */
typedef struct tt_choice {
    /* New reference: a section, or Py_None for a call that is not recorded. NULL: the function's own section, or what was
     * raised meanwhile is the program's. */
    PyObject *(*choose)(struct tt_choice *choice, PyObject *const *args, size_t count, PyObject *names);
} tt_choice;

#endif
