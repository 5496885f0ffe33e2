/* SPDX-License-Identifier: MIT */
/*
 * Invariant: the broker sends each client the messages of QEMU's
 * docs/specs/ivshmem-spec.txt, in its order. A client that has read them all
 * knows exactly the connected clients, each with the eventfds that ring it.
 * Clients that do not read, that send, or that die do not affect the others.
 */
#define _GNU_SOURCE
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <glib/gstdio.h>

#include "broker_rig.h"
#include "../suite.h"

#define REGION      "shm0"
#define SIZE        (64u << 10)
#define VECTORS     3
#define CLIENTS_MAX 8

static BrokerRig *rig;
static unsigned files; /* number of files open before the first client */

static void add_region(const char *name, const CluBrokerRegion *region)
{
    g_autofree char *path = rig_path(rig, name);
    GError *error = NULL;

    if (!clu_broker_add_region(rig->broker, name, path, region, &error)) {
        ck_abort_msg("%s", error->message);
    }
}

static void setup(void)
{
    const CluBrokerRegion region = {SIZE, VECTORS, CLIENTS_MAX};

    rig = rig_new();
    add_region(REGION, &region);
    files = rig_count_files();
}

static void teardown(void)
{
    rig_free(rig);
}

/* ---- Clients ---------------------------------------------------------- */

/* A peer, and the eventfds for it that a client has received. */
typedef struct Peer {
    int64_t id;
    unsigned count; /* of eventfds; 0: this place is free */
    int files[VECTORS];
} Peer;

/* The messages that a client has received. */
typedef struct Client {
    int fd;
    unsigned received; /* number of messages */
    int64_t id;
    int memory;
    Peer peers[CLIENTS_MAX]; /* itself among them */
} Client;

static void client_begin(Client *client)
{
    *client = (Client){.fd = rig_connect(rig, REGION, SOCK_STREAM), .id = -1};
}

/* The place of the peer @id, or a free one. Fails if all places are taken. */
static Peer *find_peer(Client *client, int64_t id)
{
    Peer *unused = NULL;

    for (unsigned i = 0; i < CLIENTS_MAX; i++) {
        Peer *peer = &client->peers[i];

        if (peer->count > 0 && peer->id == id) {
            return peer;
        }
        if (peer->count == 0) {
            unused = peer;
        }
    }
    ck_assert_ptr_nonnull(unused);
    unused->id = id;
    return unused;
}

static unsigned count_files(Client *client, int64_t id)
{
    for (unsigned i = 0; i < CLIENTS_MAX; i++) {
        if (client->peers[i].id == id && client->peers[i].count > 0) {
            return client->peers[i].count;
        }
    }
    return 0;
}

static void forget_peer(Peer *peer)
{
    while (peer->count > 0) {
        close(peer->files[--peer->count]);
    }
    peer->id = -1;
}

static void client_close(Client *client)
{
    for (unsigned i = 0; i < CLIENTS_MAX; i++) {
        forget_peer(&client->peers[i]);
    }
    if (client->received > 2) {
        close(client->memory);
    }
    close(client->fd);
}

/* Receives one message and checks it against the specification. Returns false
 * if there is none. */
static bool client_take(Client *client)
{
    int64_t number;
    Peer *peer;
    int file;
    ssize_t n = rig_receive(client->fd, &number, sizeof(number), &file);

    if (n < 0) {
        return false;
    }
    ck_assert_int_eq(n, sizeof(number));
    number = GINT64_FROM_LE(number);
    switch (client->received++) {
    case 0: /* protocol version */
        ck_assert_int_eq(number, 0);
        ck_assert_int_eq(file, -1);
        return true;
    case 1:
        ck_assert_int_ge(number, 0);
        ck_assert_int_le(number, 65535);
        ck_assert_int_eq(file, -1);
        client->id = number;
        return true;
    case 2:
        ck_assert_int_eq(number, -1);
        ck_assert_int_ge(file, 0);
        client->memory = file;
        return true;
    }
    ck_assert_int_ge(number, 0);
    ck_assert_int_le(number, 65535);
    peer = find_peer(client, number);
    if (file >= 0) {
        ck_assert_uint_lt(peer->count, VECTORS);
        peer->files[peer->count++] = file;
        /* The eventfds of the other clients come before the client's own. */
        for (unsigned i = 0; number == client->id && i < CLIENTS_MAX; i++) {
            ck_assert(&client->peers[i] == peer ||
                      client->peers[i].count % VECTORS == 0);
        }
    } else {
        ck_assert_int_ne(number, client->id);
        ck_assert_uint_eq(peer->count, VECTORS);
        forget_peer(peer);
    }
    return true;
}

/* Reads all messages, and lets the broker send more, until there are none. */
static void client_read(Client *client)
{
    do {
        rig_run(rig);
    } while (client_take(client));
}

static void client_new(Client *client)
{
    client_begin(client);
    client_read(client);
    ck_assert_uint_eq(count_files(client, client->id), VECTORS);
}

/* True if the eventfd was rung once; resets it. */
static bool is_rung(int fd)
{
    uint64_t value;

    return read(fd, &value, sizeof(value)) == sizeof(value) && value == 1;
}

static void ring(Client *from, const Client *to, unsigned vector)
{
    uint64_t one = 1;

    ck_assert_int_eq(
        write(find_peer(from, to->id)->files[vector], &one, sizeof(one)),
        sizeof(one));
}

/* Checks that each client knows exactly @clients, and rings their vectors. */
static void check_mesh(Client *const *clients, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        client_read(clients[i]);
    }
    for (unsigned i = 0; i < count; i++) {
        unsigned known = 0;

        for (unsigned j = 0; j < CLIENTS_MAX; j++) {
            known += clients[i]->peers[j].count == VECTORS;
            ck_assert_uint_eq(clients[i]->peers[j].count % VECTORS, 0);
        }
        ck_assert_uint_eq(known, count);
        for (unsigned j = 0; j < count; j++) {
            for (unsigned v = 0; v < VECTORS; v++) {
                ring(clients[i], clients[j], v);
                for (unsigned k = 0; k < count; k++) {
                    const Peer *own = find_peer(clients[k], clients[k]->id);

                    for (unsigned w = 0; w < VECTORS; w++) {
                        ck_assert(is_rung(own->files[w]) == (k == j && w == v));
                    }
                }
            }
        }
    }
}

/* ---- The protocol ----------------------------------------------------- */

START_TEST(the_first_client)
{
    Client client;
    struct stat st;
    const uint8_t *memory;

    client_begin(&client);
    rig_run(rig);
    ck_assert_uint_eq(rig_last(rig, 1, CLU_BROKER_ATTACHED)->id, 0);
    client_read(&client);
    ck_assert_int_eq(client.id, 0);
    ck_assert_uint_eq(client.received, 3 + VECTORS);
    ck_assert_int_eq(fstat(client.memory, &st), 0);
    ck_assert_int_eq(st.st_size, SIZE);
    memory =
        mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, client.memory, 0);
    ck_assert_ptr_ne(memory, MAP_FAILED);
    for (unsigned i = 0; i < SIZE; i++) {
        ck_assert_uint_eq(memory[i], 0);
    }
    /* QEMU polls the eventfds; a blocking read would stop it. */
    for (unsigned i = 0; i < VECTORS; i++) {
        ck_assert(O_NONBLOCK & fcntl(find_peer(&client, 0)->files[i], F_GETFL));
    }
    client_close(&client);
    rig_run(rig);
    ck_assert_uint_eq(rig_count_files(), files);
}
END_TEST

START_TEST(clients_meet)
{
    Client clients[CLIENTS_MAX];
    Client *all[CLIENTS_MAX];

    for (unsigned i = 0; i < CLIENTS_MAX; i++) {
        all[i] = &clients[i];
        client_new(all[i]);
        ck_assert_int_eq(clients[i].id, i);
        check_mesh(all, i + 1);
    }
}
END_TEST

START_TEST(memory_is_shared_and_keeps_its_size)
{
    g_autofree char *path = clu_broker_get_memory_path(rig->broker, REGION);
    Client a, b;
    int plain = open(path, O_RDWR);
    char text[8];

    ck_assert_int_ge(plain, 0);
    client_new(&a);
    client_new(&b);
    ck_assert_int_eq(pwrite(a.memory, "far side", 8, SIZE - 8), 8);
    ck_assert_int_eq(pread(b.memory, text, 8, SIZE - 8), 8);
    ck_assert_mem_eq(text, "far side", 8);
    ck_assert_int_eq(pread(plain, text, 8, SIZE - 8), 8);
    ck_assert_mem_eq(text, "far side", 8);
    ck_assert_int_eq(ftruncate(a.memory, 0), -1);
    ck_assert_int_eq(ftruncate(plain, 2 * SIZE), -1);
    ck_assert_ptr_null(clu_broker_get_memory_path(rig->broker, "shm1"));
}
END_TEST

START_TEST(departures_are_told)
{
    Client clients[3];
    Client *all[] = {&clients[0], &clients[1], &clients[2]};
    Client *others[] = {&clients[0], &clients[2]};

    for (unsigned i = 0; i < 3; i++) {
        client_new(all[i]);
    }
    check_mesh(all, 3);
    client_close(all[1]);
    rig_run(rig);
    ck_assert_uint_eq(rig_last(rig, 4, CLU_BROKER_LEFT)->id, 1);
    for (unsigned i = 0; i < 2; i++) {
        unsigned before = others[i]->received;

        client_read(others[i]);
        ck_assert_uint_eq(others[i]->received, before + 1);
        ck_assert_uint_eq(count_files(others[i], 1), 0);
    }
    check_mesh(others, 2);
}
END_TEST

/* A client that connects again gets a new ID, and its old eventfds are dead. */
START_TEST(ids_are_not_used_again)
{
    Client clients[4];
    Client *all[] = {&clients[0], &clients[1], &clients[2], &clients[3]};
    uint64_t one = 1;
    int old;

    for (unsigned i = 0; i < 4; i++) {
        client_new(all[i]);
    }
    client_read(all[3]);
    old = dup(find_peer(all[3], 1)->files[0]);
    client_close(all[2]);
    client_close(all[1]);
    /* The broker has not noticed the end of the old connection yet. */
    client_new(all[1]);
    ck_assert_int_eq(all[1]->id, 4);
    client_new(all[2]);
    ck_assert_int_eq(all[2]->id, 5);
    check_mesh(all, 4);
    ck_assert_int_eq(write(old, &one, sizeof(one)), sizeof(one));
    ck_assert(!is_rung(find_peer(all[1], 4)->files[0]));
}
END_TEST

/* The doorbell register has 16 bits for IDs. After 65535, free IDs are used
 * again. */
START_TEST(ids_end_at_65535)
{
    Client steady, guest;
    Client *all[] = {&steady, &guest};

    client_new(&steady);
    for (unsigned i = 1; i < 65536; i++) {
        client_begin(&guest);
        rig_run(rig);
        close(guest.fd);
        client_read(&steady);
    }
    client_new(&guest);
    ck_assert_int_eq(guest.id, 1);
    check_mesh(all, 2);
}
END_TEST

START_TEST(not_more_than_the_limit)
{
    Client clients[CLIENTS_MAX];
    Client *all[CLIENTS_MAX];
    int fd;

    for (unsigned i = 0; i < CLIENTS_MAX; i++) {
        all[i] = &clients[i];
        client_new(all[i]);
    }
    fd = rig_connect(rig, REGION, SOCK_STREAM);
    rig_run(rig);
    ck_assert(rig_is_closed(fd));
    ck_assert_str_eq(rig_last(rig, CLIENTS_MAX + 1, CLU_BROKER_REFUSED)->reason,
                     "the region has as many clients as it may have");
    close(fd);
    check_mesh(all, CLIENTS_MAX);
    client_close(all[5]);
    client_new(all[5]);
    check_mesh(all, CLIENTS_MAX);
}
END_TEST

/* ---- Clients that misbehave -------------------------------------------- */

START_TEST(a_client_that_sends_is_disconnected)
{
    Client a, b;
    Client *rest[] = {&a};

    client_new(&a);
    client_new(&b);
    client_read(&a);
    rig_send(b.fd, "x", 1, _i ? STDERR_FILENO : -1);
    rig_run(rig);
    ck_assert(rig_is_closed(b.fd));
    ck_assert_str_eq(rig_last(rig, 3, CLU_BROKER_REFUSED)->reason,
                     "it sent data, which no ivshmem client does");
    check_mesh(rest, 1);
    client_close(&b);
    client_close(&a);
    rig_run(rig);
    ck_assert_uint_eq(rig_count_files(), files);
}
END_TEST

/* A client that shuts down one direction of its socket (_i) is disconnected. */
START_TEST(half_open_sockets)
{
    Client a, b;
    Client *rest[] = {&a};

    client_new(&a);
    client_begin(&b);
    ck_assert_int_eq(shutdown(b.fd, _i ? SHUT_RD : SHUT_WR), 0);
    rig_run(rig);
    rig_run(rig);
    rig_last(rig, 3, CLU_BROKER_LEFT);
    client_close(&b);
    check_mesh(rest, 1);
    ck_assert_uint_eq(a.received, 3 + VECTORS + VECTORS + 1);
}
END_TEST

/*
 * A client that does not read holds a bounded number of files, and no other
 * client waits for it. When it reads at last, it gets the clients that are
 * connected then.
 */
START_TEST(a_client_that_does_not_read)
{
    Client slow, steady, guest;
    Client *all[] = {&slow, &steady, &guest};
    unsigned most = 0;

    client_begin(&slow);
    client_new(&steady);
    for (unsigned i = 0; i < 3000; i++) {
        client_new(&guest);
        client_read(&steady);
        ck_assert_uint_eq(count_files(&steady, guest.id), VECTORS);
        client_close(&guest);
        client_read(&steady);
        ck_assert_uint_eq(count_files(&steady, guest.id), 0);
        most = MAX(most, rig_count_files());
    }
    /* Sockets of both ends; three sets of eventfds in the broker and one in
     * @steady; the memory; and files under way to @slow. */
    ck_assert_uint_le(most, files + 40);
    client_new(&guest);
    check_mesh(all, 3);
    /* It got no messages about clients that came and went meanwhile. */
    ck_assert_uint_le(slow.received, 3 + 3 * VECTORS + VECTORS + 1);
}
END_TEST

/* Clients connect and leave at random. A slow client seldom reads a message. */
START_TEST(random_clients)
{
    g_autoptr(GRand) rand = g_rand_new_with_seed((guint32)_i + 1);
    Client clients[CLIENTS_MAX];
    Client *here[CLIENTS_MAX];
    bool is_here[CLIENTS_MAX] = {false};
    unsigned count = 0;

    for (unsigned step = 0; step < 5000; step++) {
        unsigned i = (unsigned)g_rand_int_range(rand, 0, CLIENTS_MAX);

        if (!is_here[i]) {
            client_begin(&clients[i]);
            is_here[i] = true;
        } else if (g_rand_int_range(rand, 0, 8) == 0) {
            client_close(&clients[i]);
            is_here[i] = false;
        } else {
            unsigned messages = (unsigned)g_rand_int_range(rand, 0, 8);

            while (messages-- > 0 && client_take(&clients[i])) {
                ;
            }
        }
        if (g_rand_boolean(rand)) {
            rig_run(rig);
        }
    }
    for (unsigned i = 0; i < CLIENTS_MAX; i++) {
        if (is_here[i]) {
            here[count++] = &clients[i];
        }
    }
    check_mesh(here, count);
    for (unsigned i = 0; i < count; i++) {
        for (unsigned j = 0; j < i; j++) {
            ck_assert_int_ne(here[i]->id, here[j]->id);
        }
        client_close(here[i]);
    }
    rig_run(rig);
    ck_assert_uint_eq(rig_count_files(), files);
}
END_TEST

/* ---- Resources -------------------------------------------------------- */

/* The kernel limits files under way only for unprivileged processes. */
static void give_up_privileges(void)
{
    if (geteuid() == 0) {
        ck_assert_int_eq(g_chmod(rig->folder, 0777), 0);
        ck_assert_int_eq(setegid(65534), 0);
        ck_assert_int_eq(seteuid(65534), 0);
    }
}

static void take_privileges_back(void)
{
    if (getuid() == 0) {
        ck_assert_int_eq(seteuid(0), 0);
    }
}

/*
 * The kernel limits the files that a user has sent and no process has received
 * yet to RLIMIT_NOFILE. Clients that do not read use up this limit. The others
 * get their files when there is room again.
 */
START_TEST(files_on_their_way_are_limited)
{
    const CluBrokerRegion region = {SIZE, 32, CLIENTS_MAX};
    struct rlimit few, many;
    int64_t number;
    int fds[CLIENTS_MAX];
    int own[CLIENTS_MAX];
    unsigned received = 0;
    int file;

    add_region("wide", &region);
    for (unsigned i = 0; i < CLIENTS_MAX; i++) {
        fds[i] = rig_connect(rig, "wide", SOCK_STREAM);
    }
    rig_run(rig);
    ck_assert_uint_eq(rig->notice_count, CLIENTS_MAX);
    memset(own, 0, sizeof(own));
    ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &many), 0);
    /* Not fewer than the descriptors that poll() gets: it has the same limit.
     */
    few = (struct rlimit){24, many.rlim_max};
    give_up_privileges();
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &few), 0);
    /* The last client reads. More files than the limit are under way to the
     * others, so it gets nothing, but stays connected. */
    for (unsigned i = 0; i < 50; i++) {
        rig_run(rig);
        while (recv(fds[CLIENTS_MAX - 1], &number, sizeof(number), 0) ==
               sizeof(number)) {
            received++;
        }
        g_usleep(1000);
    }
    ck_assert_uint_lt(received, 3 + CLIENTS_MAX * 32);
    ck_assert(rig_is_quiet(fds[CLIENTS_MAX - 1]));
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &many), 0);
    take_privileges_back();
    while (received < 3 + CLIENTS_MAX * 32) {
        g_main_context_iteration(rig->context, TRUE);
        while (rig_receive(fds[CLIENTS_MAX - 1], &number, sizeof(number),
                           &file) == sizeof(number)) {
            received++;
            if (file >= 0) {
                close(file);
            }
        }
    }
    ck_assert_uint_eq(rig->notice_count, CLIENTS_MAX);
    for (unsigned i = 0; i < CLIENTS_MAX; i++) {
        close(fds[i]);
    }
    rig_run(rig);
    ck_assert_uint_eq(rig->notice_count, 2 * CLIENTS_MAX);
}
END_TEST

START_TEST(want_of_files_refuses_one)
{
    Client a, b;
    Client *all[] = {&a, &b};
    struct rlimit few, many;
    int fd, spare;

    client_new(&a);
    fd = rig_connect(rig, REGION, SOCK_STREAM);
    spare = dup(STDERR_FILENO);
    close(spare);
    ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &many), 0);
    few = many;
    /* Room for the connection and for all eventfds but one. */
    few.rlim_cur = (rlim_t)spare + VECTORS;
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &few), 0);
    rig_run(rig);
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &many), 0);
    ck_assert(rig_is_closed(fd));
    close(fd);
    ck_assert_str_eq(rig_last(rig, 2, CLU_BROKER_REFUSED)->reason,
                     g_strerror(EMFILE));
    client_new(&b);
    check_mesh(all, 2);
}
END_TEST

/* ---- Regions ---------------------------------------------------------- */

static const struct {
    CluBrokerRegion region;
    const char *complaint;
} wrong_regions[] = {
    {{0, 1, 1}, "size"},
    {{2048, 1, 1}, "size"},
    {{12288, 1, 1}, "size"},
    {{(1ull << 20) + 1, 1, 1}, "size"},
    {{1ull << 63, 1, 1}, "size"},
    {{SIZE, 0, 1}, "vectors"},
    {{SIZE, CLU_BROKER_VECTORS_MAX + 1, 1}, "vectors"},
    {{SIZE, 1, 0}, "clients"},
    {{SIZE, 1, CLU_BROKER_CLIENTS_MAX + 1}, "clients"},
};

START_TEST(regions_that_cannot_be)
{
    g_autofree char *path = rig_path(rig, "wrong");
    g_autoptr(GError) error = NULL;

    ck_assert(!clu_broker_add_region(rig->broker, "wrong", path,
                                     &wrong_regions[_i].region, &error));
    ck_assert_ptr_nonnull(error);
    ck_assert(error->domain == G_FILE_ERROR);
    ck_assert(g_str_has_prefix(error->message, "wrong: "));
    ck_assert_ptr_nonnull(strstr(error->message, wrong_regions[_i].complaint));
    ck_assert_int_ne(g_access(path, F_OK), 0);
    ck_assert_uint_eq(rig_count_files(), files);
}
END_TEST

START_TEST(regions_are_apart)
{
    const CluBrokerRegion region = {2 * SIZE, VECTORS, 1};
    g_autofree char *path = NULL;
    Client a;
    int fd, file, memory = -1;
    int64_t number;
    struct stat st;

    add_region("shm1", &region);
    client_new(&a);
    fd = rig_connect(rig, "shm1", SOCK_STREAM);
    rig_run(rig);
    for (unsigned i = 0; i < 3 + VECTORS; i++) {
        ck_assert_int_eq(rig_receive(fd, &number, sizeof(number), &file),
                         sizeof(number));
        rig_run(rig);
        if (number == -1) {
            memory = file;
        } else {
            ck_assert_int_eq(number, 0);
        }
    }
    ck_assert(rig_is_quiet(fd));
    ck_assert_int_eq(fstat(memory, &st), 0);
    ck_assert_int_eq(st.st_size, 2 * SIZE);
    client_read(&a);
    ck_assert_uint_eq(a.received, 3 + VECTORS);
    path = clu_broker_get_memory_path(rig->broker, "shm1");
    ck_assert_int_eq(g_stat(path, &st), 0);
    ck_assert_int_eq(st.st_size, 2 * SIZE);
}
END_TEST

/* Clients continue without the broker, and keep the memory. */
START_TEST(freeing_leaves_clients_alone)
{
    Client a, b;

    client_new(&a);
    client_new(&b);
    client_read(&a);
    clu_broker_free(rig->broker);
    rig->broker = NULL;
    ck_assert(rig_is_closed(a.fd));
    ring(&a, &b, 2);
    ck_assert(is_rung(find_peer(&b, b.id)->files[2]));
    ck_assert_int_eq(pwrite(a.memory, "x", 1, 0), 1);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("clu_broker_ivshmem");
    TCase *tcase = tcase_create("ivshmem");

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_set_timeout(tcase, 240);
    tcase_add_test(tcase, the_first_client);
    tcase_add_test(tcase, clients_meet);
    tcase_add_test(tcase, memory_is_shared_and_keeps_its_size);
    tcase_add_test(tcase, departures_are_told);
    tcase_add_test(tcase, ids_are_not_used_again);
    tcase_add_test(tcase, ids_end_at_65535);
    tcase_add_test(tcase, not_more_than_the_limit);
    tcase_add_loop_test(tcase, a_client_that_sends_is_disconnected, 0, 2);
    tcase_add_loop_test(tcase, half_open_sockets, 0, 2);
    tcase_add_test(tcase, a_client_that_does_not_read);
    tcase_add_loop_test(tcase, random_clients, 0, 4);
    tcase_add_test(tcase, files_on_their_way_are_limited);
    tcase_add_test(tcase, want_of_files_refuses_one);
    tcase_add_loop_test(tcase, regions_that_cannot_be, 0,
                        G_N_ELEMENTS(wrong_regions));
    tcase_add_test(tcase, regions_are_apart);
    tcase_add_test(tcase, freeing_leaves_clients_alone);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
