/* SPDX-License-Identifier: MIT */
/*
 * Invariant: a device whose far end sends forbidden messages, memory that
 * cannot be, files or noise closes the connection, lives on, and accepts the
 * next one. A device that could not work is refused with a reason. The test
 * plays the far end.
 */
#define _GNU_SOURCE
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include "device_far_end.h"
#include "farside_socket.h"
#include "switchtec_regs.h"
#include "../suite.h"

#define LINK_EVENT (RIG_BAR0 + 0x136d30)
#define MIB        (1ull << 20)

/* Sends a list of @count windows, each of @size bytes. */
static void send_windows(uint64_t address, uint64_t size, unsigned count,
                         bool more)
{
    struct {
        uint16_t count, more; /* struct farside_wire_windows */
        uint32_t reserved;
        struct farside_wire_window window[500];
    } m = {.count = count, .more = more};
    unsigned i;

    for (i = 0; i < count; i++) {
        m.window[i].address = address;
        m.window[i].size = size;
    }
    rig_peer_send(peer, FARSIDE_WIRE_WINDOWS, &m,
                  sizeof(struct farside_wire_windows) +
                      count * sizeof(m.window[0]));
}

/*
 * The windows of one list lie in BARs of 8 MiB and 64 MiB, so 73 MiB in windows
 * of 1 MiB are too many.
 */
START_TEST(windows_that_no_bar_holds_end_the_connection)
{
    struct farside_wire_read flush = {.length = 0};

    far_end_connect();
    send_windows(MIB, MIB, 40, true);
    send_windows(MIB, MIB, 32, false);
    rig_peer_send(peer, FARSIDE_WIRE_READ, &flush, sizeof(flush));
    rig_peer_receive(peer, FARSIDE_WIRE_COMPLETION);
    send_windows(MIB, MIB, 40, true);
    send_windows(MIB, MIB, 33, false);
    ck_assert(rig_peer_is_closed(peer));
}
END_TEST

static const struct {
    uint64_t address;
    uint64_t size;
    unsigned count;
} bad_windows[] = {
    {MIB, 0, 1},                      /* no bytes */
    {UINT64_MAX - 4095, 2 * 4096, 1}, /* beyond the last address */
    {MIB, 65 * MIB + 8 * MIB, 1},
    {MIB, UINT64_MAX, 2},
};

START_TEST(windows_that_cannot_be_end_the_connection)
{
    far_end_connect();
    send_windows(bad_windows[_i].address, bad_windows[_i].size,
                 bad_windows[_i].count, false);
    ck_assert(rig_peer_is_closed(peer));
}
END_TEST

/* Of a list 1026 windows are possible, in parts of 500 at most. */
START_TEST(lists_without_end_end_the_connection)
{
    unsigned i;

    far_end_connect();
    for (i = 0; i < 3; i++) {
        send_windows(MIB, 4096, 500, true);
    }
    ck_assert(rig_peer_is_closed(peer));
}
END_TEST

/* A write is taken only when the list that allows it is complete. */
START_TEST(part_of_a_list_opens_nothing)
{
    struct {
        struct farside_wire_write head;
        uint32_t value;
    } m = {.head = {.address = 3 * MIB, .length = 4}, .value = 0x12345678};

    far_end_connect();
    send_windows(MIB, 4096, 1, false);
    send_windows(3 * MIB, 4096, 1, true);
    rig_peer_send(peer, FARSIDE_WIRE_WRITE, &m, sizeof(m.head) + 4);
    m.head.address = MIB;
    rig_peer_send(peer, FARSIDE_WIRE_WRITE, &m, sizeof(m.head) + 4);
    rig_wait_for(rig, MIB, 4, 0x12345678);
    ck_assert_uint_eq(rig_read(rig, 3 * MIB, 4), 0);
    send_windows(MIB, 4096, 1, false);
    m.head.address = 3 * MIB;
    rig_peer_send(peer, FARSIDE_WIRE_WRITE, &m, sizeof(m.head) + 4);
    rig_wait_for(rig, 3 * MIB, 4, 0x12345678);
}
END_TEST

START_TEST(memory_that_may_shrink_is_not_mapped)
{
    struct farside_wire_read read;
    uint8_t *ram;

    far_end_connect();
    ram = rig_peer_give_ram(peer, 0, 4 * MIB, false);
    ram[MIB] = 1;
    rig_peer_set_lut(peer, 0, 1 | 1 << 1 | MIB);
    rig_read_begin(rig, RIG_BAR2, 1);
    memcpy(&read, rig_peer_receive(peer, FARSIDE_WIRE_READ)->body,
           sizeof(read));
    ck_assert_uint_eq(read.address, MIB);
    ck_assert_uint_eq(rig_read_end(rig), 0xff);
}
END_TEST

/* Forbidden messages, one after the other: each ends the connection. */

typedef struct {
    const char *what;
    unsigned type;
    size_t size;
    uint8_t body[sizeof(struct farside_wire_write) + FARSIDE_WIRE_PAYLOAD + 1];
    bool before_hello;
} Bad;

static const Bad bad_messages[] = {
    {.what = "no type", .type = 0},
    {.what = "unknown type", .type = 99},
    {.what = "second hello", .type = FARSIDE_WIRE_HELLO, .size = 32},
    {.what = "short hello",
     .type = FARSIDE_WIRE_HELLO,
     .size = 31,
     .before_hello = true},
    {.what = "doorbell before hello",
     .type = FARSIDE_WIRE_DOORBELL,
     .size = 8,
     .before_hello = true},
    {.what = "short doorbell", .type = FARSIDE_WIRE_DOORBELL, .size = 7},
    {.what = "message 4", .type = FARSIDE_WIRE_MESSAGE, .size = 8, .body = {4}},
    {.what = "reset with a body", .type = FARSIDE_WIRE_RESET, .size = 1},
    {.what = "read of 4097 bytes",
     .type = FARSIDE_WIRE_READ,
     .size = 16,
     .body = {0, 0, 0, 0, 0, 0, 0, 0, 1, 16}},
    {.what = "write without data", .type = FARSIDE_WIRE_WRITE, .size = 16},
    {.what = "write of other length",
     .type = FARSIDE_WIRE_WRITE,
     .size = 20,
     .body = {0, 0, 0, 0, 0, 0, 0, 0, 5}},
    {.what = "write of 4097 bytes",
     .type = FARSIDE_WIRE_WRITE,
     .size = 16 + 4097,
     .body = {0, 0, 0, 0, 0, 0, 0, 0, 1, 16}},
    {.what = "completion of 4097 bytes",
     .type = FARSIDE_WIRE_COMPLETION,
     .size = 8 + 4097,
     .body = {1, 16}},
    {.what = "completion of other length",
     .type = FARSIDE_WIRE_COMPLETION,
     .size = 12,
     .body = {5}},
    {.what = "short lock", .type = FARSIDE_WIRE_LOCK, .size = 4},
    {.what = "short block", .type = FARSIDE_WIRE_CONFIG, .size = 64},
    {.what = "memory without file",
     .type = FARSIDE_WIRE_RAM,
     .size = 64,
     .body = {1}},
    {.what = "peer socket without file", .type = FARSIDE_WIRE_PEER},
    {.what = "notices without a notice",
     .type = FARSIDE_WIRE_NOTICES,
     .size = 8},
    {.what = "two notices in one",
     .type = FARSIDE_WIRE_NOTICES,
     .size = 40,
     .body = {1, 0, 0, 0, 2}},
    {.what = "notice of no bytes",
     .type = FARSIDE_WIRE_NOTICES,
     .size = 40,
     .body = {1, 0, 0, 0, 1}},
    {.what = "notice of half a page",
     .type = FARSIDE_WIRE_NOTICES,
     .size = 40,
     .body = {[0] = 1, [4] = 1, [24] = 0, [25] = 8}},
    {.what = "notice beyond all addresses",
     .type = FARSIDE_WIRE_NOTICES,
     .size = 40,
     .body = {[0] = 1,
              [4] = 1,
              [9] = 0xf0,
              [10] = 0xff,
              [11] = 0xff,
              [12] = 0xff,
              [13] = 0xff,
              [14] = 0xff,
              [15] = 0xff,
              [25] = 32}},
    {.what = "notice that maps 2 GiB",
     .type = FARSIDE_WIRE_NOTICES,
     .size = 40,
     .body = {[0] = 1, [4] = 1, [27] = 0x80, [32] = 3}},
    {.what = "notice of an access that does not exist",
     .type = FARSIDE_WIRE_NOTICES,
     .size = 40,
     .body = {[0] = 1, [4] = 1, [25] = 16, [32] = 4}},
};

START_TEST(forbidden_message_ends_the_connection)
{
    const Bad *bad = &bad_messages[_i];

    if (!bad->before_hello) {
        far_end_connect();
    }
    rig_peer_send(peer, bad->type, bad->body, bad->size);
    ck_assert_msg(rig_peer_is_closed(peer), "%s", bad->what);
    rig_peer_free(peer);
    peer = rig_peer_new(rig);
    far_end_connect();
}
END_TEST

START_TEST(memory_that_cannot_be_ends_the_connection)
{
    static const struct farside_wire_ram bad[] = {
        {.count = 1, .region = {{.address = 1, .size = 4096}}},
        {.count = 1, .region = {{.size = 0}}},
        {.count = 1, .region = {{.size = 4095}}},
        {.count = 1, .region = {{.size = 1ull << 63}}},
        {.count = 1, .region = {{.address = 1ull << 63, .size = 4096}}},
        {.count = 1, .region = {{.size = 4096, .offset = 1ull << 63}}},
        {.count = 9},
        {.count = 2,
         .region = {{.size = 8192}, {.address = 4096, .size = 4096}}},
    };
    uint8_t bytes[sizeof(struct farside_wire_head) + sizeof(bad[0])];
    struct farside_wire_head head = {
        .magic = FARSIDE_WIRE_MAGIC,
        .version = FARSIDE_WIRE_VERSION,
        .type = FARSIDE_WIRE_RAM,
        .length = sizeof(bad[0]),
    };
    int fds[2];
    unsigned i;

    for (i = 0; i < G_N_ELEMENTS(bad); i++) {
        far_end_connect();
        fds[0] = memfd_create("a", 0);
        fds[1] = memfd_create("b", 0);
        memcpy(bytes, &head, sizeof(head));
        memcpy(bytes + sizeof(head), &bad[i], sizeof(bad[i]));
        rig_peer_send_raw(peer, bytes, sizeof(bytes), fds,
                          MIN(bad[i].count, 2));
        ck_assert_msg(rig_peer_is_closed(peer), "memory %u", i);
        close(fds[0]);
        close(fds[1]);
        rig_peer_free(peer);
        peer = rig_peer_new(rig);
    }
    /* A file that is too short is not mapped; nothing else happens. */
    far_end_connect();
    fds[0] = memfd_create("short", MFD_ALLOW_SEALING);
    ck_assert_int_eq(fcntl(fds[0], F_ADD_SEALS, F_SEAL_SHRINK), 0);
    head.length = sizeof(bad[0]);
    memcpy(bytes, &head, sizeof(head));
    {
        struct farside_wire_ram ram = {.count = 1,
                                       .region = {{.size = 4 * MIB}}};

        memcpy(bytes + sizeof(head), &ram, sizeof(ram));
    }
    rig_peer_send_raw(peer, bytes, sizeof(bytes), fds, 1);
    close(fds[0]);
    rig_peer_set_lut(peer, 0, 1 | 1 << 1 | MIB);
    ck_assert_uint_eq(rig_read(rig, RIG_BAR2, 1), 0xff);
}
END_TEST

/* The largest address space that QEMU has had, in bytes. */
static uint64_t most_address_space(void)
{
    g_autofree char *path = g_strdup_printf("/proc/%d/status", rig_pid(rig));
    g_autofree char *text = NULL;
    const char *line;

    ck_assert(g_file_get_contents(path, &text, NULL, NULL));
    line = strstr(text, "VmPeak:");
    ck_assert_ptr_nonnull(line);
    return g_ascii_strtoull(line + strlen("VmPeak:"), NULL, 10) << 10;
}

/*
 * A peer that gives memory again and again, faster than QEMU can unmap the old
 * one, meets a limit: each TiB takes 100 MiB of QEMU's own memory.
 */
START_TEST(memory_has_an_end)
{
    struct {
        struct farside_wire_head head;
        struct farside_wire_ram ram;
    } m = {
        .head = {.magic = FARSIDE_WIRE_MAGIC,
                 .version = FARSIDE_WIRE_VERSION,
                 .type = FARSIDE_WIRE_RAM,
                 .length = sizeof(m.ram)},
        .ram = {.count = 1, .region = {{.size = 1ull << 40}}},
    };
    int fd = memfd_create("peer", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    uint64_t before;
    unsigned i;

    far_end_connect();
    before = most_address_space();
    ck_assert_int_eq(ftruncate(fd, 1ll << 40), 0);
    ck_assert_int_eq(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK), 0);
    for (i = 0; i < 32; i++) {
        rig_peer_send_raw(peer, &m, sizeof(m), &fd, 1);
    }
    /* The device answers this read after it has served them. */
    rig_peer_set_lut(peer, 0, 1 | 1 << 1 | MIB);
    ck_assert_uint_lt(most_address_space(), before + (4ull << 40));
    /* When the old memory is unmapped, the new one is mapped again. */
    m.ram.region[0].size = 4 * MIB;
    for (i = 0; i < 500 && rig_read(rig, RIG_BAR2, 4) != 0; i++) {
        g_usleep(10000);
        rig_peer_send_raw(peer, &m, sizeof(m), &fd, 1);
    }
    ck_assert_uint_lt(i, 500);
    close(fd);
}
END_TEST

static unsigned open_files(void)
{
    g_autofree char *folder = g_strdup_printf("/proc/%d/fd", rig_pid(rig));
    g_autoptr(GDir) dir = g_dir_open(folder, 0, NULL);
    unsigned count = 0;

    ck_assert_ptr_nonnull(dir);
    while (g_dir_read_name(dir)) {
        count++;
    }
    return count;
}

/* Files may come with a message of any kind and size, even an empty one. */
START_TEST(files_that_were_not_asked_for_are_closed)
{
    struct farside_wire_head head = {
        .magic = FARSIDE_WIRE_MAGIC,
        .version = FARSIDE_WIRE_VERSION,
        .type = FARSIDE_WIRE_RESET,
    };
    int fds[] = {0, 1, 2, 0, 1, 2, 0, 1};
    unsigned before, i;

    far_end_connect();
    before = open_files();
    for (i = 0; i < 8; i++) {
        rig_peer_send_raw(peer, &head, i & 1 ? 0 : sizeof(head), fds, 1 + i);
        ck_assert(rig_peer_is_closed(peer));
        rig_peer_free(peer);
        peer = rig_peer_new(rig);
        far_end_connect();
    }
    ck_assert_uint_eq(open_files(), before);
}
END_TEST

/* A client that connects and says nothing does not keep a peer out. */
START_TEST(silence_gives_way_to_a_peer)
{
    RigPeer *silent = peer;

    rig_peer_receive(silent, FARSIDE_WIRE_HELLO);
    peer = rig_peer_new(rig);
    far_end_connect();
    ck_assert(rig_peer_is_closed(silent));
    rig_peer_free(silent);
    /* A peer that said HELLO stays. */
    silent = rig_peer_new(rig);
    ck_assert(rig_peer_is_closed(silent));
    rig_peer_free(silent);
    ck_assert_uint_eq(rig_read(rig, RIG_BAR0 + 0x136074, 4), 0x00830000);
}
END_TEST

/* A receiver gets no more files than it asked for, and no more than exist. */
START_TEST(a_message_has_few_files)
{
    int files[FARSIDE_SOCKET_FILES_MAX + 1], pair[2], i;
    unsigned count;
    bool is_whole;
    char byte = 1;

    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), 0);
    for (i = 0; i < 3; i++) {
        files[i] = pair[0];
    }
    ck_assert_int_eq(farside_socket_send(pair[0], &byte, 1, files, 3), 1);
    errno = 0;
    ck_assert_int_eq(farside_socket_receive(pair[1], &byte, 1, files,
                                            FARSIDE_SOCKET_FILES_MAX + 1,
                                            &count, &is_whole),
                     -1);
    ck_assert_int_eq(errno, EINVAL);
    ck_assert_uint_eq(count, 0);
    ck_assert(!is_whole);
    /* The packet is still there. Two of its files fit. */
    files[2] = -1;
    ck_assert_int_eq(
        farside_socket_receive(pair[1], &byte, 1, files, 2, &count, &is_whole),
        1);
    ck_assert_uint_eq(count, 2);
    ck_assert(!is_whole);
    ck_assert_int_eq(files[2], -1);
    close(files[0]);
    close(files[1]);
    close(pair[0]);
    close(pair[1]);
}
END_TEST

/* Random bytes: QEMU must answer afterwards. */
START_TEST(noise_does_no_harm)
{
    GRand *random = g_rand_new_with_seed(4711);
    uint8_t bytes[FARSIDE_WIRE_MAX];
    struct farside_wire_head head = {.magic = FARSIDE_WIRE_MAGIC,
                                     .version = FARSIDE_WIRE_VERSION};
    unsigned i, j, size;

    for (i = 0; i < 400; i++) {
        if (i & 1) {
            rig_peer_hello(peer);
        }
        size = g_rand_int_range(random, 0, i & 2 ? 200 : sizeof(bytes));
        for (j = 0; j < size; j++) {
            bytes[j] = g_rand_int(random);
        }
        if (size > sizeof(head) && i % 5) {
            head.type = g_rand_int_range(random, 0, 22);
            head.length = size - sizeof(head);
            memcpy(bytes, &head, sizeof(head));
        }
        rig_peer_send_raw(peer, bytes, size, NULL, 0);
        rig_peer_free(peer);
        peer = rig_peer_new(rig);
    }
    g_rand_free(random);
    far_end_connect();
    ck_assert_uint_eq(rig_read(rig, RIG_BAR0 + 0x2000, 4), 0x8536);
}
END_TEST

START_TEST(other_geometry_is_refused)
{
    struct farside_wire_hello hello;

    memcpy(&hello, rig_peer_receive(peer, FARSIDE_WIRE_HELLO)->body,
           sizeof(hello));
    hello.partition = 1;
    hello.bar_size[0] *= 2;
    rig_peer_send(peer, FARSIDE_WIRE_HELLO, &hello, sizeof(hello));
    ck_assert(rig_peer_is_closed(peer));
    ck_assert_uint_eq(0xff & rig_read(rig, LINK_EVENT, 4) >> 5, 0);
}
END_TEST

/*
 * Output of a QEMU that ends at once, with a plugin, a device (nullable) and a
 * CPU.
 */
static char *refusal(const char *plugin, const char *device, const char *cpu)
{
    const char *argv[] = {"qemu-system-x86_64",
                          "-plugin",
                          g_getenv(plugin),
                          "-machine",
                          device ? "q35" : "none",
                          "-cpu",
                          cpu,
                          "-display",
                          "none",
                          "-nodefaults",
                          "-S",
                          device ? "-device" : NULL,
                          device,
                          NULL};
    g_auto(GStrv) env = rig_environment();
    char *output = NULL;
    int status;

    ck_assert(g_spawn_sync(NULL, (char **)argv, env, G_SPAWN_SEARCH_PATH, NULL,
                           NULL, NULL, &output, &status, NULL));
    ck_assert(WIFEXITED(status) && WEXITSTATUS(status) != 0);
    return output;
}

/* The plugin refuses a QEMU that it was not built for, which then ends. */
START_TEST(other_qemu_is_refused)
{
    g_autofree char *output = refusal("FARSIDE_PLUGIN_OTHER", NULL, "qemu64");

    ck_assert_ptr_nonnull(strstr(output, "built for QEMU 0.0, but this is"));
}
END_TEST

/*
 * QEMU's version is the same, but an object or a class is larger in the
 * headers: no type of the module may come into QEMU.
 */
START_TEST(other_headers_are_refused)
{
    static const char *const plugins[] = {"FARSIDE_PLUGIN_OTHER_OBJECT",
                                          "FARSIDE_PLUGIN_OTHER_CLASS"};
    static const char *const what[] = {"object", "class"};
    g_autofree char *output = refusal(plugins[_i], NULL, "qemu64");
    g_autofree char *begin =
        g_strdup_printf("the %s of type 'pci-device' has ", what[_i]);
    const char *said = strstr(output, begin);
    unsigned found, compiled;

    ck_assert_msg(said, "%s", output);
    ck_assert_int_eq(sscanf(said + strlen(begin),
                            "%u bytes in this QEMU, but %u bytes in the "
                            "headers",
                            &found, &compiled),
                     2);
    ck_assert_uint_gt(compiled, found);
    ck_assert_ptr_nonnull(strstr(output, "qemu-dev/headers"));
}
END_TEST

/* A path that no socket can have, also if the device connects. */
START_TEST(bad_paths_are_refused)
{
    g_autofree char *name = g_strnfill(108, 'x');
    g_autofree char *device =
        g_strdup_printf("farside-switchtec,link=%s", name);
    g_autofree char *too_long = refusal("FARSIDE_PLUGIN", device, "qemu64");
    g_autofree char *empty = refusal(
        "FARSIDE_PLUGIN", "farside-switchtec,listen=on,link=", "qemu64");

    ck_assert_ptr_nonnull(
        strstr(too_long, "'link': the path is longer than 107 bytes"));
    ck_assert_ptr_nonnull(strstr(empty, "'link' must be the path of a socket"));
}
END_TEST

/* Without a local APIC there is no MSI-X, so the device cannot be realized. */
START_TEST(a_machine_without_msix_is_refused)
{
    g_autofree char *output =
        refusal("FARSIDE_PLUGIN", "farside-switchtec,link=/nowhere/farside",
                "qemu64,-apic");

    ck_assert_msg(strstr(output, "MSI-X is not supported"), "%s", output);
}
END_TEST

static Suite *make_suite(void)
{
    Suite *suite = suite_create("device_refuse");
    TCase *tcase = tcase_create("peers");

    tcase_add_checked_fixture(tcase, far_end_setup, far_end_teardown);
    tcase_add_test(tcase, windows_that_no_bar_holds_end_the_connection);
    tcase_add_loop_test(tcase, windows_that_cannot_be_end_the_connection, 0,
                        G_N_ELEMENTS(bad_windows));
    tcase_add_test(tcase, lists_without_end_end_the_connection);
    tcase_add_test(tcase, part_of_a_list_opens_nothing);
    tcase_add_loop_test(tcase, forbidden_message_ends_the_connection, 0,
                        G_N_ELEMENTS(bad_messages));
    tcase_add_test(tcase, files_that_were_not_asked_for_are_closed);
    tcase_add_test(tcase, a_message_has_few_files);
    tcase_add_test(tcase, silence_gives_way_to_a_peer);
    tcase_add_test(tcase, noise_does_no_harm);
    tcase_add_test(tcase, other_geometry_is_refused);
    suite_add_tcase(suite, tcase);

    tcase = tcase_create("memory");
    tcase_add_checked_fixture(tcase, far_end_setup_impatient, far_end_teardown);
    tcase_add_test(tcase, memory_that_may_shrink_is_not_mapped);
    tcase_add_test(tcase, memory_that_cannot_be_ends_the_connection);
    tcase_add_test(tcase, memory_has_an_end);
    suite_add_tcase(suite, tcase);

    tcase = tcase_create("machines");
    tcase_add_test(tcase, other_qemu_is_refused);
    tcase_add_loop_test(tcase, other_headers_are_refused, 0, 2);
    tcase_add_test(tcase, bad_paths_are_refused);
    tcase_add_test(tcase, a_machine_without_msix_is_refused);
    suite_add_tcase(suite, tcase);
    return suite;
}

int main(void)
{
    return run_suite(make_suite());
}
