/* SPDX-License-Identifier: MIT */
/*
 * Invariants: a trace has everything that an end of a link transmits, with the
 * headers of PCIe 5.0 s2.2, and nothing twice. It is a whole pcapng file after
 * every write, also when other processes write to it, die in the middle or fill
 * the disk, and it tells what it lost. Switching it on and off at any time
 * changes nothing that the peer's memory sees.
 */
#define _GNU_SOURCE
#include <check.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <fcntl.h>
#include "device_cable.h"
#include "device_rig.h"
#include "switchtec_regs.h"
#include "trc_file.h"
#include "trc_merge.h"
#include "trc_text.h"
#include "../suite.h"

#define CTRL0 (RIG_BAR0 + 0x14000)
#define DBMSG (RIG_BAR0 + 0x74000)
#define MIB   (1ull << 20)

#define LUT_SIZE 0x10000u

/* Bytes of a packet before its content, and of its block before the packet. */
#define HEAD_SIZE  32
#define BLOCK_SIZE 28

static char *folder;
static char *path;

static void setup(void)
{
    folder = g_dir_make_tmp("farside-trace-XXXXXX", NULL);
    path = g_build_filename(folder, "trace.pcapng", NULL);
}

static void teardown(void)
{
    g_unlink(path);
    g_rmdir(folder);
    g_free(path);
    g_free(folder);
}

/* ---- The machines ------------------------------------------------------- */

/* Sets "trace" at run time; returns QMP's answer, to be freed. */
static char *set_trace(DeviceRig *rig, const char *value)
{
    g_autofree char *text = g_strdup_printf("\"%s\"", value);

    return rig_set(rig, "trace", text);
}

static void trace_on(DeviceRig *rig)
{
    g_autofree char *answer = set_trace(rig, path);

    ck_assert_msg(!strstr(answer, "\"error\""), "%s", answer);
}

static void trace_off(DeviceRig *rig)
{
    g_autofree char *answer = set_trace(rig, "");

    ck_assert_msg(!strstr(answer, "\"error\""), "%s", answer);
}

static const char *const name_a[] = {"-name", "a", NULL};
static const char *const name_b[] = {"-name", "b", NULL};

/* Two machines, each of which has a window onto the first MiBs of the other. */
typedef struct Pair {
    DeviceRig *rig[2];
    DeviceCable *cable;
} Pair;

static void open_window(DeviceRig *rig, unsigned part, uint64_t target)
{
    uint64_t block = CTRL0 + part * 0x2000ull;

    rig_part_op(rig, part, SWITCHTEC_OP_LOCK, SWITCHTEC_STATUS_LOCKED);
    rig_write(rig, block + 0x60, 4, RIG_LUT_CTL);
    rig_write(rig, block + 0x1000, 8, target | (1 - part) << 1 | 1);
    rig_part_op(rig, part, SWITCHTEC_OP_CFG, SWITCHTEC_STATUS_NORMAL);
}

static Pair pair_make(bool with_cable, const char *properties)
{
    Pair pair = {0};
    /* No read times out, even on a busy machine. */
    g_autofree char *all =
        g_strconcat("completion-timeout=60000", properties, NULL);
    g_autofree char *between = NULL;

    pair.rig[0] = rig_new_with(NULL, all, name_a);
    if (with_cable) {
        between = g_strconcat(rig_link_path(pair.rig[0]), ".cable", NULL);
        pair.cable = cable_new(between, rig_link_path(pair.rig[0]));
    }
    pair.rig[1] = rig_new_with(between ? between : rig_link_path(pair.rig[0]),
                               all, name_b);
    rig_wait_link(pair.rig[0], 0, true);
    rig_wait_link(pair.rig[1], 1, true);
    /* Each window is set by the host that it leads to, which has announced its
     * memory before. */
    for (unsigned i = 0; i < 2; i++) {
        open_window(pair.rig[1 - i], i, 2 * MIB);
    }
    return pair;
}

static void pair_done(Pair *pair)
{
    rig_free(pair->rig[1]);
    rig_free(pair->rig[0]);
    cable_free(pair->cable);
}

/* ---- The file ----------------------------------------------------------- */

/* Reads the trace, which must have no damage and no losses. */
static TrcFile *read_whole(void)
{
    g_autoptr(GError) error = NULL;
    TrcFile *file = trc_file_read(path, &error);

    ck_assert_msg(file, "%s", error ? error->message : "");
    ck_assert_msg(!trc_file_damage(file), "%s",
                  trc_file_damage(file) ? trc_file_damage(file)->message : "");
    ck_assert_uint_eq(trc_file_n_interfaces(file), 2);
    return file;
}

static void check_nothing_lost(const TrcFile *file)
{
    for (unsigned i = 0; i < 2; i++) {
        ck_assert_uint_eq(trc_file_interface(file, i)->missing, 0);
        ck_assert_uint_eq(trc_file_interface(file, i)->dropped, 0);
    }
}

static unsigned count_of(const TrcFile *file, unsigned interface, TrcKind kind)
{
    unsigned count = 0;

    for (size_t i = 0; i < trc_file_n_records(file); i++) {
        TrcRecord record;

        trc_file_record(file, i, &record);
        count += record.interface == interface && record.kind == kind;
    }
    return count;
}

/* Waits until the trace has @count packets of a kind from one end. */
static void wait_for_records(unsigned interface, TrcKind kind, unsigned count)
{
    gint64 deadline = rig_deadline();

    for (;;) {
        g_autoptr(TrcFile) file = read_whole();
        unsigned now = count_of(file, interface, kind);

        if (now >= count) {
            return;
        }
        ck_assert_msg(g_get_monotonic_time() < deadline, "%u of %u %s", now,
                      count, trc_kind_name(kind));
        g_usleep(20000);
    }
}

/* Reads the trace with Wireshark's capinfos, if it is installed. */
static void check_with_capinfos(void)
{
    const char *argv[] = {"capinfos", "-M", "-c", path, NULL};
    g_autofree char *out = NULL, *err = NULL;
    g_autofree char *program = g_find_program_in_path("capinfos");
    g_autoptr(TrcFile) file = read_whole();
    g_autofree char *expected =
        g_strdup_printf("Number of packets:   %zu\n", trc_file_n_records(file));
    int status;

    if (program) {
        ck_assert(g_spawn_sync(NULL, (char **)argv, NULL, G_SPAWN_SEARCH_PATH,
                               NULL, NULL, &out, &err, &status, NULL));
        ck_assert_msg(status == 0 && strstr(out, expected), "%s%s", out, err);
    }
}

/* ---- Everything once ---------------------------------------------------- */

/* The content of a packet, as hexadecimal digits without blanks. */
static char *body_text(const uint8_t *bytes, size_t size)
{
    GString *text = g_string_new(NULL);

    for (size_t i = 0; i < size; i++) {
        g_string_append_printf(text, "%02x", bytes[i]);
    }
    return g_string_free(text, FALSE);
}

typedef struct Expected {
    TrcKind kind;
    const char *body; /* hexadecimal; a final * stands for further bytes */
    uint64_t near;    /* near address; 0: none */
} Expected;

static void check_records(const Expected *expected, unsigned count)
{
    g_autoptr(TrcFile) file = read_whole();
    g_autofree char *bytes = NULL;
    gsize size;

    ck_assert(g_file_get_contents(path, &bytes, &size, NULL));
    check_nothing_lost(file);
    for (unsigned i = 0; i < MIN(count, trc_file_n_records(file)); i++) {
        TrcRecord record;
        g_autofree char *body = NULL;
        g_autofree char *wanted = NULL;
        g_auto(GStrv) words = NULL;
        uint32_t captured;

        trc_file_record(file, i, &record);
        ck_assert_msg(record.kind == expected[i].kind, "%u: %s, not %s", i,
                      trc_kind_name(record.kind),
                      trc_kind_name(expected[i].kind));
        ck_assert_uint_eq(record.sequence, i);
        ck_assert_uint_eq(record.interface, 0);
        ck_assert_uint_eq(record.has_near, expected[i].near != 0);
        if (expected[i].near) {
            ck_assert_uint_eq(record.near, expected[i].near);
            ck_assert_uint_eq(record.bar, 2);
            ck_assert_uint_eq(record.offset, expected[i].near - RIG_BAR2);
        }
        memcpy(&captured, bytes + record.place + 20, 4);
        body =
            body_text((uint8_t *)bytes + record.place + BLOCK_SIZE + HEAD_SIZE,
                      captured - HEAD_SIZE);
        words = g_strsplit(expected[i].body, " ", -1);
        wanted = g_strjoinv("", words);
        if (g_str_has_suffix(wanted, "*")) {
            ck_assert_msg(strncmp(body, wanted, strlen(wanted) - 1) == 0,
                          "%u: %s, not %s", i, body, wanted);
        } else {
            ck_assert_msg(strcmp(body, wanted) == 0, "%u: %s, not %s", i, body,
                          wanted);
        }
    }
    ck_assert_uint_eq(trc_file_n_records(file), count);
}

/* The far host sets LUT entries of this host, as its driver does. */
static void set_lut_from_far(RigPeer *peer, const uint64_t *entries,
                             unsigned count)
{
    struct farside_wire_lock lock = {.id = 100};
    struct farside_wire_ctrl block;

    rig_peer_send(peer, FARSIDE_WIRE_LOCK, &lock, sizeof(lock));
    memcpy(&block, rig_peer_receive(peer, FARSIDE_WIRE_LOCKED)->body,
           sizeof(block));
    block.bar[2].ctl = (block.bar[2].ctl & 0xff) | RIG_LUT_CTL;
    for (unsigned i = 0; i < count; i++) {
        block.lut[i] = entries[i] | 1 << 1 | 1;
    }
    rig_peer_send(peer, FARSIDE_WIRE_CONFIG, &block, sizeof(block));
    rig_peer_receive(peer, FARSIDE_WIRE_CONFIGURED);
}

/* A write through a window. Returns when it has arrived. */
static void write_through(DeviceRig *rig, RigPeer *peer, uint64_t offset,
                          unsigned size, uint64_t value)
{
    rig_write(rig, RIG_BAR2 + offset, size, value);
    rig_peer_receive(peer, FARSIDE_WIRE_WRITE);
}

static void read_through(DeviceRig *rig, RigPeer *peer, uint64_t offset,
                         unsigned size)
{
    struct {
        struct farside_wire_completion head;
        uint8_t data[8];
    } c = {.head = {.length = size}};
    struct farside_wire_read read;

    rig_read_begin(rig, RIG_BAR2 + offset, size);
    memcpy(&read, rig_peer_receive(peer, FARSIDE_WIRE_READ)->body,
           sizeof(read));
    c.head.tag = read.tag;
    rig_peer_send(peer, FARSIDE_WIRE_COMPLETION, &c, sizeof(c.head) + size);
    rig_read_end(rig);
}

/* The far end reads from the device's machine. */
static void read_from_far(RigPeer *peer, uint64_t address, unsigned length,
                          uint16_t tag)
{
    struct farside_wire_read read = {.address = address,
                                     .length = length,
                                     .tag = tag,
                                     .requester_id = 0x0103};

    rig_peer_send(peer, FARSIDE_WIRE_READ, &read, sizeof(read));
    rig_peer_receive(peer, FARSIDE_WIRE_COMPLETION);
}

/*
 * The TLPs are written out here from PCIe 5.0: figures 2-17 and 2-18 (memory
 * requests), table 2-7 (byte enables), figure 2-44 (completions), s2.3.1.1
 * (byte count, lower address). The requester is 00:05.0.
 */
START_TEST(every_kind_with_its_fields)
{
    static const uint64_t entries[] = {0xfee00000, 0x1234560000};
    static const Expected expected[] = {
        /* Its only function with a name has no BAR yet. */
        {TRC_START,
         "00000000 00000028 0028 0006"
         "0000000000000000 0000000000000000 0000000000000000 0000000000000000"
         "0000000000000000 0000000000000000 0000000000000000 0000000000000000"
         "0000000000000000 0000000000000000 0000000000000000 0000000000000000"
         "6361626c6530 0000",
         0},
        {TRC_RAM, "00000001 00000000 0000000000100000 0000000003f00000", 0},
        {TRC_STATE, "00000001", 0},
        {TRC_LOCKED, "00000064 0040 0020*", 0},
        {TRC_CONFIGURED, "00000064 00000000 00000000 00000000", 0},
        /* One DW, all of it: an MSI */
        {TRC_MSI, "40000001 0028000f fee01004 21430000", RIG_BAR2 + 0x1004},
        /* One byte, the last of a DW */
        {TRC_MWR, "40000001 00280008 fee01004 000000ab", RIG_BAR2 + 0x1007},
        /* Two bytes in the middle of one */
        {TRC_MWR, "40000001 00280006 fee01004 00341200", RIG_BAR2 + 0x1005},
        /* Above 4 GiB: 4 DW; two DWs */
        {TRC_MWR, "60000002 002800ff 00000012 34560008 88776655 44332211",
         RIG_BAR2 + LUT_SIZE + 8},
        /* The same from the middle of a DW: three */
        {TRC_MWR,
         "60000003 0028003c 00000012 34560008 00008877 66554433 22110000",
         RIG_BAR2 + LUT_SIZE + 10},
        {TRC_MRD, "00000001 002800 0f fee00008", RIG_BAR2 + 8},
        {TRC_ARRIVAL, "00000002 00000004 0000000000000000", 0},
        {TRC_MRD, "20000002 002801 ff 00000012 34560010",
         RIG_BAR2 + LUT_SIZE + 16},
        {TRC_ARRIVAL, "00000002 00000008 0000000000000000", 0},
        /* Three bytes from the second on, tag 0x34 */
        {TRC_CPLD, "4a000001 00280003 01033401 00b2b3b4", 0},
        /* All of 4 KiB: Length and Byte Count are 0 */
        {TRC_CPLD, "4a000000 00280000 01033500 b1b2b3b4*", 0},
        /* Nothing: one DW, one byte */
        {TRC_CPLD, "4a000001 00280001 01033600 00000000", 0},
        /* Unsupported: no data, but the bytes that were asked for */
        {TRC_CPL, "0a000000 00282004 01033704", 0},
        {TRC_DOORBELL, "8000000500000000", 0},
        {TRC_MESSAGE, "00000001 0000beef", 0},
        {TRC_LOCK, "00000001", 0},
        {TRC_CONFIG, "00000001 0040 0020*", 0},
        {TRC_LOCK, "00000002", 0},
        {TRC_RELEASE, "00000002", 0},
        {TRC_RESET, "", 0},
        {TRC_ENABLE, "00000000", 0},
        {TRC_STATE, "00000000", 0},
        {TRC_STOP, "", 0},
    };
    g_autofree char *properties = g_strdup_printf("trace=%s", path);
    DeviceRig *rig = rig_new_with(NULL, properties, name_a);
    RigPeer *peer = rig_peer_new(rig);
    struct farside_wire_ctrl block = {0};
    struct farside_wire_configured configured = {0};
    struct farside_wire_lock lock;
    g_autofree char *answer = NULL;

    rig_peer_hello(peer);
    rig_wait_link(rig, 0, true);
    set_lut_from_far(peer, entries, 2);

    write_through(rig, peer, 0x1004, 4, 0x4321);
    write_through(rig, peer, 0x1007, 1, 0xab);
    write_through(rig, peer, 0x1005, 2, 0x1234);
    write_through(rig, peer, LUT_SIZE + 8, 8, 0x1122334455667788ull);
    write_through(rig, peer, LUT_SIZE + 10, 8, 0x1122334455667788ull);
    read_through(rig, peer, 8, 4);
    read_through(rig, peer, LUT_SIZE + 16, 8);

    rig_write(rig, 2 * MIB, 4, 0xb4b3b2b1);
    read_from_far(peer, 2 * MIB + 1, 3, 0x1234);
    read_from_far(peer, 2 * MIB, 4096, 0x35);
    read_from_far(peer, 2 * MIB, 0, 0x36);
    rig_config_write(rig, 0x04, 0x2);
    read_from_far(peer, 2 * MIB + 4, 4, 0x37);
    rig_config_write(rig, 0x04, 0x6);

    rig_write(rig, DBMSG + 0x1008, 8, UINT64_MAX);
    rig_write(rig, DBMSG + 0x1000, 8, 0x8000000500000000ull);
    rig_write(rig, DBMSG + 0x1070, 4, 0xbeef);

    rig_part_op(rig, 1, SWITCHTEC_OP_LOCK, SWITCHTEC_STATUS_LOCKING);
    memcpy(&lock, rig_peer_receive(peer, FARSIDE_WIRE_LOCK)->body,
           sizeof(lock));
    block.lock_id = lock.id;
    rig_peer_send(peer, FARSIDE_WIRE_LOCKED, &block, sizeof(block));
    rig_wait_for(rig, CTRL0 + 0x2000, 4, SWITCHTEC_STATUS_LOCKED);
    rig_part_op(rig, 1, SWITCHTEC_OP_CFG, SWITCHTEC_STATUS_CONFIGURING);
    configured.lock_id = lock.id;
    rig_peer_send(peer, FARSIDE_WIRE_CONFIGURED, &configured,
                  sizeof(configured));
    rig_wait_for(rig, CTRL0 + 0x2000, 4, SWITCHTEC_STATUS_NORMAL);
    rig_part_op(rig, 1, SWITCHTEC_OP_LOCK, SWITCHTEC_STATUS_LOCKING);
    rig_part_op(rig, 1, SWITCHTEC_OP_RESET, SWITCHTEC_STATUS_NORMAL);

    rig_reset(rig);
    answer = rig_set(rig, "enabled", "false");
    ck_assert(!strstr(answer, "\"error\""));
    trace_off(rig);
    check_records(expected, G_N_ELEMENTS(expected));
    check_with_capinfos();
    rig_peer_free(peer);
    rig_free(rig);
}
END_TEST

static TrcRecord find_record(const TrcFile *file, unsigned interface,
                             TrcKind kind)
{
    for (size_t i = 0; i < trc_file_n_records(file); i++) {
        TrcRecord record;

        trc_file_record(file, i, &record);
        if (record.interface == interface && record.kind == kind) {
            return record;
        }
    }
    ck_abort_msg("no %s of end %u", trc_kind_name(kind), interface);
}

/* The receiver tells when the other one's packets have arrived, and both tell
 * which functions they have. */
START_TEST(arrivals_and_functions)
{
    Pair pair = pair_make(false, "");

    trace_on(pair.rig[0]);
    trace_on(pair.rig[1]);
    rig_write(pair.rig[0], RIG_BAR2 + 24, 8, 2);
    ck_assert_uint_eq(rig_read(pair.rig[0], RIG_BAR2 + 24, 8), 2);
    rig_write(pair.rig[0], DBMSG + 0x1008, 8, UINT64_MAX);
    rig_write(pair.rig[0], DBMSG + 0x1000, 8, 0x20);
    trace_off(pair.rig[0]);
    trace_off(pair.rig[1]);
    {
        g_autoptr(TrcFile) file = read_whole();
        TrcRecord arrived = find_record(file, 1, TRC_ARRIVAL);
        TrcRecord sent = find_record(file, 0, TRC_MWR);
        TrcRecord asked = find_record(file, 0, TRC_MRD);
        TrcArrival arrival;
        TrcFunction function;

        ck_assert(trc_record_arrival(&arrived, &arrival));
        ck_assert_uint_eq(arrival.what, TRC_ARRIVED_WRITE);
        ck_assert_uint_eq(arrival.address, 2 * MIB + 24);
        ck_assert_uint_eq(arrival.bytes, 8);
        ck_assert_int_ge(arrived.time_ns, sent.time_ns);
        arrived = find_record(file, 0, TRC_ARRIVAL);
        ck_assert(trc_record_arrival(&arrived, &arrival));
        ck_assert_uint_eq(arrival.what, TRC_ARRIVED_COMPLETION);
        ck_assert_uint_eq(arrived.transaction, asked.transaction);
        ck_assert_int_ge(arrived.time_ns,
                         find_record(file, 1, TRC_CPLD).time_ns);
        /* The write, the doorbell, and the completion of the read that waits
         * for writes when the trace ends */
        ck_assert_uint_eq(count_of(file, 1, TRC_ARRIVAL), 3);
        for (unsigned i = 0; i < 2; i++) {
            TrcRecord start = find_record(file, i, TRC_START);

            ck_assert_uint_eq(trc_record_n_functions(&start), 1);
            trc_record_function(&start, 0, &function);
            ck_assert_str_eq(function.name, "cable0");
            ck_assert_uint_eq(function.requester_id, 0x28);
            ck_assert_uint_eq(function.bar[0].address, RIG_BAR0);
            ck_assert_uint_eq(function.bar[2].address, RIG_BAR2);
            ck_assert_uint_eq(function.bar[1].size, 0);
        }
    }
    pair_done(&pair);
}
END_TEST

/* ---- On and off --------------------------------------------------------- */

START_TEST(windows_onto_memory_are_traced_and_are_direct_again)
{
    Pair pair = pair_make(true, "");
    uint8_t *far = rig_ram(pair.rig[1]);

    rig_write(pair.rig[0], RIG_BAR2 + 16, 8, 1);
    ck_assert_uint_eq(cable_count(pair.cable, FARSIDE_WIRE_WRITE), 0);
    trace_on(pair.rig[0]);
    rig_write(pair.rig[0], RIG_BAR2 + 24, 8, 2);
    ck_assert_uint_eq(rig_read(pair.rig[0], RIG_BAR2 + 16, 8), 1);
    ck_assert_uint_eq(rig_read(pair.rig[0], RIG_BAR2 + 24, 8), 2);
    ck_assert_uint_eq(cable_count(pair.cable, FARSIDE_WIRE_WRITE), 1);
    ck_assert_uint_eq(cable_count(pair.cable, FARSIDE_WIRE_READ), 2);
    trace_off(pair.rig[0]);
    rig_write(pair.rig[0], RIG_BAR2 + 32, 8, 3);
    ck_assert_uint_eq(cable_count(pair.cable, FARSIDE_WIRE_WRITE), 1);
    ck_assert_uint_eq(*(uint64_t *)(far + 2 * MIB + 16), 1);
    ck_assert_uint_eq(*(uint64_t *)(far + 2 * MIB + 24), 2);
    ck_assert_uint_eq(*(uint64_t *)(far + 2 * MIB + 32), 3);
    {
        g_autoptr(TrcFile) file = read_whole();
        TrcFile *files[] = {file};
        g_autoptr(TrcMerge) merge = trc_merge_new(files, 1);
        TrcCrossing crossing;

        check_nothing_lost(file);
        ck_assert_str_eq(trc_file_interface(file, 0)->name, "a:cable0");
        ck_assert_str_eq(trc_file_interface(file, 1)->name, "peer:cable0");
        ck_assert_uint_eq(count_of(file, 0, TRC_MWR), 1);
        /* The two reads, and the one that waits for the write. */
        ck_assert_uint_eq(count_of(file, 0, TRC_MRD), 3);
        trc_merge_crossing(merge, 1, &crossing);
        ck_assert_int_eq(crossing.record.kind, TRC_MWR);
        ck_assert_uint_eq(crossing.record.address, 2 * MIB + 24);
        ck_assert_uint_eq(crossing.record.near, RIG_BAR2 + 24);
        ck_assert_uint_eq(crossing.record.data_size, 8);
        ck_assert_uint_eq(crossing.record.data[0], 2);
    }
    pair_done(&pair);
}
END_TEST

static void *trace_off_in_thread(void *rig)
{
    trace_off(rig);
    return NULL;
}

/* Turning the trace off waits until earlier writes have arrived. Only then may
 * a write go directly to memory. */
START_TEST(off_waits_for_posted_writes)
{
    Pair pair = pair_make(true, "");
    volatile uint64_t *far =
        (volatile uint64_t *)(rig_ram(pair.rig[1]) + 2 * MIB);
    GThread *thread;
    unsigned i;

    trace_on(pair.rig[0]);
    cable_stall(pair.cable, false, true);
    for (i = 0; i < 50; i++) {
        rig_write(pair.rig[0], RIG_BAR2 + 16 * i, 8, i + 1);
    }
    ck_assert_uint_eq(far[0], 0);
    /* The command does not return before the cable carries again. */
    rig_qmp(pair.rig[0], "{\"execute\": \"query-name\"}");
    thread = g_thread_new("off", trace_off_in_thread, pair.rig[0]);
    g_usleep(100000);
    ck_assert_uint_eq(far[0], 0);
    cable_stall(pair.cable, false, false);
    g_thread_join(thread);
    for (i = 0; i < 50; i++) {
        ck_assert_uint_eq(far[2 * i], i + 1);
    }
    pair_done(&pair);
}
END_TEST

typedef struct Traffic {
    DeviceRig *rig;
    unsigned count;
    uint64_t value;
} Traffic;

/* Writes each value to one common place, and to a place of its own. */
static void *write_traffic(void *data)
{
    Traffic *traffic = data;

    for (unsigned i = 0; i < traffic->count; i++) {
        GString *batch = g_string_new(NULL);
        uint64_t value = traffic->value + i;

        g_string_append_printf(
            batch, "writeq 0x%llx 0x%" PRIx64 "\nwriteq 0x%llx 0x%" PRIx64 "\n",
            RIG_BAR2 + 64 + 8 * (i % 4096), value, RIG_BAR2, value);
        rig_batch(traffic->rig, batch->str, 2);
        g_string_free(batch, TRUE);
    }
    return NULL;
}

/* The values that the trace has for the common place rise. */
static unsigned check_values_rise(const TrcFile *file, unsigned interface)
{
    uint64_t last = 0;
    unsigned count = 0;

    for (size_t i = 0; i < trc_file_n_records(file); i++) {
        TrcRecord record;
        uint64_t value;

        trc_file_record(file, i, &record);
        if (record.interface != interface || record.kind != TRC_MWR) {
            continue;
        }
        ck_assert_uint_eq(record.data_size, 8);
        memcpy(&value, record.data, 8);
        ck_assert_uint_ge(value, last);
        last = value;
        count++;
    }
    return count;
}

START_TEST(on_and_off_under_traffic_of_both)
{
    enum {
        COUNT = 4000,
        TIMES = 25
    };
    Pair pair = pair_make(false, "");
    Traffic traffic[2];
    GThread *threads[2];

    for (unsigned i = 0; i < 2; i++) {
        traffic[i] = (Traffic){pair.rig[i], COUNT, 1000000 * (i + 1)};
        threads[i] = g_thread_new("traffic", write_traffic, &traffic[i]);
    }
    for (unsigned i = 0; i < TIMES; i++) {
        trace_on(pair.rig[i % 2]);
        g_usleep(3000);
        trace_on(pair.rig[1 - i % 2]);
        g_usleep(3000);
        trace_off(pair.rig[i % 2]);
        trace_off(pair.rig[1 - i % 2]);
    }
    for (unsigned i = 0; i < 2; i++) {
        g_thread_join(threads[i]);
    }
    for (unsigned i = 0; i < 2; i++) {
        const uint64_t *far =
            (const uint64_t *)(rig_ram(pair.rig[1 - i]) + 2 * MIB);

        ck_assert_uint_eq(far[0], traffic[i].value + COUNT - 1);
        for (unsigned j = 0; j < COUNT; j++) {
            ck_assert_uint_eq(far[8 + j], traffic[i].value + j);
        }
    }
    {
        g_autoptr(TrcFile) file = read_whole();

        check_nothing_lost(file);
        for (unsigned i = 0; i < 2; i++) {
            ck_assert_uint_eq(count_of(file, i, TRC_START), TIMES);
            ck_assert_uint_eq(count_of(file, i, TRC_STOP), TIMES);
            ck_assert_uint_gt(check_values_rise(file, i), 0);
        }
        check_with_capinfos();
    }
    pair_done(&pair);
}
END_TEST

/* ---- Faults of the file ------------------------------------------------- */

START_TEST(two_writers_make_one_valid_file)
{
    enum {
        COUNT = 3000
    };
    g_autofree char *properties = g_strdup_printf(",trace=%s", path);
    Pair pair = pair_make(false, properties);
    Traffic traffic[2];
    GThread *threads[2];

    for (unsigned i = 0; i < 2; i++) {
        traffic[i] = (Traffic){pair.rig[i], COUNT, 1};
        threads[i] = g_thread_new("traffic", write_traffic, &traffic[i]);
    }
    for (unsigned i = 0; i < 2; i++) {
        g_thread_join(threads[i]);
        ck_assert_uint_eq(rig_read(pair.rig[i], RIG_BAR2, 8), COUNT);
    }
    trace_off(pair.rig[0]);
    trace_off(pair.rig[1]);
    {
        g_autoptr(TrcFile) file = read_whole();

        check_nothing_lost(file);
        for (unsigned i = 0; i < 2; i++) {
            ck_assert_uint_eq(check_values_rise(file, i), 2 * COUNT);
        }
        check_with_capinfos();
    }
    pair_done(&pair);
}
END_TEST

/* Leaves half a block, as a process that was killed may. */
START_TEST(half_a_block_is_cut_off)
{
    static const uint32_t half[] = {6, 4000, 0, 1, 2, 3};
    DeviceRig *rig = rig_new_with(NULL, "", name_a);
    int fd;

    trace_on(rig);
    wait_for_records(0, TRC_START, 1);
    fd = open(path, O_WRONLY | O_APPEND);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, half, sizeof(half)), sizeof(half));
    close(fd);
    trace_off(rig);
    {
        g_autoptr(TrcFile) file = read_whole();

        ck_assert_uint_eq(trc_file_n_records(file), 2);
        check_nothing_lost(file);
    }
    check_with_capinfos();
    rig_free(rig);
}
END_TEST

START_TEST(a_killed_writer_leaves_a_valid_file)
{
    enum {
        COUNT = 2000
    };
    g_autofree char *properties = g_strdup_printf(",trace=%s", path);

    for (unsigned i = 0; i < 3; i++) {
        Pair pair = pair_make(false, properties);
        Traffic traffic = {pair.rig[0], COUNT, 1};

        write_traffic(&traffic);
        /* SIGKILL: the process cannot write the packets that wait. */
        rig_free(pair.rig[0]);
        pair.rig[0] = NULL;
        trace_off(pair.rig[1]);
        pair_done(&pair);
        {
            g_autoptr(TrcFile) file = read_whole();

            check_nothing_lost(file);
            ck_assert_uint_eq(count_of(file, 1, TRC_STOP), i + 1);
            ck_assert_uint_ge(count_of(file, 0, TRC_START), i + 1);
        }
    }
}
END_TEST

static void limit_file_size(DeviceRig *rig, rlim_t size)
{
    struct rlimit limit = {.rlim_cur = size, .rlim_max = RLIM_INFINITY};

    ck_assert_int_eq(prlimit(rig_pid(rig), RLIMIT_FSIZE, &limit, NULL), 0);
}

/*
 * A file that cannot grow stands for a full disk. It stays valid. Packets that
 * wait are written when it can grow again, and the statistics count those that
 * were dropped.
 */
START_TEST(full_disk_loses_nothing_silently)
{
    Pair pair = pair_make(false, "");
    Traffic traffic = {pair.rig[0], 100, 1};
    GStatBuf st;
    uint64_t told;

    trace_on(pair.rig[0]);
    write_traffic(&traffic);
    wait_for_records(0, TRC_MWR, 200);
    ck_assert_int_eq(g_stat(path, &st), 0);

    /* A few packets wait, and are written later. */
    limit_file_size(pair.rig[0], st.st_size + 1000);
    traffic.value += traffic.count;
    write_traffic(&traffic);
    g_usleep(100000);
    {
        g_autoptr(TrcFile) file = read_whole();

        ck_assert_uint_lt(count_of(file, 0, TRC_MWR), 400);
    }
    limit_file_size(pair.rig[0], RLIM_INFINITY);
    wait_for_records(0, TRC_MWR, 400);

    /* More packets than may wait. */
    ck_assert_int_eq(g_stat(path, &st), 0);
    limit_file_size(pair.rig[0], st.st_size);
    traffic.value += traffic.count;
    traffic.count = 110000;
    write_traffic(&traffic);
    limit_file_size(pair.rig[0], RLIM_INFINITY);
    trace_off(pair.rig[0]);
    {
        g_autoptr(TrcFile) file = read_whole();

        told = trc_file_interface(file, 0)->dropped;
        ck_assert_uint_gt(told, 0);
        /* START, the writes, the read that waits for them, its completion,
         * STOP */
        ck_assert_uint_eq(trc_file_n_records(file) + told,
                          1 + 400 + 2 * traffic.count + 1 + 1 + 1);
        check_values_rise(file, 0);
        /* Packets dropped at the end of the trace are not counted as missing.
         */
        ck_assert_uint_le(trc_file_interface(file, 0)->missing, told);
    }
    check_with_capinfos();
    pair_done(&pair);
}
END_TEST

START_TEST(other_files_are_left_alone)
{
    static const char text[] = "not a trace, and precious to somebody";
    DeviceRig *rig = rig_new_with(NULL, "", name_a);
    g_autofree char *fifo = g_build_filename(folder, "fifo", NULL);
    g_autofree char *missing = g_build_filename(folder, "no", "such", NULL);
    g_autofree char *back = NULL;
    const char *const places[] = {path, folder, fifo, missing};
    const char *const reasons[] = {"is not a pcapng file", "cannot open",
                                   "is not a regular file", "cannot open"};

    ck_assert(g_file_set_contents(path, text, -1, NULL));
    ck_assert_int_eq(mkfifo(fifo, 0600), 0);
    for (unsigned i = 0; i < G_N_ELEMENTS(places); i++) {
        g_autofree char *answer = set_trace(rig, places[i]);

        ck_assert_msg(strstr(answer, reasons[i]), "%s", answer);
    }
    g_unlink(fifo);
    ck_assert(g_file_get_contents(path, &back, NULL, NULL));
    ck_assert_str_eq(back, text);
    rig_free(rig);
}
END_TEST

START_TEST(names_and_snaplen_are_the_files)
{
    static const char *const names[] = {"left:c", "right:c"};
    Pair pair = pair_make(false, "");
    TrcRecord record;
    unsigned i;

    ck_assert(trc_file_create(path, names, 64, NULL));
    trace_on(pair.rig[0]);
    open_window(pair.rig[1], 0, 4 * MIB);
    trace_off(pair.rig[0]);
    {
        g_autoptr(TrcFile) file = read_whole();

        check_nothing_lost(file);
        ck_assert_str_eq(trc_file_interface(file, 0)->name, "left:c");
        ck_assert_str_eq(trc_file_interface(file, 1)->name, "right:c");
        for (i = 0; i < trc_file_n_records(file); i++) {
            trc_file_record(file, i, &record);
            if (record.kind == TRC_LOCKED) {
                break;
            }
        }
        ck_assert_uint_lt(i, trc_file_n_records(file));
        ck_assert_uint_eq(record.data_size, 64 - HEAD_SIZE);
        /* Head, 6 BARs, 64 entries, 32 requester IDs */
        ck_assert_uint_eq(record.data_size + record.data_lost,
                          8 + 6 * 24 + 64 * 8 + 32 * 4);
    }
    pair_done(&pair);
}
END_TEST

static Suite *make_suite(void)
{
    Suite *suite = suite_create("device_trace");
    TCase *tcase = tcase_create("trace");

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_set_timeout(tcase, 120);
    tcase_add_test(tcase, every_kind_with_its_fields);
    tcase_add_test(tcase, arrivals_and_functions);
    tcase_add_test(tcase, windows_onto_memory_are_traced_and_are_direct_again);
    tcase_add_test(tcase, off_waits_for_posted_writes);
    tcase_add_test(tcase, on_and_off_under_traffic_of_both);
    tcase_add_test(tcase, two_writers_make_one_valid_file);
    tcase_add_test(tcase, half_a_block_is_cut_off);
    tcase_add_test(tcase, a_killed_writer_leaves_a_valid_file);
    tcase_add_test(tcase, full_disk_loses_nothing_silently);
    tcase_add_test(tcase, other_files_are_left_alone);
    tcase_add_test(tcase, names_and_snaplen_are_the_files);
    suite_add_tcase(suite, tcase);
    return suite;
}

int main(void)
{
    /* QEMU, too, gets an error from write() at the limit, and no signal. */
    signal(SIGXFSZ, SIG_IGN);
    return run_suite(make_suite());
}
