/* SPDX-License-Identifier: MIT */
/*
 * tcpsplit INTERFACE on|off: what "ethtool -G INTERFACE tcp-data-split on"
 * does, for systems whose ethtool cannot. It sends ETHTOOL_MSG_RINGS_SET
 * (Documentation/networking/ethtool-netlink.rst).
 */
#include <errno.h>
#include <linux/ethtool_netlink.h>
#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct message {
    union {
        struct nlmsghdr header;
        char bytes[8192];
    };
};

static void begin(struct message *m, int type, int command)
{
    struct genlmsghdr *generic = NLMSG_DATA(&m->header);

    memset(m, 0, sizeof(*m));
    m->header.nlmsg_len = NLMSG_LENGTH(GENL_HDRLEN);
    m->header.nlmsg_type = type;
    m->header.nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK;
    generic->cmd = command;
    generic->version = 1;
}

static struct nlattr *add(struct message *m, int type, const void *data,
                          size_t size)
{
    struct nlattr *attr =
        (struct nlattr *)(m->bytes + NLMSG_ALIGN(m->header.nlmsg_len));

    attr->nla_type = type;
    attr->nla_len = NLA_HDRLEN + size;
    memcpy((char *)attr + NLA_HDRLEN, data, size);
    m->header.nlmsg_len =
        NLMSG_ALIGN(m->header.nlmsg_len) + NLA_ALIGN(attr->nla_len);
    return attr;
}

/* Return: a 16-bit attribute of the answer, 0 if it is not there, or the
 * negative error that the kernel answers with. */
static int ask(int fd, struct message *m, int type)
{
    int value = 0;

    if (send(fd, m, m->header.nlmsg_len, 0) < 0)
        return -errno;
    for (;;) {
        ssize_t size = recv(fd, m, sizeof(*m), 0);
        char *at = m->bytes + NLMSG_LENGTH(GENL_HDRLEN);

        if (size < 0)
            return -errno;
        if (m->header.nlmsg_type == NLMSG_ERROR) {
            int error = ((struct nlmsgerr *)NLMSG_DATA(&m->header))->error;

            return error ? error : value;
        }
        while (at + NLA_HDRLEN <= m->bytes + m->header.nlmsg_len) {
            struct nlattr *attr = (struct nlattr *)at;

            if (attr->nla_len < NLA_HDRLEN)
                break;
            if (attr->nla_type == type)
                memcpy(&value, at + NLA_HDRLEN, 2);
            at += NLA_ALIGN(attr->nla_len);
        }
    }
}

int main(int argc, char **argv)
{
    int fd = socket(AF_NETLINK, SOCK_RAW, NETLINK_GENERIC);
    struct message m;
    struct nlattr *outer;
    int family, error;
    unsigned char on;

    if (argc != 3 || fd < 0) {
        fputs("usage: tcpsplit INTERFACE on|off\n", stderr);
        return 2;
    }
    begin(&m, GENL_ID_CTRL, CTRL_CMD_GETFAMILY);
    add(&m, CTRL_ATTR_FAMILY_NAME, "ethtool", sizeof("ethtool"));
    family = ask(fd, &m, CTRL_ATTR_FAMILY_ID);
    if (family <= 0) {
        fputs("tcpsplit: the kernel has no netlink family ethtool\n", stderr);
        return 1;
    }
    begin(&m, family, ETHTOOL_MSG_RINGS_SET);
    outer = add(&m, ETHTOOL_A_RINGS_HEADER | NLA_F_NESTED, "", 0);
    add(&m, ETHTOOL_A_HEADER_DEV_NAME, argv[1], strlen(argv[1]) + 1);
    outer->nla_len = m.bytes + m.header.nlmsg_len - (char *)outer;
    on = strcmp(argv[2], "on") == 0 ? ETHTOOL_TCP_DATA_SPLIT_ENABLED
                                    : ETHTOOL_TCP_DATA_SPLIT_DISABLED;
    add(&m, ETHTOOL_A_RINGS_TCP_DATA_SPLIT, &on, 1);
    error = ask(fd, &m, 0);
    if (error < 0)
        fprintf(stderr, "tcpsplit: %s: %s\n", argv[1], strerror(-error));
    close(fd);
    return error < 0;
}
