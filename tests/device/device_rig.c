/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "device_rig.h"
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include "farside_socket.h"
#include "switchtec_regs.h"

#define DEVFN 0x28 /* 00:05.0 */

/* `make test` gives these programs the lowest weight, so that beside machines
 * one of a second takes a minute and more. */
#define PATIENCE_MS 120000

struct DeviceRig {
    GPid pid;
    int in;
    FILE *out;
    char *folder;
    char *link_path;
    bool listens;     /* the device made the socket at link_path */
    unsigned express; /* offset of the capability */
    uint8_t *ram;
    FILE *qmp;
};

struct RigPeer {
    int fd;
    struct farside_wire_hello hello; /* of the device */
    RigMessage message;
    void *ram;
    size_t ram_size;
};

/* qtest */

static char *receive_line(DeviceRig *rig)
{
    char *line = NULL;
    size_t size = 0;

    if (getline(&line, &size, rig->out) < 0) {
        ck_abort_msg("QEMU has ended");
    }
    g_strchomp(line);
    return line;
}

static void send_line(DeviceRig *rig, const char *format, ...)
    G_GNUC_PRINTF(2, 3);

static void send_line(DeviceRig *rig, const char *format, ...)
{
    va_list args;
    g_autofree char *line = NULL;
    size_t done = 0;
    ssize_t n;

    va_start(args, format);
    line = g_strdup_vprintf(format, args);
    va_end(args);
    while (done < strlen(line)) {
        n = write(rig->in, line + done, strlen(line) - done);
        if (n < 0) {
            ck_abort_msg("cannot write to QEMU");
        }
        done += n;
    }
}

static uint64_t receive_answer(DeviceRig *rig)
{
    char *line = receive_line(rig);
    uint64_t value = 0;

    if (!g_str_has_prefix(line, "OK")) {
        ck_abort_msg("QEMU says '%s'", line);
    }
    if (line[2] == ' ') {
        value = g_ascii_strtoull(line + 3, NULL, 16);
    }
    free(line);
    return value;
}

void rig_batch(DeviceRig *rig, const char *commands, unsigned count)
{
    send_line(rig, "%s", commands);
    while (count-- > 0) {
        receive_answer(rig);
    }
}

static char letter(unsigned size)
{
    return size == 1 ? 'b' : size == 2 ? 'w' : size == 4 ? 'l' : 'q';
}

void rig_read_begin(DeviceRig *rig, uint64_t address, unsigned size)
{
    send_line(rig, "read%c 0x%" G_GINT64_MODIFIER "x\n", letter(size), address);
}

uint64_t rig_read_end(DeviceRig *rig)
{
    return receive_answer(rig);
}

bool rig_has_answered(DeviceRig *rig)
{
    struct pollfd pfd = {.fd = fileno(rig->out), .events = POLLIN};

    return poll(&pfd, 1, 0) == 1;
}

void rig_read_bytes_begin(DeviceRig *rig, uint64_t address, unsigned size)
{
    send_line(rig, "read 0x%" G_GINT64_MODIFIER "x %u\n", address, size);
}

void rig_read_bytes_end(DeviceRig *rig, uint8_t *ret_data, unsigned size)
{
    char *line = receive_line(rig);
    unsigned i;

    if (!g_str_has_prefix(line, "OK 0x") || strlen(line) != 5 + 2 * size) {
        ck_abort_msg("QEMU says '%s'", line);
    }
    for (i = 0; i < size; i++) {
        ret_data[i] = g_ascii_xdigit_value(line[5 + 2 * i]) << 4 |
                      g_ascii_xdigit_value(line[6 + 2 * i]);
    }
    free(line);
}

uint64_t rig_read(DeviceRig *rig, uint64_t address, unsigned size)
{
    rig_read_begin(rig, address, size);
    return rig_read_end(rig);
}

void rig_write_begin(DeviceRig *rig, uint64_t address, unsigned size,
                     uint64_t value)
{
    if (size < 8) {
        value &= (1ull << (8 * size)) - 1;
    }
    send_line(rig,
              "write%c 0x%" G_GINT64_MODIFIER "x 0x%" G_GINT64_MODIFIER "x\n",
              letter(size), address, value);
}

void rig_write_end(DeviceRig *rig)
{
    receive_answer(rig);
}

void rig_write(DeviceRig *rig, uint64_t address, unsigned size, uint64_t value)
{
    rig_write_begin(rig, address, size, value);
    rig_write_end(rig);
}

uint32_t rig_pci_read(DeviceRig *rig, unsigned devfn, unsigned offset)
{
    send_line(rig, "outl 0xcf8 0x%x\n", 0x80000000u | devfn << 8 | offset);
    receive_answer(rig);
    send_line(rig, "inl 0xcfc\n");
    return receive_answer(rig);
}

void rig_pci_write(DeviceRig *rig, unsigned devfn, unsigned offset,
                   uint32_t value)
{
    send_line(rig, "outl 0xcf8 0x%x\n", 0x80000000u | devfn << 8 | offset);
    receive_answer(rig);
    send_line(rig, "outl 0xcfc 0x%x\n", value);
    receive_answer(rig);
}

uint32_t rig_config_read(DeviceRig *rig, unsigned offset)
{
    return rig_pci_read(rig, DEVFN, offset);
}

void rig_config_write(DeviceRig *rig, unsigned offset, uint32_t value)
{
    rig_pci_write(rig, DEVFN, offset, value);
}

unsigned rig_pci_find(DeviceRig *rig, unsigned devfn, uint8_t capability)
{
    unsigned offset = 0xff & rig_pci_read(rig, devfn, 0x34);
    uint32_t word;

    while (offset) {
        word = rig_pci_read(rig, devfn, offset & ~3u);
        if ((0xff & word) == capability) {
            return offset;
        }
        offset = 0xff & (word >> 8);
    }
    ck_abort_msg("no capability 0x%x", capability);
    return 0;
}

static void map_bars(DeviceRig *rig)
{
    rig_config_write(rig, 0x10, (uint32_t)RIG_BAR0);
    rig_config_write(rig, 0x14, 0);
    rig_config_write(rig, 0x18, (uint32_t)RIG_BAR2);
    rig_config_write(rig, 0x1c, 0);
    rig_config_write(rig, 0x20, (uint32_t)RIG_BAR4);
    rig_config_write(rig, 0x24, 0);
    /* Memory space, bus master */
    rig_config_write(rig, 0x04, 0x6);
}

void rig_reset(DeviceRig *rig)
{
    uint32_t control = rig_config_read(rig, rig->express + 8);

    rig_config_write(rig, rig->express + 8, (0xffffu & control) | 1u << 15);
    map_bars(rig);
}

int64_t rig_deadline(void)
{
    return g_get_monotonic_time() + 1000 * PATIENCE_MS;
}

void rig_wait_for(DeviceRig *rig, uint64_t address, unsigned size,
                  uint64_t value)
{
    gint64 deadline = rig_deadline();
    uint64_t now;

    while ((now = rig_read(rig, address, size)) != value) {
        if (g_get_monotonic_time() > deadline) {
            ck_abort_msg("0x%" G_GINT64_MODIFIER "x is 0x%" G_GINT64_MODIFIER
                         "x, not 0x%" G_GINT64_MODIFIER "x",
                         address, now, value);
        }
        g_usleep(500);
    }
}

void rig_wait_link(DeviceRig *rig, unsigned partition, bool up)
{
    uint64_t port = SWITCHTEC_PFF + (partition ? 0 : 2) * SWITCHTEC_PFF_STRIDE;

    rig_wait_for(rig, RIG_BAR0 + port + SWITCHTEC_PFF_LINK, 4,
                 up ? 0x00830000 : 0);
}

void rig_wait_link_up(DeviceRig *rig, bool up)
{
    int64_t deadline = rig_deadline();
    bool is_up;

    do {
        g_autofree char *answer =
            rig_qmp(rig, "{\"execute\": \"qom-get\", \"arguments\": "
                         "{\"path\": \"/machine/peripheral/cable0\", "
                         "\"property\": \"link-up\"}}");

        is_up = !!strstr(answer, "true");
        ck_assert_msg(g_get_monotonic_time() < deadline, "link-up: %s", answer);
    } while (is_up != up);
}

void rig_part_op(DeviceRig *rig, unsigned part, uint32_t op, uint32_t status)
{
    uint64_t block = RIG_BAR0 + SWITCHTEC_NTB_CTRL +
                     (uint64_t)part * SWITCHTEC_NTB_CTRL_STRIDE;
    gint64 deadline = rig_deadline();
    uint32_t now;

    rig_write(rig, block + SWITCHTEC_CTRL_OP, 4, op);
    while ((now = rig_read(rig, block + SWITCHTEC_CTRL_STATUS, 4)) != status) {
        if (g_get_monotonic_time() > deadline) {
            ck_abort_msg("operation %u on partition %u: status %u, not %u", op,
                         part, now, status);
        }
        g_usleep(500);
    }
}

/* Life */

/*
 * The machine's memory is one of QEMU's files. The peer's memory has the same
 * name, but was opened later: the folder lists files by number.
 */
static uint8_t *map_ram(DeviceRig *rig)
{
    g_autofree char *folder = g_strdup_printf("/proc/%d/fd", (int)rig->pid);
    GDir *dir = g_dir_open(folder, 0, NULL);
    const char *name;
    void *ram = MAP_FAILED;

    while (dir && ram == MAP_FAILED && (name = g_dir_read_name(dir))) {
        g_autofree char *path = g_build_filename(folder, name, NULL);
        g_autofree char *target = g_file_read_link(path, NULL);
        int fd;

        if (target && g_str_has_prefix(target, "/memfd:memory-backend-memfd")) {
            fd = open(path, O_RDWR | O_CLOEXEC);
            ram =
                mmap(NULL, RIG_RAM, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
            close(fd);
        }
    }
    g_clear_pointer(&dir, g_dir_close);
    ck_assert_msg(ram != MAP_FAILED, "cannot map the machine's memory");
    return ram;
}

uint8_t *rig_ram(DeviceRig *rig)
{
    if (!rig->ram) {
        rig->ram = map_ram(rig);
    }
    return rig->ram;
}

static int connect_to(const char *path, int type)
{
    int fd = farside_socket_connect(path, type);

    ck_assert_int_ge(fd, 0);
    return fd;
}

/* The answer to a command. Events, which QEMU sends unasked, are dropped. */
static char *qmp_answer(DeviceRig *rig)
{
    char *line = NULL;
    size_t size = 0;

    do {
        if (getline(&line, &size, rig->qmp) < 0) {
            ck_abort_msg("QEMU has ended");
        }
    } while (!g_str_has_prefix(line, "{\"return\"") &&
             !g_str_has_prefix(line, "{\"error\""));
    return line;
}

char *rig_qmp(DeviceRig *rig, const char *command)
{
    if (!rig->qmp) {
        g_autofree char *path = g_build_filename(rig->folder, "qmp", NULL);

        rig->qmp = fdopen(connect_to(path, SOCK_STREAM), "r+");
        setvbuf(rig->qmp, NULL, _IONBF, 0);
        fputs("{\"execute\": \"qmp_capabilities\"}\n", rig->qmp);
        free(qmp_answer(rig));
    }
    fprintf(rig->qmp, "%s\n", command);
    return qmp_answer(rig);
}

char *rig_set(DeviceRig *rig, const char *property, const char *value)
{
    g_autofree char *command =
        g_strdup_printf("{\"execute\": \"qom-set\", \"arguments\": {\"path\": "
                        "\"/machine/peripheral/cable0\", \"property\": \"%s\", "
                        "\"value\": %s}}",
                        property, value);

    return rig_qmp(rig, command);
}

uint64_t rig_refused(DeviceRig *rig)
{
    char *answer =
        rig_qmp(rig, "{\"execute\": \"qom-get\", \"arguments\": {\"path\": "
                     "\"/machine/peripheral/cable0\", \"property\": "
                     "\"unsupported-requests\"}}");
    unsigned long long value;

    ck_assert_msg(sscanf(answer, "{\"return\": %llu}", &value) == 1, "%s",
                  answer);
    free(answer);
    return value;
}

DeviceRig *rig_new(const char *properties)
{
    return rig_new_with(NULL, properties, NULL);
}

char **rig_environment(void)
{
    char **env = g_get_environ();

    if (g_getenv("FARSIDE_PRELOAD")) {
        env = g_environ_setenv(env, "LD_PRELOAD", g_getenv("FARSIDE_PRELOAD"),
                               TRUE);
    }
    return env;
}

const char *rig_link_path(DeviceRig *rig)
{
    return rig->link_path;
}

DeviceRig *rig_new_with(const char *link, const char *properties,
                        const char *const *arguments)
{
    return rig_new_of("farside-switchtec", link, properties, arguments);
}

DeviceRig *rig_new_of(const char *type, const char *link,
                      const char *properties, const char *const *arguments)
{
    DeviceRig *rig = g_new0(DeviceRig, 1);
    const char *plugin = g_getenv("FARSIDE_PLUGIN");
    const char *windows =
        g_getenv("FARSIDE_WINDOW_RAM") ? ",window-ram=on" : "";
    g_autofree char *device = NULL;
    g_autofree char *memory = NULL;
    g_autofree char *size = NULL;
    g_autofree char *qmp = NULL;
    g_autoptr(GPtrArray) argv = g_ptr_array_new();
    g_autoptr(GError) error = NULL;
    g_auto(GStrv) env = rig_environment();
    int out;

    rig->folder = g_dir_make_tmp("farside-device-XXXXXX", &error);
    ck_assert_msg(rig->folder, "no temporary folder");
    ck_assert_msg(plugin, "FARSIDE_PLUGIN is not set");
    rig->listens = !link;
    rig->link_path =
        link ? g_strdup(link) : g_build_filename(rig->folder, "link", NULL);
    device = g_strdup_printf("%s,id=cable0,addr=05.0,link=%s,%s%s%s%s", type,
                             rig->link_path, link ? "partition=1" : "listen=on",
                             *properties ? "," : "", properties, windows);
    size = g_strdup_printf("%uM", (unsigned)(RIG_RAM >> 20));
    memory =
        g_strdup_printf("memory-backend-memfd,id=m,share=on,size=%s", size);
    qmp = g_strdup_printf("unix:%s/qmp,server=on,wait=off", rig->folder);
    {
        const char *fixed[] = {"qemu-system-x86_64",
                               "-plugin",
                               plugin,
                               "-machine",
                               "q35,memory-backend=m",
                               "-object",
                               memory,
                               "-m",
                               size,
                               "-accel",
                               "tcg,tb-size=8",
                               "-S",
                               "-nodefaults",
                               "-display",
                               "none",
                               "-qtest",
                               "stdio",
                               "-qtest-log",
                               "/dev/null",
                               "-qmp",
                               qmp};
        unsigned i;

        for (i = 0; i < G_N_ELEMENTS(fixed); i++) {
            g_ptr_array_add(argv, (void *)fixed[i]);
        }
        for (; arguments && *arguments; arguments++) {
            g_ptr_array_add(argv, (void *)*arguments);
        }
        /* The NTB device comes last, so that an IOMMU in @arguments exists
         * before it. */
        g_ptr_array_add(argv, (void *)"-device");
        g_ptr_array_add(argv, device);
        g_ptr_array_add(argv, NULL);
    }
    ck_assert_msg(g_spawn_async_with_pipes(
                      NULL, (char **)argv->pdata, env,
                      G_SPAWN_SEARCH_PATH | G_SPAWN_DO_NOT_REAP_CHILD, NULL,
                      NULL, &rig->pid, &rig->in, &out, NULL, &error),
                  "cannot start QEMU");
    rig->out = fdopen(out, "r");
    map_bars(rig);
    rig->express = rig_pci_find(rig, DEVFN, 0x10);
    return rig;
}

int rig_pid(DeviceRig *rig)
{
    return rig->pid;
}

void rig_free(DeviceRig *rig)
{
    g_autofree char *qmp = NULL;

    if (!rig) {
        return;
    }
    kill(rig->pid, SIGKILL);
    waitpid(rig->pid, NULL, 0);
    close(rig->in);
    fclose(rig->out);
    if (rig->qmp) {
        fclose(rig->qmp);
    }
    if (rig->ram) {
        munmap(rig->ram, RIG_RAM);
    }
    qmp = g_build_filename(rig->folder, "qmp", NULL);
    unlink(qmp);
    if (rig->listens) {
        unlink(rig->link_path);
    }
    g_rmdir(rig->folder);
    g_free(rig->link_path);
    g_free(rig->folder);
    g_free(rig);
}

/* The far end */

RigPeer *rig_peer_new_at(const char *path)
{
    RigPeer *peer = g_new0(RigPeer, 1);

    peer->fd = connect_to(path, SOCK_SEQPACKET);
    return peer;
}

RigPeer *rig_peer_new(DeviceRig *rig)
{
    return rig_peer_new_at(rig->link_path);
}

static bool receive_any(RigPeer *peer);
static void send_with_files(RigPeer *peer, unsigned type, const void *body,
                            size_t size, const int *fds, unsigned fd_count);

RigPeer *rig_peer_new_by_broker(DeviceRig *rig)
{
    RigPeer *peer = g_new0(RigPeer, 1);
    struct pollfd pfd = {.events = POLLIN};
    int listener, pair[2];

    unlink(rig->link_path);
    listener = farside_socket_listen(rig->link_path, SOCK_SEQPACKET, 1);
    ck_assert_int_ge(listener, 0);
    pfd.fd = listener;
    ck_assert_int_eq(poll(&pfd, 1, PATIENCE_MS), 1);
    peer->fd = accept(listener, NULL, NULL);
    ck_assert_int_ge(peer->fd, 0);
    close(listener);
    rig_peer_receive(peer, FARSIDE_WIRE_HELLO);
    ck_assert_int_eq(
        socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
    send_with_files(peer, FARSIDE_WIRE_PEER, NULL, 0, &pair[0], 1);
    close(pair[0]);
    close(peer->fd);
    peer->fd = pair[1];
    return peer;
}

static void drop_files(RigPeer *peer)
{
    unsigned i;

    for (i = 0; i < peer->message.fd_count; i++) {
        close(peer->message.fds[i]);
    }
    peer->message.fd_count = 0;
}

void rig_peer_free(RigPeer *peer)
{
    if (!peer) {
        return;
    }
    drop_files(peer);
    if (peer->ram) {
        munmap(peer->ram, peer->ram_size);
    }
    close(peer->fd);
    g_free(peer);
}

void rig_peer_send_raw(RigPeer *peer, const void *bytes, size_t size,
                       const int *fds, unsigned fd_count)
{
    char control[CMSG_SPACE(sizeof(int) * 64)] = {0};
    struct iovec iov = {.iov_base = (void *)bytes, .iov_len = size};
    struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};
    struct cmsghdr *cmsg;

    if (fd_count) {
        msg.msg_control = control;
        msg.msg_controllen = CMSG_SPACE(sizeof(int) * fd_count);
        cmsg = CMSG_FIRSTHDR(&msg);
        cmsg->cmsg_level = SOL_SOCKET;
        cmsg->cmsg_type = SCM_RIGHTS;
        cmsg->cmsg_len = CMSG_LEN(sizeof(int) * fd_count);
        memcpy(CMSG_DATA(cmsg), fds, sizeof(int) * fd_count);
    }
    /* It fails if the device has closed the connection, as some tests want. */
    (void)!sendmsg(peer->fd, &msg, MSG_NOSIGNAL);
}

bool rig_peer_exchange(RigPeer *peer, const void *bytes, size_t size,
                       const int *fds, unsigned fd_count)
{
    struct pollfd pfd = {.fd = peer->fd, .events = POLLIN | POLLOUT};

    do {
        if (poll(&pfd, 1, PATIENCE_MS) <= 0) {
            ck_abort_msg("the device does not read");
        }
        if ((pfd.revents & POLLIN) && !receive_any(peer)) {
            return false;
        }
    } while (!(pfd.revents & POLLOUT));
    rig_peer_send_raw(peer, bytes, size, fds, fd_count);
    return true;
}

static void send_with_files(RigPeer *peer, unsigned type, const void *body,
                            size_t size, const int *fds, unsigned fd_count)
{
    uint8_t bytes[FARSIDE_WIRE_MAX];
    struct farside_wire_head head = {
        .magic = FARSIDE_WIRE_MAGIC,
        .version = FARSIDE_WIRE_VERSION,
        .type = type,
        .length = size,
    };

    ck_assert_uint_le(sizeof(head) + size, sizeof(bytes));
    memcpy(bytes, &head, sizeof(head));
    if (size) {
        memcpy(bytes + sizeof(head), body, size);
    }
    rig_peer_send_raw(peer, bytes, sizeof(head) + size, fds, fd_count);
}

void rig_peer_send(RigPeer *peer, unsigned type, const void *body, size_t size)
{
    send_with_files(peer, type, body, size, NULL, 0);
}

/* False if the connection was closed. */
static bool receive_any(RigPeer *peer)
{
    RigMessage *m = &peer->message;
    char control[CMSG_SPACE(sizeof(int) * FARSIDE_WIRE_FDS)];
    struct iovec iov[2] = {
        {.iov_base = &m->head, .iov_len = sizeof(m->head)},
        {.iov_base = m->body, .iov_len = sizeof(m->body)},
    };
    struct msghdr msg = {
        .msg_iov = iov,
        .msg_iovlen = 2,
        .msg_control = control,
        .msg_controllen = sizeof(control),
    };
    struct pollfd pfd = {.fd = peer->fd, .events = POLLIN};
    struct cmsghdr *cmsg;
    ssize_t n;

    drop_files(peer);
    if (poll(&pfd, 1, PATIENCE_MS) <= 0) {
        ck_abort_msg("the device does not answer");
    }
    n = recvmsg(peer->fd, &msg, MSG_CMSG_CLOEXEC);
    if (n <= 0) {
        return false;
    }
    ck_assert_uint_eq(m->head.magic, FARSIDE_WIRE_MAGIC);
    ck_assert_uint_eq(m->head.length, n - sizeof(m->head));
    cmsg = CMSG_FIRSTHDR(&msg);
    if (cmsg) {
        m->fd_count = (cmsg->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        memcpy(m->fds, CMSG_DATA(cmsg), m->fd_count * sizeof(int));
    }
    return true;
}

bool rig_peer_poll(RigPeer *peer, int ms)
{
    struct pollfd pfd = {.fd = peer->fd, .events = POLLIN};

    return poll(&pfd, 1, ms) == 1;
}

const RigMessage *rig_peer_receive_any(RigPeer *peer)
{
    if (!receive_any(peer)) {
        ck_abort_msg("the device closed the connection");
    }
    return &peer->message;
}

const RigMessage *rig_peer_receive(RigPeer *peer, unsigned type)
{
    const RigMessage *m;

    do {
        m = rig_peer_receive_any(peer);
    } while (m->head.type != type);
    return m;
}

bool rig_peer_is_closed(RigPeer *peer)
{
    while (receive_any(peer)) {
        ;
    }
    return true;
}

void rig_peer_open(RigPeer *peer, const uint64_t *targets, unsigned count)
{
    size_t size = sizeof(struct farside_wire_windows) +
                  (1 + count) * sizeof(struct farside_wire_window);
    struct farside_wire_windows *m = g_malloc0(size);
    uint64_t part;
    unsigned i;

    m->count = 1 + count;
    m->window[0].size = MIN(peer->hello.bar_size[1], RIG_RAM);
    for (i = 0; i < count; i++) {
        part = 1ull << (63 - __builtin_clzll(peer->hello.bar_size[0] / count));
        m->window[1 + i].address = targets[i] & ~(part - 1);
        m->window[1 + i].size = part;
    }
    rig_peer_send(peer, FARSIDE_WIRE_WINDOWS, m, size);
    g_free(m);
}

void rig_peer_hello(RigPeer *peer)
{
    struct farside_wire_hello hello;
    uint64_t targets[64];
    unsigned i;

    memcpy(&hello, rig_peer_receive(peer, FARSIDE_WIRE_HELLO)->body,
           sizeof(hello));
    peer->hello = hello;
    hello.partition = 1 - hello.partition;
    hello.link_up = 1;
    rig_peer_send(peer, FARSIDE_WIRE_HELLO, &hello, sizeof(hello));
    /* LUT windows of 128 KiB in a BAR of 8 MiB */
    for (i = 0; i < 32; i++) {
        targets[i] = RIG_BAR0 + i * 0x20000;
    }
    for (; i < 48; i++) {
        targets[i] = RIG_BAR2 + (i - 32) * 0x20000;
    }
    for (; i < 60; i++) {
        targets[i] = RIG_BAR4 + (i - 48) * 0x20000;
    }
    targets[i++] = RIG_NVME_BAR;
    targets[i++] = 0xfee00000;
    targets[i++] = 0xa0000;
    targets[i++] = 0x90000000;
    rig_peer_open(peer, targets, i);
}

static uint8_t *give_ram(RigPeer *peer, uint64_t address, size_t size,
                         bool sealed, bool translated)
{
    struct farside_wire_ram ram = {.count = 1, .translated = translated};
    int fd = memfd_create("peer", MFD_CLOEXEC | MFD_ALLOW_SEALING);

    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(ftruncate(fd, size), 0);
    if (sealed) {
        ck_assert_int_eq(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK), 0);
    }
    peer->ram = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    peer->ram_size = size;
    ck_assert_ptr_ne(peer->ram, MAP_FAILED);
    ram.region[0].address = address;
    ram.region[0].size = size;
    send_with_files(peer, FARSIDE_WIRE_RAM, &ram, sizeof(ram), &fd, 1);
    close(fd);
    return peer->ram;
}

uint8_t *rig_peer_give_ram(RigPeer *peer, uint64_t address, size_t size,
                           bool sealed)
{
    return give_ram(peer, address, size, sealed, false);
}

uint8_t *rig_peer_give_ram_behind_iommu(RigPeer *peer, uint64_t address,
                                        size_t size)
{
    return give_ram(peer, address, size, true, true);
}

void rig_peer_notice(RigPeer *peer, uint32_t number,
                     const struct farside_wire_notice *notice)
{
    struct {
        uint32_t number, count; /* struct farside_wire_notices */
        struct farside_wire_notice notice;
    } m = {.number = number, .count = 1, .notice = *notice};

    rig_peer_send(peer, FARSIDE_WIRE_NOTICES, &m, sizeof(m));
}

void rig_peer_set_lut(RigPeer *peer, unsigned entry, uint64_t value)
{
    struct farside_wire_lock lock = {.id = 100 + entry};
    struct farside_wire_ctrl block;
    struct farside_wire_configured done;

    rig_peer_send(peer, FARSIDE_WIRE_LOCK, &lock, sizeof(lock));
    memcpy(&block, rig_peer_receive(peer, FARSIDE_WIRE_LOCKED)->body,
           sizeof(block));
    ck_assert_uint_eq(block.lock_id, lock.id);
    block.bar[2].ctl = (block.bar[2].ctl & 0xff) | RIG_LUT_CTL;
    block.lut[entry] = value;
    rig_peer_send(peer, FARSIDE_WIRE_CONFIG, &block, sizeof(block));
    memcpy(&done, rig_peer_receive(peer, FARSIDE_WIRE_CONFIGURED)->body,
           sizeof(done));
    ck_assert_uint_eq(done.lock_id, lock.id);
    ck_assert_uint_eq(done.bar_error | done.lut_error | done.req_id_error, 0);
}
