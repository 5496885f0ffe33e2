/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "clu_timed.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "clu_branch.h"
#include "clu_dir.h"
#include "clu_error.h"
#include "clu_fork.h"
#include "clu_process.h"
#include "clu_property.h"
#include "clu_source.h"
#include "clu_timed_check.h"
#include "timed_board.h"
#include "timed_control.h"

/* How often the supervisor looks if all machines stand, in ms */
#define TICK_MS 1

/* Most steps and rounds of idle machines end within this real time. The
 * supervisor waits for their end, and does nothing else. */
#define PROMPT_US 400

/* Real time after which a monitor that has not answered is left alone until the
 * next step. It is asked only where it can answer; this is for a QEMU that has
 * stopped. */
#define VAIN_US (60 * G_TIME_SPAN_SECOND)

/* The time that the model has to make a branch */
#define BRANCH_MS 30000

/* While nothing happens the machines' main loops come round this often. */
#define IDLE_US 50000

struct CluTimed {
    GMainContext *context;
    const CluTimedOps *ops;
    void *owner;
    GSource *tick;
    GSource *calm;    /* pending while nothing else is to be done */
    size_t unread;    /* what the machines had not read before the last round */
    unsigned asked;   /* the commands that they had not answered */
    int64_t vain_us;  /* monotonic time at which one of both changed */
    int64_t round_us; /* monotonic time of the last round */
    bool is_moving; /* the machines were given time, and did not stand since */
    int64_t moved_us;    /* monotonic time at which they were given it */
    int64_t moving_us;   /* the sum of real time for which they had some */
    const char *records; /* where machines write what happens; NULL: nowhere */
    int64_t slice_ns;    /* 0: not set */
    int spins;           /* negative: not set */
    const char *path;    /* of the log to write; NULL: none */
    const CluTimedScript *head; /* of that log */
    CluTimedLog *log;
    const CluTimedScript *script; /* that is replayed; NULL: none */
    unsigned at;                  /* index of its next input */
    int fd;
    TimedBoard *board; /* only to look on, and to say who is gone */
    char *plugin;
    const CluPlan *plan;
    GArray *steps; /* of CluFaultStep, in the order of time */
    unsigned done; /* of them */
    CluTimedModel *run_model;
    void *model_owner;
    CluProcess *model; /* NULL: it does not run */
    pid_t model_pid;
    int control;   /* the line to the model */
    int branch_fd; /* of the board of a branch that is being made; -1: none */
    bool is_template;
};

static int make_board(const CluPlan *plan, const char *dir,
                      const int64_t *latencies_ns, GError **error)
{
    g_autofree TimedBoardLink *links =
        g_new0(TimedBoardLink, plan->links->len + 1);
    g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
    int fd;

    for (unsigned i = 0; i < plan->links->len; i++) {
        const CluPlanLink *link = plan->links->pdata[i];

        g_ptr_array_add(names, clu_dir_link_path(dir, link->link->name));
        links[i] = (TimedBoardLink){
            .name = names->pdata[i],
            .machine = {link->host[0]->index, link->host[1]->index},
            .latency_ns = MAX(latencies_ns[i], 1),
            .training_ns =
                MAX(latencies_ns[i],
                    clu_faults_training(plan, link, CLU_TIMED_TRAINING_NS)),
        };
    }
    fd = timed_board_new(plan->hosts->len, links, plan->links->len);
    if (fd < 0) {
        g_set_error(error, CLU_ERROR, CLU_ERROR_FAILED,
                    "cannot make the memory that the machines share: %s",
                    g_strerror(errno));
    }
    return fd;
}

CluTimed *clu_timed_new(const CluPlan *plan, const char *dir,
                        const char *plugin, const int64_t *latencies_ns,
                        TopoErrors *errors, GError **error)
{
    g_autoptr(CluTimed) timed = g_new0(CluTimed, 1);
    unsigned before = topo_errors_count(errors);

    timed->fd = -1;
    timed->spins = -1;
    timed->control = -1;
    timed->branch_fd = -1;
    clu_timed_check(plan, errors);
    if (topo_errors_count(errors) > before) {
        return NULL;
    }
    timed->plugin = g_strdup(plugin);
    timed->plan = plan;
    timed->steps = clu_faults_steps(plan);
    timed->fd = make_board(plan, dir, latencies_ns, error);
    if (timed->fd < 0) {
        return NULL;
    }
    timed->board = timed_board_open(timed->fd, 0);
    if (!timed->board) {
        g_set_error(error, CLU_ERROR, CLU_ERROR_FAILED,
                    "cannot open the memory that the machines share: %s",
                    g_strerror(errno));
        return NULL;
    }
    timed_board_set_limit(timed->board, 0);
    timed_board_add_model(timed->board);
    return g_steal_pointer(&timed);
}

void clu_timed_set_model(CluTimed *timed, CluTimedModel *model, void *owner)
{
    timed->run_model = model;
    timed->model_owner = owner;
}

/* The log */

void clu_timed_set_log(CluTimed *timed, const char *path,
                       const CluTimedScript *head)
{
    timed->path = path;
    timed->head = head;
}

void clu_timed_set_steps(CluTimed *timed, const char *dir)
{
    timed->records = dir;
}

void clu_timed_set_pace(CluTimed *timed, int64_t slice_ns, int spins)
{
    timed->slice_ns = slice_ns;
    timed->spins = spins;
}

static bool open_log(CluTimed *timed, GError **error)
{
    if (!timed->path) {
        return true;
    }
    timed->log = clu_timed_log_new(timed->path, error);
    for (unsigned i = 0; timed->log && i < timed->head->names->len; i++) {
        clu_timed_log_head(timed->log, timed->head->names->pdata[i],
                           timed->head->values->pdata[i]);
    }
    return timed->log != NULL;
}

void clu_timed_set_script(CluTimed *timed, const CluTimedScript *script)
{
    timed->script = script;
}

bool clu_timed_is_replay(const CluTimed *timed)
{
    return timed->script != NULL;
}

bool clu_timed_is_replayed(const CluTimed *timed)
{
    return timed->script && timed->at == timed->script->inputs->len;
}

void clu_timed_note(CluTimed *timed, CluInputKind kind, const char *host,
                    const void *data, size_t length)
{
    if (timed->log) {
        clu_timed_log_add(timed->log, timed_board_limit(timed->board), kind,
                          host, data, length);
    }
}

void clu_timed_end(CluTimed *timed)
{
    g_autofree char *text =
        g_strdup_printf("%" G_GINT64_FORMAT, timed_board_limit(timed->board));

    clu_timed_note(timed, CLU_INPUT_TO, NULL, text, strlen(text));
}

void clu_timed_abandon(const CluTimed *timed)
{
    if (timed->model) {
        clu_process_kill(timed->model);
    }
}

/* Faults. All machines stand. */

static void add_start(CluTimed *timed, const CluFaultStep *kill)
{
    CluFaultStep step = *kill;
    unsigned i = timed->done;

    step.act = CLU_FAULT_START;
    step.at_ns += (kill->fault->for_ps + 999) / 1000;
    while (i < timed->steps->len &&
           g_array_index(timed->steps, CluFaultStep, i).at_ns <= step.at_ns) {
        i++;
    }
    g_array_insert_val(timed->steps, i, step);
}

static void do_step(CluTimed *timed, const CluFaultStep *step)
{
    if (step->act == CLU_FAULT_NOTE) {
        clu_timed_note(timed, CLU_INPUT_FAULT, step->fault->name, NULL, 0);
    }
    timed->ops->fault(timed->owner, step);
}

/* Machines that have switched themselves off, at an event */
static void do_fallen(CluTimed *timed)
{
    for (unsigned i = 0; i < timed->plan->hosts->len; i++) {
        const CluPlanHost *host = timed->plan->hosts->pdata[i];
        CluFaultStep step = {
            .at_ns = timed_board_limit(timed->board),
            .act = CLU_FAULT_KILL,
            .host = host,
        };
        int fault = timed_board_fallen(timed->board, i);

        /* The number is the machine's, and may be any. */
        if (fault < 0 || fault >= (int)timed->plan->description->faults->len) {
            continue;
        }
        step.fault = timed->plan->description->faults->pdata[fault];
        step.returns = step.fault->action == TOPO_FAULT_RESTART;
        do_step(timed, &step);
        timed_board_leave(timed->board, i);
        if (step.returns) {
            add_start(timed, &step);
        }
    }
}

static void do_faults(CluTimed *timed)
{
    int64_t now = timed_board_limit(timed->board);

    do_fallen(timed);
    while (timed->done < timed->steps->len) {
        const CluFaultStep step =
            g_array_index(timed->steps, CluFaultStep, timed->done);

        if (step.at_ns > now) {
            break;
        }
        timed->done++;
        do_step(timed, &step);
    }
}

/* Steps. All machines stand, and all that they have written was read. */

static gboolean on_calm(gpointer data);

/*
 * When all machines stand, and nothing else is to be done, comes on_calm(). The
 * cluster ends if the board is damaged: no machine can go on then.
 */
static void look(CluTimed *timed)
{
    if (timed_board_error(timed->board)) {
        timed->ops->end(timed->owner);
    } else if (!timed->calm && timed_board_all_stand(timed->board)) {
        timed->calm =
            clu_source_new_idle(timed->context, G_PRIORITY_LOW, on_calm, timed);
    }
}

static void next_round(CluTimed *timed)
{
    timed->round_us = g_get_monotonic_time();
    timed_board_next_round(timed->board);
    timed_board_await_stand(timed->board, PROMPT_US);
    look(timed);
}

/* The machines' main loops come round until they have read what the guests
 * take, and have answered. False if they have. */
static bool is_settling(CluTimed *timed)
{
    size_t unread = timed->ops->unread(timed->owner);
    unsigned asked = timed->ops->asked(timed->owner);

    if (unread != timed->unread || asked != timed->asked) {
        timed->unread = unread;
        timed->asked = asked;
        timed->vain_us = g_get_monotonic_time();
        return unread > 0 || asked > 0;
    }
    return asked > 0 && g_get_monotonic_time() - timed->vain_us < VAIN_US;
}

static void go_to(CluTimed *timed, int64_t limit)
{
    int64_t now = timed_board_limit(timed->board);

    if (limit != now + CLU_TIMED_STEP_NS) {
        g_autofree char *text = g_strdup_printf("%" G_GINT64_FORMAT, limit);

        clu_timed_note(timed, CLU_INPUT_TO, NULL, text, strlen(text));
    }
    timed->unread = 0;
    timed->asked = 0;
    timed->is_moving = true;
    timed->moved_us = g_get_monotonic_time();
    timed_board_set_limit(timed->board, limit);
    timed_board_await_stand(timed->board, PROMPT_US);
    look(timed);
}

/* Replay */

/* The next input of the log if it is one of now; NULL otherwise. */
static const CluInput *input_of_now(const CluTimed *timed)
{
    const CluInput *input = clu_timed_is_replayed(timed)
                                ? NULL
                                : timed->script->inputs->pdata[timed->at];

    return input && input->at_ns <= timed_board_limit(timed->board) ? input
                                                                    : NULL;
}

/* Does the next input of now. False if there is none. */
static bool replay(CluTimed *timed)
{
    const CluInput *input = input_of_now(timed);

    if (!input || input->kind == CLU_INPUT_TO) {
        return false;
    }
    if (timed->ops->replay(timed->owner, input)) {
        timed->at++;
    }
    return true;
}

/* The next limit of the run that is replayed. */
static int64_t replayed_limit(CluTimed *timed)
{
    int64_t now = timed_board_limit(timed->board), limit;
    const CluInput *input = input_of_now(timed);

    if (!input) {
        return clu_timed_is_replayed(timed) ? now : now + CLU_TIMED_STEP_NS;
    }
    timed->at++;
    limit = g_ascii_strtoll(g_bytes_get_data(input->bytes, NULL), NULL, 10);
    if (clu_timed_is_replayed(timed)) {
        timed->ops->stood(timed->owner);
    }
    return MAX(now, limit);
}

/* The next limit; the present one if nobody wants time. */
static int64_t next_limit(CluTimed *timed)
{
    int64_t now = timed_board_limit(timed->board);
    int64_t until;

    if (timed->is_template) {
        return now;
    }
    if (timed->script) {
        return replayed_limit(timed);
    }
    until = timed->ops->wanted(timed->owner);
    until = MIN(until, now + CLU_TIMED_STEP_NS);
    if (timed->done < timed->steps->len) {
        until =
            MIN(until,
                g_array_index(timed->steps, CluFaultStep, timed->done).at_ns);
    }
    return MAX(now, until);
}

static gboolean on_calm(gpointer data)
{
    CluTimed *timed = data;
    int64_t limit;

    clu_source_clear(&timed->calm);
    if (!timed_board_all_stand(timed->board)) {
        return G_SOURCE_REMOVE;
    }
    if (timed->is_moving) {
        timed->is_moving = false;
        timed->moving_us += g_get_monotonic_time() - timed->moved_us;
        timed->ops->stood(timed->owner);
    }
    if (timed->ops->held(timed->owner)) {
        return G_SOURCE_REMOVE;
    }
    if (!timed->script) {
        do_faults(timed);
    }
    if (!timed->script && timed->ops->act(timed->owner)) {
        return G_SOURCE_REMOVE;
    }
    if (is_settling(timed) ||
        (timed->script ? replay(timed) : timed->ops->give(timed->owner))) {
        next_round(timed);
        return G_SOURCE_REMOVE;
    }
    limit = next_limit(timed);
    if (limit > timed_board_limit(timed->board)) {
        go_to(timed, limit);
    } else if (g_get_monotonic_time() - timed->round_us > IDLE_US) {
        /* A debugger may have come, or a user of a monitor's socket. */
        next_round(timed);
    }
    return G_SOURCE_REMOVE;
}

static gboolean on_tick(gpointer data)
{
    look(data);
    return G_SOURCE_CONTINUE;
}

static void model_main(const CluTimed *timed, const CluPlan *plan, pid_t parent,
                       int control)
{
    const int kept[] = {timed->fd, control};

    clu_fork_settle(parent);
    signal(SIGTERM, SIG_DFL);
    signal(SIGINT, SIG_DFL);
    /* Connections of the supervisor must end with it. */
    clu_fork_close(3, kept, G_N_ELEMENTS(kept));
    timed->run_model(timed->model_owner, plan, timed->fd, control);
    clu_fork_end(1);
}

/* Makes a line to the model; its second end is the model's. */
static bool make_line(int line[2], GError **error)
{
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, line) < 0) {
        g_set_error(error, CLU_ERROR, CLU_ERROR_FAILED,
                    "cannot make a socket for the model: %s",
                    g_strerror(errno));
        return false;
    }
    return true;
}

bool clu_timed_start_model(CluTimed *timed, const CluPlan *plan, GError **error)
{
    pid_t parent = getpid();
    int line[2];

    if (!make_line(line, error)) {
        return false;
    }
    timed->model_pid = clu_fork(CLU_FORK_CHILD);
    if (timed->model_pid == 0) {
        model_main(timed, plan, parent, line[1]);
    }
    close(line[1]);
    timed->control = line[0];
    if (timed->model_pid < 0) {
        g_set_error(error, CLU_ERROR, CLU_ERROR_FAILED,
                    "cannot make a process for the model: %s",
                    g_strerror(errno));
        return false;
    }
    return true;
}

/* Without the model, machines wait for ever. */
static void on_model_ended(void *owner)
{
    const CluTimed *timed = owner;

    timed->ops->end(timed->owner);
}

bool clu_timed_start(CluTimed *timed, GMainContext *context,
                     const CluTimedOps *ops, void *owner, GError **error)
{
    if (!open_log(timed, error)) {
        return false;
    }
    timed->context = context;
    timed->ops = ops;
    timed->owner = owner;
    timed->model = clu_process_adopt(context, timed->model_pid, on_model_ended,
                                     timed, error);
    if (!timed->model) {
        return false;
    }
    timed->tick = clu_source_new_timer(context, TICK_MS, on_tick, timed);
    return true;
}

int64_t clu_timed_limit(const CluTimed *timed)
{
    return timed_board_limit(timed->board);
}

bool clu_timed_stands_at(const CluTimed *timed, int64_t ns)
{
    return !timed->is_moving && timed_board_limit(timed->board) >= ns;
}

int64_t clu_timed_moving_us(const CluTimed *timed)
{
    return timed->moving_us +
           (timed->is_moving ? g_get_monotonic_time() - timed->moved_us : 0);
}

/* Branches */

const CluPlan *clu_timed_plan(const CluTimed *timed)
{
    return timed->plan;
}

void clu_timed_set_template(CluTimed *timed)
{
    timed->is_template = true;
}

bool clu_timed_is_template(const CluTimed *timed)
{
    return timed->is_template;
}

bool clu_timed_branch_model(CluTimed *timed, char *const *sets, GError **error)
{
    g_autofree TimedControlPacket *packet = g_new(TimedControlPacket, 1);
    g_autoptr(GString) text = g_string_new("branch\n");
    int line[2];
    pid_t pid;

    for (; *sets; sets++) {
        g_autofree char *escaped = g_strescape(*sets, NULL);

        g_string_append_printf(text, "set %s\n", escaped);
    }
    if (!make_line(line, error)) {
        return false;
    }
    if (timed_control_send(timed->control, text->str, &line[1], 1)) {
        timed_board_knock(timed->board);
    }
    close(line[1]);
    close(timed->control);
    timed->control = line[0];
    if (!clu_branch_answer(timed->control, packet, BRANCH_MS, "the model", &pid,
                           error)) {
        return false;
    }
    if (pid < 0 || packet->count != 1) {
        g_set_error(error, CLU_ERROR, CLU_ERROR_FAILED,
                    "the model has not made a branch in %d s",
                    BRANCH_MS / 1000);
        return false;
    }
    timed->branch_fd = packet->fds[0];
    timed->model_pid = pid;
    return true;
}

int clu_timed_branch_board(const CluTimed *timed)
{
    return timed->branch_fd;
}

void clu_timed_turn(CluTimed *timed)
{
    timed_board_next_round(timed->board);
}

bool clu_timed_branch(CluTimed *timed, const CluPlan *plan, GError **error)
{
    if (!timed_board_become(timed->board, timed->branch_fd) ||
        dup3(timed->branch_fd, timed->fd, O_CLOEXEC) < 0) {
        g_set_error(error, CLU_ERROR, CLU_ERROR_FAILED,
                    "cannot open the memory that the machines share: %s",
                    g_strerror(errno));
        return false;
    }
    close(timed->branch_fd);
    timed->branch_fd = -1;
    clu_process_free(timed->model);
    timed->model = clu_process_adopt(timed->context, timed->model_pid,
                                     on_model_ended, timed, error);
    if (!timed->model) {
        return false;
    }
    g_clear_pointer(&timed->log, clu_timed_log_free);
    g_array_unref(timed->steps);
    timed->plan = plan;
    timed->steps = clu_faults_steps(plan);
    timed->done = 0;
    timed_board_forget_events(timed->board);
    timed->is_template = false;
    for (unsigned i = 0; i < plan->links->len; i++) {
        timed_board_set_training(timed->board, i,
                                 clu_faults_training(plan,
                                                     plan->links->pdata[i],
                                                     CLU_TIMED_TRAINING_NS));
    }
    return true;
}

void clu_timed_free(CluTimed *timed)
{
    if (!timed) {
        return;
    }
    clu_source_clear(&timed->tick);
    clu_source_clear(&timed->calm);
    clu_timed_log_free(timed->log);
    clu_process_free(timed->model);
    timed_board_close(timed->board);
    if (timed->fd >= 0) {
        close(timed->fd);
    }
    g_free(timed->plugin);
    if (timed->steps) {
        g_array_unref(timed->steps);
    }
    g_free(timed);
}

/* The times of the drive's part, for the filter. */
static void add_drive(GString *value, const CluPlanDevice *device)
{
    static const char *const times[] = {"nvme.overhead", "nvme.read_latency",
                                        "nvme.write_latency", "nvme.jitter"};
    static const char *const rates[] = {"nvme.read_bandwidth",
                                        "nvme.write_bandwidth"};
    const TopoPart *part = device->device->part;

    g_string_append_printf(value, ",drive=%s-disk", device->id);
    for (unsigned i = 0; i < G_N_ELEMENTS(times); i++) {
        g_string_append_printf(value, ":%" G_GINT64_FORMAT,
                               topo_part_time(part, times[i]));
    }
    for (unsigned i = 0; i < G_N_ELEMENTS(rates); i++) {
        g_string_append_printf(value, ":%" G_GINT64_FORMAT,
                               (int64_t)topo_part_rate(part, rates[i]));
    }
}

/* The faults that are left, or that still hold: others have come to earlier
 * processes of @host. In a branch, they are those of its own plan. */
static void add_faults(const CluTimed *timed, const CluPlanHost *host,
                       GString *value)
{
    unsigned count = timed->plan->description->faults->len;
    g_autofree TimedBoardEvents *events = g_new0(TimedBoardEvents, count + 1);

    for (unsigned i = 0; i < count; i++) {
        events[i] = timed_board_events(timed->board, i);
    }
    clu_faults_options(timed->plan, timed->plan->hosts->pdata[host->index],
                       CLU_TIMED_TRAINING_NS, events, value);
}

char *clu_timed_plugin(const CluTimed *timed, const CluPlanHost *host)
{
    g_autofree char *plugin = clu_property_escape(timed->plugin);
    GString *value = g_string_new(NULL);

    g_string_printf(value,
                    "%s,board=%d,machine=%u,block=%d,block=%d,control=%d,"
                    "monitor=qmp",
                    plugin, CLU_FD_BOARD, host->index, CLU_FD_CONSOLE,
                    CLU_FD_AGENT, CLU_FD_CONTROL);
    for (unsigned i = 0; i < host->devices->len; i++) {
        if (clu_timed_is_drive(host->devices->pdata[i])) {
            add_drive(value, host->devices->pdata[i]);
        }
    }
    add_faults(timed, host, value);
    if (timed->records) {
        g_autofree char *dir = clu_property_escape(timed->records);

        g_string_append_printf(value, ",steps=%s/%s.steps", dir,
                               host->host->name);
    }
    g_string_append_printf(
        value, ",instruction=%" G_GINT64_FORMAT ",pause=%" G_GINT64_FORMAT,
        host->host->vm->instruction_ps, host->host->vm->pause_ps);
    if (timed->slice_ns > 0) {
        g_string_append_printf(value, ",slice=%" G_GINT64_FORMAT,
                               timed->slice_ns);
    }
    if (timed->spins >= 0) {
        g_string_append_printf(value, ",spins=%d", timed->spins);
    }
    if (timed_board_limit(timed->board) > 0) {
        g_string_append_printf(value, ",start=%" G_GINT64_FORMAT,
                               timed_board_limit(timed->board));
    }
    return g_string_free(value, FALSE);
}

int clu_timed_board(const CluTimed *timed)
{
    return timed->fd;
}

void clu_timed_leave(CluTimed *timed, const CluPlanHost *host)
{
    timed_board_leave(timed->board, host->index);
}

void clu_timed_return(CluTimed *timed, const CluPlanHost *host)
{
    timed_board_return(timed->board, host->index);
}

bool clu_timed_is_busy(const CluTimed *timed, const CluPlanHost *host)
{
    return timed_board_is_busy(timed->board, host->index);
}

int64_t clu_timed_now(const CluTimed *timed, const CluPlanHost *host)
{
    return timed_board_now(timed->board, host->index);
}
