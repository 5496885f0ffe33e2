/* SPDX-License-Identifier: MIT */
/*
 * Brings a virtual function of an NVMe drive online.
 *
 *   vfonline /dev/nvmeN VF QUEUES INTERRUPTS
 *
 * VF is the number of the virtual function, from 1 on. It gets this many of the
 * flexible queues and interrupts (NVMe 1.4, 5.22 and 8.5). Before that it is
 * taken offline.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/nvme_ioctl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#define ADMIN_IDENTIFY   0x06
#define ADMIN_VIRTUAL    0x1c
#define CNS_SECONDARY    0x15
#define ACTION_OFFLINE   7
#define ACTION_ASSIGN    8
#define ACTION_ONLINE    9
#define TYPE_QUEUES      0
#define TYPE_INTERRUPTS  1
#define SECONDARY_OFFSET 32 /* of the entries in the list */
#define SECONDARY_SIZE   32
#define SECONDARY_VF     8 /* in an entry: number of the virtual function */

static int admin(int fd, struct nvme_admin_cmd *command, const char *name)
{
    int status = ioctl(fd, NVME_IOCTL_ADMIN_CMD, command);

    if (status != 0) {
        fprintf(stderr, "%s: %s %#x\n", name,
                status < 0 ? strerror(errno) : "status", status);
        return -1;
    }
    return 0;
}

/* Returns the ID of the controller of a virtual function, or -1. */
static int controller_of(int fd, unsigned vf)
{
    static uint8_t list[4096];
    struct nvme_admin_cmd command = {
        .opcode = ADMIN_IDENTIFY,
        .addr = (uintptr_t)list,
        .data_len = sizeof(list),
        .cdw10 = CNS_SECONDARY,
    };

    if (admin(fd, &command, "identify") < 0) {
        return -1;
    }
    for (unsigned i = 0; i < list[0] && i < 127; i++) {
        const uint8_t *entry = list + SECONDARY_OFFSET + SECONDARY_SIZE * i;

        if ((entry[SECONDARY_VF] | entry[SECONDARY_VF + 1] << 8) == (int)vf) {
            return entry[0] | entry[1] << 8;
        }
    }
    fprintf(stderr, "there is no virtual function %u\n", vf);
    return -1;
}

static int manage(int fd, int controller, unsigned action, unsigned type,
                  unsigned number)
{
    struct nvme_admin_cmd command = {
        .opcode = ADMIN_VIRTUAL,
        .cdw10 = (unsigned)controller << 16 | type << 8 | action,
        .cdw11 = number,
    };

    return admin(fd, &command, "virtualization management");
}

int main(int argc, char **argv)
{
    int fd, controller;

    if (argc != 5) {
        fputs("usage: vfonline /dev/nvmeN VF QUEUES INTERRUPTS\n", stderr);
        return 2;
    }
    fd = open(argv[1], O_RDWR);
    if (fd < 0) {
        perror(argv[1]);
        return 1;
    }
    controller = controller_of(fd, atoi(argv[2]));
    return controller < 0 || manage(fd, controller, ACTION_OFFLINE, 0, 0) < 0 ||
           manage(fd, controller, ACTION_ASSIGN, TYPE_QUEUES, atoi(argv[3])) <
               0 ||
           manage(fd, controller, ACTION_ASSIGN, TYPE_INTERRUPTS,
                  atoi(argv[4])) < 0 ||
           manage(fd, controller, ACTION_ONLINE, 0, 0) < 0;
}
