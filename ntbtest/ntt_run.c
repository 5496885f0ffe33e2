/* SPDX-License-Identifier: MIT */
#include "ntt_run.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clu_dir.h"
#include "xpl_child.h"
#include "xpl_run.h"

#define BOOT_S   60
#define DOWN_S   60
#define SLOW_MAX 16

/* A cluster that runs, or shall */
typedef struct Cluster {
    NttBench *bench;
    const NttSubject *subject;
    const char *name;
    char *dir; /* of its files; owned */
    bool is_up;
    char *release;    /* of its kernel, once it has booted; owned */
    char *no_boot;    /* the reason for which it never boots; owned */
    gsize *seen;      /* bytes of each host's console that were looked at */
    GPtrArray *hosts; /* of char *, borrowed; ended by NULL */
} Cluster;

/* ---- Programs ----------------------------------------------------------- */

typedef struct Limit {
    gint64 end_us;
} Limit;

static bool is_late(void *owner)
{
    const Limit *limit = owner;

    return g_get_monotonic_time() > limit->end_us;
}

/* The factor by which the load makes programs slower than on an idle machine */
static unsigned slowness(const NttBench *bench)
{
    double load;
    unsigned factor = bench->slow;

    if (getloadavg(&load, 1) == 1) {
        factor += (unsigned)(bench->slow * load / g_get_num_processors());
    }
    return MIN(factor, SLOW_MAX);
}

/* Runs a program for at most @seconds of an idle machine; its output is added
 * to the file @output. */
static int call(Cluster *cluster, const char *const *argv, char **envp,
                unsigned seconds, const char *output)
{
    Limit limit = {g_get_monotonic_time() +
                   (gint64)seconds * slowness(cluster->bench) * G_USEC_PER_SEC};
    const XplCall call = {.output = output,
                          .is_stopped = &cluster->bench->is_stopped,
                          .poll = is_late,
                          .owner = &limit};

    return xpl_child(&call, (char **)argv, envp);
}

/* The path of a file of this cluster's results, to be freed. */
static char *place(const Cluster *cluster, const char *name)
{
    return g_build_filename(cluster->bench->out, cluster->subject->chip->name,
                            name, NULL);
}

/* The content of @path without what stands before @from, to be freed. */
static char *content(const char *path, gsize from, gsize *ret_length)
{
    char *text;
    gsize length;

    if (!g_file_get_contents(path, &text, &length, NULL)) {
        *ret_length = 0;
        return g_strdup("");
    }
    *ret_length = length;
    from = MIN(from, length);
    memmove(text, text + from, length - from + 1);
    return text;
}

/* ---- Begin and end ------------------------------------------------------ */

static void cluster_down(Cluster *cluster)
{
    g_autofree char *output = place(cluster, "down");
    const char *const argv[] = {
        cluster->bench->program, "cluster", "down", "-c", cluster->name, NULL};
    gint go_on = 0;
    /* It ends the cluster although the user has asked to end. */
    const XplCall down = {.output = output, .is_stopped = &go_on};

    if (cluster->is_up) {
        xpl_child(&down, (char **)argv, NULL);
    }
    cluster->is_up = false;
}

/* Reads the release of the kernels. */
static void read_release(Cluster *cluster)
{
    g_autofree char *output = place(cluster, "release");
    const char *const argv[] = {
        cluster->bench->program,  "cluster", "exec",  "-c", cluster->name,
        cluster->hosts->pdata[0], "--",      "uname", "-r", NULL};
    gsize length;

    unlink(output);
    call(cluster, argv, NULL, DOWN_S, output);
    g_free(cluster->release);
    cluster->release = g_strstrip(content(output, 0, &length));
}

/* Boots the cluster. False, with *ret_why to be freed, if that fails. A kernel
 * that did not boot the first time is not tried again for each client. */
static bool cluster_up(Cluster *cluster, char **ret_why)
{
    const NttBench *bench = cluster->bench;
    g_autofree char *output = place(cluster, "up");
    g_autofree char *seconds =
        g_strdup_printf("%u", BOOT_S * slowness(cluster->bench));
    g_autoptr(GPtrArray) argv = g_ptr_array_new();
    const char *const words[] = {bench->program, "cluster",   "up",   "--name",
                                 cluster->name,  "--timeout", seconds};
    gsize length;

    if (cluster->no_boot) {
        *ret_why = g_strdup(cluster->no_boot);
        return false;
    }
    for (unsigned i = 0; i < G_N_ELEMENTS(words); i++) {
        g_ptr_array_add(argv, (char *)words[i]);
    }
    for (unsigned i = 0; i < cluster->subject->sets->len; i++) {
        g_ptr_array_add(argv, (char *)"--set");
        g_ptr_array_add(argv, cluster->subject->sets->pdata[i]);
    }
    g_ptr_array_add(argv, cluster->subject->file);
    g_ptr_array_add(argv, NULL);
    unlink(output);
    cluster->is_up = true;
    /* An image that is made takes minutes. */
    if (call(cluster, (const char *const *)argv->pdata, NULL, 20 * BOOT_S,
             output) != 0) {
        *ret_why = content(output, 0, &length);
        if (!cluster->release) {
            cluster->no_boot = g_strdup(*ret_why);
        }
        cluster_down(cluster);
        return false;
    }
    memset(cluster->seen, 0, cluster->hosts->len * sizeof *cluster->seen);
    read_release(cluster);
    return true;
}

/* ---- Clients ------------------------------------------------------------ */

/* The name of what joins two hosts, for `cluster link`; "" if there is none. */
static const char *link_between(const TopoDescription *description,
                                const NttPair *pair)
{
    for (unsigned i = 0; i < description->links->len; i++) {
        const TopoLink *link = description->links->pdata[i];
        const char *ends[2] = {link->end[0]->host->name,
                               link->end[1]->host->name};

        if ((strcmp(ends[0], pair->from) == 0 &&
             strcmp(ends[1], pair->to) == 0) ||
            (strcmp(ends[1], pair->from) == 0 &&
             strcmp(ends[0], pair->to) == 0)) {
            return link->name;
        }
    }
    return "";
}

/* The environment of a client; to be freed by g_strfreev(). */
static char **environment(const Cluster *cluster, const NttPlace *where,
                          const NttPair *pair, const char *test)
{
    g_autofree char *hosts = g_strjoinv(" ", (char **)cluster->hosts->pdata);
    g_autofree char *left_out = ntt_left_out(where);
    g_autofree char *slow = g_strdup_printf("%u", slowness(cluster->bench));
    const struct {
        const char *name, *value;
    } words[] = {
        {"FARSIDE", cluster->bench->program},
        {"FARSIDE_CLUSTER", cluster->name},
        {"FARSIDE_HOSTS", hosts},
        {"FARSIDE_FROM", pair->from},
        {"FARSIDE_TO", pair->to},
        {"FARSIDE_LINK", link_between(cluster->subject->description, pair)},
        {"FARSIDE_LEAVE_OUT", left_out},
        {"FARSIDE_NTB_TEST", test},
        {"FARSIDE_SLOW", slow},
    };
    char **envp = g_get_environ();

    for (unsigned i = 0; i < G_N_ELEMENTS(words); i++) {
        envp = g_environ_setenv(envp, words[i].name, words[i].value, TRUE);
    }
    return envp;
}

/* Adds a result for each host whose kernel has reported a fault since the last
 * look. */
static void look_at_consoles(Cluster *cluster, const NttPlace *where,
                             GPtrArray *results)
{
    for (unsigned i = 0; i + 1 < cluster->hosts->len; i++) {
        const char *host = cluster->hosts->pdata[i];
        g_autofree char *path = clu_dir_log_path(cluster->dir, host);
        gsize length;
        g_autofree char *text = content(path, cluster->seen[i], &length);
        g_autofree char *report = xpl_kernel_report(text, NULL);

        cluster->seen[i] = length;
        if (report) {
            g_autofree char *step = g_strdup_printf("kernel of %s", host);
            g_autofree char *name =
                g_strdup_printf("%s.%s.%s.%s.console", where->client->name,
                                where->from, where->to, host);
            g_autofree char *copy = place(cluster, name);

            g_file_set_contents(copy, text, -1, NULL);
            ntt_judge_failed(where, step, report, results);
        }
    }
}

/* Gives all results to the bench. True if one is a fault. */
static bool give(Cluster *cluster, GPtrArray *results)
{
    bool has_fault = false;

    for (unsigned i = 0; i < results->len; i++) {
        NttResult *result = results->pdata[i];

        has_fault |= result->verdict == NTT_FAULT;
        cluster->bench->got(cluster->bench->owner, result);
    }
    return has_fault;
}

/* Returns the reason for which a client ended with @status, to be freed. */
static char *ending(const NttClient *client, int status)
{
    if (status == 128 + 15) {
        return g_strdup_printf("the client has not ended after %u s of an idle "
                               "machine",
                               client->seconds);
    }
    return g_strdup_printf("the client has ended with status %d", status);
}

/* Runs @client for @pair in the cluster that is up. */
static void run_client(Cluster *cluster, const NttClient *client,
                       const NttPair *pair, GPtrArray *results)
{
    const NttPlace where = {.chip = cluster->subject->chip,
                            .client = client,
                            .from = pair->from,
                            .to = pair->to,
                            .series = ntt_series(cluster->release)};
    g_autofree char *program =
        g_build_filename(cluster->bench->clients, client->name, NULL);
    g_autofree char *name =
        g_strdup_printf("%s.%s.%s", client->name, pair->from, pair->to);
    g_autofree char *output = place(cluster, name);
    g_autoptr(GError) error = NULL;
    g_autofree char *test =
        ntt_kernel_test(cluster->bench->kernel, cluster->release, &error);
    g_auto(GStrv) envp = environment(cluster, &where, pair, test ? test : "");
    const char *const argv[] = {program, NULL};
    gsize length;
    int status;

    if (!test && strcmp(client->name, "ntb_test") == 0) {
        ntt_judge_failed(&where, "the script is there", error->message,
                         results);
        return;
    }
    unlink(output);
    status = call(cluster, argv, envp, client->seconds, output);
    if (!g_atomic_int_get(&cluster->bench->is_stopped)) {
        g_autofree char *text = content(output, 0, &length);
        g_autofree char *ended = ending(client, status);

        ntt_judge(&where, text, ended, results);
        look_at_consoles(cluster, &where, results);
    }
}

/* The result of a client for which the cluster does not boot */
static void judge_boot(const Cluster *cluster, const NttClient *client,
                       const NttPair *pair, const char *why, GPtrArray *results)
{
    const NttPlace where = {.chip = cluster->subject->chip,
                            .client = client,
                            .from = pair->from,
                            .to = pair->to};

    if (!g_atomic_int_get(&cluster->bench->is_stopped)) {
        ntt_judge_failed(&where, "the hosts boot", why, results);
    }
}

void ntt_run(NttBench *bench, const NttSubject *subject,
             const GPtrArray *clients, const char *name)
{
    const GPtrArray *hosts = subject->description->hosts;
    Cluster cluster = {.bench = bench,
                       .subject = subject,
                       .name = name,
                       .dir = clu_dir_find(name),
                       .hosts = g_ptr_array_new()};
    g_autofree char *folder = place(&cluster, "");

    g_mkdir_with_parents(folder, 0777);
    for (unsigned i = 0; i < hosts->len; i++) {
        const TopoHost *host = hosts->pdata[i];

        g_ptr_array_add(cluster.hosts, host->name);
    }
    g_ptr_array_add(cluster.hosts, NULL);
    cluster.seen = g_new0(gsize, cluster.hosts->len);
    for (unsigned i = 0; i < clients->len * subject->pairs->len; i++) {
        const NttClient *client = clients->pdata[i / subject->pairs->len];
        const NttPair *pair = subject->pairs->pdata[i % subject->pairs->len];
        g_autoptr(GPtrArray) results = g_ptr_array_new();
        g_autofree char *why = NULL;

        if (g_atomic_int_get(&bench->is_stopped)) {
            break;
        }
        if (client->has_both_ways &&
            ntt_pair_is_way_back(subject->pairs, i % subject->pairs->len)) {
            continue;
        }
        if (!cluster.is_up && !cluster_up(&cluster, &why)) {
            judge_boot(&cluster, client, pair, why, results);
        } else {
            run_client(&cluster, client, pair, results);
        }
        if (give(&cluster, results)) {
            cluster_down(&cluster);
        }
    }
    cluster_down(&cluster);
    g_ptr_array_unref(cluster.hosts);
    g_free(cluster.seen);
    g_free(cluster.release);
    g_free(cluster.no_boot);
    g_free(cluster.dir);
}
