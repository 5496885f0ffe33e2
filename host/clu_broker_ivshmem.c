/* SPDX-License-Identifier: MIT */
/*
 * The server of the ivshmem client-server protocol of QEMU's
 * docs/specs/ivshmem-spec.txt. Only the server sends. Each client has a queue
 * of messages that its socket has not taken yet. The queue stays bounded even
 * if its client never reads: if a peer comes and goes while the messages about
 * it are still queued, they are removed.
 */
#define _GNU_SOURCE
#include "clu_broker_ivshmem.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "clu_socket.h"
#include "clu_source.h"

#define PROTOCOL_VERSION 0
#define SHARED_MEMORY    (-1)

/*
 * The kernel counts the descriptors that have been sent but not yet received,
 * for all sockets of a user together, and refuses to send more than
 * RLIMIT_NOFILE. A small send buffer keeps clients that do not read from using
 * up this budget. If the kernel refuses, the broker tries again after RETRY_MS.
 */
#define SEND_BUFFER_BYTES 1
#define RETRY_MS          20

/* The eventfds of a client, one for each of its interrupt vectors. Queued
 * messages share them and may outlive the client. */
typedef struct Vectors {
    unsigned refs;
    unsigned count;
    int fds[CLU_BROKER_VECTORS_MAX];
} Vectors;

typedef struct Message {
    int64_t number;   /* protocol version, ID, or SHARED_MEMORY */
    int file;         /* descriptor to send along, borrowed; -1: none */
    Vectors *vectors; /* owner of `file`; NULL: the region, or no file */
} Message;

typedef struct Client {
    CluBrokerShm *shm;
    int fd;
    pid_t pid;
    unsigned id;
    Vectors *vectors;
    GQueue out; /* of Message, owned */
    GSource *readable;
    GSource *writable; /* set while the socket is full */
    GSource *retry;    /* set while the kernel refuses more descriptors */
} Client;

struct CluBrokerShm {
    const CluBrokerShared *shared;
    char *name;
    CluBrokerRegion region;
    int file; /* descriptor of the memory */
    CluListener *listener;
    GPtrArray *clients; /* of Client, owned */
    uint16_t next_id;   /* wraps: every 16-bit value is a valid ID */
};

/* ---- Vectors ---------------------------------------------------------- */

static void vectors_unref(Vectors *vectors)
{
    if (!vectors || --vectors->refs > 0) {
        return;
    }
    for (unsigned i = 0; i < vectors->count; i++) {
        close(vectors->fds[i]);
    }
    g_free(vectors);
}
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Vectors, vectors_unref)

/* Returns NULL and sets errno if the process has too many open files. */
static Vectors *vectors_new(unsigned count)
{
    g_autoptr(Vectors) vectors = g_new0(Vectors, 1);

    vectors->refs = 1;
    while (vectors->count < count) {
        int fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);

        if (fd < 0) {
            return NULL;
        }
        vectors->fds[vectors->count++] = fd;
    }
    return g_steal_pointer(&vectors);
}

/* ---- Sending ---------------------------------------------------------- */

static void message_free(Message *message)
{
    vectors_unref(message->vectors);
    g_free(message);
}

static void post(Client *client, int64_t number, int file, Vectors *vectors)
{
    Message *message = g_new(Message, 1);

    *message = (Message){number, file, vectors};
    if (vectors) {
        vectors->refs++;
    }
    g_queue_push_tail(&client->out, message);
}

static void post_vectors(Client *client, unsigned id, Vectors *vectors)
{
    for (unsigned i = 0; i < vectors->count; i++) {
        post(client, id, vectors->fds[i], vectors);
    }
}

static void flush(Client *client);

static gboolean client_writable(int fd, GIOCondition condition, gpointer data)
{
    flush(data);
    return G_SOURCE_CONTINUE;
}

static gboolean client_retry(gpointer data)
{
    flush(data);
    return G_SOURCE_CONTINUE;
}

/* Sends as much of the queue as the socket takes. Never frees @client. */
static void flush(Client *client)
{
    GMainContext *context = client->shm->shared->context;
    int code = 0;

    while (code == 0 && !g_queue_is_empty(&client->out)) {
        const Message *message = g_queue_peek_head(&client->out);
        int64_t number = GINT64_TO_LE(message->number);

        if (clu_socket_send(client->fd, &number, sizeof(number),
                            message->file)) {
            message_free(g_queue_pop_head(&client->out));
        } else {
            code = errno;
        }
    }
    clu_source_clear(&client->retry);
    if (code != EAGAIN) {
        clu_source_clear(&client->writable);
    } else if (!client->writable) {
        client->writable = clu_source_new_fd(context, client->fd, G_IO_OUT,
                                             client_writable, client);
    }
    switch (code) {
    case 0:
    case EAGAIN:
        break;
    case ENOBUFS:
    case ENOMEM:
    case ETOOMANYREFS:
        client->retry =
            clu_source_new_timer(context, RETRY_MS, client_retry, client);
        break;
    default:
        /* client_readable() sees the end of the connection and drops the
         * client. */
        g_queue_clear_full(&client->out, (GDestroyNotify)message_free);
        shutdown(client->fd, SHUT_RDWR);
        break;
    }
}

/*
 * Tells @client that the client @id, the owner of @vectors, has gone. If all
 * messages that announce @id are still queued, they are removed instead:
 * @client never knew of it.
 */
static void post_farewell(Client *client, unsigned id, const Vectors *vectors)
{
    GQueue *out = &client->out;
    unsigned waiting = 0;

    for (GList *item = out->head; item; item = item->next) {
        const Message *message = item->data;

        waiting += message->vectors == vectors;
    }
    if (waiting < vectors->count) {
        post(client, id, -1, NULL);
        return;
    }
    for (GList *item = out->head, *next; item; item = next) {
        Message *message = item->data;

        next = item->next;
        if (message->vectors == vectors) {
            message_free(message);
            g_queue_delete_link(out, item);
        }
    }
}

/* ---- Clients ---------------------------------------------------------- */

static void tell(const Client *client, CluBrokerEvent event, const char *reason)
{
    clu_broker_tell(client->shm->shared,
                    (CluBrokerNotice){.event = event,
                                      .name = client->shm->name,
                                      .reason = reason,
                                      .pid = client->pid,
                                      .id = reason ? 0 : client->id});
}

static void client_free(gpointer data)
{
    Client *client = data;

    clu_source_clear(&client->readable);
    clu_source_clear(&client->writable);
    clu_source_clear(&client->retry);
    g_queue_clear_full(&client->out, (GDestroyNotify)message_free);
    vectors_unref(client->vectors);
    close(client->fd);
    g_free(client);
}

static void drop(Client *client, const char *reason)
{
    CluBrokerShm *shm = client->shm;

    for (unsigned i = 0; i < shm->clients->len; i++) {
        Client *other = shm->clients->pdata[i];

        if (other != client) {
            post_farewell(other, client->id, client->vectors);
            flush(other);
        }
    }
    tell(client, reason ? CLU_BROKER_REFUSED : CLU_BROKER_LEFT, reason);
    g_ptr_array_remove(shm->clients, client);
}

static void drop_closed(CluBrokerShm *shm)
{
    for (unsigned i = shm->clients->len; i-- > 0;) {
        Client *client = shm->clients->pdata[i];

        if (clu_socket_is_closed(client->fd)) {
            drop(client, NULL);
        }
    }
}

static gboolean client_readable(int fd, GIOCondition condition, gpointer data)
{
    drop(data, clu_socket_is_closed(fd)
                   ? NULL
                   : "it sent data, which no ivshmem client does");
    return G_SOURCE_CONTINUE;
}

static bool is_taken(const CluBrokerShm *shm, unsigned id)
{
    for (unsigned i = 0; i < shm->clients->len; i++) {
        const Client *client = shm->clients->pdata[i];

        if (client->id == id) {
            return true;
        }
    }
    return false;
}

/*
 * Gives IDs in turn, so that an ID is reused as late as possible. The ivshmem
 * device of QEMU 7.2 uses freed memory if a peer leaves and its ID returns.
 */
static unsigned choose_id(CluBrokerShm *shm)
{
    unsigned id;

    do {
        id = shm->next_id++;
    } while (is_taken(shm, id));
    return id;
}

static void introduce(Client *client)
{
    CluBrokerShm *shm = client->shm;

    post(client, PROTOCOL_VERSION, -1, NULL);
    post(client, client->id, -1, NULL);
    post(client, SHARED_MEMORY, shm->file, NULL);
    for (unsigned i = 0; i < shm->clients->len; i++) {
        Client *other = shm->clients->pdata[i];

        if (other != client) {
            post_vectors(client, other->id, other->vectors);
            post_vectors(other, client->id, client->vectors);
            flush(other);
        }
    }
    post_vectors(client, client->id, client->vectors);
    flush(client);
}

static void refuse(CluBrokerShm *shm, int fd, const char *reason)
{
    clu_broker_tell(shm->shared,
                    (CluBrokerNotice){.event = CLU_BROKER_REFUSED,
                                      .name = shm->name,
                                      .reason = reason,
                                      .pid = clu_socket_get_pid(fd)});
    close(fd);
}

static void client_new(int fd, void *data)
{
    CluBrokerShm *shm = data;
    const int send_buffer = SEND_BUFFER_BYTES;
    Client *client;
    Vectors *vectors;

    /* A client that reconnects must not be refused because its old connection
     * still counts. */
    drop_closed(shm);
    if (shm->clients->len == shm->region.clients_max) {
        refuse(shm, fd, "the region has as many clients as it may have");
        return;
    }
    vectors = vectors_new(shm->region.vectors);
    if (!vectors) {
        refuse(shm, fd, g_strerror(errno));
        return;
    }
    setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &send_buffer, sizeof(send_buffer));
    client = g_new0(Client, 1);
    client->shm = shm;
    client->fd = fd;
    client->pid = clu_socket_get_pid(fd);
    client->id = choose_id(shm);
    client->vectors = vectors;
    g_queue_init(&client->out);
    client->readable = clu_source_new_fd(
        shm->shared->context, fd, G_IO_IN | G_IO_HUP, client_readable, client);
    g_ptr_array_add(shm->clients, client);
    introduce(client);
    tell(client, CLU_BROKER_ATTACHED, NULL);
}

/* ---- The region ------------------------------------------------------- */

static bool check_region(const CluBrokerRegion *region, GError **error)
{
    const char *wrong = NULL;

    if (region->size_bytes < (uint64_t)sysconf(_SC_PAGESIZE) ||
        region->size_bytes > INT64_MAX ||
        (region->size_bytes & (region->size_bytes - 1))) {
        wrong = "its size must be a power of 2 and at least a page";
    } else if (region->vectors < 1 ||
               region->vectors > CLU_BROKER_VECTORS_MAX) {
        wrong =
            "it must have 1 to " G_STRINGIFY(CLU_BROKER_VECTORS_MAX) " vectors";
    } else if (region->clients_max < 1 ||
               region->clients_max > CLU_BROKER_CLIENTS_MAX) {
        wrong =
            "it must have 1 to " G_STRINGIFY(CLU_BROKER_CLIENTS_MAX) " clients";
    }
    if (wrong) {
        g_set_error_literal(error, G_FILE_ERROR, G_FILE_ERROR_INVAL, wrong);
    }
    return !wrong;
}

/* The memory is sealed: a client that shrinks it would crash the others. */
static int memory_new(const CluBrokerRegion *region, GError **error)
{
    int fd = memfd_create("ivshmem", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    int code;

    if (fd >= 0 && ftruncate(fd, (off_t)region->size_bytes) == 0 &&
        fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) ==
            0) {
        return fd;
    }
    code = errno;
    g_set_error(error, G_FILE_ERROR, g_file_error_from_errno(code),
                "cannot allocate shared memory: %s", g_strerror(code));
    if (fd >= 0) {
        close(fd);
    }
    return -1;
}

CluBrokerShm *clu_broker_shm_new(const CluBrokerShared *shared,
                                 const char *name, const char *path,
                                 const CluBrokerRegion *region, GError **error)
{
    CluBrokerShm *shm = g_new0(CluBrokerShm, 1);

    shm->shared = shared;
    shm->name = g_strdup(name);
    shm->region = *region;
    shm->clients = g_ptr_array_new_with_free_func(client_free);
    shm->file = -1;
    if (check_region(region, error)) {
        shm->file = memory_new(region, error);
    }
    if (shm->file >= 0) {
        shm->listener = clu_listener_new(shared->context, path, SOCK_STREAM,
                                         client_new, shm, error);
    }
    if (!shm->listener) {
        g_prefix_error(error, "%s: ", name);
        g_clear_pointer(&shm, clu_broker_shm_free);
    }
    return shm;
}

void clu_broker_shm_free(CluBrokerShm *shm)
{
    if (!shm) {
        return;
    }
    clu_listener_free(shm->listener);
    g_ptr_array_unref(shm->clients);
    if (shm->file >= 0) {
        close(shm->file);
    }
    g_free(shm->name);
    g_free(shm);
}

const char *clu_broker_shm_get_name(const CluBrokerShm *shm)
{
    return shm->name;
}

int clu_broker_shm_get_file(const CluBrokerShm *shm)
{
    return shm->file;
}
