/* Peaks of memory inside open calls, whatever other calls begin and end meanwhile.
 *
 * A high-water mark is the process's, or a device's: only one interval can be watched at a time. So the time of a
 * program is cut into intervals by the moments at which any measured call begins or ends. Each interval is read once,
 * with one reset of the mark, and its peak is every call's that was open in it. What a call's peak is at its end is
 * then the greatest of its intervals', in whatever order calls nest, interleave or end.
 *
 * One table for the process: all recorders, threads and contexts of it share the memories. Guarded by the GIL.
 */
#ifndef TICKTREE_PEAKS_H
#define TICKTREE_PEAKS_H

#include "core/core.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* -- the process's own memory ---------------------------------------------------------------------------------------- */

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

/* -- peaks of all memories --------------------------------------------------------------------------------------------- */

#define TT_DEVICES 16u /* more of one process are not measured */
#define TT_MEMORIES (1u + TT_DEVICES)
#define TT_RESIDENT 0u /* of the memories, the first is the process's own */
#define TT_DEVICE_NAME 63u

typedef struct { /* of one call and one memory */
    uint64_t entry;       /* in use when it began */
    uint64_t least, most; /* between these lies its peak */
} tt_mark;

typedef struct {
    uint64_t id;
    const tt_recorder *recorder;
    int resident_known, devices_known; /* as it began */
    tt_mark marks[TT_MEMORIES];
} tt_measured;

static struct {
    tt_measured *calls;
    uint32_t count, room;
    uint64_t last_id;
    uint32_t devices;
    char names[TT_DEVICES][TT_DEVICE_NAME + 1];
    uint64_t now[TT_MEMORIES]; /* at the last reading */
    int has_reader;            /* whether there is something to read devices with */
    int devices_read;          /* by the operation under way */
    int reading_devices;       /* which runs Python code: others may come in between */
} tt_peaks;

/* In devices.pxi: reads all devices by `tt_device_fold`; 0 where it failed. It may run any code. */
static int tt_devices_ask(void);

/* What was read of a memory is what all open calls saw of it. */
static void tt_fold(uint32_t memory, const tt_reading *reading)
{
    tt_peaks.now[memory] = reading->now;
    for (uint32_t at = 0; at < tt_peaks.count; at++) {
        tt_mark *mark = &tt_peaks.calls[at].marks[memory];
        if (reading->least > mark->least) mark->least = reading->least;
        if (reading->most > mark->most) mark->most = reading->most;
    }
}

/* A new device had nothing in use before: open calls' marks already say so. */
static void tt_device_fold(const char *name, const tt_reading *reading)
{
    uint32_t at = 0;
    while (at < tt_peaks.devices && strcmp(tt_peaks.names[at], name)) at++;
    if (at == TT_DEVICES) return;
    if (at == tt_peaks.devices) {
        strncpy(tt_peaks.names[at], name, TT_DEVICE_NAME);
        tt_peaks.devices++;
    }
    tt_fold(1 + at, reading);
}

/* What was in them since they were read last is not known any more. */
static void tt_devices_lost(void)
{
    for (uint32_t at = 0; at < tt_peaks.count; at++) tt_peaks.calls[at].devices_known = 0;
}

/* Others are read from now on, or none. */
static void tt_devices_changed(int has_reader)
{
    tt_peaks.has_reader = has_reader;
    tt_devices_lost();
    memset(tt_peaks.now + 1, 0, TT_DEVICES * sizeof *tt_peaks.now);
}

/* Before a measured call begins or ends: whatever runs here runs before anything is half done. */
static void tt_devices_read(void)
{
    tt_peaks.devices_read = 0;
    if (TT_LIKELY(!tt_peaks.has_reader) || tt_peaks.reading_devices) return;
    tt_peaks.reading_devices = 1;
    int read = tt_devices_ask();
    if (!read) tt_devices_lost();
    tt_peaks.reading_devices = 0;
    tt_peaks.devices_read = read;
}

static int tt_resident_fold(void)
{
    tt_reading reading;
    if (!tt_resident_read(&reading)) return 0;
    tt_fold(TT_RESIDENT, &reading);
    return 1;
}

static void tt_mark_begin(tt_measured *call, uint32_t memory)
{
    uint64_t now = tt_peaks.now[memory];
    call->marks[memory] = (tt_mark){now, now, now};
}

/* Where it is now is where the call begins. Returns what it is known by; 0: it is not measured. */
static uint64_t tt_measured_begin(const tt_recorder *recorder)
{
    int resident = tt_resident_fold();
    tt_measured *calls = tt_grown(tt_peaks.calls, tt_peaks.count, &tt_peaks.room, 16, sizeof *calls);
    if (!calls) return 0;
    tt_peaks.calls = calls;
    tt_measured *call = &tt_peaks.calls[tt_peaks.count++];
    *call = (tt_measured){.id = ++tt_peaks.last_id, .recorder = recorder, .resident_known = resident};
    call->devices_known = tt_peaks.devices_read;
    for (uint32_t memory = 0; memory <= tt_peaks.devices; memory++) tt_mark_begin(call, memory);
    return call->id;
}

/* Takes a call out of the table as it is now, all that it saw folded in; 0 where it is not there: it is a forked
 * parent's. */
static int tt_measured_end(uint64_t id, tt_measured *ended)
{
    uint32_t at = 0;
    while (at < tt_peaks.count && tt_peaks.calls[at].id != id) at++;
    if (at == tt_peaks.count) return 0;
    if (!tt_resident_fold()) tt_peaks.calls[at].resident_known = 0;
    *ended = tt_peaks.calls[at];
    tt_peaks.calls[at] = tt_peaks.calls[--tt_peaks.count];
    if (!tt_peaks.devices_read) ended->devices_known = 0; /* since they were read last, they may have held anything */
    return 1;
}

/* What is open in a recorder starts again from here. */
static void tt_peaks_reset(const tt_recorder *recorder)
{
    if (!tt_peaks.count) return;
    tt_resident_fold();
    for (uint32_t at = 0; at < tt_peaks.count; at++)
        if (tt_peaks.calls[at].recorder == recorder)
            for (uint32_t memory = 0; memory <= tt_peaks.devices; memory++) tt_mark_begin(&tt_peaks.calls[at], memory);
}

static void tt_peaks_forget(const tt_recorder *recorder)
{
    for (uint32_t at = tt_peaks.count; at-- > 0;)
        if (tt_peaks.calls[at].recorder == recorder) tt_peaks.calls[at] = tt_peaks.calls[--tt_peaks.count];
}

/* In a forked child: what is open is the parent's, and so is what was read. */
static void tt_peaks_after_fork(void)
{
    tt_peaks.count = 0;
    tt_peaks.devices_read = tt_peaks.reading_devices = 0;
    memset(&tt_resident, 0, sizeof tt_resident);
}

#endif
