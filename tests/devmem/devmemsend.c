/* SPDX-License-Identifier: MIT */
/*
 * devmemsend INTERFACE OTHER ADDRESS PORT
 *
 * binds memory for sending to the interface, connects, and prints for each
 * sentence of the kernel's Documentation/networking/devmem.rst about sending
 * (Linux 6.16) "ok" or "not ok". OTHER is another interface. What it sends are
 * the first 3,072 bytes of the pattern.
 */
#include "devmem.h"

#include <linux/errqueue.h>
#include <linux/in6.h>
#include <poll.h>

#define FIRST        100 /* as the document's example: these places and sizes */
#define FIRST_BYTES  1024
#define SECOND       2000
#define SECOND_BYTES 2048
#define WAIT_MS      10000

static struct ynl_sock *ynl;

/* Binds the memory. The binding ends with the socket ynl. Return: its number,
 * or 0. */
static unsigned int bind_memory(const char *interface)
{
    struct netdev_bind_tx_req *req = netdev_bind_tx_req_alloc();
    struct netdev_bind_tx_rsp *rsp;
    struct ynl_error said;
    unsigned int id;

    ynl = ynl_sock_create(&ynl_netdev_family, &said);
    if (!ynl)
        error(1, 0, "%s", said.msg);
    netdev_bind_tx_req_set_ifindex(req, if_nametoindex(interface));
    netdev_bind_tx_req_set_fd(req, udmabuf);
    rsp = netdev_bind_tx(ynl, req);
    netdev_bind_tx_req_free(req);
    if (!rsp) {
        fprintf(stderr, "bind: %s\n", ynl->err.msg);
        ynl_sock_destroy(ynl);
        return 0;
    }
    id = rsp->id;
    netdev_bind_tx_rsp_free(rsp);
    return id;
}

/* Sends parts of the memory. Return: what sendmsg() does; with an error, errno
 * has it. */
static ssize_t send_parts(int fd, unsigned int id, struct iovec *parts, int n,
                          int flags)
{
    union {
        char bytes[CMSG_SPACE(sizeof(id))];
        struct cmsghdr align;
    } control = {0};
    struct msghdr msg = {.msg_iov = parts,
                         .msg_iovlen = n,
                         .msg_control = control.bytes,
                         .msg_controllen = sizeof(control.bytes)};
    struct cmsghdr *cm = CMSG_FIRSTHDR(&msg);

    cm->cmsg_level = SOL_SOCKET;
    cm->cmsg_type = SCM_DEVMEM_DMABUF;
    cm->cmsg_len = CMSG_LEN(sizeof(id));
    memcpy(CMSG_DATA(cm), &id, sizeof(id));
    return sendmsg(fd, &msg, flags | MSG_NOSIGNAL);
}

static ssize_t send_byte(int fd, unsigned int id, unsigned long place,
                         int flags)
{
    struct iovec part = {.iov_base = (void *)place, .iov_len = 1};

    return send_parts(fd, id, &part, 1, flags);
}

static bool refused(int fd, unsigned int id, unsigned long place, int flags,
                    int expected)
{
    ssize_t size = send_byte(fd, id, place, flags);
    int err = size < 0 ? errno : 0;

    if (err != expected)
        printf("# sendmsg() gave %zd, error %d\n", size, err);
    return err == expected;
}

/* Return: whether the kernel says that it has done with what was sent. */
static bool is_done(int fd)
{
    struct pollfd wait = {.fd = fd};
    char control[CMSG_SPACE(100)];
    struct msghdr msg = {.msg_control = control,
                         .msg_controllen = sizeof(control)};
    struct sock_extended_err *said;

    if (poll(&wait, 1, WAIT_MS) <= 0 || !(wait.revents & POLLERR) ||
        recvmsg(fd, &msg, MSG_ERRQUEUE) < 0 || !CMSG_FIRSTHDR(&msg))
        return false;
    said = (struct sock_extended_err *)CMSG_DATA(CMSG_FIRSTHDR(&msg));
    return said->ee_origin == SO_EE_ORIGIN_ZEROCOPY && !said->ee_errno;
}

static int connect_to(const char *interface, const char *text, const char *port)
{
    struct sockaddr_in6 address = address_of(text, port);
    int fd = socket(AF_INET6, SOCK_STREAM, 0), on = 1;

    if (setsockopt(fd, SOL_SOCKET, SO_ZEROCOPY, &on, sizeof(on)) < 0 ||
        setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, interface,
                   strlen(interface) + 1) < 0 ||
        connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0)
        error(1, errno, "%s port %s", text, port);
    return fd;
}

static void check_refusals(int fd, unsigned int id, const char *other)
{
    struct ynl_sock *mine = ynl;
    unsigned int wrong;

    say("without MSG_ZEROCOPY: EINVAL", refused(fd, id, 0, 0, EINVAL));
    say("a number of no binding: EINVAL",
        refused(fd, id + 1000, 0, MSG_ZEROCOPY, EINVAL));
    say("a place behind the memory's end: EFAULT",
        refused(fd, id, PAGES * PAGE, MSG_ZEROCOPY, EFAULT));
    wrong = bind_memory(other);
    say("memory that is bound to another interface: ENODEV",
        wrong && refused(fd, wrong, 0, MSG_ZEROCOPY, ENODEV));
    if (wrong)
        ynl_sock_destroy(ynl);
    ynl = mine;
}

int main(int argc, char **argv)
{
    struct iovec parts[] = {
        {.iov_base = (void *)FIRST, .iov_len = FIRST_BYTES},
        {.iov_base = (void *)SECOND, .iov_len = SECOND_BYTES}};
    unsigned long i;
    unsigned int id;
    int fd;

    if (argc != 5) {
        fputs("usage: see the head of devmemsend.c\n", stderr);
        return 2;
    }
    memory_make();
    memset(memory, 0xff, PAGES * PAGE);
    for (i = 0; i < FIRST_BYTES; i++)
        memory[FIRST + i] = pattern(i);
    for (i = 0; i < SECOND_BYTES; i++)
        memory[SECOND + i] = pattern(FIRST_BYTES + i);
    id = bind_memory(argv[1]);
    say("memory is bound", id);
    fd = connect_to(argv[1], argv[3], argv[4]);
    check_refusals(fd, id, argv[2]);
    say("two parts of the memory are sent",
        send_parts(fd, id, parts, 2, MSG_ZEROCOPY) ==
            FIRST_BYTES + SECOND_BYTES);
    say("the kernel says when it has done with them", is_done(fd));
    ynl_sock_destroy(ynl);
    say("the binding ends with its socket",
        refused(fd, id, FIRST, MSG_ZEROCOPY, EINVAL));
    close(fd);
    return 0;
}
