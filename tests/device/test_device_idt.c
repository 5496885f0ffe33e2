/* SPDX-License-Identifier: MIT */
/*
 * Invariant: the IDT switch has the registers of docs/reference/idt.md, each
 * with one owner or a rule; every two hosts exchange messages, doorbells and
 * memory, and a host that dies, or is silent, takes nothing from the others.
 */
#include <check.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <string.h>
#include "device_chip.h"
#include "idt_regs.h"
#include "../suite.h"

#define TYPE         "farside-idt"
#define HOSTS        3 /* in most tests */
#define HOSTS_MAX    8
#define MIB          (1ull << 20)
#define IDENTITY     0x808c111du
#define DEVFN        0x28
/* MSI writes here. */
#define MESSAGES     (32 * MIB)
#define MESSAGE      0x1d7u
/* Extended configuration space of the device, which q35's host bridge maps */
#define PCIEXBAR     0x60
#define ECAM         0xb0000000u
#define EXTENDED     (ECAM + (DEVFN << 12))
/* The target of each window, by the host that has it */
#define TARGET(host) (8 * MIB + (host)*2 * MIB)
#define BAR2_SIZE    (1 * MIB)
#define ENTRY_SIZE   (BAR2_SIZE / 16)

static const unsigned ports[] = {0, 2, 4, 6, 8, 12, 16, 20};

static GArray *registers;
static char *folder;
static char *link_path; /* with a star */
static unsigned hosts = HOSTS;
static DeviceRig *host[HOSTS_MAX];
static RigPeer *peer[HOSTS_MAX]; /* those that the test plays itself */

static DeviceRig *new_host(unsigned number, const char *timeout)
{
    g_autofree char *properties =
        g_strdup_printf("link=%s,listen=on,hosts=%u,partition=%u,bar2-size=1M,"
                        "completion-timeout=%s",
                        link_path, hosts, number, timeout);

    return rig_new_of(TYPE, NULL, properties, NULL);
}

static void setup_folder(void)
{
    folder = g_dir_make_tmp("farside-idt-XXXXXX", NULL);
    link_path = g_build_filename(folder, "l.*", NULL);
}

static char *path_of(unsigned near, unsigned far)
{
    return g_strdup_printf("%s/l.%u-%u", folder, near, far);
}

/* Meets the host @near as the host @number. */
static RigPeer *new_peer(unsigned near, unsigned number)
{
    g_autofree char *path = path_of(near, number);
    RigPeer *new = rig_peer_new_at(path);
    struct farside_wire_hello hello;

    memcpy(&hello, rig_peer_receive(new, FARSIDE_WIRE_HELLO)->body,
           sizeof(hello));
    hello.partition = (uint8_t)number;
    hello.link_up = 1;
    rig_peer_send(new, FARSIDE_WIRE_HELLO, &hello, sizeof(hello));
    return new;
}

static void wait_link(unsigned near, unsigned far, bool up)
{
    g_autofree char *command = g_strdup_printf(
        "{\"execute\": \"qom-get\", \"arguments\": {\"path\": "
        "\"/machine/peripheral/cable0\", \"property\": \"link-up.%u\"}}",
        far);
    int64_t deadline = rig_deadline();

    for (;;) {
        g_autofree char *answer = rig_qmp(host[near], command);

        if (strstr(answer, "true") ? up : !up) {
            return;
        }
        ck_assert_msg(g_get_monotonic_time() < deadline, "%s", answer);
        g_usleep(1000);
    }
}

static void setup_one(void)
{
    setup_folder();
    host[0] = new_host(0, "60000");
}

static void setup_peers(void)
{
    setup_folder();
    host[0] = new_host(0, "1000");
    for (unsigned i = 1; i < hosts; i++) {
        peer[i] = new_peer(0, i);
        wait_link(0, i, true);
    }
}

static void setup_seven_peers(void)
{
    hosts = HOSTS_MAX;
    setup_peers();
}

/* A driver's first steps: bus master, and the own entry of the table */
static void start_driver(unsigned i)
{
    rig_config_write(host[i], 0x04, 0x6);
    rig_write(host[i], RIG_BAR0 + IDT_NTMTBLADDR, 4, i);
    rig_write(host[i], RIG_BAR0 + IDT_NTMTBLDATA, 4, IDT_MTBL_VALID);
}

static void setup_three(void)
{
    setup_folder();
    for (unsigned i = 0; i < HOSTS; i++) {
        host[i] = new_host(i, "60000");
    }
    for (unsigned i = 0; i < HOSTS; i++) {
        for (unsigned j = 0; j < HOSTS; j++) {
            if (i != j) {
                wait_link(i, j, true);
            }
        }
    }
    for (unsigned i = 0; i < HOSTS; i++) {
        start_driver(i);
    }
}

static void teardown(void)
{
    for (unsigned i = 0; i < hosts; i++) {
        rig_peer_free(peer[i]);
        peer[i] = NULL;
        rig_free(host[i]);
        host[i] = NULL;
    }
    for (unsigned i = 0; i < hosts; i++) {
        for (unsigned j = i + 1; j < hosts; j++) {
            g_autofree char *path = path_of(i, j);

            g_unlink(path);
        }
    }
    hosts = HOSTS;
    g_rmdir(folder);
    g_free(folder);
    g_free(link_path);
}

static uint32_t nt_read(unsigned i, unsigned offset)
{
    return (uint32_t)rig_read(host[i], RIG_BAR0 + offset, 4);
}

static void nt_write(unsigned i, unsigned offset, uint32_t value)
{
    rig_write(host[i], RIG_BAR0 + offset, 4, value);
}

static uint32_t sw_read(unsigned i, uint32_t address)
{
    nt_write(i, IDT_GASAADDR, address);
    return nt_read(i, IDT_GASADATA);
}

static void sw_write(unsigned i, uint32_t address, uint32_t value)
{
    nt_write(i, IDT_GASAADDR, address);
    nt_write(i, IDT_GASADATA, value);
}

/* Waits until host @i reads @value at a global address. */
static void sw_wait(unsigned i, uint32_t address, uint32_t value)
{
    nt_write(i, IDT_GASAADDR, address);
    rig_wait_for(host[i], RIG_BAR0 + IDT_GASADATA, 4, value);
}

static void nt_wait(unsigned i, unsigned offset, uint32_t value)
{
    rig_wait_for(host[i], RIG_BAR0 + offset, 4, value);
}

/* The page */

static void check_register(const PageRegister *r)
{
    static const uint32_t values[] = {UINT32_MAX, 0x5aa55aa5, 0};
    bool takes = strcmp(r->access, "RW") == 0;
    uint32_t reset = nt_read(0, r->offset);

    if (r->has_reset) {
        ck_assert_msg(reset == r->reset, "0x%x is 0x%x", r->offset, reset);
    }
    for (unsigned i = 0; i < G_N_ELEMENTS(values); i++) {
        uint32_t fixed = reset & ~(uint32_t)r->mask;
        uint32_t expected =
            takes ? (values[i] & (uint32_t)r->mask) | fixed : reset;

        nt_write(0, r->offset, values[i]);
        ck_assert_msg(nt_read(0, r->offset) == expected, "%s 0x%x: 0x%x",
                      r->access, r->offset, nt_read(0, r->offset));
    }
}

START_TEST(registers_are_those_of_the_page)
{
    g_auto(GStrv) lines = page_lines(g_getenv("FARSIDE_IDT_PAGE"));
    g_autofree uint8_t *covered = g_malloc0(IDT_BAR_SIZE);

    registers = g_array_new(FALSE, TRUE, sizeof(PageRegister));
    for (unsigned i = 0; lines[i]; i++) {
        page_add(registers, lines[i], false);
    }
    ck_assert_uint_eq(rig_config_read(host[0], 0), IDENTITY);
    for (unsigned i = 0; i < registers->len; i++) {
        const PageRegister *r = &g_array_index(registers, PageRegister, i);

        if (r->offset < IDT_BAR_SIZE) {
            if (r->offset == IDT_LUTLDATA) {
                nt_write(0, IDT_LUTOFFSET, 2u << IDT_LUT_BAR_SHIFT);
            }
            if (strcmp(r->access, "WO")) {
                check_register(r);
            }
            memset(covered + r->offset, 1, 4);
        }
    }
    for (unsigned at = IDT_NT; at < IDT_BAR_SIZE; at += 4) {
        if (!covered[at]) {
            nt_write(0, at, UINT32_MAX);
            ck_assert_msg(nt_read(0, at) == 0, "0x%x", at);
        }
    }
    rig_reset(host[0]);
    ck_assert_uint_eq(nt_read(0, IDT_NTINTMSK), IDT_INT_ALL);
    /* The same registers are in configuration space. */
    rig_pci_write(host[0], 0, PCIEXBAR, ECAM | 1);
    ck_assert_uint_eq(rig_read(host[0], EXTENDED + IDT_NTINTMSK, 4),
                      IDT_INT_ALL);
    ck_assert_uint_eq(rig_read(host[0], EXTENDED + IDT_BAR, 4), 0x800004c0);
    rig_write(host[0], EXTENDED + IDT_INDBELLMSK, 4, 0x77);
    ck_assert_uint_eq(nt_read(0, IDT_INDBELLMSK), 0x77);
    g_array_free(registers, TRUE);
}
END_TEST

/* Shared registers of the switch, at a host that is alone */
START_TEST(switch_registers_are_those_of_the_page)
{
    g_auto(GStrv) lines = page_lines(g_getenv("FARSIDE_IDT_PAGE"));
    unsigned count = 0;

    registers = g_array_new(FALSE, TRUE, sizeof(PageRegister));
    for (unsigned i = 0; lines[i]; i++) {
        page_add(registers, lines[i], false);
    }
    for (unsigned i = 0; i < registers->len; i++) {
        const PageRegister *r = &g_array_index(registers, PageRegister, i);
        bool takes = strcmp(r->access, "RW") == 0;

        if (r->offset < IDT_SW) {
            continue;
        }
        count++;
        ck_assert_msg(sw_read(0, r->offset) == r->reset, "0x%x is 0x%x",
                      r->offset, sw_read(0, r->offset));
        sw_write(0, r->offset, 0x5aa55aa5);
        ck_assert_msg(sw_read(0, r->offset) ==
                          (takes ? 0x5aa55aa5 & r->mask : r->reset),
                      "0x%x", r->offset);
        sw_write(0, r->offset, (uint32_t)r->reset);
    }
    ck_assert_uint_gt(count, 70);
    g_array_free(registers, TRUE);
}
END_TEST

/* Three machines */

START_TEST(hosts_know_each_other)
{
    for (unsigned i = 0; i < HOSTS; i++) {
        ck_assert_uint_eq(nt_read(i, 0x4c) >> 24, ports[i]);
        for (unsigned j = 0; j < HOSTS; j++) {
            ck_assert_uint_eq(
                sw_read(i, IDT_SWPORT + ports[j] * IDT_SW_STEP + IDT_SW_STS),
                0xd0 | j << 10);
            ck_assert_uint_eq(
                sw_read(i, IDT_SWPART + j * IDT_SW_STEP + IDT_SW_STS),
                0x4120 | ports[j] << 9);
            /* Command, and a register that only its host writes */
            ck_assert_uint_eq(sw_read(i, IDT_PORT(ports[j]) + 4) & 7, 6);
            nt_write(j, IDT_INDBELLMSK, 0x100 * i + j);
            ck_assert_uint_eq(sw_read(i, IDT_PORT(ports[j]) + IDT_INDBELLMSK),
                              0x100 * i + j);
            nt_write(i, IDT_NTMTBLADDR, j);
            ck_assert_uint_eq(nt_read(i, IDT_NTMTBLDATA), IDT_MTBL_VALID);
        }
        /* A port without a host, and a partition that there is not */
        ck_assert_uint_eq(sw_read(i, IDT_SWPORT + 6 * IDT_SW_STEP + 4), 0);
        nt_write(i, IDT_NTMTBLADDR, HOSTS);
        ck_assert_uint_eq(nt_read(i, IDT_NTMTBLDATA), 0);
    }
}
END_TEST

static void route(unsigned from, unsigned index, unsigned to, unsigned reg)
{
    sw_write(from, IDT_SWPMSGCTL + index * IDT_SW_STEP + from * 4,
             to << IDT_ROUTE_SHIFT | reg);
}

START_TEST(a_full_register_refuses_messages)
{
    for (unsigned from = 0; from < HOSTS; from++) {
        for (unsigned to = 0; to < HOSTS; to++) {
            unsigned reg = (from + to) % IDT_MESSAGES;
            uint32_t in = IDT_MSGSTS_IN_BIT << reg;

            route(from, 1, to, reg);
            nt_write(from, IDT_OUTMSG + 4, 0xabc0 + to);
            /* At once: the sender's status tells of a refusal. */
            ck_assert_uint_eq(nt_read(from, IDT_MSGSTS) & IDT_MSGSTS_OUT, 0);
            ck_assert_uint_eq(nt_read(to, IDT_MSGSTS), in);
            ck_assert_uint_eq(nt_read(to, IDT_INMSG + 4 * reg), 0xabc0 + to);
            ck_assert_uint_eq(nt_read(to, IDT_INMSGSRC + 4 * reg), from);
            nt_write(from, IDT_OUTMSG + 4, 0x1111);
            ck_assert_uint_eq(nt_read(from, IDT_MSGSTS) & IDT_MSGSTS_OUT, 2);
            ck_assert_uint_eq(nt_read(to, IDT_INMSG + 4 * reg), 0xabc0 + to);
            nt_write(from, IDT_MSGSTS, 2);
            nt_write(to, IDT_MSGSTS, in);
            ck_assert_uint_eq(nt_read(to, IDT_MSGSTS), 0);
        }
        /* To a partition that there is not */
        route(from, 0, 5, 0);
        nt_write(from, IDT_OUTMSG, 1);
        ck_assert_uint_eq(nt_read(from, IDT_MSGSTS), 1);
        nt_write(from, IDT_MSGSTS, 1);
    }
}
END_TEST

static void clear_doorbells(void)
{
    for (unsigned i = 0; i < HOSTS; i++) {
        nt_write(i, IDT_INDBELLSTS, UINT32_MAX);
    }
}

START_TEST(all_partitions_share_the_doorbells)
{
    for (unsigned i = 0; i < HOSTS; i++) {
        nt_write(i, IDT_OUTDBELLSET, 1u << i);
        for (unsigned j = 0; j < HOSTS; j++) {
            nt_wait(j, IDT_INDBELLSTS, (1u << (i + 1)) - 1);
        }
    }
    ck_assert_uint_eq(sw_read(1, IDT_GDBELLSTS), 7);
    nt_write(0, IDT_INDBELLSTS, 7);
    ck_assert_uint_eq(sw_read(1, IDT_GDBELLSTS), 7);
    clear_doorbells();
    ck_assert_uint_eq(sw_read(1, IDT_GDBELLSTS), 0);
}
END_TEST

/* Permissions, which any host may write for all */
START_TEST(doorbells_have_permissions)
{
    sw_write(2, IDT_GODBELLMSK + 4 * 5, 1u << 0);
    sw_write(2, IDT_GIDBELLMSK + 4 * 6, 1u << 1);
    for (unsigned i = 0; i < HOSTS; i++) {
        sw_wait(i, IDT_GIDBELLMSK + 4 * 6, 1u << 1);
        sw_wait(i, IDT_GODBELLMSK + 4 * 5, 1u << 0);
    }
    nt_write(0, IDT_OUTDBELLSET, 7u << 5);
    nt_wait(0, IDT_INDBELLSTS, 6u << 5);
    nt_wait(1, IDT_INDBELLSTS, 4u << 5);
    nt_wait(2, IDT_INDBELLSTS, 6u << 5);
    nt_write(1, IDT_OUTDBELLSET, 7u << 5);
    nt_wait(0, IDT_INDBELLSTS, 7u << 5);
    nt_wait(1, IDT_INDBELLSTS, 5u << 5);
    nt_wait(2, IDT_INDBELLSTS, 7u << 5);
}
END_TEST

/* The last write counts for all, and for one that comes later. */
START_TEST(shared_registers_are_the_same_everywhere)
{
    for (unsigned i = 0; i < 30; i++) {
        sw_write(i % HOSTS, IDT_SEMSK, 0x1000 + i);
    }
    for (unsigned i = 0; i < HOSTS; i++) {
        sw_wait(i, IDT_SEMSK, sw_read(2, IDT_SEMSK));
    }
    rig_free(host[1]);
    wait_link(0, 1, false);
    wait_link(2, 1, false);
    sw_write(0, IDT_SEMSK, 0x77);
    host[1] = new_host(1, "60000");
    sw_wait(1, IDT_SEMSK, 0x77);
    sw_wait(2, IDT_SEMSK, 0x77);
}
END_TEST

/* Tells a host, as its peer, of a write of SEMSK, the first shared register. */
static void tell_write(RigPeer *to, uint32_t number, uint32_t value)
{
    chip_send_write(to, FARSIDE_WIRE_REGISTERS_NP, IDT_FAR_SHARED,
                    (uint64_t)number << 32 | value, 8, 1);
    chip_expect_completion(to, 1, FARSIDE_WIRE_SC);
}

/* Waits until the hosts 0 and 1 have the same. */
static void wait_agreement(void)
{
    int64_t deadline = rig_deadline();

    for (unsigned same = 0; same < 3;) {
        same = sw_read(0, IDT_SEMSK) == sw_read(1, IDT_SEMSK) ? same + 1 : 0;
        ck_assert_msg(g_get_monotonic_time() < deadline, "0x%x and 0x%x",
                      sw_read(0, IDT_SEMSK), sw_read(1, IDT_SEMSK));
        g_usleep(5000);
    }
}

static const uint32_t numbers[] = {
    0xffffffff, 0xfffffff8, 0x80000001, 0x80000000, 0x7fffffff, 10,
};

/*
 * Host 2 tells each of the others another number, or one of them alone. They
 * agree after a write of either, and the next write counts.
 */
START_TEST(no_number_keeps_the_writes_of_others_away)
{
    RigPeer *hostile[2];

    setup_folder();
    for (unsigned i = 0; i < 2; i++) {
        host[i] = new_host(i, "60000");
        hostile[i] = new_peer(i, 2);
        wait_link(i, 2, true);
    }
    wait_link(0, 1, true);
    for (unsigned n = 0; n < G_N_ELEMENTS(numbers) * 2; n++) {
        unsigned near = n % 2, far = 1 - near;
        uint32_t value = 0x1000 + n;

        tell_write(hostile[near], numbers[n / 2], 0xbad);
        if (n >= G_N_ELEMENTS(numbers)) {
            tell_write(hostile[far], numbers[n / 2] + (n << 28), 0xbad1);
        }
        sw_write(far, IDT_SEMSK, 0x55);
        wait_agreement();
        for (unsigned i = 0; i < 2; i++) {
            sw_write(i, IDT_SEMSK, value);
            sw_wait(1 - i, IDT_SEMSK, value);
            ck_assert_uint_eq(sw_read(i, IDT_SEMSK), value++);
        }
    }
    rig_peer_free(hostile[0]);
    rig_peer_free(hostile[1]);
}
END_TEST

/* Windows */

static void open_entry(unsigned from, unsigned index, unsigned to,
                       uint64_t target)
{
    nt_write(from, IDT_LUTOFFSET, index | 2u << IDT_LUT_BAR_SHIFT);
    nt_write(from, IDT_LUTLDATA, (uint32_t)target);
    nt_write(from, IDT_LUTMDATA, (uint32_t)(target >> 32));
    nt_write(from, IDT_LUTUDATA, IDT_LUT_VALID | to);
}

static void open_direct(unsigned from, unsigned to, uint64_t target,
                        uint64_t size)
{
    unsigned bar4 = IDT_BAR + 4 * IDT_BAR_STEP;
    uint64_t limit = size ? RIG_BAR4 + size : 0;

    nt_write(from, bar4, to << IDT_BAR_PART_SHIFT);
    nt_write(from, bar4 + 8, (uint32_t)target);
    nt_write(from, bar4 + 12, (uint32_t)(target >> 32));
    nt_write(from, bar4 + 4, (uint32_t)limit);
    nt_write(from, bar4 + IDT_BAR_STEP + 4, (uint32_t)(limit >> 32));
}

static uint64_t window(unsigned to)
{
    return RIG_BAR2 + (to + 3) * ENTRY_SIZE;
}

static void open_all(void)
{
    for (unsigned i = 0; i < HOSTS; i++) {
        for (unsigned j = 0; j < HOSTS; j++) {
            if (i != j) {
                open_entry(i, j + 3, j, TARGET(i));
            }
        }
    }
}

START_TEST(windows_lead_to_the_host_they_name)
{
    open_all();
    for (unsigned i = 0; i < HOSTS; i++) {
        for (unsigned j = 0; j < HOSTS; j++) {
            uint64_t value = 0x1000 + 0x10 * i + j, last = ENTRY_SIZE - 8;

            if (i == j) {
                ck_assert_uint_eq(rig_read(host[i], window(j), 4), 0xffffffff);
                continue;
            }
            rig_write(host[i], window(j) + 16, 8, value);
            rig_write(host[i], window(j) + last, 8, ~value);
            rig_wait_for(host[j], TARGET(i) + 16, 8, value);
            rig_wait_for(host[j], TARGET(i) + last, 8, ~value);
            ck_assert_uint_eq(rig_read(host[i], window(j) + 16, 8), value);
            open_direct(i, j, TARGET(i) + 0x1004, 0x3000);
            rig_write(host[i], RIG_BAR4 + 0x2ff8, 8, value + 1);
            rig_wait_for(host[j], TARGET(i) + 0x3ffc, 8, value + 1);
            ck_assert_uint_eq(rig_read(host[i], RIG_BAR4 + 0x3000, 4),
                              0xffffffff);
            open_direct(i, j, 0, 0);
            ck_assert_uint_eq(rig_read(host[i], RIG_BAR4, 4), 0xffffffff);
        }
        /* The last quarter of the BAR has no entry. */
        open_entry(i, 12, (i + 1) % HOSTS, TARGET(i));
        ck_assert_uint_eq(rig_read(host[i], RIG_BAR2 + 12 * ENTRY_SIZE, 4),
                          0xffffffff);
    }
    /* Without an entry of the mapping table nothing goes out. */
    nt_write(0, IDT_NTMTBLADDR, 0);
    nt_write(0, IDT_NTMTBLDATA, 0);
    ck_assert_uint_eq(rig_read(host[0], window(1) + 16, 4), 0xffffffff);
    ck_assert_uint_ne(rig_read(host[1], window(0) + 16, 4), 0xffffffff);
}
END_TEST

/* A host that dies takes its own windows alone, and the others go on. */
START_TEST(a_dead_host_closes_its_own_windows)
{
    uint32_t down = 1u << ports[1];

    open_all();
    rig_write(host[0], window(2), 8, 0x2222);
    rig_wait_for(host[2], TARGET(0), 8, 0x2222);
    sw_write(0, IDT_SELINKDNSTS, UINT32_MAX);
    rig_free(host[1]);
    host[1] = NULL;
    wait_link(0, 1, false);
    wait_link(2, 1, false);
    ck_assert_uint_eq(rig_read(host[0], window(1), 4), 0xffffffff);
    ck_assert_uint_eq(rig_read(host[2], window(1), 4), 0xffffffff);
    ck_assert_uint_eq(rig_read(host[0], window(2), 8), 0x2222);
    rig_write(host[2], window(0), 8, 0x3333);
    rig_wait_for(host[0], TARGET(2), 8, 0x3333);
    sw_wait(0, IDT_SELINKDNSTS, down);
    ck_assert_uint_eq(sw_read(0, IDT_SWPORT + 2 * IDT_SW_STEP + 4),
                      0xc0 | 1 << 10);
    /* The sizes of its windows are known, whoever is there. */
    ck_assert_uint_eq(sw_read(0, IDT_PORT(2) + IDT_BAR + 2 * IDT_BAR_STEP),
                      0x8000094c);
    ck_assert_uint_eq(sw_read(0, IDT_PORT(2) + 4), 0);
    route(0, 0, 1, 0);
    nt_write(0, IDT_OUTMSG, 1);
    ck_assert_uint_eq(nt_read(0, IDT_MSGSTS), 1);
    /* It returns, and the windows to it work again. */
    host[1] = new_host(1, "60000");
    wait_link(0, 1, true);
    start_driver(1);
    rig_write(host[1], TARGET(0), 8, 0x4444);
    rig_wait_for(host[0], window(1), 8, 0x4444);
}
END_TEST

/* Nothing enters a host that is no bus master. */
START_TEST(bus_mastering_lets_requests_in)
{
    open_all();
    rig_write(host[0], window(1), 4, 5);
    rig_wait_for(host[1], TARGET(0), 4, 5);
    rig_config_write(host[1], 0x04, 0x2);
    rig_wait_for(host[0], window(1), 4, 0xffffffff);
    rig_write(host[0], window(1), 4, 6);
    rig_config_write(host[1], 0x04, 0x6);
    rig_wait_for(host[0], window(1), 4, 5);
}
END_TEST

/* Interrupts and events */

static void enable_interrupt(unsigned i)
{
    rig_write(host[i], MESSAGES, 4, 0);
    rig_config_write(host[i], IDT_MSI_CAP + 4, MESSAGES);
    rig_config_write(host[i], IDT_MSI_CAP + 8, 0);
    rig_config_write(host[i], IDT_MSI_CAP + 12, MESSAGE);
    rig_config_write(host[i], IDT_MSI_CAP,
                     rig_config_read(host[i], IDT_MSI_CAP) | 1u << 16);
    nt_write(i, IDT_NTINTMSK, 0);
}

static bool interrupted(unsigned i)
{
    bool has = rig_read(host[i], MESSAGES, 4) == MESSAGE;

    rig_write(host[i], MESSAGES, 4, 0);
    return has;
}

START_TEST(events_interrupt_all_that_listen)
{
    for (unsigned i = 0; i < HOSTS; i++) {
        sw_write(i, IDT_SELINKUPSTS, UINT32_MAX);
        enable_interrupt(i);
    }
    sw_write(0, IDT_SEGSIGMSK, 0xfffffff8);
    sw_write(0, IDT_SEPMSK, 0xfffffffa); /* partitions 0 and 2 */
    sw_write(0, IDT_SEMSK, ~IDT_EVENT_GSIGNAL);
    for (unsigned i = 0; i < HOSTS; i++) {
        sw_wait(i, IDT_SEMSK, ~IDT_EVENT_GSIGNAL);
        ck_assert(!interrupted(i));
    }
    nt_write(1, IDT_NTGSIGNAL, IDT_GSIGNAL_SET);
    for (unsigned i = 0; i < HOSTS; i++) {
        sw_wait(i, IDT_SEGSIGSTS, 1u << 1);
        ck_assert_uint_eq(nt_read(i, IDT_NTINTSTS),
                          i == 1 ? 0 : IDT_INT_SEVENT);
        ck_assert(interrupted(i) == (i != 1));
    }
    /* A host that clears it clears it for all; SEVENT is each host's. */
    sw_write(2, IDT_SEGSIGSTS, UINT32_MAX);
    sw_wait(0, IDT_SEGSIGSTS, 0);
    ck_assert_uint_eq(nt_read(0, IDT_NTINTSTS), IDT_INT_SEVENT);
    nt_write(0, IDT_NTINTSTS, IDT_INT_SEVENT);
    ck_assert_uint_eq(nt_read(0, IDT_NTINTSTS), 0);
    ck_assert(!interrupted(0));
}
END_TEST

START_TEST(unmasking_interrupts)
{
    enable_interrupt(0);
    nt_write(0, IDT_INDBELLMSK, 1u << 9);
    nt_write(1, IDT_OUTDBELLSET, 1u << 9);
    nt_wait(0, IDT_INDBELLSTS, 1u << 9);
    ck_assert(!interrupted(0));
    ck_assert_uint_eq(nt_read(0, IDT_NTINTSTS), 0);
    nt_write(0, IDT_INDBELLMSK, 0);
    ck_assert(interrupted(0));
    ck_assert_uint_eq(nt_read(0, IDT_NTINTSTS), IDT_INT_DBELL);
    /* One more bit of a status that is high is no interrupt. */
    nt_write(1, IDT_OUTDBELLSET, 1u << 10);
    nt_wait(0, IDT_INDBELLSTS, 3u << 9);
    ck_assert(!interrupted(0));
}
END_TEST

START_TEST(a_reset_is_seen_by_all)
{
    open_all();
    sw_write(0, IDT_SELINKDNSTS, UINT32_MAX);
    sw_wait(2, IDT_SELINKDNSTS, 0);
    rig_reset(host[1]);
    sw_wait(0, IDT_SELINKDNSTS, 1u << ports[1]);
    sw_wait(2, IDT_SELINKDNSTS, 1u << ports[1]);
    nt_write(0, IDT_NTMTBLADDR, 1);
    ck_assert_uint_eq(nt_read(0, IDT_NTMTBLDATA), 0);
    /* The own window of the host that was reset is closed. */
    ck_assert_uint_eq(rig_read(host[1], window(0), 4), 0xffffffff);
}
END_TEST

/* Hostile peers */

/* Two peers that never answer: each access ends in time, and others work. */
START_TEST(silent_peers_do_not_hold_the_machine)
{
    int64_t begin = g_get_monotonic_time();

    for (unsigned i = 1; i < HOSTS; i++) {
        route(0, 0, i, 0);
        nt_write(0, IDT_OUTMSG, 1);
        ck_assert_uint_eq(nt_read(0, IDT_MSGSTS), 1);
        nt_write(0, IDT_MSGSTS, 1);
        for (unsigned n = 0; n < 20; n++) {
            ck_assert_uint_eq(sw_read(0, IDT_PORT(ports[i]) + IDT_NTCTL), 0);
        }
    }
    /* A completion-timeout each, which is one second, and some patience */
    ck_assert_int_lt(g_get_monotonic_time() - begin, 4 * G_USEC_PER_SEC);
}
END_TEST

/* Seven peers that never answer: one access that needs all of them takes no
 * longer than waits of one turn may take. */
START_TEST(silent_peers_share_one_time_out)
{
    static const int64_t most = 2500 * G_TIME_SPAN_MILLISECOND;
    int64_t begin = g_get_monotonic_time();

    if (_i == 0) {
        ck_assert_uint_eq(sw_read(0, IDT_GDBELLSTS), 0);
    } else {
        /* It is no bus master any more, and tells each peer so. */
        rig_config_write(host[0], 0x04, 0x6);
        rig_config_write(host[0], 0x04, 0x2);
    }
    ck_assert_int_lt(g_get_monotonic_time() - begin, most);
}
END_TEST

/* Requests are let in by WINDOWS, so a host is told of no other's. */
START_TEST(each_peer_learns_of_its_own_windows)
{
    const uint64_t targets[] = {0, 0x100000, 0x200000};
    const struct farside_wire_windows *m;
    bool is_told;

    start_driver(0);
    for (unsigned i = 1; i < HOSTS; i++) {
        chip_send_write(peer[i], FARSIDE_WIRE_REGISTERS, IDT_FAR_OPEN, 1, 4, 0);
    }
    for (unsigned i = 1; i < HOSTS; i++) {
        open_entry(0, i, i, targets[i]);
    }
    for (unsigned i = 1; i < HOSTS; i++) {
        for (is_told = false; !is_told || rig_peer_poll(peer[i], 100);) {
            m = (const void *)rig_peer_receive(peer[i], FARSIDE_WIRE_WINDOWS)
                    ->body;
            for (unsigned n = 0; n < m->count; n++) {
                ck_assert_uint_eq(m->window[n].address, targets[i]);
                ck_assert_uint_eq(m->window[n].size, ENTRY_SIZE);
                is_told = true;
            }
        }
    }
}
END_TEST

static RigPeer *meet(unsigned number)
{
    RigPeer *new = new_peer(0, number + 1);

    wait_link(0, number + 1, true);
    return new;
}

/* Peers that write and read any register, while the guest does the same */
START_TEST(any_access_is_survived)
{
    static const ChipRange guest[] = {{RIG_BAR0, IDT_BAR_SIZE},
                                      {RIG_BAR0 + IDT_NT, 0x100},
                                      {RIG_BAR0 + IDT_GASAADDR, 8},
                                      {RIG_BAR0 + IDT_LUTOFFSET, 0x10},
                                      {0, 0}};
    static const ChipRange far[] = {
        {0, 0x44000},          {IDT_PORT(0) + IDT_NT, 0x100},
        {IDT_FAR_ENTRY, 0x20}, {IDT_FAR_SHARED, 8 * 80},
        {IDT_SW, 0x400},       {0, 0}};
    ChipFuzz fuzz = {
        .peers = HOSTS - 1, .meet = meet, .guest = guest, .far = far};

    setup_folder();
    host[0] = new_host(0, "2");
    fuzz.rig = host[0];
    chip_fuzz(&fuzz, 111);
    ck_assert_uint_eq(rig_config_read(host[0], 0), IDENTITY);
    ck_assert_uint_eq(nt_read(0, IDT_NTINTMSK), IDT_INT_ALL);
}
END_TEST

static const struct {
    size_t field;
    uint8_t value;
} wrong_hellos[] = {
    {offsetof(struct farside_wire_hello, partition), 0},
    {offsetof(struct farside_wire_hello, partition), 2},
    {offsetof(struct farside_wire_hello, partition), 200},
    {offsetof(struct farside_wire_hello, hosts), 2},
    {offsetof(struct farside_wire_hello, generation), 2},
    {offsetof(struct farside_wire_hello, lut_entries), 24},
    {offsetof(struct farside_wire_hello, ports), 0xb},
    {offsetof(struct farside_wire_hello, chip), FARSIDE_WIRE_CHIP_AMD},
};

START_TEST(a_wrong_host_is_no_peer)
{
    g_autofree char *path = path_of(0, 1);
    struct farside_wire_hello hello;

    peer[1] = rig_peer_new_at(path);
    memcpy(&hello, rig_peer_receive(peer[1], FARSIDE_WIRE_HELLO)->body,
           sizeof(hello));
    ck_assert_uint_eq(hello.chip, FARSIDE_WIRE_CHIP_IDT);
    ck_assert_uint_eq(hello.hosts, HOSTS);
    ck_assert_uint_eq(hello.ports, 7);
    hello.partition = 1;
    ((uint8_t *)&hello)[wrong_hellos[_i].field] = wrong_hellos[_i].value;
    rig_peer_send(peer[1], FARSIDE_WIRE_HELLO, &hello, sizeof(hello));
    ck_assert(rig_peer_is_closed(peer[1]));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("device_idt");
    TCase *one = chip_add_case(suite, "one", setup_one, teardown);
    TCase *three = chip_add_case(suite, "three", setup_three, teardown);
    TCase *peers = chip_add_case(suite, "peers", setup_peers, teardown);
    TCase *seven =
        chip_add_case(suite, "seven peers", setup_seven_peers, teardown);
    TCase *hostile = chip_add_case(suite, "a hostile peer", NULL, teardown);

    tcase_add_test(one, registers_are_those_of_the_page);
    tcase_add_test(one, switch_registers_are_those_of_the_page);
    tcase_add_loop_test(one, a_wrong_host_is_no_peer, 0,
                        G_N_ELEMENTS(wrong_hellos));
    tcase_add_test(three, hosts_know_each_other);
    tcase_add_test(three, a_full_register_refuses_messages);
    tcase_add_test(three, all_partitions_share_the_doorbells);
    tcase_add_test(three, doorbells_have_permissions);
    tcase_add_test(three, shared_registers_are_the_same_everywhere);
    tcase_add_test(three, windows_lead_to_the_host_they_name);
    tcase_add_test(three, a_dead_host_closes_its_own_windows);
    tcase_add_test(three, bus_mastering_lets_requests_in);
    tcase_add_test(three, events_interrupt_all_that_listen);
    tcase_add_test(three, unmasking_interrupts);
    tcase_add_test(three, a_reset_is_seen_by_all);
    tcase_add_test(peers, silent_peers_do_not_hold_the_machine);
    tcase_add_loop_test(seven, silent_peers_share_one_time_out, 0, 2);
    tcase_add_test(peers, each_peer_learns_of_its_own_windows);
    tcase_add_test(hostile, no_number_keeps_the_writes_of_others_away);
    tcase_add_test(chip_add_fuzz(suite, teardown), any_access_is_survived);
    return run_suite(suite);
}
