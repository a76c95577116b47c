/* The memory that a recorder writes: one range of addresses, backed chunk by chunk.
 *
 * On tmpfs and never on a disk: dirty pages of a disk file are write-protected while they are written back and
 * stall whoever writes next. Every chunk is reserved (posix_fallocate) and touched before it is needed: writing
 * to an unreserved page of a full tmpfs is a SIGBUS, and the first touch of 256 KiB costs some 200 us. Where not even
 * the first chunk can be reserved, all is private memory, which only this process can read; where a later one cannot,
 * the file stays as large as it is, and what finds no place in it is counted. So a file is always whole.
 *
 * A run may be thousands of small processes: the first chunk is 32 KiB, and a chunk is a quarter of what there is
 * already, up to 256 KiB.
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

#define TT_CHUNK_LEAST (32ull * 1024)
#define TT_CHUNK_MOST (256ull * 1024)
/* Kept free ahead of what is used: more than any record takes. */
#define TT_AHEAD (12ull * 1024)
/* What does not fit may be entered a million times a second: of so many asks for room where there was none, one is
 * passed on to the system. There may be room again by then. */
#define TT_ASKS_SKIPPED 255u
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
    uint32_t asks_to_skip; /* since room was refused */
} tt_arena;

static int tt_reserve_blocks(int fd, uint64_t offset, uint64_t bytes)
{
#if defined(__linux__)
    return posix_fallocate(fd, (off_t)offset, (off_t)bytes);
#else
    return ftruncate(fd, (off_t)(offset + bytes)) ? errno : 0;
#endif
}

/* Chunks are whole pages; where pages are larger than the least chunk, one page is. */
static uint64_t tt_chunk_unit(void)
{
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    return page > TT_CHUNK_LEAST ? page : TT_CHUNK_LEAST;
}

static int tt_arena_extend(tt_arena *arena, uint64_t bytes)
{
    int flags = MAP_PRIVATE | MAP_ANONYMOUS;
    if (arena->fd >= 0) {
        if (tt_reserve_blocks(arena->fd, arena->backed, bytes)) return 0;
        flags = MAP_SHARED;
    }
    void *at = mmap(arena->base + arena->backed, bytes, PROT_READ | PROT_WRITE, flags | MAP_FIXED | MAP_POPULATE,
                    arena->fd, arena->fd < 0 ? 0 : (off_t)arena->backed);
    if (at == MAP_FAILED) return 0;
    arena->backed += bytes;
    return 1;
}

/* One more chunk; 0 where addresses, tmpfs or all memory are used up. */
static int tt_arena_back(tt_arena *arena)
{
    uint64_t unit = tt_chunk_unit();
    uint64_t most = arena->fd >= 0 && arena->file_limit < TT_RESERVED_BYTES ? arena->file_limit : TT_RESERVED_BYTES;
    if (arena->backed + unit > most) return 0;
    if (arena->asks_to_skip) {
        arena->asks_to_skip--;
        return 0;
    }
    uint64_t left = (most - arena->backed) / unit * unit;
    uint64_t bytes = arena->backed / 4 / unit * unit;
    if (bytes > TT_CHUNK_MOST) bytes = TT_CHUNK_MOST / unit * unit;
    if (bytes > left) bytes = left;
    /* Where a large one finds no room a small one may. */
    if ((bytes > unit && tt_arena_extend(arena, bytes)) || tt_arena_extend(arena, unit)) return 1;
    arena->asks_to_skip = TT_ASKS_SKIPPED;
    return 0;
}

/* The first chunk: on tmpfs if there is room, else private. */
static int tt_arena_start(tt_arena *arena, const char *path)
{
    if (arena->fd >= 0 && !tt_arena_back(arena)) {
        unlink(path);
        close(arena->fd);
        arena->fd = -1;
        arena->asks_to_skip = 0;
    }
    return arena->backed || tt_arena_back(arena);
}

/* `path` NULL: private memory. The file must not exist yet, and no link is followed; -1 where it cannot be made, 0
 * where there is no memory. Where the arena already has its addresses (a child after fork), it keeps them: pointers
 * into it stay good. */
static int tt_arena_open(tt_arena *arena, const char *path, uint64_t file_limit)
{
    if (arena->fd >= 0) close(arena->fd);
    arena->fd = path ? open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600) : -1;
    if (path && arena->fd < 0) return -1;
    arena->file_limit = file_limit;
    arena->backed = 0;
    arena->asks_to_skip = 0;
    void *at = mmap(arena->base, TT_RESERVED_BYTES, PROT_NONE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | (arena->base ? MAP_FIXED : 0), -1, 0);
    if (at == MAP_FAILED) return 0;
    arena->base = at;
    return tt_arena_start(arena, path);
}

static void tt_arena_close(tt_arena *arena)
{
    if (arena->base) munmap(arena->base, TT_RESERVED_BYTES);
    if (arena->fd >= 0) close(arena->fd);
    arena->base = NULL;
    arena->fd = -1;
}

#endif
