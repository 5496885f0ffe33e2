/* SPDX-License-Identifier: MIT */
/*
 * Locks a file as the supervisor of a cluster locks that of its directory, and
 * runs a command meanwhile.
 *
 *   hold FILE COMMAND...
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    int fd = argc > 2 ? open(argv[1], O_RDWR | O_CREAT, 0600) : -1;

    /* The descriptor is inherited, and the lock with it. */
    if (fd < 0 || fcntl(fd, F_OFD_SETLK, &lock) < 0) {
        perror("hold");
        return 1;
    }
    execvp(argv[2], argv + 2);
    perror(argv[2]);
    return 1;
}
