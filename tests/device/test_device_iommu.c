/* SPDX-License-Identifier: MIT */
/*
 * Invariant: the peer's requests reach the memory that this machine's IOMMU
 * allows, and no other. The peer may map memory only while it hears of each
 * change of the translation. The test plays the guest, which has tables for the
 * IOMMU, and the far end.
 */
#define _GNU_SOURCE
#include <check.h>
#include <glib.h>
#include <stdlib.h>
#include <string.h>
#include "device_far_end.h"
#include "../suite.h"

#define MIB        (1ull << 20)
#define VTD        0xfed90000ull
#define VTD_RTADDR (VTD + 0x20)
#define VTD_GCMD   (VTD + 0x18)
#define VTD_GSTS   (VTD + 0x1c)
#define VTD_TE     (1u << 31)
#define VTD_SRTP   (1u << 30)
#define VTD_CCMD   (VTD + 0x28)
#define VTD_ICC    (1ull << 63 | 1ull << 61)
#define NTB_DEVFN  0x28u
#define ROOT       (4 * MIB)
#define CONTEXT    (ROOT + 0x1000)
#define TABLE(l)   (ROOT + 0x2000 + 0x1000 * (l))
#define IOVA       0x12345000ull
#define PAGE       (8 * MIB)

typedef struct {
    struct farside_wire_write head;
    uint64_t word;
} Write;

typedef struct {
    struct farside_wire_completion head;
    uint64_t word;
} Completion;

static void send_write(uint64_t address, uint64_t word)
{
    Write w = {.head = {.address = address, .length = 8}, .word = word};

    rig_peer_send(peer, FARSIDE_WIRE_WRITE, &w, sizeof(w));
}

/* Returns the status of the peer's read. */
static unsigned read_word(uint64_t address, uint16_t tag, uint64_t *ret_word)
{
    struct farside_wire_read read = {
        .address = address, .length = 8, .tag = tag};
    const RigMessage *m;
    Completion c;

    rig_peer_send(peer, FARSIDE_WIRE_READ, &read, sizeof(read));
    m = rig_peer_receive(peer, FARSIDE_WIRE_COMPLETION);
    memcpy(&c, m->body, MIN(m->head.length, sizeof(c)));
    ck_assert_uint_eq(c.head.tag, tag);
    *ret_word = c.word;
    return c.head.status;
}

static struct farside_wire_ram announced(void)
{
    struct farside_wire_ram ram;

    memcpy(&ram, rig_peer_receive(peer, FARSIDE_WIRE_RAM)->body, sizeof(ram));
    return ram;
}

/* Starts a machine with an IOMMU. Returns its RAM message. */
static struct farside_wire_ram start(const char *iommu)
{
    const char *const arguments[] = {"-device", iommu, NULL};

    rig = rig_new_with(NULL, "completion-timeout=60000", arguments);
    peer = rig_peer_new(rig);
    far_end_connect();
    return announced();
}

/* The page at IOVA is PAGE, and nothing else is there. */
static void only_the_page_is_reached(uint64_t word)
{
    uint64_t read;

    send_write(IOVA + 0x18, word);
    ck_assert_uint_eq(read_word(IOVA + 0x18, 2, &read), FARSIDE_WIRE_SC);
    ck_assert_uint_eq(read, word);
    ck_assert_uint_eq(rig_read(rig, PAGE + 0x18, 8), word);
    send_write(PAGE + 0x18, ~word);
    ck_assert_uint_eq(read_word(PAGE, 3, &read), FARSIDE_WIRE_UR);
    ck_assert_uint_eq(rig_read(rig, PAGE + 0x18, 8), word);
}

static void open_windows(void)
{
    const uint64_t window = IOVA & ~(8 * MIB - 1);

    rig_peer_open(peer, &window, 1);
}

/* The IOMMU's region has 2^64 bytes, which fit no 64-bit number. */
START_TEST(translated_memory_is_said_to_be)
{
    struct farside_wire_ram ram =
        start("virtio-iommu-pci,addr=04.0,boot-bypass=off");

    ck_assert_uint_eq(ram.translated, 1);
    ck_assert_uint_ge(ram.count, 1);
}
END_TEST

/* Intel's */

/*
 * VT-d 3.1 s9: one page at IOVA for the NTB device, by tables of three levels,
 * and nothing else.
 */
static void set_iommu(void)
{
    rig_write(rig, ROOT, 8, CONTEXT | 1);
    rig_write(rig, CONTEXT + 16 * NTB_DEVFN, 8, TABLE(2) | 1);
    /* Domain 1, three levels */
    rig_write(rig, CONTEXT + 16 * NTB_DEVFN + 8, 8, 1 << 8 | 1);
    rig_write(rig, TABLE(2) + 8 * (IOVA >> 30 & 511), 8, TABLE(1) | 3);
    rig_write(rig, TABLE(1) + 8 * (IOVA >> 21 & 511), 8, TABLE(0) | 3);
    rig_write(rig, TABLE(0) + 8 * (IOVA >> 12 & 511), 8, PAGE | 3);
    rig_write(rig, VTD_RTADDR, 8, ROOT);
    rig_write(rig, VTD_GCMD, 4, VTD_SRTP);
    rig_write(rig, VTD_GCMD, 4, VTD_TE);
    ck_assert_uint_eq(VTD_TE & rig_read(rig, VTD_GSTS, 4), VTD_TE);
}

/* The IOMMU passes the NTB's addresses through (s9.3, TT). */
static void set_pass_through(void)
{
    rig_write(rig, CONTEXT + 16 * NTB_DEVFN, 8, 2 << 2 | 1);
    rig_write(rig, VTD_CCMD, 8, VTD_ICC);
}

START_TEST(memory_behind_an_iommu_is_forwarded)
{
    uint64_t word = 0x1122334455667788ull, read;

    /* The memory can be mapped until the IOMMU translates. */
    ck_assert_uint_gt(start("intel-iommu").count, 0);
    send_write(PAGE, word);
    ck_assert_uint_eq(read_word(PAGE, 1, &read), FARSIDE_WIRE_SC);
    ck_assert_uint_eq(read, word);
    open_windows();
    set_iommu();
    ck_assert_uint_eq(announced().count, 0);
    only_the_page_is_reached(~word);
    ck_assert_uint_eq(rig_read(rig, PAGE, 8), word);
    set_pass_through();
    ck_assert_uint_gt(announced().count, 0);
}
END_TEST

/* AMD's */

#define AMD           0xfed80000ull
#define AMD_DEVICES   AMD
#define AMD_COMMANDS  (AMD + 0x08)
#define AMD_CONTROL   (AMD + 0x18)
#define AMD_HEAD      (AMD + 0x2000)
#define AMD_TAIL      (AMD + 0x2008)
#define AMD_ENABLE    (1u << 12 | 1u)
#define COMMANDS      (ROOT + 0x8000)
#define ENTRY         (ROOT + 32 * NTB_DEVFN)
#define MAY_ALL       (3ull << 61)
#define NEXT(level)   ((uint64_t)(level) << 9 | 1)
#define VALID         3ull
#define DOMAIN        1
#define INVALIDATE(n) ((uint64_t)(n) << 60)

/* One command, which the IOMMU has executed when this returns */
static void command(uint64_t low, uint64_t high)
{
    uint64_t tail = rig_read(rig, AMD_TAIL, 8);

    rig_write(rig, COMMANDS + tail, 8, low);
    rig_write(rig, COMMANDS + tail + 8, 8, high);
    rig_write(rig, AMD_TAIL, 8, tail + 16);
    rig_wait_for(rig, AMD_HEAD, 8, tail + 16);
}

/* The guest has changed the device's entry; s2.4.2, s2.4.9 */
static void entry_changed(uint64_t entry)
{
    rig_write(rig, ENTRY, 8, entry);
    command(INVALIDATE(2) | NTB_DEVFN, 0);
    /* INVALIDATE_IOMMU_ALL */
    command(INVALIDATE(8), 0);
}

/* The guest has changed the page at IOVA; s2.4.3 */
static void page_changed(uint64_t page)
{
    rig_write(rig, TABLE(0) + 8 * (IOVA >> 12 & 511), 8, page);
    command(INVALIDATE(3) | (uint64_t)DOMAIN << 32, IOVA);
}

/*
 * The guest has freed the table of the page and its neighbours, as Linux does
 * since 6.19. QEMU 10.2 ends if a table of 1 GiB is freed so (device.md).
 */
static void table_freed(void)
{
    rig_write(rig, TABLE(1) + 8 * (IOVA >> 21 & 511), 8, 0);
    /* 2 MiB by the lowest bit of the address that is 0, and their tables */
    command(INVALIDATE(3) | (uint64_t)DOMAIN << 32,
            (IOVA & ~(2 * MIB - 1)) | (MIB - 4096) | 3);
}

/*
 * AMD I/O Virtualization Technology 3.07 s2.2: the same page by AMD's tables,
 * of three levels, too.
 */
static void set_amd(void)
{
    rig_write(rig, TABLE(2) + 8 * (IOVA >> 30 & 511), 8,
              TABLE(1) | NEXT(2) | MAY_ALL);
    rig_write(rig, TABLE(1) + 8 * (IOVA >> 21 & 511), 8,
              TABLE(0) | NEXT(1) | MAY_ALL);
    rig_write(rig, ENTRY + 8, 8, DOMAIN);
    rig_write(rig, AMD_DEVICES, 8, ROOT);
    /* 256 commands */
    rig_write(rig, AMD_COMMANDS, 8, 8ull << 56 | COMMANDS);
    rig_write(rig, AMD_CONTROL, 8, AMD_ENABLE);
    page_changed(PAGE | NEXT(0) | MAY_ALL);
    entry_changed(TABLE(2) | 3 << 9 | VALID | MAY_ALL);
}

/* Takes notices until one is about IOVA. */
static struct farside_wire_notice noticed(void)
{
    const struct farside_wire_notices *m;
    const struct farside_wire_notice *n;
    unsigned i;

    for (;;) {
        m = (const void *)rig_peer_receive(peer, FARSIDE_WIRE_NOTICES)->body;
        for (i = 0; i < m->count; i++) {
            n = &m->notice[i];
            if (n->address <= IOVA && IOVA - n->address < n->size &&
                n->size == 4096) {
                return *n;
            }
        }
    }
}

/*
 * Before QEMU 10.2 this IOMMU gives no notices, so the peer may map nothing.
 * Since then it has a property, without which it translates nothing; the plugin
 * switches it on.
 */
START_TEST(amds_iommu_translates)
{
    unsigned count = start("amd-iommu").count;
    char *properties =
        rig_qmp(rig, "{\"execute\": \"device-list-properties\", "
                     "\"arguments\": {\"typename\": \"amd-iommu\"}}");
    bool tells = !!strstr(properties, "dma-remap");
    struct farside_wire_notice n;
    struct farside_wire_ram ram;
    uint64_t read;

    free(properties);
    ck_assert_int_eq(count > 0, tells);
    open_windows();
    set_amd();
    if (tells) {
        ram = announced();
        ck_assert_uint_eq(ram.translated, 1);
        ck_assert_uint_gt(ram.count, 0);
        n = noticed();
        ck_assert_uint_eq(n.target, PAGE);
        ck_assert_uint_eq(n.perm, 3);
    }
    only_the_page_is_reached(0x1122334455667788ull);
    page_changed(0);
    if (tells) {
        ck_assert_uint_eq(noticed().perm, 0);
    }
    ck_assert_uint_eq(read_word(IOVA, 4, &read), FARSIDE_WIRE_UR);
    page_changed(PAGE | NEXT(0) | MAY_ALL);
    if (tells) {
        ck_assert_uint_eq(noticed().perm, 3);
    }
    only_the_page_is_reached(0x8877665544332211ull);
    table_freed();
    if (tells) {
        ck_assert_uint_eq(noticed().perm, 0);
    }
    ck_assert_uint_eq(read_word(IOVA, 5, &read), FARSIDE_WIRE_UR);
    /* Mode 0 (s2.2.2.1): addresses are passed through. */
    entry_changed(VALID | MAY_ALL);
    if (tells) {
        ram = announced();
        ck_assert_uint_eq(ram.translated, 0);
        ck_assert_uint_gt(ram.count, 0);
    }
    ck_assert_uint_eq(read_word(PAGE + 0x18, 6, &read), FARSIDE_WIRE_SC);
    ck_assert_uint_eq(read, 0x8877665544332211ull);
}
END_TEST

static Suite *make_suite(void)
{
    Suite *suite = suite_create("device_iommu");
    TCase *tcase = tcase_create("iommu");

    tcase_add_checked_fixture(tcase, NULL, far_end_teardown);
    tcase_add_test(tcase, translated_memory_is_said_to_be);
    tcase_add_test(tcase, memory_behind_an_iommu_is_forwarded);
    tcase_add_test(tcase, amds_iommu_translates);
    suite_add_tcase(suite, tcase);
    return suite;
}

int main(void)
{
    return run_suite(make_suite());
}
