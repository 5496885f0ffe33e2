/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "qemu/osdep.h"
#include "farside_packet.h"

static FarsidePacket *packet_alloc(size_t size)
{
    FarsidePacket *p = g_malloc(sizeof(*p) + size);

    p->size = size;
    p->file_count = 0;
    return p;
}

void farside_packet_free(FarsidePacket *p)
{
    unsigned i;

    for (i = 0; i < p->file_count; i++) {
        close(p->files[i]);
    }
    g_free(p);
}

FarsidePacket *farside_packet_new(unsigned type, const struct iovec *pieces,
                                  unsigned count)
{
    size_t length = iov_size(pieces, count);
    struct farside_wire_head head = {
        .magic = FARSIDE_WIRE_MAGIC,
        .version = FARSIDE_WIRE_VERSION,
        .type = type,
        .length = length,
    };
    FarsidePacket *p = packet_alloc(sizeof(head) + length);

    g_assert(p->size <= FARSIDE_WIRE_MAX);
    memcpy(p->bytes, &head, sizeof(head));
    iov_to_buf(pieces, count, 0, p->bytes + sizeof(head), length);
    return p;
}

bool farside_packet_add_files(FarsidePacket *p, const int *files,
                              unsigned count)
{
    int fd;

    while (p->file_count < count) {
        fd = fcntl(files[p->file_count], F_DUPFD_CLOEXEC, 0);
        if (fd < 0) {
            return false;
        }
        p->files[p->file_count++] = fd;
    }
    return true;
}

FarsidePacket *farside_packet_copy(const void *bytes, size_t size)
{
    FarsidePacket *p = packet_alloc(size);

    memcpy(p->bytes, bytes, size);
    return p;
}
