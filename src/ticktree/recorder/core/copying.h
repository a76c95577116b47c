/* The readers' end of the sequence numbers. */
#ifndef TICKTREE_COPYING_H
#define TICKTREE_COPYING_H

#include <stdint.h>
#include <string.h>
#include <sys/types.h>

/* One copy of a record's stretches; 1 where its sequence number was even, and the same before and after. */
static int tt_copy_once(const uint8_t *source, uint8_t *target, ssize_t sequence_at, const ssize_t *starts,
                        const ssize_t *sizes, ssize_t count)
{
    const uint32_t *sequence = (const uint32_t *)(source + sequence_at);
    uint32_t before = __atomic_load_n(sequence, __ATOMIC_ACQUIRE);
    for (ssize_t part = 0; part < count; part++) memcpy(target + starts[part], source + starts[part], (size_t)sizes[part]);
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    return !(before & 1) && __atomic_load_n(sequence, __ATOMIC_RELAXED) == before;
}

#endif
