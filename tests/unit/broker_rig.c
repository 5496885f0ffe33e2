/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "broker_rig.h"

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <glib/gstdio.h>

#include "farside_socket.h"

static void take_notice(const CluBrokerNotice *notice, void *data)
{
    BrokerRig *rig = data;

    if (rig->notice_count < RIG_NOTICES_MAX) {
        CluBrokerNotice *kept = &rig->notices[rig->notice_count];

        *kept = *notice;
        kept->name = g_intern_string(notice->name);
        kept->reason = g_intern_string(notice->reason);
    }
    rig->notice_count++;
}

BrokerRig *rig_new(void)
{
    BrokerRig *rig = g_new0(BrokerRig, 1);

    rig->folder = g_dir_make_tmp("farside-broker-XXXXXX", NULL);
    ck_assert_ptr_nonnull(rig->folder);
    rig->context = g_main_context_new();
    rig->broker = clu_broker_new(rig->context);
    clu_broker_set_callback(rig->broker, take_notice, rig);
    return rig;
}

void rig_free(BrokerRig *rig)
{
    clu_broker_free(rig->broker);
    g_main_context_unref(rig->context);
    ck_assert_msg(g_rmdir(rig->folder) == 0, "%s is not empty", rig->folder);
    g_free(rig->folder);
    g_free(rig);
}

char *rig_path(const BrokerRig *rig, const char *name)
{
    return g_build_filename(rig->folder, name, NULL);
}

void rig_run(BrokerRig *rig)
{
    while (g_main_context_iteration(rig->context, FALSE)) {
        ;
    }
}

const CluBrokerNotice *rig_last(const BrokerRig *rig, unsigned count,
                                CluBrokerEvent event)
{
    const CluBrokerNotice *last = &rig->notices[count - 1];

    ck_assert_uint_eq(rig->notice_count, count);
    ck_assert_uint_le(count, RIG_NOTICES_MAX);
    ck_assert_int_eq(last->event, event);
    ck_assert_int_eq(!!last->reason, event == CLU_BROKER_REFUSED);
    ck_assert_int_eq(last->pid, getpid());
    return last;
}

int rig_connect(const BrokerRig *rig, const char *name, int type)
{
    g_autofree char *path = g_build_filename(rig->folder, name, NULL);
    int fd = farside_socket_connect(path, type | SOCK_NONBLOCK);

    ck_assert_int_ge(fd, 0);
    return fd;
}

void rig_send(int fd, const void *bytes, size_t size, int file)
{
    char control[CMSG_SPACE(sizeof(int))] = {0};
    struct iovec iov = {.iov_base = (void *)bytes, .iov_len = size};
    struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};

    if (file >= 0) {
        struct cmsghdr *cmsg;

        msg.msg_control = control;
        msg.msg_controllen = sizeof(control);
        cmsg = CMSG_FIRSTHDR(&msg);
        cmsg->cmsg_level = SOL_SOCKET;
        cmsg->cmsg_type = SCM_RIGHTS;
        cmsg->cmsg_len = CMSG_LEN(sizeof(int));
        memcpy(CMSG_DATA(cmsg), &file, sizeof(int));
    }
    ck_assert_int_eq(sendmsg(fd, &msg, MSG_NOSIGNAL), (ssize_t)size);
}

ssize_t rig_receive(int fd, void *bytes, size_t size, int *ret_file)
{
    char control[CMSG_SPACE(sizeof(int) * 2)];
    struct iovec iov = {.iov_base = bytes, .iov_len = size};
    struct msghdr msg = {.msg_iov = &iov,
                         .msg_iovlen = 1,
                         .msg_control = control,
                         .msg_controllen = sizeof(control)};
    ssize_t n = recvmsg(fd, &msg, MSG_CMSG_CLOEXEC);
    const struct cmsghdr *cmsg = n >= 0 ? CMSG_FIRSTHDR(&msg) : NULL;

    *ret_file = -1;
    ck_assert(n >= 0 || errno == EAGAIN);
    if (cmsg) {
        ck_assert_uint_eq(cmsg->cmsg_len, CMSG_LEN(sizeof(int)));
        memcpy(ret_file, CMSG_DATA(cmsg), sizeof(int));
    }
    return n;
}

bool rig_is_quiet(int fd)
{
    char byte;

    return recv(fd, &byte, 1, MSG_PEEK) < 0 && errno == EAGAIN;
}

bool rig_is_closed(int fd)
{
    char byte;
    ssize_t n = recv(fd, &byte, 1, MSG_PEEK);

    return n == 0 || (n < 0 && errno == ECONNRESET);
}

unsigned rig_count_files(void)
{
    g_autoptr(GDir) dir = g_dir_open("/proc/self/fd", 0, NULL);
    unsigned count = 0;

    while (g_dir_read_name(dir)) {
        count++;
    }
    return count;
}
