/* SPDX-License-Identifier: MIT */
/*
 * What the supervisor of a cluster and the agent in a guest say to each other,
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
 * On the line it is coded so that no byte of it is 0 (consistent overhead byte
 * stuffing, Cheshire and Baker 1999), and a 0 ends it. The line may lose bytes
 * when the guest reboots, the agent dies or the supervisor connects anew, and
 * leave half a frame: that one's length is wrong and it is dropped, and with
 * the next 0 the reader is in step again. A sender starts with a 0 of its own
 * for that reason.
 *
 * Epochs. The agent, when it starts, sends HELLO with epoch 0 and then takes
 * nothing but SYNC. The supervisor sends SYNC with an epoch that it has not
 * used before: when it connects, and whenever a HELLO of epoch 0 comes. The
 * agent then kills what runs in its sessions, forgets them, and answers HELLO
 * with that epoch; the supervisor drops all other frames until it comes.
 * Whatever ran in an epoch that ended is lost, and its sessions have no other
 * end. A supervisor that hears HELLO of epoch 0 knows that the guest, or its
 * agent, has started anew; the boot ID tells which.
 *
 * Sessions. EXEC starts a program in the session that the supervisor names,
 * which it uses once in an epoch. The answer is STARTED or FAILED. After FAILED
 * the session is over; otherwise after EXIT, which comes when the program has
 * ended and all that it has written has been sent; what it leaves behind in the
 * background finds its output closed. Frames for a session that is over, or
 * never was, are ignored: they may have crossed its end.
 *
 * Credit. Each of STDIN, STDOUT and STDERR of a session starts with
 * CLU_AGENT_WINDOW bytes that may be sent. Its receiver gives more with CREDIT
 * as it gets rid of them, and so a reader of one session that is slow holds up
 * no other. A program whose supervisor sends more is killed. An agent has room
 * for CLU_AGENT_SESSION_MAX sessions, and answers further ones FAILED, EAGAIN.
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

/* The longest frame on the line, its 0 included. */
#define CLU_AGENT_CODED_MAX                                                    \
    (CLU_AGENT_HEAD_BYTES + CLU_AGENT_BODY_MAX +                               \
     (CLU_AGENT_HEAD_BYTES + CLU_AGENT_BODY_MAX) / 254 + 2)

typedef enum CluAgentType {
    /* To the guest. */
    CLU_AGENT_SYNC = 1,      /* u64 epoch, not 0; begins it */
    CLU_AGENT_PING = 2,      /* any body up to 64 bytes; comes back as PONG */
    CLU_AGENT_EXEC = 3,      /* program and arguments, each ended by a 0 */
    CLU_AGENT_STDIN = 4,     /* data */
    CLU_AGENT_STDIN_EOF = 5, /* no body */
    CLU_AGENT_SIGNAL = 6,    /* u32 number as on x86, to the process group */

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
 * HELLO: the boot ID is the text of /proc/sys/kernel/random/boot_id, the
 * release that of uname -r, each ended by a 0. More may follow in later
 * versions.
 */

typedef struct CluAgentFrame {
    uint32_t session;
    uint16_t type;
    uint16_t version;
    uint32_t length;     /* of the body, in bytes */
    const uint8_t *body; /* valid until the reader is fed again */
} CluAgentFrame;

/* Puts frames together from what the line delivers. Treat as opaque. */
typedef struct CluAgentReader {
    size_t used;
    bool overrun;     /* what is read now is too long, up to the next 0 */
    uint64_t dropped; /* frames that were none */
    uint8_t data[CLU_AGENT_CODED_MAX];
} CluAgentReader;

/* A reader that has seen nothing yet. */
void clu_agent_reader_init(CluAgentReader *reader);

/*
 * Takes bytes of @data up to the end of the first frame that is whole, or all.
 * Call it again with the rest. Returns how many it took; *ret_found tells
 * whether *ret_frame is a frame now. Frames of any type and version come out:
 * what they mean is the caller's to check.
 */
size_t clu_agent_reader_feed(CluAgentReader *reader, const uint8_t *data,
                             size_t length, bool *ret_found,
                             CluAgentFrame *ret_frame);

/* How many bytes that ended in a 0 were no frame: lost, cut off or garbage. */
uint64_t clu_agent_reader_dropped(const CluAgentReader *reader);

/*
 * Writes a frame as it goes on the line to @to, of at least CLU_AGENT_CODED_MAX
 * bytes, its 0 included, and returns its length. @body may be NULL if @length,
 * at most CLU_AGENT_BODY_MAX, is 0.
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
