/* SPDX-License-Identifier: MIT */
#ifndef TRC_STORY_H
#define TRC_STORY_H

#include "trc_bytes.h"

/*
 * Writes a trace of the link "cable" between the hosts a (end 0) and b (end 1)
 * as two NTB devices do, packet by packet, from docs/reference/trace.md. Host b
 * has the device "disk" (00:04.0) with 16 KiB of registers. Times are ns.
 */
typedef struct TrcStory {
    TrcBytes bytes;
    uint32_t sequence[2];
} TrcStory;

#define TRC_STORY_BAR  UINT64_C(0xfe000000) /* of b's disk */
#define TRC_STORY_RAM  UINT64_C(0x1000000)
#define TRC_STORY_MSI  UINT64_C(0xfee01000)
#define TRC_STORY_CPU  0x0028 /* the NTB, 00:05.0: it stands for the CPU */
#define TRC_STORY_DISK 0x0020

/* With a Start of both ends at @time. @names are those of the ends. */
TrcStory trc_story_new(int64_t time, const char *const names[2]);
void trc_story_clear(TrcStory *story);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(TrcStory, trc_story_clear)

/* @end transmits a request of the function @requester. @bytes are a multiple of
 * 4. */
void trc_story_write(TrcStory *story, int64_t time, unsigned end,
                     unsigned requester, uint64_t address, unsigned bytes);
void trc_story_read(TrcStory *story, int64_t time, unsigned end,
                    unsigned requester, uint64_t address, unsigned bytes,
                    unsigned transaction);
/* @end answers a read of 4 bytes. */
void trc_story_completion(TrcStory *story, int64_t time, unsigned end,
                          unsigned transaction);
void trc_story_doorbell(TrcStory *story, int64_t time, unsigned end,
                        uint64_t bits);
/* Something has arrived at @end: 1 a write, 2 a completion, 3 a doorbell. */
void trc_story_arrival(TrcStory *story, int64_t time, unsigned end,
                       unsigned what, unsigned bytes, uint64_t address,
                       unsigned transaction);
/* Any other packet: @body is hexadecimal. */
void trc_story_packet(TrcStory *story, int64_t time, unsigned end,
                      unsigned kind, unsigned transaction, const char *body);

#endif
