/* SPDX-License-Identifier: MIT */
/*
 * Invariant: a broker joins stock QEMU processes that know only its sockets:
 * NTB devices to their peers, ivshmem devices to each other. After one of them
 * was killed and started again, the broker joins them again.
 */
#include <check.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <stdlib.h>
#include <string.h>
#include "clu_broker.h"
#include "device_rig.h"
#include "../suite.h"

#define MIB     (1ull << 20)
#define VECTORS 4

/* The ivshmem device, at 06.0 */
#define SHM_DEVFN 0x30
#define SHM_BAR0  0xe8000000ull
#define SHM_BAR1  0xe8001000ull
#define SHM_BAR2  0xe8100000ull
#define SHM_SIZE  MIB

/* Registers of BAR 0, and the MSI-X capability */
#define IV_POSITION 0x08
#define DOORBELL    0x0c
#define CAP_MSIX    0x11
#define MSIX_ENABLE 0x80000000u

/* MSI-X writes go to this memory, which nothing else uses. */
#define MAILBOX 0x200000ull

static char *folder;
static GMainLoop *loop;
static GThread *thread;
static CluBroker *broker;

static gpointer run_broker(gpointer data)
{
    g_main_loop_run(loop);
    return NULL;
}

static char *path_of(const char *name)
{
    return g_build_filename(folder, name, NULL);
}

static void broker_start(void)
{
    const CluBrokerRegion region = {SHM_SIZE, VECTORS, 4};
    g_autofree char *link = path_of("cable");
    g_autofree char *shm = path_of("shm");
    GMainContext *context = g_main_context_new();
    GError *error = NULL;

    broker = clu_broker_new(context);
    if (!clu_broker_add_link(broker, "cable", link, &error) ||
        !clu_broker_add_region(broker, "shm", shm, &region, &error)) {
        ck_abort_msg("%s", error->message);
    }
    loop = g_main_loop_new(context, FALSE);
    g_main_context_unref(context);
    thread = g_thread_new("broker", run_broker, NULL);
}

static gboolean quit(gpointer data)
{
    g_main_loop_quit(loop);
    return G_SOURCE_REMOVE;
}

static void broker_stop(void)
{
    g_main_context_invoke(g_main_loop_get_context(loop), quit, NULL);
    g_thread_join(thread);
    clu_broker_free(broker);
    g_main_loop_unref(loop);
}

static void setup(void)
{
    folder = g_dir_make_tmp("farside-broker-XXXXXX", NULL);
    broker_start();
}

static void teardown(void)
{
    broker_stop();
    ck_assert_int_eq(g_rmdir(folder), 0);
    g_free(folder);
}

/* ---- NTB links -------------------------------------------------------- */

static DeviceRig *machine(unsigned partition)
{
    g_autofree char *link = path_of("cable");
    g_autofree char *properties = g_strdup_printf("partition=%u", partition);

    return rig_new_with(link, properties, NULL);
}

static void check_doorbell(DeviceRig *from, unsigned partition, DeviceRig *to)
{
    uint64_t mine = RIG_BAR0 + 0x74000 + 0x1000 + 0x4000 * partition;
    uint64_t theirs = RIG_BAR0 + 0x74000 + 0x1000 + 0x4000 * (1 - partition);

    rig_write(from, mine + 8, 8, ~0ull);
    rig_write(from, mine, 8, 0x8000000000000040ull);
    rig_wait_for(to, theirs + 0x10, 8, 0x8000000000000040ull);
    rig_write(to, theirs + 0x10, 8, ~0ull);
}

static void check_linked(DeviceRig *a, DeviceRig *b)
{
    rig_wait_link(a, 0, true);
    rig_wait_link(b, 1, true);
    check_doorbell(a, 0, b);
    check_doorbell(b, 1, a);
}

START_TEST(ntb_devices_are_joined)
{
    DeviceRig *a = machine(0);
    DeviceRig *b;

    rig_wait_link(a, 0, false);
    b = machine(1);
    check_linked(a, b);
    for (unsigned i = 0; i < 3; i++) {
        rig_free(b);
        rig_wait_link(a, 0, false);
        b = machine(1);
        check_linked(a, b);
    }
    rig_free(a);
    rig_wait_link(b, 1, false);
    a = machine(0);
    check_linked(a, b);
    rig_free(a);
    rig_free(b);
}
END_TEST

/* Two devices that have met need no broker until one of them dies. */
START_TEST(a_link_outlives_the_broker)
{
    DeviceRig *a = machine(0);
    DeviceRig *b = machine(1);

    check_linked(a, b);
    broker_stop();
    check_linked(a, b);
    rig_free(a);
    rig_wait_link(b, 1, false);
    broker_start();
    a = machine(0);
    check_linked(a, b);
    rig_free(a);
    rig_free(b);
}
END_TEST

START_TEST(a_third_ntb_device_waits)
{
    DeviceRig *a = machine(0);
    DeviceRig *b = machine(1);
    DeviceRig *third;

    check_linked(a, b);
    third = machine(1);
    rig_wait_link(third, 1, false);
    check_linked(a, b);
    rig_free(b);
    check_linked(a, third);
    rig_free(a);
    rig_free(third);
}
END_TEST

/* ---- Shared memory ---------------------------------------------------- */

/* A machine with a stock ivshmem device, whose BARs are mapped. */
static DeviceRig *shm_machine(const char *const *arguments)
{
    DeviceRig *rig = rig_new_with(NULL, "", arguments);

    rig_pci_write(rig, SHM_DEVFN, 0x10, (uint32_t)SHM_BAR0);
    rig_pci_write(rig, SHM_DEVFN, 0x14, (uint32_t)SHM_BAR1);
    rig_pci_write(rig, SHM_DEVFN, 0x18, (uint32_t)SHM_BAR2);
    rig_pci_write(rig, SHM_DEVFN, 0x1c, 0);
    rig_pci_write(rig, SHM_DEVFN, 0x04, 0x6);
    return rig;
}

static DeviceRig *doorbell_machine(void)
{
    g_autofree char *path = path_of("shm");
    g_autofree char *chardev = g_strdup_printf("socket,id=c,path=%s", path);
    g_autofree char *device = g_strdup_printf(
        "ivshmem-doorbell,addr=06.0,chardev=c,vectors=%u", VECTORS);
    const char *arguments[] = {"-chardev", chardev, "-device", device, NULL};
    DeviceRig *rig = shm_machine(arguments);
    unsigned msix = rig_pci_find(rig, SHM_DEVFN, CAP_MSIX);

    rig_pci_write(rig, SHM_DEVFN, msix, MSIX_ENABLE);
    for (unsigned i = 0; i < VECTORS; i++) {
        rig_write(rig, SHM_BAR1 + 16 * i, 8, MAILBOX + 4 * i);
        rig_write(rig, SHM_BAR1 + 16 * i + 8, 4, 0x1000 + i);
        rig_write(rig, SHM_BAR1 + 16 * i + 12, 4, 0);
    }
    return rig;
}

static DeviceRig *plain_machine(void)
{
    g_autofree char *path = clu_broker_get_memory_path(broker, "shm");
    g_autofree char *backend =
        g_strdup_printf("memory-backend-file,id=s,share=on,mem-path=%s,"
                        "size=%u",
                        path, (unsigned)SHM_SIZE);
    const char *arguments[] = {"-object", backend, "-device",
                               "ivshmem-plain,addr=06.0,memdev=s", NULL};

    return shm_machine(arguments);
}

/* Rings until the vector arrives: a doorbell is lost if the two devices do not
 * know each other yet. */
static void ring(DeviceRig *from, DeviceRig *to, unsigned id, unsigned v)
{
    gint64 deadline = rig_deadline();

    for (unsigned i = 0; rig_read(to, MAILBOX + 4 * v, 4) == 0; i++) {
        ck_assert_msg(g_get_monotonic_time() < deadline,
                      "ID %u does not hear vector %u", id, v);
        if (i % 400 == 0) {
            rig_write(from, SHM_BAR0 + DOORBELL, 4, id << 16 | v);
        }
        g_usleep(1000);
    }
}

/* Rings every vector of @to, and none of the others. */
static void check_rings(DeviceRig *from, DeviceRig *to, unsigned id)
{
    for (unsigned v = 0; v < VECTORS; v++) {
        rig_write(to, MAILBOX, 8, 0);
        rig_write(to, MAILBOX + 8, 8, 0);
        ring(from, to, id, v);
        for (unsigned other = 0; other < VECTORS; other++) {
            ck_assert_uint_eq(rig_read(to, MAILBOX + 4 * other, 4),
                              other == v ? 0x1000 + v : 0);
        }
    }
}

static void check_shares(DeviceRig *a, DeviceRig *b, uint64_t value)
{
    rig_write(a, SHM_BAR2 + SHM_SIZE - 8, 8, value);
    ck_assert_uint_eq(rig_read(b, SHM_BAR2 + SHM_SIZE - 8, 8), value);
    rig_write(b, SHM_BAR2, 8, ~value);
    ck_assert_uint_eq(rig_read(a, SHM_BAR2, 8), ~value);
}

static unsigned id_of(DeviceRig *rig)
{
    return (unsigned)rig_read(rig, SHM_BAR0 + IV_POSITION, 4);
}

START_TEST(ivshmem_devices_ring_and_share)
{
    DeviceRig *a = doorbell_machine();
    DeviceRig *b = doorbell_machine();
    DeviceRig *plain = plain_machine();

    ck_assert_uint_eq(id_of(a), 0);
    ck_assert_uint_eq(id_of(b), 1);
    check_rings(a, b, 1);
    check_rings(b, a, 0);
    check_rings(a, a, 0);
    check_shares(a, b, 0x0123456789abcdefull);
    check_shares(plain, b, 0xfedcba9876543210ull);
    for (unsigned i = 0; i < 3; i++) {
        rig_free(a);
        a = doorbell_machine();
        ck_assert_uint_eq(id_of(a), 2 + i);
        check_rings(a, b, 1);
        check_rings(b, a, 2 + i);
        check_shares(a, b, i);
    }
    rig_free(a);
    rig_free(b);
    rig_free(plain);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("device_broker");
    TCase *tcase = tcase_create("broker");

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_set_timeout(tcase, 90);
    tcase_add_test(tcase, ntb_devices_are_joined);
    tcase_add_test(tcase, a_link_outlives_the_broker);
    tcase_add_test(tcase, a_third_ntb_device_waits);
    tcase_add_test(tcase, ivshmem_devices_ring_and_share);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
