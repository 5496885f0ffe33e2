/* SPDX-License-Identifier: MIT */
#ifndef FAB_DRIVE_H
#define FAB_DRIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The time of an NVMe drive. The model's controller (fab_nvme.c) and the drives
 * of timed machines (qemu-timed/timed_drive.c) compute it with the functions of
 * this file, so they agree.
 *
 * The controller takes one command after the other. The media serve one command
 * or page after the other; of commands whose data move by pages, they serve a
 * page of each in turn. Their latency comes before the service of a read, and
 * after that of a write.
 *
 * Times are in ps, of one clock. The owner has a random number generator, and a
 * timer for the end of the page that the media serve.
 */

#define FAB_DRIVE_PAGE_BYTES 4096u

typedef struct FabDriveTimes {
    int64_t overhead;                    /* of the controller, for a command */
    int64_t read_latency, write_latency; /* least latencies of the media */
    int64_t jitter; /* largest random time that is added to a latency */
    int64_t read_bytes_s, write_bytes_s; /* of the media; not 0 */
} FabDriveTimes;

/* A command with pages for the media. The owner keeps it, and sets `size_bytes`
 * and `is_write`. */
typedef struct FabDriveWork {
    struct FabDriveWork *next;
    uint64_t size_bytes;
    bool is_write;
    uint32_t todo; /* further pages that the media may serve now */
    uint32_t done; /* pages that they have served */
} FabDriveWork;

typedef struct FabDrive {
    FabDriveTimes times;
    int64_t accepted; /* when the controller has taken the last command */
    int64_t served;   /* when the media have served the last command or page */
    FabDriveWork *first; /* whose page the media serve; NULL: none */
    FabDriveWork *last;  /* meaningful if there is a first one */
} FabDrive;

/* When a timer is not needed. */
#define FAB_DRIVE_IDLE INT64_MAX

/* A command has come in at @now. Returns when the controller has taken it. */
static inline int64_t fab_drive_accept(FabDrive *drive, int64_t now)
{
    drive->accepted =
        (now > drive->accepted ? now : drive->accepted) + drive->times.overhead;
    return drive->accepted;
}

/* The latency of the media, with @random, a number from 0 to `jitter`. */
static inline int64_t fab_drive_latency(const FabDrive *drive, bool is_write,
                                        int64_t random)
{
    return (is_write ? drive->times.write_latency : drive->times.read_latency) +
           random;
}

/*
 * The media serve @bytes that are ready at @ready. Returns when they have done
 * so, rounded down to a ps. @carry keeps the rest for the next call; NULL: it
 * is lost.
 */
static inline int64_t fab_drive_serve(FabDrive *drive, int64_t ready,
                                      bool is_write, uint64_t bytes,
                                      uint64_t *carry)
{
    uint64_t bytes_s =
        is_write ? drive->times.write_bytes_s : drive->times.read_bytes_s;
    unsigned __int128 work =
        (unsigned __int128)bytes * 1000000000000u + (carry ? *carry : 0);

    if (carry) {
        *carry = (uint64_t)(work % bytes_s);
    }
    drive->served = (ready > drive->served ? ready : drive->served) +
                    (int64_t)(work / bytes_s);
    return drive->served;
}

static inline uint64_t fab_drive_page_bytes(const FabDriveWork *work,
                                            uint32_t page)
{
    uint64_t left = work->size_bytes - page * (uint64_t)FAB_DRIVE_PAGE_BYTES;

    return left < FAB_DRIVE_PAGE_BYTES ? left : FAB_DRIVE_PAGE_BYTES;
}

/* The media begin to serve the page whose turn it is, at @ready or later.
 * Returns when they have done so; FAB_DRIVE_IDLE if there is none. */
static inline int64_t fab_drive_begin(FabDrive *drive, int64_t ready,
                                      uint64_t *carry)
{
    const FabDriveWork *work = drive->first;

    return work ? fab_drive_serve(drive, ready, work->is_write,
                                  fab_drive_page_bytes(work, work->done), carry)
                : FAB_DRIVE_IDLE;
}

static inline void fab_drive_push(FabDrive *drive, FabDriveWork *work)
{
    work->next = NULL;
    if (drive->first) {
        drive->last->next = work;
    } else {
        drive->first = work;
    }
    drive->last = work;
}

/* Another @pages pages of @work are ready for the media. Returns true if these
 * are idle: fab_drive_begin() is to follow. */
static inline bool fab_drive_add(FabDrive *drive, FabDriveWork *work,
                                 uint32_t pages)
{
    bool is_idle = !drive->first;

    work->todo += pages;
    if (work->todo > pages) {
        return false; /* it is in the list already */
    }
    fab_drive_push(drive, work);
    return is_idle;
}

/* The media have served the page that they began last. Returns its command.
 * fab_drive_begin() is to follow. */
static inline FabDriveWork *fab_drive_end(FabDrive *drive)
{
    FabDriveWork *work = drive->first;

    drive->first = work->next;
    work->done++;
    if (--work->todo > 0) {
        fab_drive_push(drive, work);
    }
    return work;
}

/* Takes back the pages of @work that the media have not served. Returns true if
 * they were serving one of them: fab_drive_begin() is to follow. */
static inline bool fab_drive_remove(FabDrive *drive, FabDriveWork *work)
{
    bool is_first = drive->first == work;
    FabDriveWork *other = drive->first;

    if (work->todo == 0) {
        return false; /* it is not in the list */
    }
    work->todo = 0;
    if (is_first) {
        drive->first = work->next;
        return true;
    }
    while (other->next != work) {
        other = other->next;
    }
    other->next = work->next;
    if (drive->last == work) {
        drive->last = other;
    }
    return false;
}

#endif
