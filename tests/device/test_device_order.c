/* SPDX-License-Identifier: MIT */
/*
 * Invariant: requests that cross the link keep the order that PCI Express asks
 * for, no matter which end waits for which. Adjacent writes may be sent as one,
 * but no later message overtakes them. A device that waits in the middle of an
 * access is not accessed, and misses nothing. An end that waits serves all
 * peers. A peer that does not read loses messages, and not the link. The test
 * plays the far end.
 */
#define _GNU_SOURCE
#include <check.h>
#include <glib.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "device_nvme.h"
#include "device_rig.h"
#include "switchtec_regs.h"
#include "../suite.h"

#define CTRL0      (RIG_BAR0 + 0x14000)
#define DBMSG      (RIG_BAR0 + 0x74000)
#define LINK_EVENT (RIG_BAR0 + 0x136d30)
#define MIB        (1ull << 20)
#define ALL_ONES   0xffffffffull
#define TIMEOUT_MS 300
#define IMPATIENT  "completion-timeout=" G_STRINGIFY(TIMEOUT_MS)

#define NVME_DEVFN 0x30
#define NVME_BAR   RIG_NVME_BAR
/* NVM Express 1.4 s3.1 */
#define NVME_CC    (NVME_BAR + 0x14)
#define NVME_CSTS  (NVME_BAR + 0x1c)
#define NVME_AQA   (NVME_BAR + 0x24)
#define NVME_ASQ   (NVME_BAR + 0x28)
#define NVME_ACQ   (NVME_BAR + 0x30)
#define NVME_SQ0   (NVME_BAR + 0x1000)

static DeviceRig *rig;
static RigPeer *peer;

typedef struct {
    struct farside_wire_write head;
    uint8_t data[FARSIDE_WIRE_PAYLOAD];
} Write;

typedef struct {
    struct farside_wire_completion head;
    uint8_t data[FARSIDE_WIRE_PAYLOAD];
} Completion;

/* LUT entries of 64 KiB, set by the own host. */
static void set_lut(unsigned entry, uint64_t target)
{
    rig_part_op(rig, 0, SWITCHTEC_OP_LOCK, SWITCHTEC_STATUS_LOCKED);
    rig_write(rig, CTRL0 + 0x60, 4, RIG_LUT_CTL);
    rig_write(rig, CTRL0 + SWITCHTEC_CTRL_LUT + 8 * entry, 8,
              target | 1 << 1 | 1);
    rig_part_op(rig, 0, SWITCHTEC_OP_CFG, SWITCHTEC_STATUS_NORMAL);
}

static void start(const char *properties, const char *const *arguments)
{
    rig = rig_new_with(NULL, properties, arguments);
    peer = rig_peer_new(rig);
    rig_peer_hello(peer);
    rig_wait_link(rig, 0, true);
    set_lut(0, 0xf0000000);
}

/* Nothing times out, however slow the test is. */
static void setup(void)
{
    start("completion-timeout=60000", NULL);
}

static void setup_impatient(void)
{
    start(IMPATIENT, NULL);
}

static void teardown(void)
{
    rig_peer_free(peer);
    peer = NULL;
    rig_free(rig);
    rig = NULL;
}

static void send_write(RigPeer *to, uint64_t address, const void *data,
                       unsigned size)
{
    Write w = {.head = {.address = address, .length = size}};

    memcpy(w.data, data, size);
    rig_peer_send(to, FARSIDE_WIRE_WRITE, &w, sizeof(w.head) + size);
}

static void send_read(RigPeer *to, uint64_t address, unsigned size,
                      uint16_t tag)
{
    struct farside_wire_read m = {
        .address = address, .length = size, .tag = tag};

    rig_peer_send(to, FARSIDE_WIRE_READ, &m, sizeof(m));
}

static void complete(RigPeer *to, const struct farside_wire_read *read,
                     const void *data)
{
    Completion c = {.head = {.length = read->length, .tag = read->tag}};

    if (read->length) {
        memcpy(c.data, data, read->length);
    }
    rig_peer_send(to, FARSIDE_WIRE_COMPLETION, &c,
                  sizeof(c.head) + read->length);
}

static void refuse(RigPeer *to, const struct farside_wire_read *read)
{
    struct farside_wire_completion c = {.tag = read->tag,
                                        .status = FARSIDE_WIRE_UR};

    rig_peer_send(to, FARSIDE_WIRE_COMPLETION, &c, sizeof(c));
}

static struct farside_wire_read receive_read(RigPeer *from)
{
    struct farside_wire_read read;

    memcpy(&read, rig_peer_receive(from, FARSIDE_WIRE_READ)->body,
           sizeof(read));
    return read;
}

static Completion receive_completion(RigPeer *from)
{
    const RigMessage *m = rig_peer_receive(from, FARSIDE_WIRE_COMPLETION);
    Completion c;

    memcpy(&c, m->body, m->head.length);
    return c;
}

/* Merging */

/* A device's DMA of this size: QEMU cuts it into pieces of at most 8 bytes. */
static void dma_write(uint64_t address, unsigned size, uint8_t value)
{
    g_autofree char *command = g_strdup_printf(
        "memset 0x%" G_GINT64_MODIFIER "x 0x%x 0x%x\n", address, size, value);

    rig_batch(rig, command, 1);
}

/* Takes writes of @size bytes in all, in order. Returns their number. */
static unsigned receive_bytes(uint64_t address, unsigned size, uint8_t value,
                              unsigned max_payload)
{
    const struct farside_wire_write *w;
    const RigMessage *m;
    unsigned count = 0, i;
    uint64_t end = address + size;

    while (address < end) {
        m = rig_peer_receive_any(peer);
        ck_assert_uint_eq(m->head.type, FARSIDE_WIRE_WRITE);
        w = (const void *)m->body;
        ck_assert_uint_eq(w->address, address);
        ck_assert_uint_le(w->length, max_payload);
        /* PCIe 5.0 s2.2.7: not across 4 KiB, so not across a payload. */
        ck_assert_uint_eq(w->address / max_payload,
                          (w->address + w->length - 1) / max_payload);
        for (i = 0; i < w->length; i++) {
            ck_assert_uint_eq(m->body[sizeof(*w) + i], value);
        }
        address += w->length;
        count++;
    }
    ck_assert_uint_eq(address, end);
    return count;
}

static void drain(void)
{
    send_read(peer, 2 * MIB, 4, 1);
    receive_completion(peer);
}

START_TEST(adjacent_writes_are_one)
{
    static const unsigned payloads[] = {128, 256, 4096};
    unsigned payload = payloads[_i];
    g_autofree char *property =
        g_strdup_printf("completion-timeout=60000,max-payload=%u", payload);

    teardown();
    start(property, NULL);
    drain();
    dma_write(RIG_BAR2 + 0x1008, 0x2000, 0x5a);
    /* The first two writes are sent alone, the others merged to full payloads.
     */
    ck_assert_uint_le(receive_bytes(0xf0001008, 0x2000, 0x5a, payload),
                      2 + 0x2000 / payload + 1);
    /* Unaligned, with pieces of other sizes at its ends. */
    dma_write(RIG_BAR2 + 0x2ff3, 0x123, 0xa5);
    receive_bytes(0xf0002ff3, 0x123, 0xa5, payload);
}
END_TEST

START_TEST(writes_apart_are_not_one)
{
    const RigMessage *m;
    const struct farside_wire_write *w;
    unsigned i;

    drain();
    /* A register that is written often, and registers in another order. */
    for (i = 0; i < 8; i++) {
        rig_write(rig, RIG_BAR2 + 0x1000, 4, i);
        rig_write(rig, RIG_BAR2 + 0x1100 - 4 * i, 4, i);
    }
    for (i = 0; i < 16; i++) {
        m = rig_peer_receive(peer, FARSIDE_WIRE_WRITE);
        w = (const void *)m->body;
        ck_assert_uint_eq(w->length, 4);
        ck_assert_uint_eq(w->address,
                          0xf0000000 + (i % 2 ? 0x1100 - 4 * (i / 2) : 0x1000));
        ck_assert_uint_eq(m->body[sizeof(*w)], i / 2);
    }
}
END_TEST

/* Accesses that end a run of writes: qtest's command, and the message. */
static const struct {
    const char *command;
    unsigned type;
} ends[] = {
    {"writeq 0xe0075000 0x100000000\n", FARSIDE_WIRE_DOORBELL},
    {"writel 0xe0075068 0x1\n", FARSIDE_WIRE_MESSAGE},
    {"writel 0xe0016004 0x1\n", FARSIDE_WIRE_LOCK},
    {"writel 0xe1008000 0x1\n", FARSIDE_WIRE_WRITE},
};

START_TEST(nothing_overtakes_writes)
{
    g_autofree char *commands = NULL;
    unsigned size = 8 * 11, i;

    rig_write(rig, DBMSG + 0x1008, 8, UINT64_MAX);
    drain();
    /* Both commands in one write: QEMU's main loop does not run in between. */
    commands = g_strdup_printf("memset 0x%llx 0x%x 0x11\n%s",
                               (unsigned long long)RIG_BAR2 + 0x2000, size,
                               ends[_i].command);
    for (i = 0; i < 20; i++) {
        rig_batch(rig, commands, 2);
        receive_bytes(0xf0002000, size, 0x11, 256);
        ck_assert_uint_eq(rig_peer_receive_any(peer)->head.type, ends[_i].type);
        if (ends[_i].type == FARSIDE_WIRE_LOCK) {
            rig_part_op(rig, 1, SWITCHTEC_OP_RESET, SWITCHTEC_STATUS_NORMAL);
            rig_peer_receive(peer, FARSIDE_WIRE_RELEASE);
        }
    }
}
END_TEST

START_TEST(reads_and_answers_do_not_overtake_writes)
{
    struct farside_wire_read read;
    const RigMessage *m;
    uint32_t value = 0x1234;

    drain();
    dma_write(RIG_BAR2 + 0x2000, 0x58, 0x11);
    rig_read_begin(rig, RIG_BAR2 + 0x2058, 4);
    receive_bytes(0xf0002000, 0x58, 0x11, 256);
    m = rig_peer_receive_any(peer);
    ck_assert_uint_eq(m->head.type, FARSIDE_WIRE_READ);
    memcpy(&read, m->body, sizeof(read));
    ck_assert_uint_eq(read.address, 0xf0002058);
    complete(peer, &read, &value);
    ck_assert_uint_eq(rig_read_end(rig), value);
    /* The completion of the peer's read. */
    dma_write(RIG_BAR2 + 0x2000, 0x58, 0x22);
    send_read(peer, 2 * MIB, 4, 5);
    receive_bytes(0xf0002000, 0x58, 0x22, 256);
    ck_assert_uint_eq(rig_peer_receive_any(peer)->head.type,
                      FARSIDE_WIRE_COMPLETION);
}
END_TEST

/* Waiting */

START_TEST(a_window_that_leads_back_ends)
{
    struct farside_wire_read read;
    unsigned depth;

    rig_read_begin(rig, RIG_BAR2, 4);
    /* The far end answers each read by a read of the same window. */
    for (depth = 1;; depth++) {
        read = receive_read(peer);
        ck_assert_uint_eq(read.address, 0xf0000000);
        if (depth == 4) {
            break;
        }
        send_read(peer, RIG_BAR2, 4, depth);
    }
    send_read(peer, RIG_BAR2, 4, depth);
    /* The fifth read is not sent: it is an Unsupported Request at once. */
    while (depth > 0) {
        Completion c = receive_completion(peer);

        ck_assert_uint_eq(c.head.tag, depth);
        ck_assert_uint_eq(c.head.status, FARSIDE_WIRE_UR);
        ck_assert_uint_eq(c.head.length, 0);
        depth--;
        /* The last read ends first, and its end is that of all. */
        refuse(peer, &read);
        read.tag--;
    }
    ck_assert_uint_eq(rig_read_end(rig), ALL_ONES);
}
END_TEST

/* Otherwise three hosts in a ring that each read from the next would hang. */
START_TEST(waiting_serves_all_links)
{
    g_autofree char *path = NULL;
    g_autofree char *device = NULL;
    const char *arguments[] = {"-device", NULL, NULL};
    struct farside_wire_read read;
    RigPeer *other;
    uint32_t value = 77;
    Completion c;

    teardown();
    path = g_strdup_printf("%s/farside-second-%d", g_get_tmp_dir(),
                           (int)g_random_int_range(0, 1 << 30));
    device =
        g_strdup_printf("farside-switchtec,addr=07.0,listen=on,link=%s", path);
    arguments[1] = device;
    start("completion-timeout=60000", arguments);
    other = rig_peer_new_at(path);
    rig_peer_hello(other);
    /* Enables bus mastering of the second device. */
    rig_pci_write(rig, 0x38, 0x04, 0x6);
    rig_write(rig, 2 * MIB, 4, 0x4321);
    rig_peer_receive(other, FARSIDE_WIRE_RAM);
    rig_read_begin(rig, RIG_BAR2, 4);
    read = receive_read(peer);
    send_read(other, 2 * MIB, 4, 9);
    c = receive_completion(other);
    ck_assert_uint_eq(*(uint32_t *)c.data, 0x4321);
    complete(peer, &read, &value);
    ck_assert_uint_eq(rig_read_end(rig), value);
    rig_peer_free(other);
    unlink(path);
}
END_TEST

/*
 * An NVMe controller whose admin queue is behind a window: while it fetches a
 * command, QEMU would refuse any access to its registers.
 */
static void start_nvme(const char *properties)
{
    static const char *const arguments[] = {
        "-drive", "if=none,id=d,driver=null-co,size=1M", "-device",
        "nvme,drive=d,serial=x,addr=06.0", NULL};

    start(properties, arguments);
    rig_pci_write(rig, NVME_DEVFN, 0x10, (uint32_t)NVME_BAR);
    rig_pci_write(rig, NVME_DEVFN, 0x14, 0);
    rig_pci_write(rig, NVME_DEVFN, 0x04, 0x6);
    rig_write(rig, NVME_AQA, 4, 15 << 16 | 15);
    rig_write(rig, NVME_ASQ, 8, RIG_BAR2);
    rig_write(rig, NVME_ACQ, 8, 2 * MIB);
    rig_write(rig, NVME_CC, 4, 4 << 20 | 6 << 16 | 1);
    rig_wait_for(rig, NVME_CSTS, 4, 1);
}

static void setup_nvme(void)
{
    start_nvme("completion-timeout=60000");
}

static void setup_impatient_nvme(void)
{
    start_nvme(IMPATIENT);
}

/* Answers the reads of a submission queue entry of 64 bytes. */
static void give_command(unsigned index, const uint8_t *command)
{
    struct farside_wire_read read;
    unsigned offset;

    for (offset = 0; offset < 64; offset += read.length) {
        read = receive_read(peer);
        ck_assert_uint_eq(read.address, 0xf0000000 + index * 64 + offset);
        complete(peer, &read, command + offset);
    }
}

START_TEST(a_device_in_an_access_misses_nothing)
{
    /* GET FEATURES (s5.14), number of queues */
    const uint8_t command[64] = {0x0a, [40] = 0x07};
    struct farside_wire_doorbell bell = {.bits = 0x30};
    struct farside_wire_read read;
    uint32_t tail = 2, word = 0xabcd;
    Completion c;

    rig_write(rig, 3 * MIB, 4, 0x9999);
    rig_write(rig, NVME_SQ0, 4, 1);
    /* The controller waits for the first bytes of its command. */
    read = receive_read(peer);
    /* The controller's doorbell, then memory, then the bridge's doorbell. */
    send_write(peer, NVME_SQ0, &tail, 4);
    send_write(peer, 3 * MIB, &word, 4);
    rig_peer_send(peer, FARSIDE_WIRE_DOORBELL, &bell, sizeof(bell));
    /* A read of other memory is served at once. */
    send_read(peer, 3 * MIB + 64, 4, 1);
    c = receive_completion(peer);
    ck_assert_uint_eq(c.head.tag, 1);
    /* A read of what was written waits, and so does one of the device. */
    send_read(peer, 3 * MIB, 4, 2);
    send_read(peer, NVME_CSTS, 4, 3);
    send_read(peer, 3 * MIB + 128, 4, 4);
    c = receive_completion(peer);
    ck_assert_uint_eq(c.head.tag, 4);
    /* The controller goes on, and its doorbell was not lost. */
    complete(peer, &read, command);
    {
        unsigned offset;

        for (offset = read.length; offset < 64; offset += read.length) {
            read = receive_read(peer);
            ck_assert_uint_eq(read.address, 0xf0000000 + offset);
            complete(peer, &read, command + offset);
        }
    }
    c = receive_completion(peer);
    ck_assert_uint_eq(c.head.tag, 2);
    ck_assert_uint_eq(*(uint32_t *)c.data, word);
    c = receive_completion(peer);
    ck_assert_uint_eq(c.head.tag, 3);
    ck_assert_uint_eq(*(uint32_t *)c.data, 1);
    give_command(1, command);
    rig_wait_for(rig, DBMSG + 0x1010, 8, 0x30);
    /* Both completions are there, with the phase of the first pass. */
    rig_wait_for(rig, 2 * MIB + 12, 4, 0x10000);
    rig_wait_for(rig, 2 * MIB + 28, 4, 0x10000);
}
END_TEST

START_TEST(a_device_that_is_not_answered_goes_on)
{
    uint32_t tail = 2;
    Completion c;
    gint64 begin = g_get_monotonic_time();

    rig_write(rig, NVME_SQ0, 4, 1);
    receive_read(peer);
    send_write(peer, NVME_SQ0, &tail, 4);
    send_read(peer, NVME_CSTS, 4, 3);
    /* The controller's other reads fail at once; then the peer is served. */
    c = receive_completion(peer);
    ck_assert_uint_eq(c.head.tag, 3);
    ck_assert_int_ge(g_get_monotonic_time() - begin, TIMEOUT_MS * 900);
}
END_TEST

/* Ends the silence of the far end. */
static void be_heard(void)
{
    struct farside_wire_doorbell bell = {.bits = 1};

    rig_peer_send(peer, FARSIDE_WIRE_DOORBELL, &bell, sizeof(bell));
    /* The registers' block shows the doorbell when QEMU has read it. */
    rig_wait_for(rig, DBMSG + 0x1010, 8, 1);
    rig_write(rig, DBMSG + 0x1010, 8, 1);
}

/* A completion that comes too late is ignored. */
START_TEST(a_late_answer_is_not_that_of_another)
{
    struct farside_wire_read late, read;
    uint32_t wrong = 0x1111, right = 0x2222;

    /* The first read times out, and the test is in time for the second. */
    teardown();
    start("completion-timeout=2000", NULL);
    rig_read_begin(rig, RIG_BAR2, 4);
    late = receive_read(peer);
    ck_assert_uint_eq(rig_read_end(rig), ALL_ONES);
    be_heard();
    rig_read_begin(rig, RIG_BAR2, 4);
    read = receive_read(peer);
    ck_assert_uint_ne(read.tag, late.tag);
    complete(peer, &late, &wrong);
    complete(peer, &read, &right);
    complete(peer, &read, &wrong);
    ck_assert_uint_eq(rig_read_end(rig), right);
}
END_TEST

/* Other work does not lengthen the time-out of a read. */
START_TEST(time_outs_hold_while_the_peer_talks)
{
    struct farside_wire_doorbell bell = {.bits = 1};
    gint64 begin = g_get_monotonic_time();
    gint64 deadline = rig_deadline();

    rig_read_begin(rig, RIG_BAR2, 4);
    while (!rig_has_answered(rig)) {
        ck_assert_int_lt(g_get_monotonic_time(), deadline);
        rig_peer_send(peer, FARSIDE_WIRE_DOORBELL, &bell, sizeof(bell));
    }
    ck_assert_uint_eq(rig_read_end(rig), ALL_ONES);
    ck_assert_int_ge(g_get_monotonic_time() - begin, TIMEOUT_MS * 1000);
}
END_TEST

/* A peer that does not read */

START_TEST(a_peer_that_does_not_read_keeps_the_link)
{
    uint32_t count = rig_read(rig, LINK_EVENT, 4);
    g_autoptr(GString) commands = g_string_new(NULL);
    struct farside_wire_doorbell bell;
    uint64_t bits = 0;
    gint64 begin;
    unsigned i;

    rig_write(rig, DBMSG + 0x1008, 8, UINT64_MAX);
    drain();
    for (i = 0; i < 64; i++) {
        g_string_append_printf(commands, "writel 0x%llx 0x%x\n",
                               (unsigned long long)DBMSG + 0x1068, i);
        g_string_append_printf(commands, "writel 0x%llx 0x%x\n",
                               (unsigned long long)RIG_BAR2 + 0x100, i);
        g_string_append_printf(commands, "writeq 0x%llx 0x%llx\n",
                               (unsigned long long)DBMSG + 0x1000, 1ull << i);
    }
    begin = g_get_monotonic_time();
    for (i = 0; i < 20; i++) {
        rig_batch(rig, commands->str, 3 * 64);
    }
    /* The first write waits for the time-out, and no other after it: 20 * 64
     * would need more than six minutes. */
    ck_assert_int_ge(g_get_monotonic_time() - begin, TIMEOUT_MS * 900);
    ck_assert_int_le(g_get_monotonic_time() - begin, 30 * G_USEC_PER_SEC);
    ck_assert_uint_eq(rig_read(rig, LINK_EVENT, 4), count);
    /* Messages were lost, but no doorbell. */
    while (bits != UINT64_MAX) {
        memcpy(&bell, rig_peer_receive(peer, FARSIDE_WIRE_DOORBELL)->body,
               sizeof(bell));
        bits |= bell.bits;
    }
    drain();
    ck_assert_uint_eq(rig_read(rig, LINK_EVENT, 4), count);
    /* A write arrives again. */
    rig_write(rig, RIG_BAR2 + 0x500, 4, 0x55);
    ck_assert_uint_eq(
        ((struct farside_wire_write *)rig_peer_receive(peer, FARSIDE_WIRE_WRITE)
             ->body)
            ->address,
        0xf0000500);
}
END_TEST

/*
 * A write waits until the queue has drained. Meanwhile writes of the peer come
 * back to the peer through the same window. The first write then is no longer
 * adjacent to the last one.
 */
START_TEST(a_write_that_waited_goes_where_it_should)
{
    const uint8_t pieces[32] = {0x11};
    struct farside_wire_write w;
    const RigMessage *m;
    uint64_t value;
    unsigned i;

    rig_write(rig, RIG_BAR2 + 0x100, 8, 1);
    for (i = 0; i < 2000; i++) {
        send_read(peer, 2 * MIB, 8, i);
    }
    rig_write_begin(rig, RIG_BAR2 + 0x108, 8, 0x1234567890abcdefull);
    /* Time for QEMU to begin. If it needs longer, the test still passes. */
    g_usleep(20000);
    send_write(peer, RIG_BAR2 + 0x8000, pieces, sizeof(pieces));
    do {
        m = rig_peer_receive(peer, FARSIDE_WIRE_WRITE);
        memcpy(&w, m->body, sizeof(w));
        memcpy(&value, m->body + m->head.length - 8, 8);
    } while (value != 0x1234567890abcdefull);
    ck_assert_uint_eq(w.address, 0xf0000108);
    ck_assert_uint_eq(w.length, 8);
    rig_write_end(rig);
}
END_TEST

/* A peer that never reads its completions loses the link. */
START_TEST(a_peer_that_asks_and_does_not_read_is_left)
{
    struct farside_wire_read m = {.address = 2 * MIB, .length = 4096};
    unsigned i;

    for (i = 0; i < 10000; i++) {
        rig_peer_send(peer, FARSIDE_WIRE_READ, &m, sizeof(m));
    }
    ck_assert(rig_peer_is_closed(peer));
    rig_peer_free(peer);
    peer = rig_peer_new(rig);
    rig_peer_hello(peer);
    rig_wait_link(rig, 0, true);
}
END_TEST

/* Behind an IOMMU */

/* Resets */

#define BUSY_COMMANDS 24

static void start_busy_nvme(void)
{
    static const char *const arguments[] = {
        "-drive", "if=none,id=d,driver=null-co,size=8M,latency-ns=5000000",
        "-device", "nvme,drive=d,serial=x,addr=06.0", NULL};
    DeviceNvme nvme;
    unsigned i;

    start(IMPATIENT, arguments);
    rig_pci_write(rig, NVME_DEVFN, 0x10, (uint32_t)NVME_BAR);
    rig_pci_write(rig, NVME_DEVFN, 0x14, 0);
    rig_pci_write(rig, NVME_DEVFN, 0x04, 0x6);
    nvme = (DeviceNvme){.rig = rig, .bar = NVME_BAR, .ram = rig_ram(rig)};
    nvme_start(&nvme, false, 0);
    /* Data for a forwarded window: one request has QEMU's bounce buffer, the
     * others wait for it. */
    for (i = 0; i < BUSY_COMMANDS; i++) {
        nvme_queue_at(&nvme, i & 1, i * 0x10000, RIG_BAR2, 0x10000);
    }
    nvme_ring(&nvme);
}

/* The machine resets a few ms later each time: QEMU survives. */
START_TEST(a_reset_under_forwarded_dma_is_survived)
{
    gint64 deadline;
    char *answer;

    start_busy_nvme();
    g_usleep(4000 * _i);
    answer = rig_qmp(rig, "{\"execute\": \"system_reset\"}");
    ck_assert_ptr_nonnull(strstr(answer, "return"));
    free(answer);
    deadline = g_get_monotonic_time() + 20 * G_USEC_PER_SEC;
    while (rig_config_read(rig, 0x10) & ~0xfu) {
        ck_assert_msg(g_get_monotonic_time() < deadline, "no reset");
    }
    /* Requests that were left would complete now. */
    g_usleep(100000);
    rig_reset(rig);
    ck_assert_uint_eq(rig_read(rig, RIG_BAR0 + 0x2000, 4), 0x8536);
}
END_TEST

/*
 * The controller alone is reset a few ms later each time, as a lender does it
 * at the end of a loan: QEMU survives.
 */
START_TEST(a_reset_of_a_drive_under_forwarded_dma_is_survived)
{
    unsigned express;

    start_busy_nvme();
    express = rig_pci_find(rig, NVME_DEVFN, 0x10);
    g_usleep(4000 * _i);
    rig_pci_write(rig, NVME_DEVFN, 0x04, 0x2);
    rig_pci_write(rig, NVME_DEVFN, express + 0x08, 1u << 15);
    /* Requests that were left would complete now. */
    g_usleep(100000);
    ck_assert_uint_eq(rig_read(rig, RIG_BAR0 + 0x2000, 4), 0x8536);
}
END_TEST

/*
 * A transfer into the far end's memory is under way when that memory is taken
 * from the device: the far end is reset, or one of the hosts closes the window.
 * From then on, or from the end of the operation on, the memory stays as it is.
 */
START_TEST(a_transfer_ends_with_its_window)
{
    static const char *const arguments[] = {
        "-object",   "throttle-group,id=slow,x-iops-total=1",
        "-blockdev", "null-co,node-name=zeros,size=8388608,read-zeroes=on",
        "-blockdev", "throttle,node-name=d,throttle-group=slow,file=zeros",
        "-device",   "nvme,drive=d,serial=x,addr=06.0",
        NULL};
    uint8_t *bytes, then;
    DeviceNvme nvme;

    start("completion-timeout=10000", arguments);
    bytes = rig_peer_give_ram(peer, 0xf0000000, MIB, true);
    drain();
    memset(bytes, 0xa5, MIB);
    rig_pci_write(rig, NVME_DEVFN, 0x10, (uint32_t)NVME_BAR);
    rig_pci_write(rig, NVME_DEVFN, 0x14, 0);
    rig_pci_write(rig, NVME_DEVFN, 0x04, 0x6);
    nvme = (DeviceNvme){.rig = rig, .bar = NVME_BAR, .ram = rig_ram(rig)};
    nvme_start(&nvme, false, 0);
    /* The drive does one of them in each second. */
    nvme_queue_at(&nvme, false, 0, RIG_BAR2, 4096);
    nvme_queue_at(&nvme, false, 4096, RIG_BAR2 + 4096, 4096);
    nvme_ring(&nvme);
    nvme_wait(&nvme, 1);
    ck_assert_uint_eq(bytes[0], 0);
    ck_assert_uint_eq(bytes[4096], 0xa5);
    switch (_i) {
    case 0:
        rig_peer_send(peer, FARSIDE_WIRE_RESET, NULL, 0);
        drain();
        ck_assert_uint_eq(bytes[4096], 0xa5);
        break;
    case 1:
        set_lut(0, 0x80000000);
        break;
    case 2:
        rig_peer_set_lut(peer, 0, 0);
        break;
    }
    then = bytes[4096];
    nvme_wait(&nvme, 1);
    ck_assert_uint_eq(bytes[4096], then);
}
END_TEST

/* After a reset of the far end, its memory is reached as before. */
START_TEST(memory_is_there_after_a_reset_of_the_far_end)
{
    uint8_t *bytes;

    start("completion-timeout=60000", NULL);
    bytes = rig_peer_give_ram(peer, 0xf0000000, MIB, true);
    drain();
    rig_peer_send(peer, FARSIDE_WIRE_RESET, NULL, 0);
    drain();
    set_lut(0, 0xf0000000);
    rig_write(rig, RIG_BAR2 + 0x10, 8, 0x1234);
    ck_assert_uint_eq(*(uint64_t *)(bytes + 0x10), 0x1234);
}
END_TEST

/*
 * The far end's IOMMU has told of one page at KNOWN, and not of the next one.
 * It does not answer when a device writes to that: its end of the link is down,
 * and the write is dropped. What the device writes afterwards must not arrive.
 */
#define KNOWN 0x1000u

static void receive_write(unsigned offset)
{
    const struct farside_wire_write *w;
    const RigMessage *m;

    m = rig_peer_receive_any(peer);
    ck_assert_uint_eq(m->head.type, FARSIDE_WIRE_WRITE);
    w = (const void *)m->body;
    ck_assert_uint_eq(w->address, 0xf0000000 + offset);
}

static void receive_flush_and_write(unsigned offset)
{
    ck_assert_uint_eq(receive_read(peer).length, 0);
    receive_write(offset);
}

START_TEST(nothing_overtakes_a_write_that_is_dropped)
{
    const struct farside_wire_notice map = {.address = 0xf0000000 + KNOWN,
                                            .target = 16 * MIB,
                                            .size = 0x1000,
                                            .perm = 3};
    struct farside_wire_read read;
    uint8_t *ram = rig_peer_give_ram_behind_iommu(peer, 16 * MIB, MIB);

    rig_peer_notice(peer, 1, &map);
    drain();
    dma_write(RIG_BAR2 + KNOWN, 8, 1);
    ck_assert_uint_eq(ram[0], 1);
    dma_write(RIG_BAR2 + KNOWN + 0x1000, 8, 2);
    receive_flush_and_write(KNOWN + 0x1000);
    /* The far end is silent, so nobody asks it again. */
    dma_write(RIG_BAR2 + KNOWN, 8, 3);
    receive_write(KNOWN);
    ck_assert_uint_eq(ram[0], 1);
    /* It is heard, but does not answer. */
    be_heard();
    dma_write(RIG_BAR2 + KNOWN, 8, 3);
    receive_flush_and_write(KNOWN);
    ck_assert_uint_eq(ram[0], 1);
    be_heard();
    /* The far end answers: its memory is accessed directly again. */
    rig_read_begin(rig, RIG_BAR2 + KNOWN, 4);
    read = receive_read(peer);
    ck_assert_uint_eq(read.length, 0);
    complete(peer, &read, NULL);
    ck_assert_uint_eq(rig_read_end(rig), 0x01010101);
    dma_write(RIG_BAR2 + KNOWN, 8, 4);
    ck_assert_uint_eq(ram[0], 4);
}
END_TEST

static Suite *make_suite(void)
{
    Suite *suite = suite_create("device_order");
    TCase *tcase = tcase_create("order");

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_loop_test(tcase, adjacent_writes_are_one, 0, 3);
    tcase_add_test(tcase, writes_apart_are_not_one);
    tcase_add_loop_test(tcase, nothing_overtakes_writes, 0, G_N_ELEMENTS(ends));
    tcase_add_test(tcase, reads_and_answers_do_not_overtake_writes);
    tcase_add_test(tcase, a_window_that_leads_back_ends);
    tcase_add_test(tcase, waiting_serves_all_links);
    tcase_add_test(tcase, a_late_answer_is_not_that_of_another);
    tcase_add_test(tcase, a_write_that_waited_goes_where_it_should);
    suite_add_tcase(suite, tcase);

    tcase = tcase_create("time-outs");
    tcase_add_checked_fixture(tcase, setup_impatient, teardown);
    tcase_add_test(tcase, time_outs_hold_while_the_peer_talks);
    tcase_add_test(tcase, a_peer_that_does_not_read_keeps_the_link);
    tcase_add_test(tcase, a_peer_that_asks_and_does_not_read_is_left);
    tcase_add_test(tcase, nothing_overtakes_a_write_that_is_dropped);
    suite_add_tcase(suite, tcase);

    tcase = tcase_create("nvme");
    tcase_add_checked_fixture(tcase, setup_nvme, teardown);
    tcase_add_test(tcase, a_device_in_an_access_misses_nothing);
    suite_add_tcase(suite, tcase);

    tcase = tcase_create("nvme time-outs");
    tcase_add_checked_fixture(tcase, setup_impatient_nvme, teardown);
    tcase_add_test(tcase, a_device_that_is_not_answered_goes_on);
    suite_add_tcase(suite, tcase);

    tcase = tcase_create("reset");
    tcase_add_checked_fixture(tcase, NULL, teardown);
    tcase_add_loop_test(tcase, a_reset_under_forwarded_dma_is_survived, 0, 4);
    tcase_add_loop_test(
        tcase, a_reset_of_a_drive_under_forwarded_dma_is_survived, 0, 4);
    suite_add_tcase(suite, tcase);

    tcase = tcase_create("transfers");
    tcase_add_checked_fixture(tcase, NULL, teardown);
    tcase_add_loop_test(tcase, a_transfer_ends_with_its_window, 0, 3);
    tcase_add_test(tcase, memory_is_there_after_a_reset_of_the_far_end);
    suite_add_tcase(suite, tcase);

    return suite;
}

int main(void)
{
    return run_suite(make_suite());
}
