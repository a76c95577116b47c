/* How much memory the process has resident, and the most it had since the last reading.
 *
 * The kernel keeps the most a process ever had (VmHWM), and forgets it where "5" is written to the process's clear_refs
 * (proc(5)): so each interval between two readings has its own peak. Where that cannot be written, the mark only
 * tells of intervals that exceeded all before them; of others it is known what was there at their ends, and that
 * they stayed below the mark.
 *
 * The files are opened again each time, though it is a third of the cost: an open one would be of the parent's memory
 * in a forked child, and its number another file's in a program that closes all it finds.
 */
#ifndef TICKTREE_RESIDENT_H
#define TICKTREE_RESIDENT_H

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

typedef struct { /* of one memory, in the interval since it was read last */
    uint64_t now;   /* in use at this moment */
    uint64_t least; /* the peak is no less */
    uint64_t most;  /* and no more: the same, where it is known */
} tt_reading;

/* What the last reading left. In a forked child nothing: its memory is another. */
static struct {
    uint64_t now, high;
    int fresh; /* the mark was reset then */
    int keep;  /* it may not be reset: for tests of what is known then */
} tt_resident;

#define TT_STATUS_BYTES 8192u /* VmHWM comes after the list of groups, which may be long */

static uint64_t tt_status_bytes(const char *status, const char *field)
{
    const char *at = strstr(status, field);
    return at ? strtoull(at + strlen(field), NULL, 10) * 1024 : 0;
}

#if defined(__linux__)
static int tt_reset_high(void)
{
    int fd = open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC);
    if (fd < 0) return 0;
    ssize_t put = write(fd, "5", 1);
    close(fd);
    return put == 1;
}

/* Resident now, and the most since the mark was last reset, or ever. 0: it is not known. */
static int tt_read_status(uint64_t *now, uint64_t *high)
{
    char text[TT_STATUS_BYTES];
    int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
    if (fd < 0) return 0;
    ssize_t got = read(fd, text, sizeof text - 1);
    close(fd);
    if (got <= 0) return 0;
    text[got] = 0;
    *now = tt_status_bytes(text, "\nVmRSS:");
    *high = tt_status_bytes(text, "\nVmHWM:");
    struct rusage usage;
    if (!*high && !getrusage(RUSAGE_SELF, &usage)) *high = (uint64_t)usage.ru_maxrss * 1024;
    if (*high < *now) *high = *now;
    return *now != 0;
}
#else
static int tt_reset_high(void) { return 0; }
static int tt_read_status(uint64_t *now, uint64_t *high)
{
    (void)now;
    (void)high;
    return 0;
}
#endif

static void tt_keep_high(int keep) { tt_resident.keep = keep; }

/* The interval since the last reading. 0: not measured here. An error that a program's own call left stays. */
static int tt_resident_read(tt_reading *reading)
{
    int error = errno;
    uint64_t high = 0;
    int known = tt_read_status(&reading->now, &high);
    if (known) {
        int exact = tt_resident.fresh || high > tt_resident.high;
        reading->most = high;
        reading->least = reading->now > tt_resident.now ? reading->now : tt_resident.now;
        if (exact) reading->least = high;
        tt_resident.fresh = !tt_resident.keep && tt_reset_high();
        tt_resident.now = reading->now;
        tt_resident.high = high;
    }
    errno = error;
    return known;
}

#endif
