/* SPDX-License-Identifier: MIT */
/*
 * Board and model together, with programs in place of machines. Invariants: no
 * message arrives before its receiver's time; what each machine sees, and when,
 * depends on virtual time alone, however quick the processes are; an access on
 * an idle fabric takes the time of its path; and a branch that is made in the
 * middle of all that sees what the others see that go on.
 *
 *   test_timed_model [FARSIDE-SOURCE]
 */
#include <check.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clu_plan.h"
#include "clu_timed_model.h"
#include "exp_crossing.h"
#include "farside_wire.h"
#include "timed_board.h"
#include "timed_control.h"
#include "../suite.h"

#define THREE   TOPO_SOURCE_ROOT "/tests/timed/three.yaml"
/* Machines act until then, and stop when all has settled. */
#define LAST_NS 200000
#define END_NS  1000000
/* Branches are made then. */
#define FORK_NS 100000
#define SEEN    4096
#define WAIT_MS 100

enum {
    STORE,
    READ,
    ANSWER
};

/* The messages that a machine has seen; shared with the test's process. */
typedef struct Seen {
    unsigned count, reads, stores;
    int64_t arrival[SEEN];
    uint64_t words[SEEN]; /* source, kind and number */
} Seen;

typedef struct Body {
    uint32_t kind, number;
} Body;

/* The speed of the processes */
typedef struct Pace {
    unsigned spins;
    unsigned nap_us; /* longest pause of a machine between two steps */
} Pace;

typedef struct Peer {
    TimedBoard *board;
    Seen *seen;
    unsigned self, out[4], outs;
    GQueue inbound; /* of Arrived */
    uint32_t random, number;
    int64_t now, act;
    bool reads; /* waits for a completion */
    int line;   /* on which it is asked for a branch; -1: never */
    Seen *branch_seen;
} Peer;

typedef struct Arrived {
    TimedBoardMessage message;
    unsigned channel;
} Arrived;

static uint32_t draw(uint32_t *state, uint32_t below)
{
    *state = *state * 1664525u + 1013904223u;
    return (*state >> 8) % below;
}

static gint compare(gconstpointer a, gconstpointer b, gpointer data)
{
    const Arrived *x = a, *y = b;

    if (x->message.arrival != y->message.arrival) {
        return x->message.arrival < y->message.arrival ? -1 : 1;
    }
    if (x->channel != y->channel) {
        return x->channel < y->channel ? -1 : 1;
    }
    return x->message.sequence < y->message.sequence ? -1 : 1;
}

static void pull(Peer *peer)
{
    for (unsigned i = 0; i < timed_board_channels(peer->board); i++) {
        TimedBoardMessage m;

        while (timed_board_is_inbound(peer->board, i) &&
               timed_board_take(peer->board, i, &m)) {
            Arrived *arrived = g_new(Arrived, 1);

            *arrived = (Arrived){m, i};
            g_queue_insert_sorted(&peer->inbound, arrived, compare, NULL);
        }
    }
}

static void cross(Peer *peer, unsigned channel, uint32_t kind, uint32_t number)
{
    TimedCrossing crossing = {
        .kind = kind == READ     ? TIMED_CROSSING_READ
                : kind == ANSWER ? TIMED_CROSSING_COMPLETION
                                 : TIMED_CROSSING_WRITE,
        .bytes = kind == STORE ? 64 : 4,
        .address = 0x8000000 + number % 16 * 64,
        .tag = number,
        .wants_accept = kind == STORE,
    };
    Body body = {kind, number};

    ck_assert(timed_board_is_crossing(peer->board, channel));
    while (!timed_board_cross(peer->board, channel, peer->now, &crossing, &body,
                              sizeof(body))) {
        usleep(10);
    }
}

/* Stores in bursts, and now and then a read */
static void act(Peer *peer)
{
    unsigned channel = peer->out[draw(&peer->random, peer->outs)];

    if (draw(&peer->random, 4) == 0) {
        peer->reads = true;
        peer->seen->reads++;
        cross(peer, channel, READ, peer->number++);
    } else {
        peer->seen->stores++;
        cross(peer, channel, STORE, peer->number++);
    }
    peer->act = peer->now + 1 + draw(&peer->random, 100);
    if (peer->act > LAST_NS) {
        peer->act = TIMED_BOARD_NEVER;
    }
}

static void receive(Peer *peer, const Arrived *arrived)
{
    Seen *seen = peer->seen;
    Body body;

    memcpy(&body, arrived->message.bytes, sizeof(body));
    ck_assert_uint_lt(seen->count, SEEN);
    seen->arrival[seen->count] = arrived->message.arrival;
    seen->words[seen->count++] = (uint64_t)arrived->channel << 40 |
                                 (uint64_t)body.kind << 32 | body.number;
    if (body.kind == READ) {
        cross(peer, arrived->channel ^ 1, ANSWER, body.number);
    } else if (body.kind == ANSWER) {
        peer->reads = false;
        peer->act = peer->act == TIMED_BOARD_NEVER
                        ? peer->act
                        : MAX(peer->act, peer->now + 1);
    }
}

/* Stands until all have made branches. */
static void make_branch(Peer *peer)
{
    static TimedControlPacket packet;
    int line = peer->line;

    peer->line = -1;
    timed_board_report(peer->board, peer->now, peer->now);
    timed_board_stand(peer->board, peer->now, 0, 0);
    while (!timed_control_receive(line, &packet, 1000)) {
        continue;
    }
    if (fork() == 0) {
        ck_assert(timed_board_become(peer->board, packet.fds[0]));
        *peer->branch_seen = *peer->seen;
        peer->seen = peer->branch_seen;
        timed_control_send(line, "ok", NULL, 0);
    }
    timed_control_close(&packet);
    while (timed_board_stand(peer->board, peer->now, 0, WAIT_MS) <= peer->now) {
        continue;
    }
}

/* A machine: its own acts first, then messages, as in timed_link.c. */
static void run_peer(Peer *peer, const Pace *pace)
{
    uint32_t naps = peer->random;

    while (peer->now < END_NS) {
        int64_t accepted = timed_board_accepted(peer->board);
        int64_t own = TIMED_BOARD_NEVER, until, horizon;
        int64_t end = peer->line < 0 ? END_NS : FORK_NS;
        Arrived *first;

        if (peer->now == end) {
            make_branch(peer);
            continue;
        }
        if (accepted >= 0 && accepted <= peer->now) {
            timed_board_go_on(peer->board);
            accepted = TIMED_BOARD_NEVER;
        }
        pull(peer);
        if (accepted == TIMED_BOARD_NEVER && !peer->reads) {
            own = MAX(peer->act, peer->now);
        }
        first = g_queue_peek_head(&peer->inbound);
        until = MIN(own, end);
        until = MIN(until, first ? first->message.arrival : end);
        horizon = timed_board_report(peer->board, peer->now, until);
        pull(peer);
        first = g_queue_peek_head(&peer->inbound);
        until = MIN(until, first ? first->message.arrival : end);
        accepted = timed_board_accepted(peer->board);
        until = accepted >= 0 ? MIN(until, accepted) : until;
        ck_assert_int_ge(until, peer->now);
        if (pace->nap_us && draw(&naps, 8) == 0) {
            usleep(draw(&naps, pace->nap_us));
        }
        if (horizon <= until) {
            timed_board_wait(peer->board, until, pace->spins, WAIT_MS);
            continue;
        }
        peer->now = until;
        if (until == own && !peer->reads && accepted == TIMED_BOARD_NEVER) {
            act(peer);
        } else if (first && first->message.arrival == until) {
            receive(peer, g_queue_pop_head(&peer->inbound));
            g_free(first);
        }
    }
}

static void peer_main(int fd, unsigned self, Seen *seen, const Pace *pace,
                      int line, Seen *branch_seen)
{
    Peer peer = {.board = timed_board_open(fd, self),
                 .seen = &seen[self],
                 .self = self,
                 .line = line,
                 .branch_seen = &branch_seen[self],
                 .random = 77 + self};

    for (unsigned i = 0; i < timed_board_channels(peer.board); i++) {
        if (timed_board_source(peer.board, i) == self) {
            peer.out[peer.outs++] = i;
        }
    }
    peer.act = 100 * self + 20001;
    run_peer(&peer, pace);
    timed_board_leave(peer.board, self);
    if (peer.seen == peer.branch_seen) {
        timed_control_send(line, "end", NULL, 0);
    }
    _exit(0);
}

static Seen *map_seen(unsigned hosts)
{
    return mmap(NULL, hosts * sizeof(Seen), PROT_READ | PROT_WRITE,
                MAP_SHARED | MAP_ANONYMOUS, -1, 0);
}

/* All stand at FORK_NS. The model makes a branch, and then the machines do.
 * Waits until the branch has ended. */
static void branch_all(TimedBoard *board, int control, const int *lines,
                       unsigned hosts)
{
    static TimedControlPacket packet;
    int line[2], copy;
    TimedBoard *branch;

    while (!timed_board_all_stand(board)) {
        usleep(1000);
    }
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, line), 0);
    ck_assert(timed_control_send(control, "branch\nfd 0\n", &line[1], 1));
    timed_board_wake_model(board);
    close(line[1]);
    ck_assert(timed_control_receive(line[0], &packet, 10000));
    ck_assert_msg(strncmp(packet.text, "ok ", 3) == 0, "%s", packet.text);
    ck_assert_uint_eq(packet.count, 1);
    copy = packet.fds[0];
    for (unsigned i = 0; i < hosts; i++) {
        ck_assert(timed_control_send(lines[i], "branch", &copy, 1));
        ck_assert(timed_control_receive(lines[i], &packet, 10000));
        ck_assert_str_eq(packet.text, "ok");
    }
    branch = timed_board_open(copy, 0);
    while (!timed_board_all_stand(branch)) {
        usleep(1000);
    }
    timed_board_set_limit(branch, TIMED_BOARD_NEVER);
    timed_board_set_limit(board, TIMED_BOARD_NEVER);
    for (unsigned i = 0; i < hosts; i++) {
        ck_assert(timed_control_receive(lines[i], &packet, 60000));
        ck_assert_str_eq(packet.text, "end");
    }
    timed_board_close(branch);
    close(copy);
    close(line[0]); /* the model of the branch ends with it */
}

/* With @branch_seen (nullable): also what the machines of a branch see. */
static Seen *run(const Pace *pace, Seen *branch_seen)
{
    g_autoptr(TopoErrors) errors = topo_errors_new();
    TopoDescription *description = topo_load(THREE, NULL, errors);
    CluPlan *plan = clu_plan_new(description, errors);
    unsigned hosts = plan->hosts->len, links = plan->links->len;
    g_autofree int64_t *least = g_new0(int64_t, links);
    g_autofree TimedBoardLink *board_links = g_new0(TimedBoardLink, links);
    Seen *seen = map_seen(hosts);
    int lines[4], control[2], ends[2];
    GError *error = NULL;
    TimedBoard *board;
    pid_t model, pid;
    int fd, status;

    ck_assert(exp_crossings_least(description, least, &error));
    for (unsigned i = 0; i < links; i++) {
        const CluPlanLink *link = plan->links->pdata[i];

        board_links[i] =
            (TimedBoardLink){link->link->name,
                             {link->host[0]->index, link->host[1]->index},
                             least[i],
                             20000};
    }
    fd = timed_board_new(hosts, board_links, links);
    board = timed_board_open(fd, 0);
    timed_board_add_model(board);
    for (unsigned i = 0; i < 2 * links; i++) {
        timed_board_set_up(board, i, 0, true);
    }
    if (branch_seen) {
        timed_board_set_limit(board, FORK_NS);
    }
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, control), 0);
    model = fork();
    if (model == 0) {
        close(control[0]);
        clu_timed_model_run(plan, fd, control[1], &error);
        _exit(1);
    }
    for (unsigned i = 0; i < hosts; i++) {
        ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends), 0);
        lines[i] = ends[0];
        pid = fork();
        if (pid == 0) {
            peer_main(fd, i, seen, pace, branch_seen ? ends[1] : -1,
                      branch_seen ? branch_seen : seen + hosts);
        }
        close(ends[1]);
    }
    if (branch_seen) {
        branch_all(board, control[0], lines, hosts);
    }
    for (unsigned i = 0; i < hosts; i++) {
        pid = wait(&status);
        ck_assert_int_ne(pid, model);
        ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    kill(model, SIGKILL);
    waitpid(model, NULL, 0);
    close(control[0]);
    close(control[1]);
    for (unsigned i = 0; i < hosts; i++) {
        close(lines[i]);
    }
    timed_board_close(board);
    close(fd);
    clu_plan_free(plan);
    topo_description_free(description);
    return seen;
}

START_TEST(a_run_does_not_depend_on_the_pace)
{
    static const Pace paces[] = {{2000, 0}, {0, 0}, {50, 200}};
    Seen *first = run(&paces[0], NULL);
    unsigned sum = 0;

    for (unsigned i = 0; i < 3; i++) {
        /* Everything was sent, and everything has arrived. */
        ck_assert_uint_gt(first[i].reads, 10);
        ck_assert_uint_gt(first[i].stores, 40);
        sum += 2 * first[i].reads + first[i].stores - first[i].count;
    }
    ck_assert_uint_eq(sum, 0);
    for (unsigned i = 1; i < G_N_ELEMENTS(paces); i++) {
        Seen *again = run(&paces[i], NULL);

        ck_assert_mem_eq(first, again, 3 * sizeof(*again));
        munmap(again, 3 * sizeof(*again));
    }
    munmap(first, 3 * sizeof(*first));
}
END_TEST

/* The machines that go on see the same as those of the branch, and as machines
 * that were never branched. */
START_TEST(a_branch_sees_what_the_others_see)
{
    static const Pace pace = {2000, 0};
    Seen *branch = map_seen(3), *whole = run(&pace, NULL);
    Seen *others = run(&pace, branch);

    for (unsigned i = 0; i < 3; i++) {
        ck_assert_int_lt(whole[i].arrival[0], FORK_NS);
        ck_assert_int_gt(whole[i].arrival[whole[i].count - 1], FORK_NS);
    }
    ck_assert_mem_eq(others, whole, 3 * sizeof(*whole));
    ck_assert_mem_eq(branch, whole, 3 * sizeof(*whole));
    munmap(branch, 3 * sizeof(*branch));
    munmap(others, 3 * sizeof(*others));
    munmap(whole, 3 * sizeof(*whole));
}
END_TEST

/* Asks the model for a branch with the line @set. Returns the line of the
 * branch and the board, or -1 and the answer. */
static int ask_branch(TimedBoard *board, int control, const char *set,
                      TimedControlPacket *packet)
{
    g_autofree char *text = g_strdup_printf("branch\nfd 0\n%s", set);
    int line[2];

    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, line), 0);
    ck_assert(timed_control_send(control, text, &line[1], 1));
    timed_board_wake_model(board);
    close(line[1]);
    ck_assert(timed_control_receive(line[0], packet, 10000));
    if (g_str_has_prefix(packet->text, "ok ")) {
        ck_assert_uint_eq(packet->count, 1);
        return line[0];
    }
    close(line[0]);
    return -1;
}

/* The arrival of a store that is sent on channel 0 at @now; -1 if it is lost.
 */
static int64_t send_store(int fd, int64_t now, unsigned hosts)
{
    TimedBoard *machine[4];
    TimedBoardMessage m = {.arrival = -1};
    TimedCrossing crossing = {.kind = TIMED_CROSSING_WRITE, .bytes = 4};
    struct farside_wire_head head = {.type = FARSIDE_WIRE_WRITE};
    unsigned to = 0;
    int64_t horizon;

    for (unsigned i = 0; i < hosts; i++) {
        machine[i] = timed_board_open(fd, i);
        timed_board_report(machine[i], now, now);
        to = timed_board_is_inbound(machine[i], 0) ? i : to;
    }
    ck_assert(timed_board_cross(machine[timed_board_source(machine[0], 0)], 0,
                                now, &crossing, &head, sizeof(head)));
    do {
        for (unsigned i = 0; i < hosts; i++) {
            timed_board_report(machine[i], now, TIMED_BOARD_NEVER);
        }
        horizon = timed_board_wait(machine[to], TIMED_BOARD_NEVER - 1, 0, 1);
    } while (!timed_board_take(machine[to], 0, &m) &&
             horizon < TIMED_BOARD_NEVER);
    for (unsigned i = 0; i < hosts; i++) {
        timed_board_close(machine[i]);
    }
    return m.arrival;
}

/* A cut of a branch loses what is sent there meanwhile, and nothing that the
 * template sends. Changes that are none of faults are refused. */
START_TEST(a_branch_has_faults_of_its_own)
{
    static TimedControlPacket packet;
    g_autoptr(TopoErrors) errors = topo_errors_new();
    TopoDescription *description = topo_load(THREE, NULL, errors);
    CluPlan *plan = clu_plan_new(description, errors);
    const TopoLink *link = ((CluPlanLink *)plan->links->pdata[0])->link;
    g_autofree char *set = g_strdup_printf(
        "set faults=[{name: f, target: %s, action: link-down, at: 1ms, "
        "for: 50us, training: 1us}]\n",
        link->name);
    TimedBoardLink *links = g_new0(TimedBoardLink, plan->links->len);
    unsigned hosts = plan->hosts->len;
    int fd, control[2], line;
    TimedBoard *board;
    pid_t model;

    for (unsigned i = 0; i < plan->links->len; i++) {
        const CluPlanLink *its = plan->links->pdata[i];

        links[i] = (TimedBoardLink){its->link->name,
                                    {its->host[0]->index, its->host[1]->index},
                                    100,
                                    20000};
    }
    fd = timed_board_new(hosts, links, plan->links->len);
    board = timed_board_open(fd, 0);
    timed_board_add_model(board);
    for (unsigned i = 0; i < 2 * plan->links->len; i++) {
        timed_board_set_up(board, i, 0, true);
    }
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, control), 0);
    model = fork();
    if (model == 0) {
        GError *error = NULL;

        close(control[0]);
        clu_timed_model_run(plan, fd, control[1], &error);
        _exit(1);
    }
    ck_assert_int_eq(ask_branch(board, control[0], "set name=other\n", &packet),
                     -1);
    ck_assert_msg(strstr(packet.text, "as it was"), "%s", packet.text);
    line = ask_branch(board, control[0], set, &packet);
    ck_assert_msg(line >= 0, "%s", packet.text);
    ck_assert_int_eq(send_store(packet.fds[0], 1010000, hosts), -1);
    ck_assert_int_gt(send_store(fd, 1010000, hosts), 1010000);
    close(line);
    timed_control_close(&packet);
    kill(model, SIGKILL);
    waitpid(model, NULL, 0);
    close(control[0]);
    close(control[1]);
    timed_board_close(board);
    close(fd);
    g_free(links);
    clu_plan_free(plan);
    topo_description_free(description);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("model");
    TCase *tcase = tcase_create("model");

    tcase_set_timeout(tcase, 110);
    tcase_add_test(tcase, a_run_does_not_depend_on_the_pace);
    tcase_add_test(tcase, a_branch_sees_what_the_others_see);
    tcase_add_test(tcase, a_branch_has_faults_of_its_own);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
