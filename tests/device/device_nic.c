/* SPDX-License-Identifier: MIT */
#include "device_nic.h"
#include <check.h>
#include <errno.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

const uint8_t nic_mac[6] = {0x02, 0x11, 0x22, 0x33, 0x44, 0x50};
const uint8_t nic_vf_mac[6] = {0x02, 0x11, 0x22, 0x33, 0x44, 0x51};
const uint8_t nic_stranger[6] = {0x02, 0x99, 0x99, 0x99, 0x99, 0x99};

const FrameSpec nic_segment = {.protocol = 6,
                               .tcp_options = 12,
                               .source_port = 1000,
                               .destination_port = 2000,
                               .payload = 1000,
                               .to = nic_mac};

struct DeviceNet {
    char *folder, *ours, *theirs, *firmware, *argument;
    int fd;
};

/* The network */

static struct sockaddr_un address_of(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};

    ck_assert_uint_lt(strlen(path), sizeof(address.sun_path));
    strcpy(address.sun_path, path);
    return address;
}

/* At the reset vector: cli, hlt, and a jump back to hlt */
static void write_firmware(const char *path)
{
    static const uint8_t code[] = {0xfa, 0xf4, 0xeb, 0xfd};
    g_autofree uint8_t *image = g_malloc0(65536);

    memcpy(image + 0xfff0, code, sizeof(code));
    ck_assert(g_file_set_contents(path, (char *)image, 65536, NULL));
}

DeviceNet *net_new(void)
{
    DeviceNet *net = g_new0(DeviceNet, 1);
    struct sockaddr_un address;

    net->folder = g_dir_make_tmp("farside-net.XXXXXX", NULL);
    ck_assert(net->folder);
    net->ours = g_build_filename(net->folder, "ours", NULL);
    net->theirs = g_build_filename(net->folder, "theirs", NULL);
    net->firmware = g_build_filename(net->folder, "firmware", NULL);
    write_firmware(net->firmware);
    net->argument =
        g_strdup_printf("dgram,id=net,local.type=unix,local.path=%s,"
                        "remote.type=unix,remote.path=%s",
                        net->theirs, net->ours);
    net->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    address = address_of(net->ours);
    ck_assert_int_eq(bind(net->fd, (void *)&address, sizeof(address)), 0);
    return net;
}

void net_free(DeviceNet *net)
{
    close(net->fd);
    g_unlink(net->ours);
    g_unlink(net->theirs);
    g_unlink(net->firmware);
    g_rmdir(net->folder);
    g_free(net->folder);
    g_free(net->ours);
    g_free(net->theirs);
    g_free(net->firmware);
    g_free(net->argument);
    g_free(net);
}

const char *net_argument(const DeviceNet *net)
{
    return net->argument;
}

const char *net_firmware(const DeviceNet *net)
{
    return net->firmware;
}

void net_put(DeviceNet *net, const void *bytes, unsigned size)
{
    struct sockaddr_un address = address_of(net->theirs);

    ck_assert_int_eq(
        sendto(net->fd, bytes, size, 0, (void *)&address, sizeof(address)),
        size);
}

unsigned net_get(DeviceNet *net, uint8_t *ret_bytes, unsigned size, int ms)
{
    struct pollfd pfd = {.fd = net->fd, .events = POLLIN};

    if (poll(&pfd, 1, ms) != 1) {
        return 0;
    }
    return (unsigned)recv(net->fd, ret_bytes, size, 0);
}

/* Frames */

void nic_receive(DeviceNic *nic, TestFrame *f, const FrameSpec *spec)
{
    frame_make(f, spec);
    net_put(nic->net, f->bytes, f->size);
}

void nic_place(DeviceNic *nic, TestFrame *f, const FrameSpec *spec)
{
    frame_make(f, spec);
    memcpy(rig_ram(nic->rig) + NIC_FRAME_AT, f->bytes, f->size);
}

/* Frames on a wire have at least 60 bytes. */
void nic_expect(DeviceNic *nic, const TestFrame *f)
{
    g_autofree uint8_t *bytes = g_malloc0(FRAME_MAX);
    unsigned size = f->size > 60 ? f->size : 60;

    ck_assert_uint_eq(net_get(nic->net, bytes, FRAME_MAX, 20000), size);
    ck_assert_int_eq(memcmp(bytes, f->bytes, size), 0);
}

/* The device */

void nic_let_run(DeviceRig *rig)
{
    g_free(rig_qmp(rig, "{\"execute\": \"cont\"}"));
}

DeviceNic nic_map(DeviceRig *rig, unsigned devfn, uint64_t bar)
{
    DeviceNic nic = {
        .rig = rig, .bar = bar, .header_size = 256, .payload_size = 4096};

    rig_pci_write(rig, devfn, 0x10, (uint32_t)bar);
    rig_pci_write(rig, devfn, 0x14, 0);
    rig_pci_write(rig, devfn, 0x20, (uint32_t)(bar + NIC_REGS_SIZE));
    rig_pci_write(rig, devfn, 0x24, 0);
    rig_pci_write(rig, devfn, 0x04, 0x6);
    return nic;
}

uint64_t nic_rx(const DeviceNic *nic, unsigned queue)
{
    return nic->bar + NIC_RX + queue * (uint64_t)NIC_QUEUE_STRIDE;
}

uint64_t nic_tx(const DeviceNic *nic, unsigned queue)
{
    return nic->bar + NIC_TX + queue * (uint64_t)NIC_QUEUE_STRIDE;
}

uint64_t nic_stat(const DeviceNic *nic, unsigned counter)
{
    return rig_read(nic->rig, nic->bar + NIC_STAT + 8ull * counter, 8);
}

static void enable(const DeviceNic *nic, uint64_t q, unsigned flags)
{
    rig_write(nic->rig, q + NIC_Q_CONTROL, 4, NIC_Q_ENABLE | flags);
    ck_assert_uint_eq(rig_read(nic->rig, q + NIC_Q_CONTROL, 4),
                      NIC_Q_ENABLE | flags);
}

void nic_start(DeviceNic *nic, unsigned queue, unsigned entries, unsigned flags)
{
    uint64_t q = nic_rx(nic, queue);

    memset(rig_ram(nic->rig) + NIC_DONE_RING(queue), 0,
           entries * sizeof(struct nic_rx_done));
    rig_write(nic->rig, q + NIC_Q_BASE, 8, NIC_RX_RING(queue));
    rig_write(nic->rig, q + NIC_RX_COMPLETIONS, 8, NIC_DONE_RING(queue));
    rig_write(nic->rig, q + NIC_Q_ENTRIES, 4, entries);
    enable(nic, q, flags);
    nic->entries[queue] = entries;
    nic->tail[queue] = 0;
    nic->done[queue] = 0;
}

struct nic_rx_desc *nic_desc(const DeviceNic *nic, unsigned queue,
                             unsigned entry)
{
    return (struct nic_rx_desc *)(rig_ram(nic->rig) + NIC_RX_RING(queue)) +
           entry;
}

uint8_t *nic_header(const DeviceNic *nic, unsigned queue, unsigned id)
{
    return rig_ram(nic->rig) + NIC_HEADER(queue, id);
}

uint8_t *nic_payload(const DeviceNic *nic, unsigned queue, unsigned id)
{
    return rig_ram(nic->rig) + NIC_PAYLOAD(queue, id);
}

void nic_post(DeviceNic *nic, unsigned queue, unsigned count)
{
    unsigned entry;

    while (count-- > 0) {
        entry = nic->tail[queue];
        *nic_desc(nic, queue, entry) = (struct nic_rx_desc){
            .header = NIC_HEADER(queue, entry),
            .payload = NIC_PAYLOAD(queue, entry),
            .header_size = (uint16_t)nic->header_size,
            .payload_size = (uint16_t)nic->payload_size,
            .id = entry,
        };
        nic->tail[queue] = (entry + 1) % nic->entries[queue];
    }
    rig_write(nic->rig, nic_rx(nic, queue) + NIC_Q_TAIL, 4, nic->tail[queue]);
}

struct nic_rx_done nic_wait(DeviceNic *nic, unsigned queue)
{
    unsigned place = nic->done[queue] % nic->entries[queue];
    unsigned phase = nic->done[queue] / nic->entries[queue] % 2 ? 0 : 1;
    volatile struct nic_rx_done *done =
        (struct nic_rx_done *)(rig_ram(nic->rig) + NIC_DONE_RING(queue)) +
        place;
    gint64 deadline = rig_deadline();

    while ((done->flags & NIC_DONE_PHASE) != phase) {
        ck_assert_msg(
            g_get_monotonic_time() < deadline,
            "queue %u: no completion %u, error %u", queue, nic->done[queue],
            (unsigned)rig_read(nic->rig, nic_rx(nic, queue) + NIC_Q_ERROR, 4));
        g_usleep(100);
    }
    nic->done[queue]++;
    return *done;
}

void nic_start_tx(DeviceNic *nic, unsigned queue, unsigned entries)
{
    uint64_t q = nic_tx(nic, queue);

    rig_write(nic->rig, q + NIC_Q_BASE, 8, NIC_TX_RING(queue));
    rig_write(nic->rig, q + NIC_TX_WRITEBACK, 8, NIC_HEAD_AT(queue));
    rig_write(nic->rig, q + NIC_Q_ENTRIES, 4, entries);
    enable(nic, q, NIC_TX_CONTROL_WRITEBACK);
    nic->tx_entries[queue] = entries;
    nic->tx_tail[queue] = 0;
}

void nic_put_tx(DeviceNic *nic, unsigned queue, const struct nic_tx_desc *desc)
{
    struct nic_tx_desc *ring =
        (struct nic_tx_desc *)(rig_ram(nic->rig) + NIC_TX_RING(queue));

    ring[nic->tx_tail[queue]] = *desc;
    nic->tx_tail[queue] = (nic->tx_tail[queue] + 1) % nic->tx_entries[queue];
}

void nic_put_part(DeviceNic *nic, unsigned queue, uint64_t at, unsigned length,
                  unsigned flags)
{
    const struct nic_tx_desc desc = {
        .address = at, .length = (uint16_t)length, .flags = (uint16_t)flags};

    nic_put_tx(nic, queue, &desc);
}

void nic_ring_tx(DeviceNic *nic, unsigned queue)
{
    rig_write(nic->rig, nic_tx(nic, queue) + NIC_Q_TAIL, 4,
              nic->tx_tail[queue]);
}

void nic_wait_stopped(const DeviceNic *nic, uint64_t registers)
{
    gint64 deadline = rig_deadline();

    while (rig_read(nic->rig, registers + NIC_Q_STATUS, 4) & NIC_Q_RUNNING) {
        ck_assert_msg(g_get_monotonic_time() < deadline, "it does not stop");
    }
}

/* Life */

DeviceNic nic_new(void)
{
    DeviceNet *net = net_new();
    DeviceRig *rig = rig_new_with(
        NULL, "completion-timeout=1",
        (const char *const[]){"-bios", net_firmware(net), "-netdev",
                              net_argument(net), "-device",
                              "farside-nic,id=nic,netdev=net,addr=06.0,"
                              "mac=02:11:22:33:44:50",
                              NULL});
    DeviceNic nic = nic_map(rig, NIC_DEVFN, NIC_BAR0);

    nic_let_run(rig);
    nic.net = net;
    return nic;
}

void nic_free(DeviceNic *nic)
{
    rig_free(nic->rig);
    net_free(nic->net);
}

void nic_reset(DeviceNic *nic)
{
    rig_write(nic->rig, nic->bar + NIC_CONTROL, 4, NIC_CONTROL_RESET);
}
