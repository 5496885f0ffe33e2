/* SPDX-License-Identifier: MIT */
/*
 * The protocol between the supervisor of a cluster and the agent in a guest,
 * over one virtio-serial port named CLU_AGENT_PORT. Plain C, for both ends.
 *
 * A frame is a head of 12 bytes and a body of at most CLU_AGENT_BODY_MAX, all
 * numbers little-endian:
 *
 *   0  u32  length of the body, in bytes
 *   4  u32  session, 0 for frames that belong to none
 *   8  u16  type
 *  10  u16  version, CLU_AGENT_VERSION
 *
 * On the line a frame is coded so that none of its bytes is 0 (consistent
 * overhead byte stuffing, Cheshire and Baker 1999), and a 0 ends it. The line
 * may lose bytes when the guest reboots, the agent dies or the supervisor
 * reconnects. The reader drops a damaged frame, because its length is wrong,
 * and is in step again after the next 0. Therefore a sender first sends a 0.
 *
 * Epochs. The agent starts by sending HELLO with epoch 0, and then ignores all
 * frames but SYNC. The supervisor sends SYNC with a new epoch when it connects,
 * and whenever a HELLO with epoch 0 comes. The agent then kills the programs of
 * its sessions, forgets the sessions, and answers HELLO with that epoch. The
 * supervisor drops all other frames until that HELLO. When an epoch ends, its
 * sessions are lost: no EXIT follows. HELLO with epoch 0 tells the supervisor
 * that the guest or its agent has started again; the boot ID tells which.
 *
 * Sessions. EXEC starts a program in the session whose number the supervisor
 * chooses; it uses each number once in an epoch. The agent answers STARTED or
 * FAILED. The session ends with FAILED, or with EXIT when the program has ended
 * and all its output has been sent. Processes that the program leaves in the
 * background find their output closed. Frames for a session that does not exist
 * are ignored: they may have been sent before its end was known.
 *
 * Credit. The sender of STDIN, STDOUT or STDERR of a session may send
 * CLU_AGENT_WINDOW bytes at first. The receiver sends CREDIT for more when it
 * has passed bytes on, so a slow reader of one session does not delay other
 * sessions. If the supervisor sends more than its credit, the agent kills the
 * program. An agent runs up to CLU_AGENT_SESSION_MAX sessions, and answers a
 * further EXEC with FAILED and EAGAIN.
 */
#ifndef CLU_AGENT_H
#define CLU_AGENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CLU_AGENT_PORT        "farside.agent"
#define CLU_AGENT_VERSION     1
#define CLU_AGENT_HEAD_BYTES  12
#define CLU_AGENT_BODY_MAX    65536
#define CLU_AGENT_WINDOW      (256 * 1024)
#define CLU_AGENT_SESSION_MAX 64

/* Length of the longest frame on the line, its 0 included. */
#define CLU_AGENT_CODED_MAX                                                    \
    (CLU_AGENT_HEAD_BYTES + CLU_AGENT_BODY_MAX +                               \
     (CLU_AGENT_HEAD_BYTES + CLU_AGENT_BODY_MAX) / 254 + 2)

typedef enum CluAgentType {
    /* To the guest. */
    CLU_AGENT_SYNC = 1,      /* u64 epoch that begins, not 0 */
    CLU_AGENT_PING = 2,      /* up to 64 bytes, which PONG returns */
    CLU_AGENT_EXEC = 3,      /* program and arguments, each ended by a 0 */
    CLU_AGENT_STDIN = 4,     /* data */
    CLU_AGENT_STDIN_EOF = 5, /* no body */
    CLU_AGENT_SIGNAL = 6,    /* u32 signal for the process group, as on x86 */

    /* To the supervisor. */
    CLU_AGENT_HELLO = 16,   /* u64 epoch, boot ID, 0, release, 0: see below */
    CLU_AGENT_PONG = 17,    /* the body of the PING */
    CLU_AGENT_STARTED = 18, /* u32 process ID */
    CLU_AGENT_FAILED = 19,  /* u32 errno as on Linux */
    CLU_AGENT_STDOUT = 20,  /* data */
    CLU_AGENT_STDERR = 21,  /* data */
    CLU_AGENT_EXIT = 22,    /* u32 status, u32 signal that ended it or 0 */

    /* Both ways. */
    CLU_AGENT_CREDIT = 32, /* u32 STDIN, STDOUT or STDERR, u32 bytes */
} CluAgentType;

/*
 * HELLO: the boot ID is the text of /proc/sys/kernel/random/boot_id; the
 * release is the output of uname -r. A 0 ends each. Later versions may append
 * more.
 */

typedef struct CluAgentFrame {
    uint32_t session;
    uint16_t type;
    uint16_t version;
    uint32_t length;     /* length of the body, in bytes */
    const uint8_t *body; /* valid until the reader is fed again */
} CluAgentFrame;

/* Assembles frames from the bytes of the line. Treat it as opaque. */
typedef struct CluAgentReader {
    size_t used;
    bool overrun;     /* more bytes than a frame has: skip to the next 0 */
    uint64_t dropped; /* number of runs of bytes that were not a frame */
    uint8_t data[CLU_AGENT_CODED_MAX];
} CluAgentReader;

/* Prepares @reader for the first byte. */
void clu_agent_reader_init(CluAgentReader *reader);

/*
 * Takes the bytes of @data up to the end of the first whole frame, or all of
 * them. Returns the number of bytes taken; call it again with the rest.
 * *ret_found is true if *ret_frame now holds a frame. The caller must check its
 * type, version and body.
 */
size_t clu_agent_reader_feed(CluAgentReader *reader, const uint8_t *data,
                             size_t length, bool *ret_found,
                             CluAgentFrame *ret_frame);

/* Number of runs of bytes, each ended by a 0, that were not a frame. */
uint64_t clu_agent_reader_dropped(const CluAgentReader *reader);

/*
 * Codes a frame into @to, which has CLU_AGENT_CODED_MAX bytes. Returns the
 * length of the coded frame with its 0. @length is at most CLU_AGENT_BODY_MAX;
 * @body may be NULL if @length is 0.
 */
size_t clu_agent_encode(uint8_t *to, CluAgentType type, uint32_t session,
                        const void *body, uint32_t length);

/* Little-endian numbers in bodies. */
static inline uint32_t clu_agent_get32(const uint8_t *from)
{
    return from[0] | (uint32_t)from[1] << 8 | (uint32_t)from[2] << 16 |
           (uint32_t)from[3] << 24;
}

static inline void clu_agent_put32(uint8_t *to, uint32_t value)
{
    for (int i = 0; i < 4; i++) {
        to[i] = value >> 8 * i;
    }
}

static inline uint64_t clu_agent_get64(const uint8_t *from)
{
    return clu_agent_get32(from) | (uint64_t)clu_agent_get32(from + 4) << 32;
}

static inline void clu_agent_put64(uint8_t *to, uint64_t value)
{
    clu_agent_put32(to, value);
    clu_agent_put32(to + 4, value >> 32);
}

#endif
