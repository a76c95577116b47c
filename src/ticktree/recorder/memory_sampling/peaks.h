/* Peaks of memory inside open calls, whatever other calls begin and end meanwhile.
 *
 * A process or device has one high-water mark, so only one interval can be measured at a time. The moments at which any
 * measured call begins or ends divide the program's time into intervals. Each interval is read once, with one reset of
 * the mark, and its peak counts for every call that was open in it. A call's peak is the greatest of its intervals, in
 * whatever order calls nest, interleave or end.
 *
 * One table per process: all its recorders, threads and contexts share the memories. Guarded by the GIL.
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

/* How much memory the process has resident, and its peak since the last reading.
 *
 * The kernel keeps the peak of a process (VmHWM), and resets it when "5" is written to the process's clear_refs (proc(5)):
 * so each interval between two readings has its own peak. If that file cannot be written, the mark is exact only for
 * intervals that exceeded all before them; other intervals have the memory at their ends as a lower bound, and the mark as
 * an upper bound.
 *
 * The files are opened again each time, though that is a third of the cost: a descriptor would be of the parent's memory
 * in a forked child, and another file's in a program that closes all descriptors.
 */

typedef struct { /* one memory, in the interval since its last reading */
    uint64_t now; /* bytes in use at this moment */
    uint64_t min_peak, max_peak; /* bounds of the peak; equal if it is known */
} tt_reading;

/* State of the last reading. Empty in a forked child, which has another memory. */
static struct {
    uint64_t now, peak;
    int is_reset;   /* the mark was reset then */
    int keeps_peak; /* the mark may not be reset; for tests */
} tt_resident;

#define TT_STATUS_BYTES 8192u /* VmHWM follows the list of groups, which may be long */

static uint64_t tt_status_bytes(const char *status, const char *field)
{
    const char *at = strstr(status, field);
    return at ? strtoull(at + strlen(field), NULL, 10) * 1024 : 0;
}

#if defined(__linux__)
static int tt_reset_peak(void)
{
    int fd = open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC);
    if (fd < 0) return 0;
    ssize_t written = write(fd, "5", 1);
    close(fd);
    return written == 1;
}

/* Reads the resident memory, and its peak since the mark was reset, or since the start. 0: it is unknown. */
static int tt_read_status(uint64_t *now, uint64_t *peak)
{
    char text[TT_STATUS_BYTES];
    int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
    if (fd < 0) return 0;
    ssize_t length = read(fd, text, sizeof text - 1);
    close(fd);
    if (length <= 0) return 0;
    text[length] = 0;
    *now = tt_status_bytes(text, "\nVmRSS:");
    *peak = tt_status_bytes(text, "\nVmHWM:");
    struct rusage usage;
    if (!*peak && !getrusage(RUSAGE_SELF, &usage)) *peak = (uint64_t)usage.ru_maxrss * 1024;
    if (*peak < *now) *peak = *now;
    return *now != 0;
}
#else
static int tt_reset_peak(void) { return 0; }
static int tt_read_status(uint64_t *Py_UNUSED(now), uint64_t *Py_UNUSED(peak)) { return 0; }
#endif

static void tt_keep_peak(int keeps_peak) { tt_resident.keeps_peak = keeps_peak; }

/* Reads the interval since the last reading. 0: unknown. Preserves `errno`, which the program's own call may have set. */
static int tt_read_resident(tt_reading *reading)
{
    int error = errno;
    uint64_t peak = 0;
    int is_known = tt_read_status(&reading->now, &peak);
    if (is_known) {
        int is_exact = tt_resident.is_reset || peak > tt_resident.peak;
        uint64_t ends = reading->now > tt_resident.now ? reading->now : tt_resident.now;
        reading->min_peak = is_exact ? peak : ends;
        reading->max_peak = peak;
        tt_resident.is_reset = !tt_resident.keeps_peak && tt_reset_peak();
        tt_resident.now = reading->now;
        tt_resident.peak = peak;
    }
    errno = error;
    return is_known;
}

/* -- peaks of all memories --------------------------------------------------------------------------------------------- */

#define TT_DEVICES 16u /* further devices of a process are not measured */
#define TT_MEMORIES (1u + TT_DEVICES)
#define TT_RESIDENT 0u /* the first memory is the process's own */
#define TT_DEVICE_NAME 63u

typedef struct { /* one call and one memory */
    uint64_t entry; /* in use when the call began */
    uint64_t min_peak, max_peak; /* bounds of its peak */
} tt_call_peak;

typedef struct {
    uint64_t id;
    const tt_recorder *recorder;
    int has_resident, has_devices; /* whether they are known since its begin */
    tt_call_peak peaks[TT_MEMORIES];
} tt_measured_call;

static struct {
    tt_measured_call *calls;
    uint32_t count, capacity;
    uint64_t last_id;
    uint32_t devices;
    char names[TT_DEVICES][TT_DEVICE_NAME + 1];
    uint64_t now[TT_MEMORIES]; /* at the last reading */
    int has_reader;            /* of devices */
    int has_read_devices;      /* the current operation has */
    int is_reading_devices;    /* runs Python code, which may enter measured calls */
} tt_peaks;

/* In devices.pxi: reads all devices with `tt_fold_device`; 0 if it failed. It may run any code. */
static int tt_read_devices(void);

/* Adds a reading of a memory to all open calls. */
static void tt_fold_reading(uint32_t memory, const tt_reading *reading)
{
    tt_peaks.now[memory] = reading->now;
    for (uint32_t i = 0; i < tt_peaks.count; i++) {
        tt_call_peak *peak = &tt_peaks.calls[i].peaks[memory];
        if (reading->min_peak > peak->min_peak) peak->min_peak = reading->min_peak;
        if (reading->max_peak > peak->max_peak) peak->max_peak = reading->max_peak;
    }
}

/* A new device had nothing in use before, as the peaks of open calls already say. */
static void tt_fold_device(const char *name, const tt_reading *reading)
{
    uint32_t device = 0;
    while (device < tt_peaks.devices && strcmp(tt_peaks.names[device], name)) device++;
    if (device == TT_DEVICES) return;
    if (device == tt_peaks.devices) {
        strncpy(tt_peaks.names[device], name, TT_DEVICE_NAME);
        tt_peaks.devices++;
    }
    tt_fold_reading(1 + device, reading);
}

/* Marks the devices' memory since the last reading as unknown. */
static void tt_invalidate_devices(void)
{
    for (uint32_t i = 0; i < tt_peaks.count; i++) tt_peaks.calls[i].has_devices = 0;
}

/* From now on another reader reads the devices, or none. */
static void tt_set_device_reader(int has_reader)
{
    tt_peaks.has_reader = has_reader;
    tt_invalidate_devices();
    memset(tt_peaks.now + 1, 0, TT_DEVICES * sizeof *tt_peaks.now);
}

/* Called before a measured call begins or ends, so that no code runs while a change is half done. */
static void tt_update_devices(void)
{
    tt_peaks.has_read_devices = 0;
    if (TT_LIKELY(!tt_peaks.has_reader) || tt_peaks.is_reading_devices) return;
    tt_peaks.is_reading_devices = 1;
    int has_read = tt_read_devices();
    if (!has_read) tt_invalidate_devices();
    tt_peaks.is_reading_devices = 0;
    tt_peaks.has_read_devices = has_read;
}

static int tt_fold_resident(void)
{
    tt_reading reading;
    if (!tt_read_resident(&reading)) return 0;
    tt_fold_reading(TT_RESIDENT, &reading);
    return 1;
}

static void tt_call_peak_begin(tt_measured_call *call, uint32_t memory)
{
    uint64_t now = tt_peaks.now[memory];
    call->peaks[memory] = (tt_call_peak){now, now, now};
}

/* Begins to measure a call. Returns its id; 0: it is not measured. */
static uint64_t tt_measured_begin(const tt_recorder *recorder)
{
    int has_resident = tt_fold_resident();
    tt_measured_call *calls = tt_grown(tt_peaks.calls, tt_peaks.count, &tt_peaks.capacity, 16, sizeof *calls);
    if (!calls) return 0;
    tt_peaks.calls = calls;
    tt_measured_call *call = &tt_peaks.calls[tt_peaks.count++];
    *call = (tt_measured_call){.id = ++tt_peaks.last_id, .recorder = recorder, .has_resident = has_resident};
    call->has_devices = tt_peaks.has_read_devices;
    for (uint32_t memory = 0; memory <= tt_peaks.devices; memory++) tt_call_peak_begin(call, memory);
    return call->id;
}

/* Takes a call out of the table after a last reading; 0 if it is not there: it is a forked parent's. */
static int tt_measured_end(uint64_t id, tt_measured_call *ended)
{
    uint32_t i = 0;
    while (i < tt_peaks.count && tt_peaks.calls[i].id != id) i++;
    if (i == tt_peaks.count) return 0;
    if (!tt_fold_resident()) tt_peaks.calls[i].has_resident = 0;
    *ended = tt_peaks.calls[i];
    tt_peaks.calls[i] = tt_peaks.calls[--tt_peaks.count];
    if (!tt_peaks.has_read_devices) ended->has_devices = 0; /* they may have held anything since the last reading */
    return 1;
}

/* Calls that are open in a recorder start again from here. */
static void tt_peaks_reset(const tt_recorder *recorder)
{
    if (!tt_peaks.count) return;
    tt_fold_resident();
    for (uint32_t i = 0; i < tt_peaks.count; i++)
        if (tt_peaks.calls[i].recorder == recorder)
            for (uint32_t memory = 0; memory <= tt_peaks.devices; memory++) tt_call_peak_begin(&tt_peaks.calls[i], memory);
}

static void tt_peaks_forget(const tt_recorder *recorder)
{
    for (uint32_t i = tt_peaks.count; i-- > 0;)
        if (tt_peaks.calls[i].recorder == recorder) tt_peaks.calls[i] = tt_peaks.calls[--tt_peaks.count];
}

/* In a forked child: open calls and readings are the parent's. */
static void tt_peaks_after_fork(void)
{
    tt_peaks.count = 0;
    tt_peaks.has_read_devices = tt_peaks.is_reading_devices = 0;
    memset(&tt_resident, 0, sizeof tt_resident);
}

#endif
