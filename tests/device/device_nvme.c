/* SPDX-License-Identifier: MIT */
#include "device_nvme.h"
#include <check.h>
#include <glib.h>
#include <string.h>

/* s3.1 */
#define REG_CC   0x14
#define REG_CSTS 0x1c
#define REG_AQA  0x24
#define REG_ASQ  0x28
#define REG_ACQ  0x30
#define REG_DB   0x1000

#define CC_EN   0x1u
#define CC_IOSQ (6u << 16) /* entries of 64 bytes */
#define CC_IOCQ (4u << 20) /* entries of 16 bytes */
#define RDY     0x1u

/* s5, s6 */
#define OP_CREATE_SQ 0x01
#define OP_CREATE_CQ 0x05
#define OP_IDENTIFY  0x06
#define OP_DBBUF     0x7c
#define OP_WRITE     0x01
#define OP_READ      0x02
#define PSDT_SGL     (1u << 6)

#define ENTRIES 64
#define BLOCK   512

/* Places in the machine's memory */
#define SQ(q)    (0x200000u + (q)*0x2000u)
#define CQ(q)    (0x201000u + (q)*0x2000u)
#define IDENTIFY 0x208000u
#define SHADOW   0x209000u
#define EVENTS   0x20a000u
#define PRP(n)   (0x210000u + (n)*0x1000u)
#define DATA(n)  (0x400000u + (n)*NVME_SLOT)

typedef struct {
    uint8_t opcode;
    uint8_t flags;
    uint16_t id;
    uint32_t nsid;
    uint32_t reserved[2];
    uint64_t metadata;
    uint64_t data[2]; /* PRPs, or an SGL descriptor */
    uint32_t dw[6];   /* 10 to 15 */
} Command;

typedef struct {
    uint32_t result;
    uint32_t reserved;
    uint16_t sq_head;
    uint16_t sq_id;
    uint16_t id;
    uint16_t status; /* bit 0: phase */
} Completion;

G_STATIC_ASSERT(sizeof(Command) == 64);
G_STATIC_ASSERT(sizeof(Completion) == 16);

static uint64_t far(DeviceNvme *nvme, uint64_t address)
{
    return nvme->offset + address;
}

static void submit(DeviceNvme *nvme, unsigned q, const Command *command)
{
    Command *slot = (Command *)(nvme->ram + SQ(q)) + nvme->sq_tail[q];

    *slot = *command;
    slot->id = nvme->next_id++;
    nvme->sq_tail[q] = (nvme->sq_tail[q] + 1) % ENTRIES;
}

static void ring(DeviceNvme *nvme, unsigned q)
{
    rig_write(nvme->rig, nvme->bar + REG_DB + 8 * q, 4, nvme->sq_tail[q]);
}

static unsigned poll_queue(DeviceNvme *nvme, unsigned q, unsigned count)
{
    volatile Completion *c;
    unsigned found = 0;
    uint16_t status;

    while (found < count) {
        c = (volatile Completion *)(nvme->ram + CQ(q)) + nvme->cq_head[q];
        status = c->status;
        if ((status & 1) != nvme->cq_phase[q]) {
            break;
        }
        ck_assert_msg(status >> 1 == 0, "NVMe command: status 0x%x",
                      status >> 1);
        nvme->cq_head[q]++;
        if (nvme->cq_head[q] == ENTRIES) {
            nvme->cq_head[q] = 0;
            nvme->cq_phase[q] ^= 1;
        }
        found++;
    }
    if (found) {
        rig_write(nvme->rig, nvme->bar + REG_DB + 8 * q + 4, 4,
                  nvme->cq_head[q]);
    }
    return found;
}

static void wait_queue(DeviceNvme *nvme, unsigned q, unsigned count)
{
    gint64 deadline = rig_deadline();
    unsigned found = 0;

    while ((found += poll_queue(nvme, q, count - found)) < count) {
        if (g_get_monotonic_time() > deadline) {
            ck_abort_msg("%u of %u NVMe commands of queue %u are done", found,
                         count, q);
        }
        g_thread_yield();
    }
}

static void admin(DeviceNvme *nvme, const Command *command)
{
    submit(nvme, 0, command);
    ring(nvme, 0);
    wait_queue(nvme, 0, 1);
}

static void wait_ready(DeviceNvme *nvme, uint32_t ready)
{
    gint64 deadline = rig_deadline();

    while ((RDY & rig_read(nvme->rig, nvme->bar + REG_CSTS, 4)) != ready) {
        if (g_get_monotonic_time() > deadline) {
            ck_abort_msg("the NVMe controller's RDY is not %u", ready);
        }
    }
}

void nvme_start(DeviceNvme *nvme, bool interrupts, unsigned vector)
{
    Command create_cq = {
        .opcode = OP_CREATE_CQ,
        .data = {far(nvme, CQ(1))},
        .dw = {(ENTRIES - 1) << 16 | 1, vector << 16 | interrupts << 1 | 1},
    };
    Command create_sq = {
        .opcode = OP_CREATE_SQ,
        .data = {far(nvme, SQ(1))},
        .dw = {(ENTRIES - 1) << 16 | 1, 1 << 16 | 1},
    };
    unsigned q;

    rig_write(nvme->rig, nvme->bar + REG_CC, 4, 0);
    wait_ready(nvme, 0);
    for (q = 0; q < 2; q++) {
        nvme->sq_tail[q] = nvme->cq_head[q] = 0;
        nvme->cq_phase[q] = 1;
        memset(nvme->ram + CQ(q), 0, ENTRIES * sizeof(Completion));
    }
    rig_write(nvme->rig, nvme->bar + REG_AQA, 4,
              (ENTRIES - 1) << 16 | (ENTRIES - 1));
    rig_write(nvme->rig, nvme->bar + REG_ASQ, 8, far(nvme, SQ(0)));
    rig_write(nvme->rig, nvme->bar + REG_ACQ, 8, far(nvme, CQ(0)));
    rig_write(nvme->rig, nvme->bar + REG_CC, 4, CC_EN | CC_IOSQ | CC_IOCQ);
    wait_ready(nvme, RDY);
    admin(nvme, &create_cq);
    admin(nvme, &create_sq);
}

const uint8_t *nvme_identify(DeviceNvme *nvme)
{
    Command c = {
        .opcode = OP_IDENTIFY,
        .data = {far(nvme, IDENTIFY)},
        .dw = {1}, /* CNS: controller */
    };

    admin(nvme, &c);
    return nvme->ram + IDENTIFY;
}

void nvme_shadow(DeviceNvme *nvme)
{
    Command c = {
        .opcode = OP_DBBUF,
        .data = {far(nvme, SHADOW), far(nvme, EVENTS)},
    };

    memset(nvme->ram + SHADOW, 0, 4096);
    memset(nvme->ram + EVENTS, 0, 4096);
    admin(nvme, &c);
}

uint8_t *nvme_buffer(DeviceNvme *nvme, unsigned slot)
{
    return nvme->ram + DATA(slot);
}

void nvme_queue_at(DeviceNvme *nvme, bool write, uint64_t at, uint64_t address,
                   uint32_t size)
{
    unsigned n = nvme->sq_tail[1];
    uint64_t *prps = (uint64_t *)(nvme->ram + PRP(n));
    Command c = {
        .opcode = write ? OP_WRITE : OP_READ,
        .nsid = 1,
        .dw = {(uint32_t)(at / BLOCK), (uint32_t)(at / BLOCK >> 32),
               size / BLOCK - 1},
    };
    uint32_t i;

    if (nvme->sgl) {
        /* s4.4: data block descriptor, type 0: address, then length */
        c.flags = PSDT_SGL;
        c.data[0] = address;
        c.data[1] = size;
    } else {
        c.data[0] = address;
        for (i = 1; i < size / 4096; i++) {
            prps[i - 1] = address + i * 4096;
        }
        c.data[1] = size > 8192 ? far(nvme, PRP(n)) : address + 4096;
    }
    submit(nvme, 1, &c);
}

void nvme_queue(DeviceNvme *nvme, bool write, uint64_t at, unsigned slot)
{
    nvme_queue_at(nvme, write, at, far(nvme, DATA(slot)), NVME_SLOT);
}

void nvme_ring(DeviceNvme *nvme)
{
    ring(nvme, 1);
}

uint32_t nvme_status(DeviceNvme *nvme)
{
    return rig_read(nvme->rig, nvme->bar + REG_CSTS, 4);
}

unsigned nvme_poll(DeviceNvme *nvme, unsigned count)
{
    return poll_queue(nvme, 1, count);
}

bool nvme_wait_or_stop(DeviceNvme *nvme, unsigned count)
{
    unsigned found = 0;
    gint64 deadline = rig_deadline();

    while ((found += poll_queue(nvme, 1, count - found)) < count) {
        if (nvme_status(nvme) & NVME_CSTS_CFS) {
            return false;
        }
        if (g_get_monotonic_time() > deadline) {
            ck_abort_msg("%u of %u NVMe commands are done", found, count);
        }
    }
    return true;
}

void nvme_wait(DeviceNvme *nvme, unsigned count)
{
    wait_queue(nvme, 1, count);
}
