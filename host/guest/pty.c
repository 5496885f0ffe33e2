/* SPDX-License-Identifier: MIT */
/*
 * Runs a program at a terminal of its own, for `farside cluster exec -t`:
 *
 *   pty ROWS COLUMNS TERM PROGRAM [ARGUMENT]...
 *
 * Standard input is typed at the terminal, and what the terminal shows is
 * written to standard output. The terminal makes signals of Ctrl-C and the
 * like, because the user's terminal passes them on as bytes. Exit status: that
 * of the program; 128 and the signal that ended it; 126 if it cannot be run.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

static int fail(const char *what)
{
    fprintf(stderr, "pty: %s: %s\n", what, strerror(errno));
    return 126;
}

/* Becomes the program @argv at the terminal @name. */
static int run(const char *name, const struct winsize *size, char **argv)
{
    int fd;

    setsid();
    fd = open(name, O_RDWR);
    if (fd < 0 || ioctl(fd, TIOCSCTTY, 0) < 0) {
        return fail(name);
    }
    ioctl(fd, TIOCSWINSZ, size);
    for (int i = 0; i < 3; i++) {
        dup2(fd, i);
    }
    if (fd > 2) {
        close(fd);
    }
    execvp(argv[0], argv);
    return fail(argv[0]);
}

/* Writes all of @data; returns false if nobody reads it. */
static int write_all(int fd, const char *data, ssize_t length)
{
    while (length > 0) {
        ssize_t n = write(fd, data, length);

        if (n < 0 && errno != EINTR) {
            return 0;
        }
        data += n > 0 ? n : 0;
        length -= n > 0 ? n : 0;
    }
    return 1;
}

/* Passes bytes on until the terminal has no program left. */
static void relay(int terminal)
{
    struct pollfd polls[2] = {{.fd = terminal, .events = POLLIN},
                              {.fd = STDIN_FILENO, .events = POLLIN}};
    char data[4096];
    ssize_t n;

    while (poll(polls, 2, -1) >= 0 || errno == EINTR) {
        if (polls[0].revents != 0) {
            n = read(terminal, data, sizeof data);
            if (n <= 0 || !write_all(STDOUT_FILENO, data, n)) {
                return;
            }
        }
        if (polls[1].revents != 0) {
            n = read(STDIN_FILENO, data, sizeof data);
            if (n <= 0) {
                /* The end of a file is typed as Ctrl-D. */
                data[0] = 4;
                n = 1;
                polls[1].fd = -1;
            }
            if (!write_all(terminal, data, n)) {
                return;
            }
        }
    }
}

int main(int argc, char **argv)
{
    struct winsize size = {.ws_row = 24, .ws_col = 80};
    int terminal = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    char name[64];
    pid_t pid;
    int status;

    if (argc < 5) {
        fputs("usage: pty ROWS COLUMNS TERM PROGRAM [ARGUMENT]...\n", stderr);
        return 2;
    }
    if (terminal < 0 || grantpt(terminal) < 0 || unlockpt(terminal) < 0 ||
        ptsname_r(terminal, name, sizeof name) != 0) {
        return fail("no terminal");
    }
    if (atoi(argv[1]) > 0 && atoi(argv[2]) > 0) {
        size.ws_row = atoi(argv[1]);
        size.ws_col = atoi(argv[2]);
    }
    setenv("TERM", argv[3], 1);
    pid = fork();
    if (pid < 0) {
        return fail("fork");
    }
    if (pid == 0) {
        _exit(run(name, &size, argv + 4));
    }
    relay(terminal);
    close(terminal);
    if (waitpid(pid, &status, 0) < 0) {
        return fail("waitpid");
    }
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}
