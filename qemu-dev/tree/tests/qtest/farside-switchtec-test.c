/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * QTest testcase for the NTB device. docs/specs/farside-switchtec.rst has the
 * registers.
 */
#include "qemu/osdep.h"
#include <glib/gstdio.h>
#include "libqtest.h"
#include "libqos/pci.h"
#include "libqos/pci-pc.h"
#include "hw/pci/pci_regs.h"

#define SLOT QPCI_DEVFN(5, 0)

#define MRPC_INPUT        0x0000
#define MRPC_OUTPUT       0x0400
#define MRPC_CMD          0x0800
#define MRPC_STATUS       0x0804
#define MRPC_RET          0x0808
#define MRPC_ECHO         65
#define MRPC_DONE         2
#define DEVICE_ID         0x2000
#define PARTITION_ID      0x2018
#define ODB(partition)      (0x75000 + 0x4000 * (partition))
#define ODB_MASK(partition) (0x75008 + 0x4000 * (partition))
#define IDB(partition)      (0x75010 + 0x4000 * (partition))
/* Link Status is the upper half. */
#define USP_LINK(partition) (0x134074 + 0x2000 * (partition))

#define PATIENCE_US (20 * G_USEC_PER_SEC)
#define GLANCE_US   10000

typedef struct {
    QTestState *qts;
    QPCIBus *bus;
    QPCIDevice *dev;
    QPCIBar gas;
} Side;

static Side side_new(const char *path, int partition)
{
    Side side;

    side.qts = qtest_initf("-machine q35 -nodefaults "
                           "-device farside-switchtec,addr=05.0,"
                           "link=%s,partition=%d,listen=%s",
                           path, partition, partition ? "off" : "on");
    side.bus = qpci_new_pc(side.qts, NULL);
    side.dev = qpci_device_find(side.bus, SLOT);
    g_assert_nonnull(side.dev);
    qpci_device_enable(side.dev);
    side.gas = qpci_iomap(side.dev, 0, NULL);
    return side;
}

static void side_free(Side *side)
{
    g_free(side->dev);
    qpci_free_pc(side->bus);
    qtest_quit(side->qts);
}

static uint32_t read32(Side *side, uint64_t offset)
{
    return qpci_io_readl(side->dev, side->gas, offset);
}

static void await(Side *side, uint64_t offset, uint32_t value)
{
    gint64 end = g_get_monotonic_time() + PATIENCE_US;

    while (read32(side, offset) != value) {
        g_assert_cmpint(g_get_monotonic_time(), <, end);
        g_usleep(GLANCE_US);
    }
}

static char *socket_path(char **folder)
{
    *folder = g_dir_make_tmp("farside-XXXXXX", NULL);
    g_assert_nonnull(*folder);
    return g_build_filename(*folder, "link", NULL);
}

static void test_registers(void)
{
    g_autofree char *folder = NULL;
    g_autofree char *path = socket_path(&folder);
    Side side = side_new(path, 0);

    g_assert_cmphex(qpci_config_readw(side.dev, PCI_VENDOR_ID), ==, 0x11f8);
    g_assert_cmphex(qpci_config_readw(side.dev, PCI_DEVICE_ID), ==, 0x8536);
    g_assert_cmphex(qpci_config_readw(side.dev, PCI_CLASS_DEVICE), ==, 0x0680);
    g_assert_cmphex(read32(&side, DEVICE_ID), ==, 0x8536);
    g_assert_cmphex(read32(&side, PARTITION_ID), ==, 0);
    /* Nobody is at the other end. */
    g_assert_cmphex(read32(&side, USP_LINK(1)), ==, 0);

    qpci_io_writel(side.dev, side.gas, MRPC_INPUT, 0x12345678);
    qpci_io_writel(side.dev, side.gas, MRPC_CMD, MRPC_ECHO);
    g_assert_cmphex(read32(&side, MRPC_STATUS), ==, MRPC_DONE);
    g_assert_cmphex(read32(&side, MRPC_RET), ==, 0);
    g_assert_cmphex(read32(&side, MRPC_OUTPUT), ==, ~0x12345678u);

    side_free(&side);
    g_unlink(path);
    g_rmdir(folder);
}

static void test_link(void)
{
    g_autofree char *folder = NULL;
    g_autofree char *path = socket_path(&folder);
    Side a = side_new(path, 0);
    Side b = side_new(path, 1);

    /* Generation 3: 8 GT/s, eight lanes */
    await(&a, USP_LINK(1), 0x00830000);
    await(&b, USP_LINK(0), 0x00830000);

    qpci_io_writeq(a.dev, a.gas, ODB_MASK(0), 1 << 5);
    qpci_io_writeq(a.dev, a.gas, ODB(0), 1 << 5 | 1 << 6);
    await(&b, IDB(1), 1 << 5);
    qpci_io_writel(b.dev, b.gas, IDB(1), 1 << 5);
    g_assert_cmphex(read32(&b, IDB(1)), ==, 0);

    side_free(&b);
    await(&a, USP_LINK(1), 0);
    side_free(&a);
    g_unlink(path);
    g_rmdir(folder);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    qtest_add_func("/farside-switchtec/registers", test_registers);
    qtest_add_func("/farside-switchtec/link", test_link);
    return g_test_run();
}
