/* SPDX-License-Identifier: MIT */
/*
 * Invariant: a trace of any bytes is refused with an error that names it, or is
 * repeated to its end, twice in the same time. It never harms the program.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <glib/gstdio.h>

#include "exp_build.h"
#include "exp_replay.h"
#include "sim_engine.h"
#include "fuzz_mutate.h"
#include "trc_story.h"

#define ROUNDS 1500

static void must(bool is_true, const char *what)
{
    if (!is_true) {
        fprintf(stderr, "fuzz_replay: %s\n", what);
        abort();
    }
}

static TopoDescription *load(const char *trace)
{
    g_autoptr(TopoErrors) errors = topo_errors_new();
    g_autofree char *text = g_strdup_printf(
        "name: t\n"
        "hosts:\n"
        "  - {name: a, cpu: generic-host,\n"
        "     devices: [{name: ntb, part: generic-ntb, at: rp0}]}\n"
        "  - {name: b, cpu: generic-host,\n"
        "     devices: [{name: ntb, part: generic-ntb, at: rp0},\n"
        "               {name: disk, part: optane-900p, at: rp1}]}\n"
        "links: [{name: cable, ends: [a.ntb, b.ntb]}]\n"
        "lend: [{device: b.disk, to: a}]\n"
        "workload: {flows: [{name: f, kind: replay, trace: %s, memory: 8KiB}]}"
        "\n",
        trace);
    TopoDescription *description =
        topo_load_buffer("fuzz.yaml", text, strlen(text),
                         TOPO_SOURCE_ROOT "/scenarios/parts", NULL, errors);

    must(description, "no description");
    return description;
}

/* Returns the time of the end, or -1 if the trace was refused. */
static int64_t repeat(const TopoDescription *description)
{
    ExpFabric *fabric = exp_build(description, NULL);
    g_autoptr(GError) error = NULL;
    FabFlow *flow = exp_replay_new(
        fabric, description->workload->flows->pdata[0], 0, &error);
    int64_t end = -1;

    if (flow) {
        must(!error, "a flow and an error");
        must(fab_flows_run(exp_fabric(fabric), SIM_TIME_NONE, NULL),
             "a replay that waits for itself");
        end = sim_engine_now(exp_engine(fabric));
    } else {
        must(error && strstr(error->message, "t.pcapng: "),
             "a refusal without the trace");
    }
    exp_fabric_free(fabric);
    return end;
}

/* A borrowed drive: doorbell, entry, data, completion entry, MSI. */
static TrcStory seed(void)
{
    static const char *const names[] = {"a:cable", "b:cable"};
    TrcStory story = trc_story_new(1000, names);

    for (unsigned i = 0; i < 3; i++) {
        int64_t time = 2000 + 9000 * (int64_t)i;

        trc_story_write(&story, time, 0, TRC_STORY_CPU, TRC_STORY_BAR + 0x1008,
                        4);
        trc_story_arrival(&story, time + 500, 1, 1, 4, TRC_STORY_BAR + 0x1008,
                          0);
        trc_story_read(&story, time + 510, 1, TRC_STORY_DISK, TRC_STORY_RAM, 64,
                       i);
        trc_story_completion(&story, time + 900, 0, i);
        trc_story_arrival(&story, time + 1400, 1, 2, 64, 0, i);
        trc_story_write(&story, time + 5000, 1, TRC_STORY_DISK,
                        TRC_STORY_RAM + 0x1000, 256);
        trc_story_write(&story, time + 5001, 1, TRC_STORY_DISK, TRC_STORY_MSI,
                        4);
        trc_story_arrival(&story, time + 5600, 0, 1, 256,
                          TRC_STORY_RAM + 0x1000, 0);
        trc_story_arrival(&story, time + 5700, 0, 1, 4, TRC_STORY_MSI, 0);
        trc_story_doorbell(&story, time + 6000, 0, 1);
        trc_story_arrival(&story, time + 6500, 1, 3, 4, 1, 0);
    }
    return story;
}

int main(void)
{
    g_autoptr(GRand) random = g_rand_new_with_seed(5);
    g_autofree char *folder = g_dir_make_tmp("farside-fuzz-XXXXXX", NULL);
    g_autofree char *trace = g_build_filename(folder, "t.pcapng", NULL);
    g_auto(TrcStory) story = seed();
    TopoDescription *description;
    unsigned n_repeated = 0;

    must(g_file_set_contents(trace, "", 0, NULL), "no folder");
    description = load(trace);
    for (unsigned round = 0; round < ROUNDS; round++) {
        g_autoptr(GByteArray) bytes = g_byte_array_new();
        unsigned mutations = round == 0 ? 0 : 1 + g_rand_int(random) % 4;
        int64_t end;

        g_byte_array_append(bytes, story.bytes.bytes->data,
                            story.bytes.bytes->len);
        while (mutations-- > 0) {
            fuzz_mutate(random, bytes);
        }
        must(g_file_set_contents(trace, (const char *)bytes->data, bytes->len,
                                 NULL),
             "the trace cannot be written");
        end = repeat(description);
        must(round > 0 || end > 0, "the seed is refused");
        if (end >= 0) {
            n_repeated++;
            must(repeat(description) == end, "another time");
        }
    }
    topo_description_free(description);
    g_unlink(trace);
    g_rmdir(folder);
    must(n_repeated > ROUNDS / 20, "hardly any trace was repeated");
    printf("1..1\nok 1 - %d mutated traces do no harm, %u were repeated\n",
           ROUNDS, n_repeated);
    return 0;
}
