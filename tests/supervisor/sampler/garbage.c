/* Stacks of a thread with random memory: memory that is read from outside may be half written, or reused. */
#include "stack.c"
#include <string.h>
#include <unistd.h>

int tt_own_memory = -1;

#define ROOM (2 * TT_CHUNK_BYTES)

static _Alignas(4096) unsigned char room[ROOM];

static uint64_t random_number(uint64_t *state) /* xorshift64; Marsaglia, 2003 */
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    return *state ^= *state << 17;
}

/* A pointer as in a torn frame: inside the chunk, at its ends, or near the first and last address. */
static uint64_t any_address(uint64_t *state)
{
    const uint64_t edges[] = {0, 8, UINT64_MAX, (uint64_t)(uintptr_t)room, (uint64_t)(uintptr_t)(room + ROOM)};
    uint64_t number = random_number(state);
    if (number % 3) return (uint64_t)(uintptr_t)room + random_number(state) % ROOM / 8 * 8;
    return (edges[number / 3 % 5] + random_number(state) % 256 - 128) & ~(uint64_t)7;
}

/* Reads `rounds` stacks; returns how many had frames. */
__attribute__((visibility("default"))) int read_garbage(uint64_t seed, int rounds)
{
    static tt_sampled_stack stack;
    static PyThreadState state;
    int read = 0;
    for (int round = 0; round < rounds; round++) {
        tt_frame_memory memory = {.count = 0};
        for (size_t at = 0; at + sizeof(tt_pyframe) < ROOM; at += 8 * (1 + random_number(&seed) % 16)) {
            tt_pyframe *frame = (tt_pyframe *)(room + at);
            frame->previous = (tt_pyframe *)(uintptr_t)any_address(&seed);
            frame->owner = (char)(random_number(&seed) % 5);
        }
        memset(&state, 0, sizeof state);
        state.datastack_chunk = (_PyStackChunk *)room;
        uint64_t limit = random_number(&seed) % (ROOM + 1);
        state.datastack_limit = (PyObject **)(room + limit);
        state.datastack_top = (PyObject **)(room + random_number(&seed) % (limit + 1));
        _PyStackChunk *chunk = (_PyStackChunk *)room;
        chunk->previous = (_PyStackChunk *)(uintptr_t)any_address(&seed);
        chunk->size = random_number(&seed) % 2 ? random_number(&seed) : random_number(&seed) % ROOM;
        tt_pyframe *current = (tt_pyframe *)(uintptr_t)any_address(&seed);
#if PY_VERSION_HEX < 0x030D0000
        static _PyCFrame cframe;
        cframe.current_frame = current;
        state.cframe = &cframe;
#else
        state.current_frame = current;
#endif
        read += tt_read_stack(getpid(), (uint64_t)(uintptr_t)&state, &memory, &stack) && stack.count;
    }
    return read;
}
