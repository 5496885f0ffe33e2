/* SPDX-License-Identifier: MIT */
/*
 * Invariant: no request of a peer harms a device that waits for the peer. The
 * memory of the far end holds the queues and the data of each kind of device,
 * so the device waits in all parts of its code. At each of these places the far
 * end sends each request that could free what the device uses: resets of the
 * function and of its bus, slot power, the command register, its registers.
 * QEMU goes on, serves the request later, and serves memory and interrupts at
 * once. FARSIDE_NESTED=all tries every place, not a few.
 *
 * igb is not among the devices: QEMU 7.2 does not have it.
 */
#include <check.h>
#include <glib.h>
#include <stdlib.h>
#include <string.h>
#include "device_far_memory.h"
#include "device_gpu.h"
#include "device_nvme.h"
#include "../suite.h"

#define ECAM                0xb0000000ull
#define ECAM_OF(bus, devfn) (ECAM + ((bus) << 20) + ((devfn) << 12))
#define MIB                 (1ull << 20)

#define PORT_DEVFN 0x58 /* 00:0b.0 */
#define PORT_BUS   1
#define NVME2_BAR  0xec000000ull
#define E1000E_BAR 0xed000000ull
#define AHCI_BAR   0xed100000ull
#define XHCI_BAR   0xed200000ull
#define QUEUE      0x300000u /* of the device under test, in the far memory */
#define DATA       0x380000u

static DeviceRig *rig;
static RigPeer *peer;
static FarMemory *far;
static DeviceNvme nvme;

/* Devices */

typedef struct {
    const char *name;
    unsigned bus;
    unsigned devfn;
    unsigned bar_register;
    uint64_t bar;
    void (*prepare)(void);
    void (*start)(void);
    /* Writes of 4 bytes to its BAR */
    struct {
        unsigned offset;
        uint32_t value;
    } registers[6];
} Device;

static void far_put(uint64_t at, const void *data, size_t size)
{
    memcpy(far_memory_bytes(far) + at, data, size);
}

static void prepare_nvme_at(uint64_t bar)
{
    nvme = (DeviceNvme){.rig = rig,
                        .bar = bar,
                        .offset = RIG_BAR2,
                        .ram = far_memory_bytes(far)};
    nvme_start(&nvme, false, 0);
}

static void prepare_nvme(void)
{
    prepare_nvme_at(RIG_NVME_BAR);
}

static void prepare_nvme2(void)
{
    prepare_nvme_at(NVME2_BAR);
}

/* Several at once: all but one wait for QEMU's bounce buffer. */
static void start_nvme(void)
{
    unsigned i;

    for (i = 0; i < 4; i++) {
        nvme_queue_at(&nvme, i != 2, i * 4096, RIG_BAR2 + DATA + i * 4096, 512);
    }
    nvme_ring(&nvme);
}

/* Intel 82574, 10.2.6 and 7.2: four legacy descriptors of 64 bytes of data */
static void prepare_e1000e(void)
{
    uint32_t descriptor[4] = {RIG_BAR2 + DATA, 0, 64 | 9u << 24, 0};
    unsigned i;

    for (i = 0; i < 8; i++) {
        far_put(QUEUE + 16 * i, descriptor, 16);
    }
    rig_write(rig, E1000E_BAR + 0x3800, 4, RIG_BAR2 + QUEUE);
    rig_write(rig, E1000E_BAR + 0x3804, 4, 0);
    rig_write(rig, E1000E_BAR + 0x3808, 4, 128);
    rig_write(rig, E1000E_BAR + 0x3810, 4, 0);
    rig_write(rig, E1000E_BAR + 0x3818, 4, 0);
    rig_write(rig, E1000E_BAR + 0x400, 4, 0x2);
}

static void start_e1000e(void)
{
    rig_write_begin(rig, E1000E_BAR + 0x3818, 4, 4);
}

/*
 * AHCI 1.3.1, s4: command list and table in the machine, the data of WRITE DMA
 * EXT far away. QEMU 7.2 ends if it cannot map a table of regions, and it maps
 * only one piece of a forwarded window at a time.
 */
static void prepare_ahci(void)
{
    const uint8_t fis[20] = {0x27, 0x80, 0x35, 0, 0, 0, 0, 0x40, [12] = 1};
    uint32_t prd[4] = {RIG_BAR2 + DATA, 0, 0, 511};
    uint32_t header[8] = {1u << 16 | 1u << 6 | 5, 0, 3 * MIB + 0x2000, 0};

    memcpy(rig_ram(rig) + 3 * MIB + 0x2000, fis, sizeof(fis));
    memcpy(rig_ram(rig) + 3 * MIB + 0x2080, prd, sizeof(prd));
    rig_write(rig, AHCI_BAR + 0x04, 4, 1u << 31 | 1);
    rig_write(rig, AHCI_BAR + 0x04, 4, 1u << 31);
    memcpy(rig_ram(rig) + 3 * MIB, header, sizeof(header));
    rig_write(rig, AHCI_BAR + 0x118, 4, 0);
    rig_write(rig, AHCI_BAR + 0x100, 4, 3 * MIB);
    rig_write(rig, AHCI_BAR + 0x108, 4, 3 * MIB + 0x1000);
    rig_write(rig, AHCI_BAR + 0x118, 4, 0x11);
}

static void start_ahci(void)
{
    rig_write_begin(rig, AHCI_BAR + 0x138, 4, 1);
}

/* xHCI 1.2, s4.9 and s6.4.3: a ring of No Op commands */
static void prepare_xhci(void)
{
    uint32_t noop[4] = {0, 0, 0, 23u << 10 | 1};
    uint32_t segment[4] = {4 * MIB, 0, 256, 0};
    unsigned i;

    for (i = 0; i < 8; i++) {
        noop[3] = i < 6 ? 23u << 10 | 1 : 0;
        far_put(QUEUE + 16 * i, noop, 16);
    }
    rig_write(rig, XHCI_BAR + 0x40, 4, 2);
    memcpy(rig_ram(rig) + 3 * MIB, segment, sizeof(segment));
    rig_write(rig, XHCI_BAR + 0x1028, 4, 1);
    rig_write(rig, XHCI_BAR + 0x1038, 4, 4 * MIB);
    rig_write(rig, XHCI_BAR + 0x103c, 4, 0);
    rig_write(rig, XHCI_BAR + 0x1030, 4, 3 * MIB);
    rig_write(rig, XHCI_BAR + 0x1034, 4, 0);
    rig_write(rig, XHCI_BAR + 0x58, 4, (RIG_BAR2 + QUEUE) | 1);
    rig_write(rig, XHCI_BAR + 0x5c, 4, 0);
    rig_write(rig, XHCI_BAR + 0x40, 4, 1);
}

static void start_xhci(void)
{
    rig_write_begin(rig, XHCI_BAR + 0x2000, 4, 0);
}

static void prepare_gpu(void)
{
    struct gpu_command copy = {.operation = GPU_COPY,
                               .length = 256,
                               .source = RIG_BAR2 + DATA,
                               .destination = GPU_LOCAL};
    uint64_t q = GPU_BAR0 + GPU_QUEUE;
    unsigned i;

    for (i = 0; i < 8; i++) {
        far_put(QUEUE + sizeof(copy) * i, &copy, sizeof(copy));
    }
    rig_write(rig, q + GPU_QUEUE_CONTROL, 4, 0);
    rig_write(rig, q + GPU_BASE, 8, RIG_BAR2 + QUEUE);
    rig_write(rig, q + GPU_ENTRIES, 4, 8);
    rig_write(rig, q + GPU_QUEUE_CONTROL, 4, GPU_QUEUE_ENABLE);
}

static void start_gpu(void)
{
    rig_write_begin(rig, GPU_BAR0 + GPU_QUEUE + GPU_TAIL, 4, 3);
}

static void start_nvme_begin(void)
{
    start_nvme();
    /* All others begin an access that the run ends. */
    rig_read_begin(rig, RIG_BAR0 + 0x2000, 4);
}

/* In the slot: devices[1] to devices[5] */
#define SLOT_DEVICES 5

static const Device devices[] = {
    {"nvme",
     0,
     0x30,
     0x10,
     RIG_NVME_BAR,
     prepare_nvme,
     start_nvme_begin,
     {{0x14, 0}, {0x20, 0x4e564d65}, {0x1008, 20}, {0x28, 0}, {0x1000, 7}}},
    {"nvme in a slot",
     PORT_BUS,
     0,
     0x10,
     NVME2_BAR,
     prepare_nvme2,
     start_nvme_begin,
     {{0x14, 0}, {0x1008, 20}}},
    {"e1000e",
     PORT_BUS,
     1,
     0x10,
     E1000E_BAR,
     prepare_e1000e,
     start_e1000e,
     {{0x0, 1u << 26}, {0x3808, 0}, {0x3818, 7}, {0x400, 0}, {0x20, 0}}},
    {"ahci",
     PORT_BUS,
     2,
     0x24,
     AHCI_BAR,
     prepare_ahci,
     start_ahci,
     {{0x04, 1u << 31 | 1}, {0x118, 0}, {0x12c, 1}, {0x138, 2}, {0x100, 0}}},
    {"xhci",
     PORT_BUS,
     3,
     0x10,
     XHCI_BAR,
     prepare_xhci,
     start_xhci,
     {{0x40, 2}, {0x40, 0}, {0x58, 2}, {0x2000, 0}, {0x1028, 0}}},
    {"gpu",
     PORT_BUS,
     4,
     0x10,
     GPU_BAR0,
     prepare_gpu,
     start_gpu,
     {{0x10c, 0}, {0x114, 5}, {0x12c, 1}, {0x108, 0}, {0x100, 0}}},
};

/* The machine */

static void setup(void)
{
    static const char *const arguments[] = {
        "-drive",  "if=none,id=d0,driver=null-co,read-zeroes=on,size=64M",
        "-device", "nvme,addr=06.0,serial=1,drive=d0",
        "-drive",  "if=none,id=d1,driver=null-co,read-zeroes=on,size=64M",
        "-device", "pcie-root-port,id=rp,addr=0b.0,chassis=1,slot=1",
        "-drive",  "if=none,id=d2,driver=null-co,read-zeroes=on,size=64M",
        "-device", "nvme,bus=rp,addr=00.0,multifunction=on,serial=2,drive=d2",
        "-device", "e1000e,bus=rp,addr=00.1",
        "-device", "ich9-ahci,id=ahci9,bus=rp,addr=00.2",
        "-device", "ide-hd,bus=ahci9.0,drive=d1",
        "-device", "qemu-xhci,bus=rp,addr=00.3",
        "-device", "farside-gpu,bus=rp,addr=00.4",
        NULL};
    uint64_t targets[] = {
        ECAM,          ECAM + 0x20000,     ECAM + 0x40000,     ECAM + 0xe0000,
        ECAM_OF(1, 0), RIG_NVME_BAR,       NVME2_BAR,          E1000E_BAR,
        AHCI_BAR,      XHCI_BAR,           GPU_BAR0,           0xfee00000,
        RIG_BAR0,      RIG_BAR0 + 0x20000, RIG_BAR2 + 0x300000};

    rig = rig_new_with(NULL, "completion-timeout=60000", arguments);
    rig_ram(rig);
    rig_pci_write(rig, 0, 0x60, (uint32_t)ECAM | 1);
    rig_pci_write(rig, 0, 0x64, 0);
    peer = rig_peer_new(rig);
    rig_peer_hello(peer);
    rig_peer_open(peer, targets, G_N_ELEMENTS(targets));
    rig_wait_link(rig, 0, true);
    far = far_memory_new(rig, peer);
}

static void teardown(void)
{
    far_memory_free(far);
    far = NULL;
    rig_peer_free(peer);
    peer = NULL;
    rig_free(rig);
    rig = NULL;
}

static unsigned capability(const Device *d, uint8_t id)
{
    uint64_t config = ECAM_OF((uint64_t)d->bus, d->devfn);
    unsigned at = rig_read(rig, config + 0x34, 1);

    while (at && rig_read(rig, config + at, 1) != id) {
        at = rig_read(rig, config + at + 1, 1);
    }
    return at;
}

/* Gives the device the state in which the test needs it. */
static void restore(const Device *d)
{
    uint64_t config = ECAM_OF((uint64_t)d->bus, d->devfn);
    unsigned at;

    if (d->bus) {
        rig_pci_write(rig, PORT_DEVFN, 0x18, 0x00010100);
        /* Memory base and limit: from GPU_BAR0 to the end of XHCI_BAR */
        rig_pci_write(rig, PORT_DEVFN, 0x20,
                      (uint32_t)(XHCI_BAR >> 16 << 16 | GPU_BAR0 >> 16));
        rig_pci_write(rig, PORT_DEVFN, 0x3c, 0);
        rig_pci_write(rig, PORT_DEVFN, 0x04, 0x6);
    }
    /* A function in another state than D0 answers no request (PCI PM 1.2). */
    if ((at = capability(d, 0x01))) {
        rig_write(rig, config + at + 4, 2, 0);
    }
    if (d->bar_register == 0x10) {
        rig_write(rig, config + 0x14, 4, 0);
    }
    rig_write(rig, config + d->bar_register, 4, d->bar);
    rig_write(rig, config + 0x04, 2, 0x6);
    d->prepare();
}

/* Requests */

typedef struct {
    uint64_t address;
    unsigned size;
    uint32_t value;
    bool is_read;
} Request;

static void add(GArray *requests, uint64_t address, unsigned size,
                uint32_t value)
{
    Request write = {address, size, value, false};
    Request read = {address, 4, 0, true};

    g_array_append_val(requests, write);
    if (value == 0) {
        g_array_append_val(requests, read);
    }
}

/* All that is aimed at a device. */
static GArray *requests_to(const Device *d)
{
    GArray *requests = g_array_new(FALSE, FALSE, sizeof(Request));
    uint64_t config = ECAM_OF((uint64_t)d->bus, d->devfn);
    uint64_t port = ECAM_OF(0ull, PORT_DEVFN);
    unsigned i, at;

    add(requests, config + 0x04, 2, 0);
    add(requests, config + d->bar_register, 4, 0xee000000);
    add(requests, config + d->bar_register, 4, 0);
    if ((at = capability(d, 0x10))) {
        add(requests, config + at + 8, 2, 1u << 15);
    }
    if ((at = capability(d, 0x01))) {
        add(requests, config + at + 4, 2, 3);
    }
    if ((at = capability(d, 0x11))) {
        add(requests, config + at + 2, 2, 0xc000);
    }
    for (i = 0; i < G_N_ELEMENTS(d->registers); i++) {
        add(requests, d->bar + d->registers[i].offset, 4,
            d->registers[i].value);
    }
    if (d->bus) {
        /* Secondary Bus Reset, memory base and limit, command */
        add(requests, port + 0x3e, 2, 0x40);
        add(requests, port + 0x20, 4, 0x0000fff0);
        add(requests, port + 0x04, 2, 0);
    }
    return requests;
}

static void send(RigPeer *to, const Request *r)
{
    struct {
        struct farside_wire_write head;
        uint32_t value;
    } w = {.head = {.address = r->address, .length = r->size},
           .value = r->value};
    struct farside_wire_read read = {
        .address = r->address, .length = r->size, .tag = 0x7777};

    if (r->is_read) {
        rig_peer_send(to, FARSIDE_WIRE_READ, &read, sizeof(read));
    } else {
        rig_peer_send(to, FARSIDE_WIRE_WRITE, &w, sizeof(w.head) + r->size);
    }
}

typedef struct {
    const Request *request;
    unsigned place;
} Attack;

static bool attack(RigPeer *to, const struct farside_wire_read *read,
                   unsigned number, void *opaque)
{
    const Attack *a = opaque;

    if (number == a->place) {
        send(to, a->request);
    }
    return true;
}

/*
 * One run of the device, in which the far end sends the request at one place.
 * Returns the number of places. Without a request the device waits at least
 * twice; it may begin after the write that starts it has ended.
 */
static unsigned run_once(const Device *d, const Request *r, unsigned place)
{
    gint64 deadline = rig_deadline();
    Attack a = {r, place};
    unsigned reads;

    restore(d);
    far_memory_settle(far);
    far_memory_watch(far, r ? attack : NULL, &a);
    d->start();
    rig_write_end(rig);
    while (!r && far_memory_reads(far) < 2) {
        ck_assert_msg(g_get_monotonic_time() < deadline, "%s does not wait",
                      d->name);
        g_usleep(500);
    }
    far_memory_settle(far);
    reads = far_memory_reads(far);
    far_memory_watch(far, NULL, NULL);
    ck_assert_uint_eq(rig_read(rig, RIG_BAR0 + 0x2000, 4), 0x8536);
    return reads;
}

START_TEST(no_request_harms_a_device_that_waits)
{
    const Device *d = &devices[_i];
    bool all = !g_strcmp0(g_getenv("FARSIDE_NESTED"), "all");
    unsigned places, step, place, i;
    g_autoptr(GArray) requests = NULL;

    places = run_once(d, NULL, 0);
    requests = requests_to(d);
    step = all ? 1 : MAX(places / 2, 1);
    for (i = 0; i < requests->len; i++) {
        for (place = 0; place < places; place += step) {
            run_once(d, &g_array_index(requests, Request, i), place);
        }
    }
    /* The device still works. */
    run_once(d, NULL, 0);
}
END_TEST

/*
 * Any write to any place of the device and of its port, at any place of its
 * work.
 */
static Request any_request(const Device *d, GRand *random)
{
    Request r = {.size = 1u << g_rand_int_range(random, 0, 3),
                 .value = g_rand_int(random)};

    switch (g_rand_int_range(random, 0, 4)) {
    case 0:
        r.address = ECAM_OF(0ull, PORT_DEVFN) + g_rand_int_range(random, 0, 64);
        break;
    case 1:
        r.address = ECAM_OF((uint64_t)d->bus, d->devfn) +
                    g_rand_int_range(random, 0, 256);
        break;
    default:
        r.address = d->bar + g_rand_int_range(random, 0, 0x1010);
        break;
    }
    r.address &= ~(uint64_t)(r.size - 1);
    if (g_rand_boolean(random)) {
        r.value &= 1u << g_rand_int_range(random, 0, 32);
    }
    return r;
}

START_TEST(no_random_request_harms_a_device_that_waits)
{
    bool all = !g_strcmp0(g_getenv("FARSIDE_NESTED"), "all");
    const Device *d = &devices[_i];
    g_autoptr(GRand) random = g_rand_new_with_seed(1 + (unsigned)_i);
    unsigned rounds = all ? 500 : 20, places, i;

    places = run_once(d, NULL, 0);
    for (i = 0; i < rounds; i++) {
        Request r = any_request(d, random);
        unsigned place = (unsigned)g_rand_int_range(random, 0, (gint)places);

        run_once(d, &r, place);
    }
}
END_TEST

/* Requests that may pass */

typedef struct {
    const Device *device;
    gint asked;
    struct farside_wire_read read; /* of the device, which has no answer yet */
} Pause;

#define MARK 0x600dcafeu

/*
 * Asks for the device's configuration space, which has to wait, and writes an
 * interrupt message and memory, which must not wait for the device. The last
 * two are posted, so they would wait behind a write that has to wait.
 */
static bool pause_first(RigPeer *to, const struct farside_wire_read *read,
                        unsigned number, void *opaque)
{
    Pause *p = opaque;
    const Device *d = p->device;
    const Request requests[] = {
        {ECAM_OF((uint64_t)d->bus, d->devfn), 4, 0, true},
        {0xfee00000, 4, 0x4041, false},
        {2 * MIB, 4, MARK, false},
    };
    unsigned i;

    if (number > 0) {
        return true;
    }
    for (i = 0; i < G_N_ELEMENTS(requests); i++) {
        send(to, &requests[i]);
    }
    p->read = *read;
    g_atomic_int_set(&p->asked, 1);
    return false;
}

START_TEST(memory_and_interrupts_pass_a_device_that_waits)
{
    const Device *d = &devices[_i];
    volatile uint32_t *mark = (volatile uint32_t *)(rig_ram(rig) + 2 * MIB);
    gint64 deadline = rig_deadline();
    Pause p = {.device = d};

    restore(d);
    far_memory_settle(far);
    *mark = 0;
    far_memory_watch(far, pause_first, &p);
    d->start();
    while (*mark != MARK || !g_atomic_int_get(&p.asked)) {
        ck_assert_int_lt(g_get_monotonic_time(), deadline);
        g_usleep(500);
    }
    /* Requests sent before the mark has been seen have to wait, too. */
    g_usleep(20000);
    ck_assert_uint_eq(far_memory_completions(far), 0);
    far_memory_answer(far, &p.read);
    rig_write_end(rig);
    while (far_memory_completions(far) == 0) {
        ck_assert_int_lt(g_get_monotonic_time(), deadline);
        g_usleep(500);
    }
    far_memory_watch(far, NULL, NULL);
}
END_TEST

/*
 * PCIe 5.0 s7.5.3.10: the far end switches the slot off, so the devices in it
 * are gone; at places of each device's own work.
 */
START_TEST(a_slot_that_is_switched_off_waits_for_its_devices)
{
    const Device *d = &devices[1 + _i % SLOT_DEVICES];
    unsigned express = rig_pci_find(rig, PORT_DEVFN, 0x10);
    Request off = {ECAM_OF(0ull, PORT_DEVFN) + express + 0x18, 2, 0x7c0, false};
    Attack a = {&off, 0};

    /* The first run of a drive reads more than the next ones. */
    run_once(d, NULL, 0);
    a.place = (run_once(d, NULL, 0) - 1) * ((unsigned)_i / SLOT_DEVICES) / 2;
    restore(d);
    rig_pci_write(rig, PORT_DEVFN, express + 0x18, 0x3c0);
    far_memory_settle(far);
    far_memory_watch(far, attack, &a);
    d->start();
    rig_write_end(rig);
    far_memory_settle(far);
    ck_assert_uint_gt(far_memory_reads(far), a.place);
    far_memory_watch(far, NULL, NULL);
    ck_assert_uint_eq(rig_read(rig, ECAM_OF(1, 0), 4), 0xffffffff);
    ck_assert_uint_eq(rig_read(rig, RIG_BAR0 + 0x2000, 4), 0x8536);
}
END_TEST

static Suite *make_suite(void)
{
    Suite *suite = suite_create("device_nested");
    TCase *tcase = tcase_create("nested");

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_set_timeout(tcase, 280);
    tcase_add_loop_test(tcase, no_request_harms_a_device_that_waits, 0,
                        G_N_ELEMENTS(devices));
    tcase_add_loop_test(tcase, no_random_request_harms_a_device_that_waits, 0,
                        G_N_ELEMENTS(devices));
    tcase_add_loop_test(tcase, memory_and_interrupts_pass_a_device_that_waits,
                        0, G_N_ELEMENTS(devices));
    tcase_add_loop_test(tcase,
                        a_slot_that_is_switched_off_waits_for_its_devices, 0,
                        3 * SLOT_DEVICES);
    suite_add_tcase(suite, tcase);
    return suite;
}

int main(void)
{
    return run_suite(make_suite());
}
