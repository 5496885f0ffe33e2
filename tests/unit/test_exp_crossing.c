/* SPDX-License-Identifier: MIT */
/*
 * The model of a timed cluster. Invariants: an access on an idle fabric takes
 * the time that `farside path` finds with one TLP of its own; a late answer
 * delays a completion by as much; reads and completions do not pass writes;
 * nothing arrives before the bounds that were told; stores of two CPUs share a
 * narrow link; what was computed in one step or in many is the same; each of
 * several cables between two hosts has its own time; a link that is down loses
 * what is on it, and nothing else, also if another link needs long; and of the
 * other faults the fabric has those of links, but not those that machines see.
 * The path itself is the closed form, also in FLIT mode and into a node of RAM.
 */
#include "exp_crossing.h"
#include <string.h>

#include "exp_path.h"
#include "topo_test.h"
#include "../suite.h"

#define PAIR    TEST_FILE("tests/timed/pair.yaml")
#define THREE   TEST_FILE("tests/timed/three.yaml")
#define FAULTS  TEST_FILE("tests/timed/faults.yaml")
/* The fault `cut` of that file: `at`, `for` and `training` */
#define CUT_NS  INT64_C(4200000457)
#define UP_NS   (CUT_NS + 30000 + 20000)
/* Of RAM that is at work, in a host of either file */
#define ADDRESS 0x8000000
#define IDS     8192
#define LATER   100000 /* ns until the fabric is idle again */

typedef struct Rig {
    TopoDescription *description;
    ExpCrossings *crossings;
    int64_t arrived[IDS], accepted[IDS]; /* by id; -1: not yet */
    int64_t lost[IDS];
    unsigned order[IDS], count; /* ids in the order of arrival */
    int64_t bound;              /* what was told before the present step */
} Rig;

static void on_arrived(void *owner, unsigned link, unsigned end, uint64_t id,
                       int64_t time)
{
    Rig *rig = owner;

    ck_assert_int_ge(time, rig->bound);
    ck_assert_int_eq(rig->arrived[id], -1);
    rig->arrived[id] = time;
    rig->order[rig->count++] = (unsigned)id;
}

static void on_lost(void *owner, unsigned link, unsigned end, uint64_t id,
                    int64_t time)
{
    Rig *rig = owner;

    ck_assert_int_eq(rig->arrived[id], -1);
    ck_assert_int_eq(rig->lost[id], -1);
    rig->lost[id] = time;
}

static void on_accepted(void *owner, unsigned host, uint64_t id, int64_t time)
{
    Rig *rig = owner;

    rig->accepted[id] = time;
}

/* @file names the text in messages. @changes is nullable. */
static Rig *rig_of_text(const char *file, const char *text,
                        const GPtrArray *changes)
{
    static const ExpCrossingsOps ops = {
        .arrived = on_arrived, .lost = on_lost, .accepted = on_accepted};
    g_autoptr(TopoErrors) errors = topo_errors_new();
    Rig *rig = g_new0(Rig, 1);
    GError *error = NULL;

    rig->description =
        topo_load_buffer(file, text, strlen(text), TEST_FILE("scenarios/parts"),
                         changes, errors);
    if (!rig->description) {
        ck_abort_msg("%s", topo_errors_to_string(errors));
    }
    rig->crossings = exp_crossings_new(rig->description, &ops, rig, &error);
    ck_assert_msg(rig->crossings, "%s", error ? error->message : "");
    for (unsigned i = 0; i < IDS; i++) {
        rig->arrived[i] = rig->accepted[i] = rig->lost[i] = -1;
    }
    return rig;
}

/* With @faults, members of `faults`, or NULL, and @changes (nullable). */
static Rig *rig_changed(const char *file, const char *faults,
                        const GPtrArray *changes)
{
    g_autofree char *head = NULL, *text = NULL;

    ck_assert(g_file_get_contents(file, &head, NULL, NULL));
    text = g_strconcat(head, faults ? "faults:\n" : "", faults, NULL);
    return rig_of_text(file, text, changes);
}

static Rig *rig_with(const char *file, const char *faults)
{
    return rig_changed(file, faults, NULL);
}

static Rig *rig_new(const char *file)
{
    return rig_with(file, NULL);
}

static void rig_free(Rig *rig)
{
    exp_crossings_free(rig->crossings);
    topo_description_free(rig->description);
    g_free(rig);
}

static void run_to(Rig *rig, int64_t until)
{
    do {
        rig->bound = exp_crossings_next(rig->crossings);
    } while (exp_crossings_run(rig->crossings, until));
}

static void enter(Rig *rig, ExpCrossing crossing)
{
    run_to(rig, crossing.time);
    crossing.address = crossing.address ? crossing.address : ADDRESS;
    crossing.bytes = crossing.bytes ? crossing.bytes : 4;
    exp_crossings_enter(rig->crossings, &crossing);
}

/* The time of one TLP by `farside path`, rounded up. */
static int64_t path_ns(const Rig *rig, const char *from, const char *to,
                       bool is_read)
{
    const TopoHost *b = rig->description->hosts->pdata[1];
    ExpPathRequest request = {
        .from = {.kind = TOPO_TARGET_CPU,
                 .host = rig->description->hosts->pdata[0],
                 .bar = -1},
        .to = {.kind = TOPO_TARGET_RAM, .host = (TopoHost *)b, .bar = -1},
        .is_read = is_read,
        .size_bytes = 4,
    };
    GError *error = NULL;
    g_autoptr(ExpPath) path = NULL;

    if (from) {
        request.from.kind = TOPO_TARGET_DEVICE;
        request.from.device = topo_find_device(rig->description, from);
    }
    if (to) {
        request.to.kind = TOPO_TARGET_DEVICE;
        request.to.device = topo_find_device(rig->description, to);
    }
    path = exp_path_new(rig->description, &request, &error);
    ck_assert_msg(path, "%s", error ? error->message : "");
    return (path->time_ps + 999) / 1000;
}

/* The time of a path in the description @text, in ps. */
static int64_t path_of_text(const char *text, const char *from, const char *to,
                            bool is_read, uint32_t bytes)
{
    Rig *rig = rig_of_text("t.yaml", text, NULL);
    ExpPathRequest request = {.is_read = is_read, .size_bytes = bytes};
    GError *error = NULL;
    g_autoptr(ExpPath) path = NULL;
    int64_t time_ps;

    ck_assert(topo_find_target(rig->description, from, &request.from, &error));
    ck_assert(topo_find_target(rig->description, to, &request.to, &error));
    path = exp_path_new(rig->description, &request, &error);
    ck_assert_msg(path, "%s", error ? error->message : "");
    time_ps = path->time_ps;
    rig_free(rig);
    return time_ps;
}

/* Times are rounded up to ns, and links carry remainders of less. */
static void assert_near(int64_t got, int64_t wanted)
{
    ck_assert_int_ge(got, wanted - 1);
    ck_assert_int_le(got, wanted + 1);
}

/* A write; then a read that is answered @late ns after its arrival. */
static void check_access(const char *from, const char *to, int64_t late)
{
    Rig *rig = rig_new(PAIR);
    ExpCrossing access = {.device = from ? "edu" : NULL, .time = 1000};
    int64_t written = path_ns(rig, from, to, false);
    int64_t read = path_ns(rig, from, to, true);

    if (to) {
        exp_crossings_place(rig->crossings, 1, ADDRESS, "edu", 0, 0);
    }
    enter(rig, access);
    run_to(rig, access.time + LATER);
    assert_near(rig->arrived[0], access.time + written);

    access = (ExpCrossing){.kind = EXP_CROSSING_READ,
                           .device = access.device,
                           .time = access.time + LATER,
                           .tag = 7,
                           .id = 1};
    enter(rig, access);
    rig->bound = 0;
    while (rig->arrived[1] < 0) {
        exp_crossings_run(rig->crossings, INT64_MAX);
    }
    ck_assert_int_gt(rig->arrived[1], access.time);
    ck_assert_int_lt(rig->arrived[1], access.time + read);
    enter(rig, (ExpCrossing){.kind = EXP_CROSSING_COMPLETION,
                             .end = 1,
                             .time = rig->arrived[1] + late,
                             .tag = 7,
                             .id = 2});
    run_to(rig, access.time + LATER + late);
    assert_near(rig->arrived[2], access.time + read + late);
    rig_free(rig);
}

START_TEST(an_access_takes_the_time_of_its_path)
{
    check_access(NULL, NULL, 0);
    check_access(NULL, "b.edu", 0);
    check_access("a.edu", NULL, 0);
    check_access("a.edu", "b.edu", 0);
}
END_TEST

START_TEST(a_late_answer_delays_the_completion)
{
    check_access(NULL, NULL, 30);
    check_access(NULL, NULL, 5000);
    check_access("a.edu", "b.edu", 5000);
}
END_TEST

/* An x1 link at 64.0GT/s carries a flit in 32 ns, and a write of 256 B takes
 * two. Then come FEC, and 2 TB/s of the RAM. */
START_TEST(a_path_in_flit_mode_begins_with_a_flit)
{
    static const unsigned fecs[] = {0, 2, 20, 90};

    for (unsigned i = 0; i < G_N_ELEMENTS(fecs); i++) {
        g_autofree char *text = g_strdup_printf(
            "name: t\n"
            "parts:\n"
            "  cpu: {base: generic-host, fec: %uns, root_ports: [{name: rp0,\n"
            "        speed: 64.0GT/s, width: x1}]}\n"
            "  device: {base: generic-device, speed: 64.0GT/s}\n"
            "hosts:\n"
            "  - {name: h, cpu: cpu, devices: [{name: d, part: device,\n"
            "     at: rp0}]}\n",
            fecs[i]);

        ck_assert_int_eq(path_of_text(text, "h.d", "h.ram", false, 4),
                         32002 + fecs[i] * 1000);
        ck_assert_int_eq(path_of_text(text, "h.d", "h.ram", false, 256),
                         64128 + fecs[i] * 1000);
    }
}
END_TEST

/* MRd of 24 B and CplD of 16 B with their framing, 100 ns of memory, and to the
 * other node 70 ns in each direction and 4 B at 20 GB/s. */
START_TEST(a_path_ends_in_the_node_that_is_named)
{
    static const char text[] =
        "name: t\n"
        "parts:\n"
        "  cpu: {base: generic-host, nodes: {latency: 70ns, bandwidth: 20GB/s},\n"
        "        root_ports: [{name: rp0, speed: 16.0GT/s, width: x16},\n"
        "                     {name: rp1, speed: 16.0GT/s, width: x16, node: 1}]}\n"
        "hosts:\n"
        "  - {name: h, cpu: cpu, devices: [{name: d, part: generic-device,\n"
        "     at: rp0}]}\n";
    int64_t near = path_of_text(text, "h.d", "h.ram.node0", true, 4);
    int64_t far = path_of_text(text, "h.d", "h.ram.node1", true, 4);

    ck_assert_int_ge(near, 101523);
    ck_assert_int_le(near, 101524);
    ck_assert_int_eq(far - near, 2 * 70000 + 200);
}
END_TEST

#define ADAPTER "part: idt-ntb"
#define CABLE   "{name: z, part: generic-ntb, at: rp1}"

/* Links come first, then the pairs of the chip's hosts. */
START_TEST(each_two_hosts_of_a_chip_have_a_way)
{
    static const struct {
        unsigned from, to, link, end;
    } ways[] = {{0, 1, 1, 0}, {1, 0, 1, 1}, {0, 2, 2, 0},
                {2, 0, 2, 1}, {1, 2, 3, 0}, {2, 1, 3, 1}};
    static const char text[] =
        "name: t\n"
        "hosts:\n"
        "  - {name: h0, cpu: generic-host, devices: [{name: n, " ADAPTER
        ", at: rp0}, " CABLE "]}\n"
        "  - {name: h1, cpu: generic-host, devices: [{name: n, " ADAPTER
        ", at: rp0}, " CABLE "]}\n"
        "  - {name: h2, cpu: generic-host, devices: [{name: n, " ADAPTER
        ", at: rp0}]}\n"
        "chips: [{name: s, chip: idt-89hpes32nt8ag2, ends: [h2.n, h0.n, "
        "h1.n]}]\n"
        "links: [{name: c, ends: [h0.z, h1.z], length: 400m}]\n";
    static const unsigned partitions[] = {2, 0, 1}; /* hosts by partition */
    Rig *rig = rig_of_text("t.yaml", text, NULL);
    int64_t least[4], time = 1000;
    GError *error = NULL;

    ck_assert(exp_crossings_least(rig->description, least, &error));
    /* The cable alone takes 5 ns for each metre. */
    ck_assert_int_ge(least[0], 400 * 5);
    for (unsigned i = 0; i < G_N_ELEMENTS(ways); i++, time += LATER) {
        GPtrArray *hosts = rig->description->hosts;
        ExpPathRequest request = {
            .from = {.kind = TOPO_TARGET_CPU,
                     .host = hosts->pdata[partitions[ways[i].from]],
                     .bar = -1},
            .to = {.kind = TOPO_TARGET_RAM,
                   .host = hosts->pdata[partitions[ways[i].to]],
                   .bar = -1},
            .size_bytes = 4,
        };
        g_autoptr(ExpPath) path =
            exp_path_new(rig->description, &request, &error);

        ck_assert_msg(path, "%s", error ? error->message : "");
        enter(rig, (ExpCrossing){.link = ways[i].link,
                                 .end = ways[i].end,
                                 .time = time,
                                 .id = i});
        run_to(rig, time + LATER / 2);
        assert_near(rig->arrived[i], time + (path->time_ps + 999) / 1000);
        ck_assert_int_lt(rig->arrived[i], time + 400 * 5);
        ck_assert_int_le(least[ways[i].link], rig->arrived[i] - time);
    }
    rig_free(rig);
}
END_TEST

/* The link is busy with a burst of writes when a read follows them. */
START_TEST(a_read_does_not_pass_writes)
{
    Rig *rig = rig_new(THREE);
    unsigned i;

    for (i = 0; i < 20; i++) {
        enter(rig, (ExpCrossing){.time = 1000 + 10 * i, .bytes = 64, .id = i});
    }
    enter(rig, (ExpCrossing){.kind = EXP_CROSSING_READ, .time = 1300, .id = i});
    run_to(rig, LATER);
    ck_assert_uint_eq(rig->count, 21);
    for (i = 0; i < 21; i++) {
        ck_assert_uint_eq(rig->order[i], i);
    }
    rig_free(rig);
}
END_TEST

/* One CPU that issues its next store when the last one has left it. Returns the
 * time at which that was so of the last one. */
static int64_t store_lines(Rig *rig, const unsigned *links, unsigned cpus,
                           unsigned count)
{
    unsigned issued[2] = {0}, last[2];
    int64_t now = 1000;

    for (unsigned i = 0; i < cpus; i++) {
        last[i] = i * count;
        enter(rig, (ExpCrossing){.link = links[i],
                                 .time = now,
                                 .bytes = 64,
                                 .wants_accept = true,
                                 .id = last[i]});
    }
    rig->bound = 0;
    while (issued[0] + 1 < count || (cpus > 1 && issued[1] + 1 < count)) {
        exp_crossings_run(rig->crossings, INT64_MAX);
        for (unsigned i = 0; i < cpus; i++) {
            if (rig->accepted[last[i]] < 0 || issued[i] + 1 == count) {
                continue;
            }
            now = rig->accepted[last[i]];
            issued[i]++;
            last[i]++;
            enter(rig, (ExpCrossing){.link = links[i],
                                     .time = now,
                                     .bytes = 64,
                                     .wants_accept = true,
                                     .address = ADDRESS + issued[i] % 64 * 64,
                                     .id = last[i]});
        }
    }
    run_to(rig, now + LATER);
    for (unsigned i = 0; i < cpus; i++) {
        now = MAX(now, rig->accepted[last[i]]);
    }
    return now - 1000;
}

/* A TLP with 64 bytes has 12 of header (the address is below 4 GiB) or 16, 2 of
 * sequence number, 4 of LCRC and 2 of framing, and each byte takes 4 ns on a
 * lane at 2.5 GT/s with 8b/10b. */
START_TEST(stores_share_a_narrow_link)
{
    static const unsigned both[] = {0, 1};
    const unsigned count = 1000;
    const int64_t line = 4 * (64 + 16 + 2 + 4 + 2);

    for (unsigned cpus = 1; cpus <= 2; cpus++) {
        int64_t ns[2];

        for (unsigned i = 0; i < 2; i++) {
            Rig *rig = rig_new(THREE);

            ns[i] = store_lines(rig, both, cpus, (i + 1) * count);
            rig_free(rig);
        }
        /* Buffers on the way take the first lines. What follows goes at the
         * rate of the link, of which DLLPs need some. */
        ck_assert_int_ge(ns[1] - ns[0], cpus * line * count * 98 / 100);
        ck_assert_int_le(ns[1] - ns[0], cpus * line * count * 105 / 100);
    }
}
END_TEST

START_TEST(a_store_on_an_idle_link_takes_the_cost_of_the_core)
{
    static const unsigned link = 0;
    Rig *rig = rig_new(PAIR);

    ck_assert_int_eq(store_lines(rig, &link, 1, 100), 100 * 50);
    rig_free(rig);
}
END_TEST

START_TEST(steps_do_not_matter)
{
    Rig *one = rig_new(THREE), *many = rig_new(THREE);

    for (unsigned i = 0; i < 200; i++) {
        ExpCrossing crossing = {
            .kind = i % 7 == 3 ? EXP_CROSSING_READ : EXP_CROSSING_WRITE,
            .link = i * 5 % 2,
            .time = 1000 + 61 * (int64_t)i,
            .bytes = i % 3 ? 64 : 4,
            .tag = i,
            .id = i,
        };

        for (int64_t t = crossing.time - 60; t < crossing.time; t += 3) {
            run_to(many, t);
        }
        enter(one, crossing);
        enter(many, crossing);
    }
    run_to(one, LATER * 10);
    run_to(many, LATER * 10);
    ck_assert_uint_eq(one->count, 200);
    ck_assert_mem_eq(one->arrived, many->arrived, sizeof(one->arrived));
    ck_assert_mem_eq(one->order, many->order, sizeof(one->order));
    rig_free(one);
    rig_free(many);
}
END_TEST

/* A write that has passed the link when it goes down, or begins when it is up
 * again, takes its usual time. One that begins while it is down is lost. */
START_TEST(a_link_that_is_down_loses_what_is_on_it)
{
    Rig *rig = rig_new(FAULTS);
    int64_t usual = path_ns(rig, NULL, NULL, false);
    unsigned lost = 0, count = 0;
    int64_t time;

    for (time = CUT_NS - 2 * usual; time < UP_NS + 2 * usual; time += 97) {
        enter(rig,
              (ExpCrossing){.time = time, .wants_accept = true, .id = count++});
        run_to(rig, time + 60);
        /* The CPU goes on, link or not: the root has room. */
        ck_assert_int_eq(rig->accepted[count - 1], time + 50);
    }
    run_to(rig, UP_NS + 10 * LATER);
    for (unsigned i = 0; i < count; i++) {
        time = CUT_NS - 2 * usual + 97 * (int64_t)i;
        ck_assert((rig->arrived[i] < 0) != (rig->lost[i] < 0));
        lost += rig->lost[i] >= 0;
        if (time + usual <= CUT_NS || time >= UP_NS) {
            assert_near(rig->arrived[i], time + usual);
        } else if (time >= CUT_NS && time + usual < UP_NS) {
            ck_assert_int_ge(rig->lost[i], 0);
        }
    }
    ck_assert_uint_ge(lost, (UP_NS - CUT_NS - usual) / 97);
    ck_assert_int_eq(exp_crossings_next(rig->crossings), INT64_MAX);
    rig_free(rig);
}
END_TEST

static Rig *rig_without_faults(const char *file)
{
    g_autoptr(TopoErrors) errors = topo_errors_new();
    g_autoptr(GPtrArray) changes = topo_changes_new();

    g_ptr_array_add(changes,
                    topo_change_parse("faults=[]", topo_place_set(), errors));
    return rig_changed(file, NULL, changes);
}

/* Faults that a fabric gets while it runs come as if it had been built with
 * them. */
START_TEST(faults_may_be_added)
{
    Rig *built = rig_new(FAULTS), *added = rig_without_faults(FAULTS);
    GError *error = NULL;
    unsigned lost = 0, id = 0;

    for (int64_t time = LATER; time < UP_NS + LATER; id++) {
        if (id == 1) {
            ck_assert(exp_crossings_add_faults(added->crossings,
                                               built->description, &error));
        }
        enter(built, (ExpCrossing){.time = time, .id = id});
        enter(added, (ExpCrossing){.time = time, .id = id});
        time = time < CUT_NS - LATER ? CUT_NS - LATER : time + 997;
    }
    run_to(built, UP_NS + 10 * LATER);
    run_to(added, UP_NS + 10 * LATER);
    for (unsigned i = 0; i < id; i++) {
        ck_assert_int_eq(added->arrived[i], built->arrived[i]);
        ck_assert_int_eq(added->lost[i], built->lost[i]);
        lost += built->lost[i] >= 0;
    }
    ck_assert_uint_gt(lost, 10);
    rig_free(added); /* the faults are those of the other description */
    rig_free(built);
}
END_TEST

/* The request is lost; a read that waited behind a lost write is not. */
START_TEST(a_read_is_lost_with_its_link)
{
    Rig *rig = rig_new(FAULTS);
    int64_t usual = path_ns(rig, NULL, NULL, false);

    enter(rig, (ExpCrossing){
                   .kind = EXP_CROSSING_READ, .time = CUT_NS + 10, .tag = 1});
    enter(rig, (ExpCrossing){.time = UP_NS - usual, .id = 1});
    enter(rig, (ExpCrossing){.kind = EXP_CROSSING_READ,
                             .time = UP_NS + 10,
                             .tag = 2,
                             .id = 2});
    run_to(rig, UP_NS + 100 * LATER);
    ck_assert_int_ge(rig->lost[0], CUT_NS + 10);
    ck_assert_int_eq(rig->arrived[0], -1);
    ck_assert_int_ge(rig->arrived[2], UP_NS + 10);
    rig_free(rig);
}
END_TEST

/* A read @early ns before the cut, and one when the link is up again, which
 * takes its usual time. */
static void check_reads(Rig *rig, int64_t early)
{
    ExpCrossing access = {
        .kind = EXP_CROSSING_READ, .time = CUT_NS - early, .tag = 1};
    int64_t written = path_ns(rig, NULL, NULL, false);

    enter(rig, access);
    run_to(rig, CUT_NS);
    if (rig->arrived[0] >= 0) {
        enter(rig, (ExpCrossing){.kind = EXP_CROSSING_COMPLETION,
                                 .end = 1,
                                 .time = rig->arrived[0],
                                 .tag = 1,
                                 .id = 1});
    }
    access.time = UP_NS + 1000;
    access.tag = access.id = 2;
    enter(rig, access);
    run_to(rig, UP_NS + 100 * LATER);
    ck_assert((rig->arrived[0] < 0) != (rig->lost[0] < 0));
    ck_assert_int_ge(rig->arrived[2], access.time);
    ck_assert_int_le(rig->arrived[2], access.time + written + 50);
    rig_free(rig);
}

/* The link takes the completion of a read with it. The NTB ends the read, so
 * the CPU's next one does not wait for the completion time-out, which is 10 ms
 * (docs/reference/model.md). The same with faults that were added later. */
START_TEST(a_lost_completion_does_not_hold_the_cpu)
{
    Rig *built = rig_new(FAULTS);
    int64_t read = path_ns(built, NULL, NULL, true);
    GError *error = NULL;

    for (int64_t early = 50; early < read + 50; early += 50) {
        Rig *added = rig_without_faults(FAULTS);

        ck_assert(exp_crossings_add_faults(added->crossings, built->description,
                                           &error));
        check_reads(added, early);
        check_reads(rig_new(FAULTS), early);
    }
    rig_free(built);
}
END_TEST

/* The board asks for the bound whenever the model looks at it. If each look
 * took a time for each item, this would take many minutes. */
START_TEST(the_bound_of_a_deep_queue_is_at_hand)
{
    const unsigned deep = 300000;
    const int64_t least = 1000000000;
    Rig *rig = rig_new(PAIR);

    ck_assert_int_eq(exp_crossings_bound(rig->crossings, 0, 0), INT64_MAX);
    for (unsigned i = 0; i < deep; i++) {
        enter(rig, (ExpCrossing){.kind = EXP_CROSSING_READ,
                                 .time = 1000,
                                 .least = least + i,
                                 .tag = i});
    }
    /* It does not arrive before the others. */
    enter(rig,
          (ExpCrossing){.kind = EXP_CROSSING_READ, .time = 1000, .tag = deep});
    for (unsigned i = 0; i < deep; i++) {
        ck_assert_int_eq(exp_crossings_bound(rig->crossings, 0, 0), least);
    }
    ck_assert_int_eq(exp_crossings_bound(rig->crossings, 0, 1), INT64_MAX);
    rig_free(rig);
}
END_TEST

/* ---- Two cables between two hosts -------------------------------------- */

#define SECOND_LINK 1
#define TWO_CUT_NS  INT64_C(1000000)

/* @first and @second are the cables' own keys, for example ", width: x1". */
static Rig *rig_of_two(const char *first, const char *second,
                       const char *faults)
{
    g_autofree char *text =
        g_strconcat("name: two\n"
                    "hosts:\n"
                    "  - name: a\n"
                    "    cpu: generic-host\n"
                    "    devices:\n"
                    "      - {name: ntb0, part: generic-ntb, at: rp0}\n"
                    "      - {name: ntb1, part: generic-ntb, at: rp1}\n"
                    "      - {name: edu, part: generic-device, at: rp2}\n"
                    "  - name: b\n"
                    "    cpu: generic-host\n"
                    "    devices:\n"
                    "      - {name: ntb0, part: generic-ntb, at: rp0}\n"
                    "      - {name: ntb1, part: generic-ntb, at: rp1}\n"
                    "links:\n"
                    "  - {name: first, ends: [a.ntb0, b.ntb0]",
                    first,
                    "}\n"
                    "  - {name: second, ends: [a.ntb1, b.ntb1]",
                    second, "}\n", faults, NULL);

    return rig_of_text("two.yaml", text, NULL);
}

/* The time of a write of 64 bytes over each link of an idle fabric. */
static void two_times(const char *first, const char *second, int64_t ns[2])
{
    Rig *rig = rig_of_two(first, second, "");

    for (unsigned i = 0; i < 4; i++) { /* the first ones fill the IOTLBs */
        enter(rig, (ExpCrossing){.link = i % 2,
                                 .time = (i + 1) * LATER,
                                 .bytes = 64,
                                 .id = i});
    }
    run_to(rig, 6 * LATER);
    for (unsigned i = 0; i < 2; i++) {
        ns[i] = rig->arrived[i + 2] - (i + 3) * LATER;
    }
    rig_free(rig);
}

/* A metre takes 5 ns (docs/reference/description.md). At x1 and 2.5 GT/s, with
 * 8b/10b, a byte takes 4 ns; see below. */
START_TEST(each_cable_has_its_own_time)
{
    int64_t same[2], longer[2], narrow[2], least[2];
    GError *error = NULL;
    Rig *rig = rig_of_two("", ", length: 101m", "");

    two_times("", "", same);
    ck_assert_int_eq(same[0], same[1]);
    two_times("", ", length: 101m", longer);
    ck_assert_int_eq(longer[0], same[0]);
    assert_near(longer[1], same[1] + 100 * 5);
    two_times(", width: x1, speed: 2.5GT/s", "", narrow);
    ck_assert_int_eq(narrow[1], same[1]);
    ck_assert_int_ge(narrow[0] - same[0], (64 + 12 + 8) * 4 * 15 / 16);
    ck_assert_int_le(narrow[0] - same[0], (64 + 16 + 8) * 4);
    ck_assert(exp_crossings_least(rig->description, least, &error));
    assert_near(least[1], least[0] + 100 * 5);
    rig_free(rig);
}
END_TEST

/* A read and its completion over each link, in turn. */
static void read_over_both(Rig *rig, int64_t time, unsigned id)
{
    for (unsigned link = 0; link < 2; link++) {
        enter(rig, (ExpCrossing){.kind = EXP_CROSSING_READ,
                                 .link = link,
                                 .time = time,
                                 .tag = id,
                                 .id = id + 2 * link});
        run_to(rig, time + LATER / 2);
        if (rig->arrived[id + 2 * link] >= 0) {
            enter(rig, (ExpCrossing){.kind = EXP_CROSSING_COMPLETION,
                                     .link = link,
                                     .end = 1,
                                     .time = time + LATER / 2,
                                     .tag = id,
                                     .id = id + 2 * link + 1});
        }
        time += LATER;
    }
}

/* Each of the two, in turn, is cut for ever. */
START_TEST(a_cut_leaves_the_other_cable_alone)
{
    static const char *const names[] = {"first", "second"};

    for (unsigned cut = 0; cut < 2; cut++) {
        g_autofree char *fault = g_strdup_printf(
            "faults: [{name: f, target: %s, action: link-down, at: 1ms}]\n",
            names[cut]);
        Rig *rig = rig_of_two("", ", length: 21m", fault);
        unsigned id = 4;

        for (int64_t time = TWO_CUT_NS - 2000; time < TWO_CUT_NS + 2000;
             time += 97) {
            enter(rig,
                  (ExpCrossing){.link = 1 - cut, .time = time, .id = id++});
            enter(rig, (ExpCrossing){.link = cut, .time = time, .id = id++});
        }
        read_over_both(rig, TWO_CUT_NS + LATER, 0);
        run_to(rig, TWO_CUT_NS + 100 * LATER);
        for (unsigned i = 4; i < id; i += 2) {
            ck_assert_int_eq(rig->lost[i], -1);
            ck_assert_int_ge(rig->arrived[i], 0);
        }
        for (unsigned i = 5; i < id; i += 2) {
            ck_assert((rig->arrived[i] < 0) != (rig->lost[i] < 0));
        }
        ck_assert_int_ge(rig->arrived[2 * (1 - cut) + 1], 0);
        ck_assert_int_ge(rig->lost[2 * cut], 0);
        rig_free(rig);
    }
}
END_TEST

/*
 * A device has queued 1 MiB for a link of one lane at 2.5 GT/s when the other
 * cable is cut. A byte takes 4 ns, so the queue needs more than 4 ms. All of it
 * arrives, and a read behind it, too. All that is on the other cable, or comes
 * later, is lost.
 */
static void check_deep_queue(const char *fault)
{
    const unsigned writes = 1024 * 1024 / 256;
    Rig *rig =
        rig_of_two(", width: x1, speed: 2.5GT/s", ", length: 21m", fault);
    unsigned id;

    for (id = 0; id < writes; id++) {
        enter(rig, (ExpCrossing){.device = "edu",
                                 .time = TWO_CUT_NS - LATER,
                                 .address = ADDRESS + id * 256,
                                 .bytes = 256,
                                 .id = id});
    }
    for (; id < writes + 5; id++) {
        enter(rig, (ExpCrossing){.link = SECOND_LINK,
                                 .time = TWO_CUT_NS - 250,
                                 .id = id});
    }
    ck_assert_int_eq(rig->lost[id - 1], -1);
    for (; id < writes + 10; id++) {
        enter(rig, (ExpCrossing){
                       .link = SECOND_LINK, .time = TWO_CUT_NS + 10, .id = id});
    }
    enter(rig, (ExpCrossing){.time = TWO_CUT_NS + 20, .id = id++});
    enter(rig, (ExpCrossing){.kind = EXP_CROSSING_READ,
                             .time = TWO_CUT_NS + 30,
                             .tag = 1,
                             .id = id++});
    run_to(rig, TWO_CUT_NS + 100 * LATER);
    for (unsigned i = 0; i < id; i++) {
        bool is_of_other = i >= writes && i < writes + 10;

        ck_assert_int_eq(rig->lost[i] >= 0, is_of_other);
        ck_assert_int_eq(rig->arrived[i] >= 0, !is_of_other);
        /* Not by a time-out: their link has discarded them. */
        ck_assert_int_lt(rig->lost[i], TWO_CUT_NS + 2000);
    }
    ck_assert_int_ge(rig->arrived[writes - 1],
                     TWO_CUT_NS - LATER + 1024 * 1024 * 4);
    ck_assert_int_ge(rig->arrived[id - 1], rig->arrived[id - 2]);
    rig_free(rig);
}

START_TEST(a_cut_loses_nothing_of_a_deep_queue)
{
    check_deep_queue("faults: [{name: f, target: second, action: link-down, "
                     "at: 1ms, for: 1ms}]\n");
    check_deep_queue("faults: [{name: f, target: second, action: link-down, "
                     "at: 1ms}]\n");
}
END_TEST

static int64_t write_ns(const char *faults)
{
    Rig *rig = rig_with(PAIR, faults);
    int64_t ns;

    /* The first write fills the IOTLBs. */
    for (unsigned i = 0; i < 2; i++) {
        enter(rig,
              (ExpCrossing){.time = (i + 1) * LATER, .bytes = 64, .id = i});
    }
    run_to(rig, 4 * LATER);
    ck_assert_int_eq(rig->lost[1], -1);
    ns = rig->arrived[1] - 2 * LATER;
    rig_free(rig);
    return ns;
}

/* Faults of machines leave the fabric as it is, and so does a cable that goes
 * down with an event: the fabric would count another one. */
START_TEST(what_machines_do_is_not_of_the_fabric)
{
    ck_assert_int_eq(
        write_ns("  - {name: f, target: b, action: freeze, for: 1ms}\n"
                 "  - {name: g, target: b.edu, action: remove}\n"
                 "  - {name: h, target: cable, action: link-down, when: write, "
                 "for: 1ms}\n"
                 "  - {name: i, target: cable, action: link-down, when: "
                 "message}\n"),
        write_ns(NULL));
}
END_TEST

/* At x1 and 2.5 GT/s, with 8b/10b, a byte takes 4 ns: 64 B and a header of 3 or
 * 4 DW, with 8 B of framing, sequence number and LCRC (PCIe 5.0 s2.2.1, s3.6.1,
 * s4.2.1). Before, it took less than a 16th of that. */
START_TEST(a_link_degrades_in_the_fabric)
{
    int64_t more = write_ns("  - {name: f, target: cable, action: degrade, "
                            "width: x1, speed: 2.5GT/s}\n") -
                   write_ns(NULL);

    ck_assert_int_ge(more, (64 + 12 + 8) * 4 * 15 / 16);
    ck_assert_int_le(more, (64 + 16 + 8) * 4);
}
END_TEST

/* Faults of the description do not change the least times. */
START_TEST(faults_do_not_change_the_least_time)
{
    Rig *pair = rig_new(PAIR), *faults = rig_new(FAULTS);
    GError *error = NULL;
    int64_t least[2];

    ck_assert(exp_crossings_least(pair->description, &least[0], &error));
    ck_assert(exp_crossings_least(faults->description, &least[1], &error));
    ck_assert_int_eq(least[0], least[1]);
    rig_free(pair);
    rig_free(faults);
}
END_TEST

/* No pair of elements is nearer than the least time of the link. */
START_TEST(the_least_time_is_that_of_the_shortest_way)
{
    Rig *rig = rig_new(PAIR);
    GError *error = NULL;
    int64_t least;

    ck_assert(exp_crossings_least(rig->description, &least, &error));
    ck_assert_int_le(least, path_ns(rig, NULL, NULL, false));
    ck_assert_int_le(least, path_ns(rig, "a.edu", NULL, false));
    ck_assert_int_le(2 * least, path_ns(rig, "a.edu", NULL, true));
    /* The links alone: two NTBs of 125 ns each, and 5 ns of cable */
    ck_assert_int_gt(least, 2 * 125 + 5);
    rig_free(rig);
}
END_TEST

/* A device that is lent serves its borrower: what cannot reach it must not stop
 * the others. */
START_TEST(lent_devices_do_not_shorten_the_least_time)
{
    static const char *const files[] = {
        TEST_FILE("scenarios/cluster/lending-three.yaml"),
        TEST_FILE("scenarios/cluster/lending.yaml"),
        TEST_FILE("scenarios/cluster/four-hosts-mesh.yaml"),
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(files); i++) {
        g_autoptr(TopoErrors) errors = topo_errors_new();
        TopoDescription *description = topo_load(files[i], NULL, errors);
        g_autofree int64_t *least = NULL;
        GError *error = NULL;

        ck_assert_ptr_nonnull(description);
        least = g_new0(int64_t, description->links->len);
        ck_assert_msg(exp_crossings_least(description, least, &error), "%s",
                      error ? error->message : "");
        for (unsigned j = 0; j < description->links->len; j++) {
            ck_assert_int_gt(least[j], 2 * 125);
        }
        topo_description_free(description);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("crossing");
    TCase *tcase = tcase_create("crossing");

    tcase_add_test(tcase, an_access_takes_the_time_of_its_path);
    tcase_add_test(tcase, a_late_answer_delays_the_completion);
    tcase_add_test(tcase, a_path_in_flit_mode_begins_with_a_flit);
    tcase_add_test(tcase, a_path_ends_in_the_node_that_is_named);
    tcase_add_test(tcase, each_two_hosts_of_a_chip_have_a_way);
    tcase_add_test(tcase, a_read_does_not_pass_writes);
    tcase_add_test(tcase, stores_share_a_narrow_link);
    tcase_add_test(tcase, a_store_on_an_idle_link_takes_the_cost_of_the_core);
    tcase_add_test(tcase, steps_do_not_matter);
    tcase_add_test(tcase, a_link_that_is_down_loses_what_is_on_it);
    tcase_add_test(tcase, the_bound_of_a_deep_queue_is_at_hand);
    tcase_add_test(tcase, each_cable_has_its_own_time);
    tcase_add_test(tcase, a_cut_leaves_the_other_cable_alone);
    tcase_add_test(tcase, a_cut_loses_nothing_of_a_deep_queue);
    tcase_add_test(tcase, a_read_is_lost_with_its_link);
    tcase_add_test(tcase, a_lost_completion_does_not_hold_the_cpu);
    tcase_add_test(tcase, what_machines_do_is_not_of_the_fabric);
    tcase_add_test(tcase, a_link_degrades_in_the_fabric);
    tcase_add_test(tcase, faults_may_be_added);
    tcase_add_test(tcase, faults_do_not_change_the_least_time);
    tcase_add_test(tcase, the_least_time_is_that_of_the_shortest_way);
    tcase_add_test(tcase, lent_devices_do_not_shorten_the_least_time);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
