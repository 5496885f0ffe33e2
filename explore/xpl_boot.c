/* SPDX-License-Identifier: MIT */
/* A cluster boots in virtual time, as by `farside cluster up --timed`. */
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "clu_calls.h"
#include "clu_dir.h"
#include "clu_error.h"
#include "exp_point.h"
#include "img_start.h"
#include "topo_home.h"
#include "xpl_machines.h"

#define VERB      "farside cluster up"
#define SILENCE_S 20

enum {
    OK = 0,
    FAILED = 1,
    USAGE = 2
};

static void tell(void *owner, const char *text)
{
    g_autofree char *line = g_strconcat(text, "\n", NULL);

    if (write(STDERR_FILENO, line, strlen(line)) < 0) {
        /* Nobody can be told of that. */
    }
}

static const ImgNotes notes = {.tell = tell};

/* Takes over @error (nullable). */
static int finish(int status, GError *error)
{
    if (error) {
        img_tell(&notes, VERB ": %s", error->message);
        g_error_free(error);
    }
    return status;
}

static int fail(GError *error)
{
    return finish(g_error_matches(error, CLU_ERROR, CLU_ERROR_USAGE) ? USAGE
                                                                     : FAILED,
                  error);
}

static int refuse(const TopoErrors *errors)
{
    g_autofree char *text = topo_errors_to_string(errors);
    unsigned count = topo_errors_count(errors);

    img_tell(&notes, "%s" VERB ": %u error%s", text, count,
             count == 1 ? "" : "s");
    return USAGE;
}

static TopoDescription *load(const XplBoot *boot, TopoErrors *errors)
{
    g_autoptr(GPtrArray) changes = topo_changes_new();
    TopoDescription *description;

    for (char *const *set = boot->sets; set && *set; set++) {
        TopoChange *change = topo_change_parse(*set, topo_place_set(), errors);

        if (change) {
            g_ptr_array_add(changes, change);
        }
    }
    description = topo_errors_count(errors) == 0
                      ? topo_load(boot->file, changes, errors)
                      : NULL;
    if (description && description->workload) {
        exp_point_check_columns(description, errors);
    }
    return description;
}

/* True if nobody waits for this process any more. */
static bool is_over(void *owner)
{
    struct pollfd look = {.fd = *(const int *)owner};

    return poll(&look, 1, 0) > 0;
}

/* Waits until all hosts are up, and releases the cluster. Frees @client. */
static int bring_up(const XplBoot *boot, CluClient *client, int line)
{
    static const char *const release[] = {"release", NULL};
    const CluClientMode mode = {.input = CLU_CLIENT_NO_INPUT,
                                .has_text_errors = true,
                                .is_over = is_over,
                                .owner = &line};
    g_autofree char *dir = clu_dir_find(boot->name);
    g_autoptr(GString) text = g_string_new(NULL);
    GError *error = NULL;
    int status = clu_calls_bring_up(client, &mode, (unsigned)boot->patience_s,
                                    text, &error);

    if (status == 0) {
        status = clu_client_run(client, release, &mode, &error);
    }
    clu_client_free(client);
    if (status != 0) {
        clu_dir_wait_gone(dir, CLU_CALLS_GONE_MS);
    }
    return finish(status, error);
}

int xpl_boot(const XplBoot *boot, int line)
{
    const ImgTimed timed = {.log = boot->log, .sets = boot->sets, .spins = -1};
    const ImgStart start = {.boot_ms = (unsigned)boot->patience_s * 1000,
                            .silence_ms = SILENCE_S * 1000,
                            .timed = &timed,
                            .notes = &notes};
    g_autoptr(TopoErrors) errors = topo_errors_new();
    g_autoptr(TopoDescription) description = load(boot, errors);
    g_autoptr(CluPlan) plan = NULL;
    CluClient *client = NULL;
    GError *error = NULL;

    if (topo_errors_count(errors) == 0) {
        plan = clu_plan_new(description, errors);
    }
    if (plan) {
        client = img_start(plan, boot->name, &start, errors, &error);
    }
    if (topo_errors_count(errors) > 0) {
        g_clear_error(&error);
        return refuse(errors);
    }
    return client ? bring_up(boot, client, line) : fail(error);
}
