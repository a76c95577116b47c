/* The memory that a recorder writes: one range of addresses, backed chunk by chunk.
 *
 * On tmpfs and never on a disk: dirty pages of a disk file are write-protected while they are written back and
 * stall whoever writes next. Every chunk is reserved (posix_fallocate) and touched before it is needed: writing
 * to an unreserved page of a full tmpfs is a SIGBUS, and the first touch of 256 KiB costs some 200 us. Where no
 * space can be reserved the chunk is private memory, which costs other processes their sight of it, not the
 * program its life.
 */
#ifndef TICKTREE_ARENA_H
#define TICKTREE_ARENA_H

#include "layout.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define TT_CHUNK (256u * 1024u)
#define TT_RESERVED_BYTES (64ull * 1024 * 1024)

#ifndef MAP_NORESERVE
#define MAP_NORESERVE 0
#endif
#ifndef MAP_POPULATE
#define MAP_POPULATE 0
#endif

typedef struct {
    uint8_t *base;
    uint64_t backed;       /* bytes that may be written */
    uint64_t file_limit;   /* bytes of tmpfs that this file may claim */
    int fd;                /* -1: private */
    uint32_t private_chunks;
} tt_arena;

static int tt_reserve_blocks(int fd, uint64_t offset, uint64_t bytes)
{
#if defined(__linux__)
    return posix_fallocate(fd, (off_t)offset, (off_t)bytes);
#else
    return ftruncate(fd, (off_t)(offset + bytes)) ? errno : 0;
#endif
}

static int tt_arena_back_privately(tt_arena *arena)
{
    void *at = mmap(arena->base + arena->backed, TT_CHUNK, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_POPULATE, -1, 0);
    if (at == MAP_FAILED) return 0;
    arena->private_chunks++;
    arena->backed += TT_CHUNK;
    return 1;
}

/* One more chunk; 0 where the addresses or all memory are used up. */
static int tt_arena_back(tt_arena *arena)
{
    if (arena->backed + TT_CHUNK > TT_RESERVED_BYTES) return 0;
    if (arena->fd < 0 || arena->backed + TT_CHUNK > arena->file_limit ||
        tt_reserve_blocks(arena->fd, arena->backed, TT_CHUNK))
        return tt_arena_back_privately(arena);
    void *at = mmap(arena->base + arena->backed, TT_CHUNK, PROT_READ | PROT_WRITE,
                    MAP_SHARED | MAP_FIXED | MAP_POPULATE, arena->fd, (off_t)arena->backed);
    if (at == MAP_FAILED) return tt_arena_back_privately(arena);
    arena->backed += TT_CHUNK;
    return 1;
}

/* `path` NULL: private memory. The file must not exist yet, and no link is followed. Where the arena already
 * has its addresses (a child after fork), it keeps them: pointers into it stay good. */
static int tt_arena_open(tt_arena *arena, const char *path, uint64_t file_limit)
{
    if (arena->fd >= 0) close(arena->fd);
    arena->fd = path ? open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600) : -1;
    arena->file_limit = file_limit;
    arena->backed = 0;
    arena->private_chunks = 0;
    void *at = mmap(arena->base, TT_RESERVED_BYTES, PROT_NONE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | (arena->base ? MAP_FIXED : 0), -1, 0);
    if (at == MAP_FAILED) return 0;
    arena->base = at;
    return tt_arena_back(arena) && tt_arena_back(arena);
}

static void tt_arena_close(tt_arena *arena)
{
    if (arena->base) munmap(arena->base, TT_RESERVED_BYTES);
    if (arena->fd >= 0) close(arena->fd);
    arena->base = NULL;
    arena->fd = -1;
}

#endif
