/* Shared by the C tests: a recorder on the virtual clock, a host, and the invariants of every memory. */
#ifndef TICKTREE_HARNESS_H
#define TICKTREE_HARNESS_H

#include "core/hot.h"

#include <stdio.h>
#include <stdlib.h>

#define CHECK(condition)                                                                \
    do {                                                                                \
        if (!(condition)) {                                                             \
            fprintf(stderr, "%s:%d: seed %u: %s\n", __FILE__, __LINE__, seed, #condition); \
            abort();                                                                    \
        }                                                                               \
    } while (0)

#define SECTIONS 8u

typedef struct { /* a recorder, and its expected state */
    tt_recorder *recorder;
    tt_section sections[SECTIONS];
    tt_pyframe main_frame;
    PyObject *variable; /* any object, as the context variable of origins */
    struct open_call {
        tt_frame *frame;
        uint64_t serial, start, parent_serial; /* parent_serial: of the call that it covers */
        tt_ref node;
    } *open;
    uint32_t open_count, open_room;
    uint64_t last_serial;
    struct times { /* by node: the total time of its calls, and their self time */
        uint64_t total, self_ticks;
    } *times;
    uint32_t times_room;
} world;

typedef struct {
    uint64_t file_limit;
    const char *path; /* NULL: private memory */
    uint32_t node_cap, frame_cap, depth_cap, name_cap;
    uint64_t events;
} caps;

extern unsigned seed;
extern const caps WIDE;
extern tt_ref spawn_of_next; /* the node that starts the next thread, as the host reports it */

unsigned draw(unsigned below);
void world_open(world *w, const caps *limits);
void world_close(world *w);
void note_open_calls(world *w);          /* after each step */
void advance(world *w, uint64_t ns);
void world_reset(world *w);
void record(world *w, tt_section *section, uint64_t ns);
void check_memory(world *w);  /* times sum exactly, and all counts are of the same calls */
uint64_t losses(const world *w, enum tt_loss loss);
tt_node *node_of(const world *w, const tt_section *section, tt_ref parent);
void call_python(tt_pyframe *frame, int is_generator);
void return_python(tt_pyframe *frame);

/* tests */
void test_random_programs(unsigned programs);
void test_threads(void);
void test_forks(void);
void test_directed(void);

#endif
