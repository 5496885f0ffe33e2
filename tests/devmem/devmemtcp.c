/* SPDX-License-Identifier: MIT */
/*
 * The two ends of the tests of devmem TCP.
 *
 * devmemtcp send ADDRESS PORT BYTES [split|whole|gates]
 *
 * connects, sends a pattern (1 to 6, 0, and again) and waits until the other
 * end closes. "whole": each packet has a header of destination options (IPv6),
 * and the NIC splits no such packet. "gates": it begins to send when there is a
 * file /tmp/begin, in packets that are full but for the last one, and closes
 * when there is /tmp/end.
 *
 * devmemtcp check INTERFACE QUEUE ADDRESS PORT
 *
 * binds memory to the queue, accepts one connection, and prints for each
 * sentence of the kernel's Documentation/networking/devmem.rst about sockets
 * "ok" or "not ok".
 *
 * devmemtcp linear INTERFACE QUEUE ADDRESS PORT BYTES
 *
 * the same, and prints how many bytes came in the linear part, in the memory,
 * and not as sent.
 *
 * devmemtcp plain ADDRESS PORT BYTES
 *
 * accepts one connection, reads by recvmsg() with MSG_SOCK_DEVMEM, and prints
 * how many bytes came without a control message, and how many with.
 *
 * devmemtcp capture INTERFACE PORT FRAMES
 *
 * sees so many frames with payload to the port, and prints how many bytes of
 * payload they say that they have, and how many of these a packet socket gets.
 *
 * devmemtcp read ADDRESS PORT BYTES [gates]
 *
 * accepts one connection, reads by read(), and prints bytes, seconds, and
 * wrong bytes. "gates": it reads when there is a file /tmp/begin, until
 * nothing has come for five seconds, and ends the connection by a RST.
 */
#include "devmem.h"

#include <linux/if_packet.h>
#include <netinet/if_ether.h>
#include <netinet/ip.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <time.h>

#ifndef MSG_SOCK_DEVMEM
#define MSG_SOCK_DEVMEM 0x2000000
#endif

#define TOKENS      16384
#define TOKENS_MAX  128 /* of one call, as the document says */
#define FRAGS_MAX   1024
/* Room for a frame that Linux has put together of several */
#define RING_FRAME  (1 << 17)
#define RING_FRAMES 16

static struct ynl_sock *ynl;
static struct dmabuf_token tokens[TOKENS];
static unsigned int n_tokens;
static unsigned long received, linear, wrong, plain;
static char iobuf[1 << 16];

static void pattern_compare(const unsigned char *bytes, unsigned int n)
{
    unsigned int i;

    for (i = 0; i < n; i++)
        wrong += bytes[i] != pattern(received + i);
    received += n;
}

/* Return: 0, or -1; the binding ends with the socket ynl. */
static int bind_queue(const char *interface, int queue)
{
    struct netdev_queue_id *queues = calloc(1, sizeof(*queues));
    struct netdev_bind_rx_req *req = netdev_bind_rx_req_alloc();
    struct netdev_bind_rx_rsp *rsp;
    struct ynl_error said;

    ynl = ynl_sock_create(&ynl_netdev_family, &said);
    if (!ynl)
        error(1, 0, "%s", said.msg);
    queues->_present.type = 1;
    queues->_present.id = 1;
    queues->type = NETDEV_QUEUE_TYPE_RX;
    queues->id = queue;
    netdev_bind_rx_req_set_ifindex(req, if_nametoindex(interface));
    netdev_bind_rx_req_set_fd(req, udmabuf);
    __netdev_bind_rx_req_set_queues(req, queues, 1);
    rsp = netdev_bind_rx(ynl, req);
    netdev_bind_rx_req_free(req);
    if (!rsp) {
        fprintf(stderr, "bind: %s\n", ynl->err.msg);
        ynl_sock_destroy(ynl);
        return -1;
    }
    netdev_bind_rx_rsp_free(rsp);
    return 0;
}

static int accept_one(const char *text, const char *port)
{
    struct sockaddr_in6 address = address_of(text, port);
    int fd = socket(AF_INET6, SOCK_STREAM, 0), on = 1, client;

    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    if (bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0 ||
        listen(fd, 1) < 0)
        error(1, errno, "%s port %s", text, port);
    puts("listening");
    fflush(stdout);
    client = accept(fd, NULL, NULL);
    close(fd);
    return client;
}

/* Receives once. Return: what recvmsg() does. */
static ssize_t receive(int fd, int flags)
{
    static char control[sizeof(int) * 20000];
    struct iovec iov = {.iov_base = iobuf, .iov_len = sizeof(iobuf)};
    struct msghdr msg = {.msg_iov = &iov,
                         .msg_iovlen = 1,
                         .msg_control = control,
                         .msg_controllen = sizeof(control)};
    ssize_t size = recvmsg(fd, &msg, MSG_SOCK_DEVMEM | flags);
    struct cmsghdr *cm;
    char *text = iobuf;

    if (size > 0 && !CMSG_FIRSTHDR(&msg)) {
        pattern_compare((unsigned char *)iobuf, size);
        plain += size;
    }
    for (cm = CMSG_FIRSTHDR(&msg); size > 0 && cm; cm = CMSG_NXTHDR(&msg, cm)) {
        struct dmabuf_cmsg *frag = (struct dmabuf_cmsg *)CMSG_DATA(cm);

        if (cm->cmsg_type == SCM_DEVMEM_LINEAR) {
            pattern_compare((unsigned char *)text, frag->frag_size);
            text += frag->frag_size;
            linear += frag->frag_size;
        } else if (cm->cmsg_type == SCM_DEVMEM_DMABUF) {
            pattern_compare(memory + frag->frag_offset, frag->frag_size);
            if (n_tokens == TOKENS)
                error(1, 0, "more than %d fragments", TOKENS);
            tokens[n_tokens].token_start = frag->frag_token;
            tokens[n_tokens++].token_count = 1;
        }
    }
    return size;
}

/* Gives back the first tokens. Return: what the kernel says. */
static int give_back(int fd, unsigned int n)
{
    int ret = setsockopt(fd, SOL_SOCKET, SO_DEVMEM_DONTNEED, tokens,
                         n * sizeof(tokens[0]));

    if (ret > 0) {
        memmove(tokens, tokens + n, (n_tokens - n) * sizeof(tokens[0]));
        n_tokens -= n;
    }
    return ret;
}

static void give_back_all(int fd)
{
    while (n_tokens)
        if (give_back(fd, n_tokens < TOKENS_MAX ? n_tokens : TOKENS_MAX) <= 0)
            error(1, errno, "SO_DEVMEM_DONTNEED");
}

/* Ends a reception when nothing has come for so long; $SLOW is a factor. 0: for
 * ever. */
static void set_patience(int fd, int seconds)
{
    const char *slow = getenv("SLOW");
    struct timeval patience = {.tv_sec = seconds * (slow ? atoi(slow) : 1)};

    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
}

/* Receives until nothing comes for some seconds. Return: the bytes. */
static unsigned long receive_until_quiet(int fd, int seconds)
{
    unsigned long before = received;

    set_patience(fd, seconds);
    while (receive(fd, 0) > 0)
        ;
    return received - before;
}

/* All fragments in one token: the kernel gives the lowest numbers that are
 * free. */
static void check_fragments(int fd)
{
    struct dmabuf_token all = {.token_start = tokens[0].token_start};
    unsigned int i, kept = 0;
    int ret;

    for (i = 1; i < n_tokens; i++)
        if (tokens[i].token_start < all.token_start)
            all.token_start = tokens[i].token_start;
    all.token_count = n_tokens;
    ret = setsockopt(fd, SOL_SOCKET, SO_DEVMEM_DONTNEED, &all, sizeof(all));
    printf("# %u fragments in one token: %d are freed\n", n_tokens, ret);
    say("of more than 1,024 fragments, the kernel frees 1,024",
        n_tokens > FRAGS_MAX && ret == FRAGS_MAX);
    for (i = 0; i < n_tokens; i++)
        if (tokens[i].token_start >= all.token_start + FRAGS_MAX)
            tokens[kept++] = tokens[i];
    n_tokens = kept;
}

static int check(char **argv)
{
    unsigned long before;
    ssize_t size;
    char byte[64];
    int fd;

    memory_make();
    say("memory is bound", bind_queue(argv[0], atoi(argv[1])) == 0);
    fd = accept_one(argv[2], argv[3]);
    sleep(1);
    size = recv(fd, byte, sizeof(byte), 0);
    say("without MSG_SOCK_DEVMEM: EFAULT", size < 0 && errno == EFAULT);
    while (n_tokens < TOKENS_MAX + 1 && receive(fd, 0) > 0)
        ;
    errno = 0;
    say("more than 128 tokens: EINVAL",
        setsockopt(fd, SOL_SOCKET, SO_DEVMEM_DONTNEED, tokens,
                   (TOKENS_MAX + 1) * sizeof(tokens[0])) < 0 &&
            errno == EINVAL);
    say("128 tokens: 128 are freed", give_back(fd, TOKENS_MAX) == TOKENS_MAX);
    /* No token is given back, so the memory runs out. */
    receive_until_quiet(fd, 3);
    printf("# %u of %d pages are held\n", n_tokens, PAGES);
    say("memory that is not given back runs out", n_tokens > PAGES / 2);
    check_fragments(fd);
    give_back_all(fd);
    before = received;
    while (received < before + (1 << 20) && receive(fd, 0) > 0)
        give_back_all(fd);
    /* TCP has doubled its time-out of retransmission while nothing was
     * received. */
    if (received < before + (1 << 20))
        receive_until_quiet(fd, 20);
    say("when it is given back, reception goes on",
        received >= before + (1 << 20));
    say("all bytes are those that were sent", wrong == 0);
    printf("# %lu bytes, %lu of them linear, %lu wrong\n", received, linear,
           wrong);
    say("a queue has one binding", bind_queue(argv[0], atoi(argv[1])) < 0);
    close(fd);
    return 0;
}

static int count_linear(char **argv)
{
    unsigned long bytes = strtoul(argv[4], NULL, 0);
    int fd;

    memory_make();
    if (bind_queue(argv[0], atoi(argv[1])) < 0)
        return 1;
    fd = accept_one(argv[2], argv[3]);
    while (received < bytes && receive(fd, 0) > 0)
        give_back_all(fd);
    printf("linear %lu memory %lu wrong %lu\n", linear, received - linear,
           wrong);
    close(fd);
    return 0;
}

static int count_plain(char **argv)
{
    unsigned long bytes = strtoul(argv[2], NULL, 0);
    int fd = accept_one(argv[0], argv[1]);

    while (received < bytes && receive(fd, 0) > 0)
        ;
    printf("plain %lu others %lu wrong %lu\n", plain, received - plain, wrong);
    close(fd);
    return 0;
}

/* Of a frame of @size bytes. Return: the payload that its headers tell, and in
 * @ret_got as much of it as there is; 0 for other frames. */
static int payload_of(const unsigned char *frame, ssize_t size, int port,
                      int *ret_got)
{
    const struct iphdr *ip = (const struct iphdr *)(frame + ETH_HLEN);
    const struct tcphdr *tcp;
    int begin, told;

    if (size < ETH_HLEN + (int)sizeof(*ip) || ip->version != 4 ||
        ip->protocol != IPPROTO_TCP)
        return 0;
    begin = ETH_HLEN + ip->ihl * 4;
    tcp = (const struct tcphdr *)(frame + begin);
    if (size < begin + (int)sizeof(*tcp) || ntohs(tcp->dest) != port)
        return 0;
    begin += tcp->doff * 4;
    told = ETH_HLEN + ntohs(ip->tot_len) - begin;
    *ret_got = size < begin ? 0 : size - begin < told ? size - begin : told;
    return told;
}

/* A ring, as tcpdump has it: each frame with what Linux lets a packet socket
 * have of it. (Linux 6.12 stops if a packet socket without a ring gets such a
 * packet.) */
static unsigned char *ring_make(int fd, const char *interface)
{
    struct tpacket_req ring = {.tp_block_size = RING_FRAME,
                               .tp_block_nr = RING_FRAMES,
                               .tp_frame_size = RING_FRAME,
                               .tp_frame_nr = RING_FRAMES};
    struct sockaddr_ll address = {.sll_family = AF_PACKET,
                                  .sll_protocol = htons(ETH_P_ALL),
                                  .sll_ifindex = if_nametoindex(interface)};
    int version = TPACKET_V2;
    void *frames;

    if (setsockopt(fd, SOL_PACKET, PACKET_VERSION, &version, sizeof(version)) <
            0 ||
        setsockopt(fd, SOL_PACKET, PACKET_RX_RING, &ring, sizeof(ring)) < 0 ||
        bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0)
        error(1, errno, "%s", interface);
    frames = mmap(NULL, (size_t)RING_FRAME * RING_FRAMES,
                  PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (frames == MAP_FAILED)
        error(1, errno, "ring");
    return frames;
}

static int capture(char **argv)
{
    int fd = socket(AF_PACKET, SOCK_RAW, htons(ETH_P_ALL));
    int frames = 0, port = atoi(argv[1]), part = 0, n;
    struct pollfd wait = {.fd = fd, .events = POLLIN};
    unsigned char *ring = ring_make(fd, argv[0]);
    unsigned long told = 0, got = 0;

    puts("listening");
    fflush(stdout);
    for (unsigned int i = 0; frames < atoi(argv[2]); i++) {
        struct tpacket2_hdr *head =
            (void *)(ring + (size_t)(i % RING_FRAMES) * RING_FRAME);

        while (!(*(volatile __u32 *)&head->tp_status & TP_STATUS_USER))
            poll(&wait, 1, -1);
        n = payload_of((unsigned char *)head + head->tp_mac, head->tp_snaplen,
                       port, &part);
        if (n > 0) {
            told += n;
            got += part;
            frames++;
        }
        *(volatile __u32 *)&head->tp_status = TP_STATUS_KERNEL;
    }
    printf("told %lu got %lu\n", told, got);
    return 0;
}

static double now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + time.tv_nsec / 1e9;
}

static void wait_for(const char *file)
{
    while (access(file, F_OK) < 0)
        usleep(10000);
}

static int read_all(char **argv, bool has_gates)
{
    unsigned long bytes = strtoul(argv[2], NULL, 0);
    struct linger at_once = {.l_onoff = has_gates};
    int fd = accept_one(argv[0], argv[1]);
    double begin;
    ssize_t size;

    if (has_gates)
        wait_for("/tmp/begin");
    set_patience(fd, has_gates ? 5 : 0);
    begin = now();
    while (received < bytes && (size = read(fd, iobuf, sizeof(iobuf))) > 0)
        pattern_compare((unsigned char *)iobuf, size);
    printf("bytes %lu seconds %.3f wrong %lu\n", received, now() - begin,
           wrong);
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
    close(fd);
    return 0;
}

/* A header of destination options with nothing but padding (RFC 8200 s4.2,
 * s4.6) */
static void add_options(int fd)
{
    static const unsigned char options[8] = {0, 0, 1, 4, 0, 0, 0, 0};

    if (setsockopt(fd, IPPROTO_IPV6, IPV6_DSTOPTS, options, sizeof(options)))
        error(1, errno, "IPV6_DSTOPTS");
}

static int send_all(char **argv, const char *how)
{
    struct sockaddr_in6 address = address_of(argv[0], argv[1]);
    unsigned long bytes = strtoul(argv[2], NULL, 0), sent = 0;
    int fd = socket(AF_INET6, SOCK_STREAM, 0), on = 1, i;
    bool has_gates = !strcmp(how, "gates");

    if (!strcmp(how, "whole"))
        add_options(fd);
    if (connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0)
        error(1, errno, "%s port %s", argv[0], argv[1]);
    if (has_gates) {
        setsockopt(fd, IPPROTO_TCP, TCP_CORK, &on, sizeof(on));
        wait_for("/tmp/begin");
    }
    while (sent < bytes) {
        size_t size =
            bytes - sent < sizeof(iobuf) ? bytes - sent : sizeof(iobuf);
        ssize_t n;

        for (i = 0; i < (int)size; i++)
            iobuf[i] = pattern(sent + i);
        n = send(fd, iobuf, size, MSG_NOSIGNAL);
        if (n < 0)
            break; /* the other end has seen enough */
        sent += n;
    }
    if (has_gates)
        wait_for("/tmp/end");
    shutdown(fd, SHUT_WR);
    while (read(fd, iobuf, sizeof(iobuf)) > 0)
        ;
    printf("sent %lu\n", sent);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc >= 5 && !strcmp(argv[1], "send"))
        return send_all(argv + 2, argc > 5 ? argv[5] : "split");
    if (argc == 6 && !strcmp(argv[1], "check"))
        return check(argv + 2);
    if (argc == 7 && !strcmp(argv[1], "linear"))
        return count_linear(argv + 2);
    if (argc == 5 && !strcmp(argv[1], "plain"))
        return count_plain(argv + 2);
    if (argc == 5 && !strcmp(argv[1], "capture"))
        return capture(argv + 2);
    if (argc >= 5 && !strcmp(argv[1], "read"))
        return read_all(argv + 2, argc > 5);
    fputs("usage: see the head of devmemtcp.c\n", stderr);
    return 2;
}
