/* SPDX-License-Identifier: MIT */
/*
 * `wait` and `restart`: wait until hosts and their links are up. A restart
 * kills the process of one host, waits for its end, starts a new process, and
 * then waits for that host.
 */
#include "clu_requests.h"

/* The state of both requests. */
typedef struct Wait {
    CluHost *host;   /* the only one to wait for; NULL: all */
    uint8_t *told;   /* 1 + the CluHostState that the client was told last, or
                        0; indexed by host */
    bool is_killing; /* restart: the old process has not ended yet */
} Wait;

static void wait_clear(void *data)
{
    Wait *wait = data;

    g_free(wait->told);
}

static const char *host_name(const CluHost *host)
{
    return clu_host_plan(host)->host->name;
}

static void tell_progress(CluRequest *request)
{
    const Wait *wait = request->state;
    const GPtrArray *hosts = clu_cluster_plan(request->cluster)->hosts;
    unsigned i;

    for (i = 0; i < hosts->len; i++) {
        const CluHost *host = clu_cluster_host(request->cluster, i);
        CluHostState state = clu_host_state(host);

        if ((!wait->host || wait->host == host) && wait->told[i] != state + 1 &&
            state != CLU_HOST_BOOTING) {
            wait->told[i] = (uint8_t)(state + 1);
            clu_request_note(request, "%s: %s after %.1f s", host_name(host),
                             clu_host_state_name(state),
                             (double)clu_host_age_us(host) / 1e6);
        }
    }
}

/* True if the request waits for @link. A wait for one host includes its links
 * to hosts that are up. */
static bool is_waited_for(const CluRequest *request, const CluPlanLink *link)
{
    const Wait *wait = request->state;
    unsigned end;

    if (!clu_cluster_link_is_expected(request->cluster, link)) {
        return false;
    }
    if (!wait->host) {
        return true;
    }
    for (end = 0; end < 2; end++) {
        if (clu_cluster_link_host(request->cluster, link, end) == wait->host) {
            return clu_host_state(clu_cluster_link_host(request->cluster, link,
                                                        !end)) == CLU_HOST_UP;
        }
    }
    return false;
}

static void append_link(GString *out, const CluRequest *request,
                        const CluPlanLink *link)
{
    unsigned end;

    g_string_append_printf(out, "; link %s is not up:", link->link->name);
    for (end = 0; end < 2; end++) {
        const CluHost *host =
            clu_cluster_link_host(request->cluster, link, end);

        g_string_append_printf(
            out, "%s %s's driver says %s", end ? "," : "", host_name(host),
            clu_host_link_up(host, link, end) ? "up" : "down");
    }
}

static void append_tail(GString *out, CluHost *host)
{
    const char *tail = clu_console_tail(clu_host_console(host));

    g_string_append_printf(out, "\nThe end of the console of %s:\n%s",
                           host_name(host), tail);
    g_string_truncate(out, out->len - g_str_has_suffix(out->str, "\n"));
}

/* True if @host will not come up by itself. */
static bool is_bad(const CluPace *pace, const CluHost *host)
{
    CluHostState state = clu_host_state(host);

    return state != CLU_HOST_UP && state != CLU_HOST_BOOTING &&
           state != CLU_HOST_STOPPED && !pace->ops->returns(pace, host);
}

static void check_up(CluRequest *request)
{
    const Wait *wait = request->state;
    const CluPlan *plan = clu_cluster_plan(request->cluster);
    const CluPace *pace = clu_cluster_setup(request->cluster)->pace;
    g_autoptr(GString) message = g_string_new(NULL);
    g_autoptr(GString) tails = g_string_new(NULL);
    bool are_hosts_up = true, is_over = !request->deadline;
    unsigned i;

    tell_progress(request);
    for (i = 0; i < plan->hosts->len; i++) {
        CluHost *host = clu_cluster_host(request->cluster, i);
        CluHostState state = clu_host_state(host);

        if ((wait->host && host != wait->host) || state == CLU_HOST_UP) {
            continue;
        }
        are_hosts_up = false;
        if (is_bad(pace, host) || !request->deadline) {
            const char *cause = clu_host_cause(host);

            is_over = is_over || is_bad(pace, host);
            g_string_append_printf(message, "; %s is %s%s%s", host_name(host),
                                   clu_host_state_name(state),
                                   cause ? ": " : "", cause ? cause : "");
            append_tail(tails, host);
        }
    }
    for (i = 0; are_hosts_up && i < plan->links->len; i++) {
        const CluPlanLink *link = plan->links->pdata[i];

        if (is_waited_for(request, link) &&
            !clu_cluster_link_is_up(request->cluster, link)) {
            append_link(message, request, link);
        }
    }
    if (are_hosts_up && message->len == 0) {
        clu_request_exit(request, 0, 0);
    } else if (is_over) {
        clu_request_fail(request, CLU_CONTROL_FAILED, "%s%s%s",
                         message->str + 2,
                         request->deadline ? "" : " (time-out)", tails->str);
    }
}

static void begin_wait(CluRequest *request, unsigned ms)
{
    Wait *wait = request->state;

    wait->told =
        g_new0(uint8_t, clu_cluster_plan(request->cluster)->hosts->len);
    clu_request_set_deadline(request, ms);
}

static void wait_start(CluRequest *request, const GPtrArray *words)
{
    Wait *wait = request->state;
    const char *text = words->pdata[1];
    GError *error = NULL;
    uint64_t seconds;

    if (!g_ascii_string_to_unsigned(text, 10, 1, 86400, &seconds, NULL)) {
        clu_request_fail(request, CLU_CONTROL_USAGE,
                         "the time-out is '%s'; it must be 1 to 86400 seconds",
                         text);
        return;
    }
    if (words->len > 2) {
        wait->host =
            clu_cluster_find_host(request->cluster, words->pdata[2], &error);
        if (!wait->host) {
            clu_request_fail_by(request, error);
            return;
        }
    }
    begin_wait(request, (unsigned)seconds * 1000);
}

static void restart_start(CluRequest *request, const GPtrArray *words)
{
    Wait *wait = request->state;
    GError *error = NULL;
    CluPace *pace;

    wait->host =
        clu_cluster_find_host(request->cluster, words->pdata[1], &error);
    if (!wait->host) {
        clu_request_fail_by(request, error);
        return;
    }
    wait->is_killing = true;
    pace = clu_cluster_setup(request->cluster)->pace;
    pace->ops->restart(pace, wait->host, "it is being restarted");
}

static void restart_check(CluRequest *request)
{
    Wait *wait = request->state;
    CluPace *pace = clu_cluster_setup(request->cluster)->pace;
    g_autoptr(GError) error = NULL;

    if (!wait->is_killing) {
        check_up(request);
        return;
    }
    if (pace->ops->is_restarting(pace, wait->host)) {
        return;
    }
    wait->is_killing = false;
    if (pace->ops->start_again(pace, wait->host, &error)) {
        begin_wait(request, clu_cluster_setup(request->cluster)->boot_ms);
    } else {
        clu_request_fail(request, CLU_CONTROL_FAILED, "%s: %s",
                         host_name(wait->host), error->message);
    }
}

const CluRequestType clu_request_wait_type = {
    .name = "wait",
    .needs_time = true,
    .min_words = 1,
    .max_words = 2,
    .state_bytes = sizeof(Wait),
    .start = wait_start,
    .check = check_up,
    .clear = wait_clear,
};

const CluRequestType clu_request_restart_type = {
    .name = "restart",
    .needs_time = true,
    .min_words = 1,
    .max_words = 1,
    .state_bytes = sizeof(Wait),
    .start = restart_start,
    .check = restart_check,
    .clear = wait_clear,
};
