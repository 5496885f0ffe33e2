/* SPDX-License-Identifier: MIT */
/*
 * The agent in a guest runs programs for the supervisor of the cluster, by the
 * protocol of clu_agent.h. It has one thread and one poll() loop. posix_spawn()
 * is the only other call that may block.
 *
 *   agent          on the virtio-serial port CLU_AGENT_PORT
 *   agent --stdin  on standard input, a socket; for tests
 *
 * The agent ends with status 1 when the line is gone for good; init starts it
 * again.
 */
#include "clu_agent.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/pidfd.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* Limits of the bytes that wait for the line. Above OUT_FULL, the output of
 * programs is not read; above OUT_DEAF, the line itself is not read either. */
#define OUT_FULL (128 * 1024)
#define OUT_DEAF (256 * 1024)

/* While the supervisor is away, the line is checked this often. */
#define AWAY_MS 100

/* The number of attempts to find the port, and the pause between them. */
#define PORT_TRIES 500
#define PORT_MS    20
#define LATER_MS   1000 /* after these tries */

/* The least credit that one CREDIT gives back, in bytes. */
#define CREDIT_MIN (CLU_AGENT_WINDOW / 4)

/* A queue of bytes: data[start] to data[used - 1]. */
typedef struct Bytes {
    uint8_t *data;
    size_t start;
    size_t used;
    size_t size;
} Bytes;

typedef struct Output {
    int fd;          /* the agent's end of the pipe; -1: ended */
    uint32_t credit; /* bytes that may still be sent to the supervisor */
    CluAgentType type;
} Output;

typedef struct Session {
    struct Session *next;
    uint32_t id;
    bool is_lost; /* its epoch is over; its program must still be reaped */
    pid_t pid;
    int pidfd;          /* -1: the program has ended */
    siginfo_t end;      /* how the program has ended */
    int leftover[2];    /* bytes in the pipes at that time, still to be sent */
    int input;          /* the agent's end of the pipe; -1: closed */
    bool is_input_over; /* STDIN_EOF has come */
    Bytes pending;      /* input that the program has not taken yet */
    uint32_t allowed;   /* bytes of input that the supervisor may still send */
    uint32_t owed;      /* bytes passed on for which no CREDIT was sent yet */
    Output outputs[2];
    const struct pollfd *polled; /* AT_COUNT entries; NULL: not polled yet */
} Session;

/* Indexes of the descriptors of a session in its part of the polled list. */
enum {
    AT_END,
    AT_INPUT,
    AT_OUTPUTS,
    AT_COUNT = AT_OUTPUTS + 2
};

typedef struct Agent {
    int in;
    int out;
    bool is_away;   /* the supervisor has closed its end of the port */
    uint64_t epoch; /* 0: none has begun */
    Bytes line;     /* bytes that wait to be sent to the supervisor */
    CluAgentReader reader;
    Session *sessions;
    unsigned session_count;
    unsigned turn; /* decides which session is served first */
} Agent;

static void *grow(void *data, size_t size)
{
    data = realloc(data, size);
    if (!data) {
        fputs("agent: out of memory\n", stderr);
        exit(EXIT_FAILURE);
    }
    return data;
}

static size_t bytes_length(const Bytes *bytes)
{
    return bytes->used - bytes->start;
}

/* Makes space for @length more bytes at data + used. */
static void bytes_reserve(Bytes *bytes, size_t length)
{
    if (bytes->start > 0 && bytes->size - bytes->used < length) {
        bytes->used -= bytes->start;
        memmove(bytes->data, bytes->data + bytes->start, bytes->used);
        bytes->start = 0;
    }
    if (bytes->size - bytes->used < length) {
        bytes->size = (bytes->used + length) * 2;
        bytes->data = grow(bytes->data, bytes->size);
    }
}

static void bytes_add(Bytes *bytes, const void *data, size_t length)
{
    if (length > 0) {
        bytes_reserve(bytes, length);
        memcpy(bytes->data + bytes->used, data, length);
        bytes->used += length;
    }
}

static void bytes_clear(Bytes *bytes)
{
    bytes->start = 0;
    bytes->used = 0;
}

/* Writes as much as @fd takes without waiting. Returns false if the reader is
 * gone. */
static bool bytes_write(Bytes *bytes, int fd)
{
    while (bytes_length(bytes) > 0) {
        ssize_t n = write(fd, bytes->data + bytes->start, bytes_length(bytes));
        if (n < 0) {
            if (errno == EINTR) {
                continue;
            }
            return errno == EAGAIN;
        }
        bytes->start += n;
    }
    bytes_clear(bytes);
    return true;
}

static void send_frame(Agent *agent, CluAgentType type, uint32_t session,
                       const void *body, uint32_t length)
{
    bytes_reserve(&agent->line, CLU_AGENT_CODED_MAX);
    agent->line.used += clu_agent_encode(agent->line.data + agent->line.used,
                                         type, session, body, length);
}

static void send_numbers(Agent *agent, CluAgentType type, uint32_t session,
                         const uint32_t *numbers, unsigned count)
{
    uint8_t body[8];

    for (unsigned i = 0; i < count; i++) {
        clu_agent_put32(body + 4 * i, numbers[i]);
    }
    send_frame(agent, type, session, body, 4 * count);
}

static void send_number(Agent *agent, CluAgentType type, uint32_t session,
                        uint32_t number)
{
    send_numbers(agent, type, session, &number, 1);
}

static void send_hello(Agent *agent)
{
    uint8_t body[8 + 64 + sizeof(struct utsname)];
    char boot[64] = "";
    struct utsname name;
    size_t length = 8;
    FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");

    if (file) {
        if (fgets(boot, sizeof boot, file)) {
            boot[strcspn(boot, "\n")] = 0;
        }
        fclose(file);
    }
    uname(&name);
    clu_agent_put64(body, agent->epoch);
    memcpy(body + length, boot, strlen(boot) + 1);
    length += strlen(boot) + 1;
    memcpy(body + length, name.release, strlen(name.release) + 1);
    length += strlen(name.release) + 1;
    /* The 0 ends half a frame that an earlier agent may have left. */
    bytes_add(&agent->line, "", 1);
    send_frame(agent, CLU_AGENT_HELLO, 0, body, length);
}

static void close_fd(int *fd)
{
    if (*fd >= 0) {
        close(*fd);
        *fd = -1;
    }
}

static void session_lose(Session *session)
{
    session->is_lost = true;
    if (session->pidfd >= 0) {
        kill(-session->pid, SIGKILL);
    }
    close_fd(&session->input);
    close_fd(&session->outputs[0].fd);
    close_fd(&session->outputs[1].fd);
    bytes_clear(&session->pending);
}

static void begin_epoch(Agent *agent, uint64_t epoch)
{
    for (Session *s = agent->sessions; s; s = s->next) {
        session_lose(s);
    }
    bytes_clear(&agent->line);
    agent->epoch = epoch;
    send_hello(agent);
}

static Session *session_find(Agent *agent, uint32_t id)
{
    Session *s = agent->sessions;

    while (s && (s->is_lost || s->id != id)) {
        s = s->next;
    }
    return s;
}

/* Returns the arguments of EXEC, to be freed; they point into @body. NULL if
 * they are malformed. */
static char **parse_arguments(const uint8_t *body, uint32_t length)
{
    char **argv;
    size_t count = 0;
    size_t at = 0;

    if (length == 0 || body[0] == 0 || body[length - 1] != 0) {
        return NULL;
    }
    for (uint32_t i = 0; i < length; i++) {
        count += body[i] == 0;
    }
    argv = grow(NULL, (count + 1) * sizeof *argv);
    for (size_t i = 0; i < count; i++) {
        argv[i] = (char *)body + at;
        at += strlen(argv[i]) + 1;
    }
    argv[count] = NULL;
    return argv;
}

/* Starts a program with pipes as descriptors 0, 1 and 2, and stores the agent's
 * ends of them in @ends. Returns 0 or an errno. */
static int spawn(char **argv, pid_t *ret_pid, int ends[3])
{
    int pipes[3][2] = {{-1, -1}, {-1, -1}, {-1, -1}};
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t all;
    sigset_t none;
    int error = 0;

    for (int i = 0; i < 3 && error == 0; i++) {
        error = pipe2(pipes[i], O_CLOEXEC) < 0 ? errno : 0;
    }
    if (error == 0) {
        sigfillset(&all);
        sigemptyset(&none);
        posix_spawn_file_actions_init(&actions);
        posix_spawnattr_init(&attributes);
        for (int i = 0; i < 3; i++) {
            posix_spawn_file_actions_adddup2(&actions, pipes[i][i != 0], i);
        }
        posix_spawnattr_setsigdefault(&attributes, &all);
        posix_spawnattr_setsigmask(&attributes, &none);
        posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID |
                                                  POSIX_SPAWN_SETSIGDEF |
                                                  POSIX_SPAWN_SETSIGMASK);
        error = posix_spawnp(ret_pid, argv[0], &actions, &attributes, argv,
                             environ);
        posix_spawn_file_actions_destroy(&actions);
        posix_spawnattr_destroy(&attributes);
    }
    for (int i = 0; i < 3; i++) {
        close_fd(&pipes[i][i != 0]);
        if (error != 0) {
            close_fd(&pipes[i][i == 0]);
        } else {
            ends[i] = pipes[i][i == 0];
            fcntl(ends[i], F_SETFL, O_NONBLOCK);
        }
    }
    return error;
}

static int session_start(Agent *agent, const CluAgentFrame *frame)
{
    char **argv;
    Session *session;
    pid_t pid;
    int ends[3];
    int error;

    if (agent->session_count >= CLU_AGENT_SESSION_MAX) {
        return EAGAIN;
    }
    argv = parse_arguments(frame->body, frame->length);
    if (!argv) {
        return EINVAL;
    }
    error = spawn(argv, &pid, ends);
    free(argv);
    if (error != 0) {
        return error;
    }

    session = grow(NULL, sizeof *session);
    *session = (Session){
        .next = agent->sessions,
        .id = frame->session,
        .pid = pid,
        .pidfd = pidfd_open(pid, 0),
        .input = ends[0],
        .allowed = CLU_AGENT_WINDOW,
        .outputs = {{ends[1], CLU_AGENT_WINDOW, CLU_AGENT_STDOUT},
                    {ends[2], CLU_AGENT_WINDOW, CLU_AGENT_STDERR}},
    };
    if (session->pidfd < 0) {
        perror("agent: pidfd_open");
        exit(EXIT_FAILURE);
    }
    fcntl(session->pidfd, F_SETFD, FD_CLOEXEC);
    agent->sessions = session;
    agent->session_count++;
    send_number(agent, CLU_AGENT_STARTED, session->id, pid);
    return 0;
}

/* Passes on as much of the pending input as the program takes. */
static void session_input(Agent *agent, Session *session)
{
    size_t before = bytes_length(&session->pending);

    if (session->input < 0 || !bytes_write(&session->pending, session->input)) {
        /* The program reads no more; the supervisor may still send input. */
        close_fd(&session->input);
        bytes_clear(&session->pending);
    }
    session->owed += before - bytes_length(&session->pending);
    if (session->is_input_over && bytes_length(&session->pending) == 0) {
        close_fd(&session->input);
    }
    if (session->owed >= CREDIT_MIN) {
        send_numbers(agent, CLU_AGENT_CREDIT, session->id,
                     (const uint32_t[]){CLU_AGENT_STDIN, session->owed}, 2);
        session->allowed += session->owed;
        session->owed = 0;
    }
}

static void session_take_input(Agent *agent, Session *session,
                               const CluAgentFrame *frame)
{
    if (frame->length > session->allowed) {
        if (session->pidfd >= 0) {
            kill(-session->pid, SIGKILL);
        }
        return;
    }
    session->allowed -= frame->length;
    bytes_add(&session->pending, frame->body, frame->length);
    session_input(agent, session);
}

static void session_credit(Session *session, const CluAgentFrame *frame)
{
    for (int i = 0; i < 2 && frame->length == 8; i++) {
        Output *output = &session->outputs[i];
        uint32_t bytes = clu_agent_get32(frame->body + 4);

        if (clu_agent_get32(frame->body) == output->type) {
            output->credit = bytes > CLU_AGENT_WINDOW - output->credit
                                 ? CLU_AGENT_WINDOW
                                 : output->credit + bytes;
        }
    }
}

static void session_frame(Agent *agent, const CluAgentFrame *frame)
{
    Session *session = session_find(agent, frame->session);

    if (!session) {
        return;
    }
    switch (frame->type) {
    case CLU_AGENT_STDIN:
        session_take_input(agent, session, frame);
        break;
    case CLU_AGENT_STDIN_EOF:
        session->is_input_over = true;
        session_input(agent, session);
        break;
    case CLU_AGENT_SIGNAL:
        if (frame->length == 4 && session->pidfd >= 0) {
            uint32_t number = clu_agent_get32(frame->body);
            if (number > 0 && number < NSIG) {
                kill(-session->pid, number);
            }
        }
        break;
    case CLU_AGENT_CREDIT:
        session_credit(session, frame);
        break;
    default:
        break;
    }
}

static void take_frame(Agent *agent, const CluAgentFrame *frame)
{
    if (frame->type == CLU_AGENT_SYNC) {
        if (frame->length >= 8 && clu_agent_get64(frame->body) != 0) {
            begin_epoch(agent, clu_agent_get64(frame->body));
        }
        return;
    }
    if (agent->epoch == 0 || frame->version != CLU_AGENT_VERSION) {
        return;
    }
    if (frame->type == CLU_AGENT_PING) {
        if (frame->length <= 64) {
            send_frame(agent, CLU_AGENT_PONG, 0, frame->body, frame->length);
        }
    } else if (frame->type == CLU_AGENT_EXEC) {
        if (!session_find(agent, frame->session)) {
            int error = session_start(agent, frame);
            if (error != 0) {
                send_number(agent, CLU_AGENT_FAILED, frame->session, error);
            }
        }
    } else {
        session_frame(agent, frame);
    }
}

/* Returns false if the other end of the line is closed. */
static bool read_line(Agent *agent)
{
    uint8_t data[32768];
    ssize_t n = read(agent->in, data, sizeof data);

    if (n < 0) {
        return errno == EAGAIN || errno == EINTR;
    }
    for (ssize_t at = 0; at < n;) {
        CluAgentFrame frame;
        bool found;

        at += clu_agent_reader_feed(&agent->reader, data + at, n - at, &found,
                                    &frame);
        if (found) {
            take_frame(agent, &frame);
        }
    }
    return n > 0;
}

/* Sends output of the program to the supervisor, as much as its credit allows.
 */
static void session_output(Agent *agent, Session *session, int which)
{
    static uint8_t data[CLU_AGENT_BODY_MAX];
    Output *output = &session->outputs[which];
    size_t most = output->credit < sizeof data ? output->credit : sizeof data;
    ssize_t n;

    if (session->pidfd < 0 && most > (size_t)session->leftover[which]) {
        most = session->leftover[which];
    }
    if (most > 0) {
        n = read(output->fd, data, most);
        if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
            return;
        }
        if (n > 0) {
            output->credit -= n;
            session->leftover[which] -= session->pidfd < 0 ? n : 0;
            send_frame(agent, output->type, session->id, data, n);
        } else {
            close_fd(&output->fd);
        }
    }
    if (session->pidfd < 0 && session->leftover[which] == 0) {
        close_fd(&output->fd);
    }
}

/* Reaps a program that has ended. Only the bytes that are in its pipes now are
 * still sent, because processes in the background may hold the pipes open. */
static void session_ended(Session *session)
{
    if (waitid(P_PIDFD, session->pidfd, &session->end, WEXITED | WNOHANG) < 0 ||
        session->end.si_pid == 0) {
        return;
    }
    close_fd(&session->pidfd);
    for (int i = 0; i < 2 && !session->is_lost; i++) {
        int fd = session->outputs[i].fd;
        if (fd < 0 || ioctl(fd, FIONREAD, &session->leftover[i]) < 0 ||
            session->leftover[i] == 0) {
            close_fd(&session->outputs[i].fd);
        }
    }
}

static bool session_is_over(const Session *session)
{
    return session->pidfd < 0 && session->outputs[0].fd < 0 &&
           session->outputs[1].fd < 0;
}

static void session_over(Agent *agent, Session *session)
{
    bool exited = session->end.si_code == CLD_EXITED;
    uint32_t status = session->end.si_status;

    if (!session->is_lost) {
        send_numbers(
            agent, CLU_AGENT_EXIT, session->id,
            (const uint32_t[]){exited ? status : 0, exited ? 0 : status}, 2);
    }
    close_fd(&session->input);
    free(session->pending.data);
    free(session);
    agent->session_count--;
}

static void session_serve(Agent *agent, Session *session)
{
    if (!session->polled) {
        return;
    }
    if (session->polled[AT_INPUT].revents != 0 && !session->is_lost) {
        session_input(agent, session);
    }
    for (int i = 0; i < 2; i++) {
        /* Output comes before the end: the program wrote before it ended. */
        if (session->polled[AT_OUTPUTS + i].revents != 0 &&
            session->outputs[i].fd >= 0 &&
            bytes_length(&agent->line) < OUT_FULL) {
            session_output(agent, session, i);
        }
    }
    if (session->polled[AT_END].revents != 0) {
        session_ended(session);
    }
}

static unsigned session_poll(const Agent *agent, Session *session,
                             struct pollfd *polls)
{
    bool is_short = bytes_length(&agent->line) < OUT_FULL;

    session->polled = polls;
    polls[AT_END] = (struct pollfd){session->pidfd, POLLIN, 0};
    polls[AT_INPUT] = (struct pollfd){
        bytes_length(&session->pending) > 0 ? session->input : -1, POLLOUT, 0};
    for (int i = 0; i < 2; i++) {
        const Output *output = &session->outputs[i];
        polls[AT_OUTPUTS + i] = (struct pollfd){
            is_short && output->credit > 0 ? output->fd : -1, POLLIN, 0};
    }
    return AT_COUNT;
}

/* Serves all sessions, and begins with a different one each time. */
static void serve_sessions(Agent *agent)
{
    Session *order[CLU_AGENT_SESSION_MAX];
    unsigned count = 0;

    for (Session *s = agent->sessions; s; s = s->next) {
        order[count++] = s;
    }
    agent->turn++;
    for (unsigned i = 0; i < count; i++) {
        session_serve(agent, order[(i + agent->turn) % count]);
    }
    for (Session **at = &agent->sessions; *at;) {
        Session *session = *at;
        if (session_is_over(session)) {
            *at = session->next;
            session_over(agent, session);
        } else {
            at = &session->next;
        }
    }
}

/* Polls and serves once. Returns false when the line has ended. */
static bool turn(Agent *agent, bool is_port)
{
    struct pollfd polls[2 + AT_COUNT * CLU_AGENT_SESSION_MAX];
    unsigned count = 2;
    bool is_deaf = bytes_length(&agent->line) >= OUT_DEAF;

    polls[0] = (struct pollfd){agent->is_away ? -1 : agent->in,
                               is_deaf ? 0 : POLLIN, 0};
    polls[1] = (struct pollfd){
        agent->is_away || bytes_length(&agent->line) == 0 ? -1 : agent->out,
        POLLOUT, 0};
    for (Session *s = agent->sessions; s; s = s->next) {
        count += session_poll(agent, s, polls + count);
    }
    if (poll(polls, count, agent->is_away ? AWAY_MS : -1) < 0 &&
        errno != EINTR) {
        perror("agent: poll");
        return false;
    }

    if (agent->is_away) {
        struct pollfd port = {agent->in, POLLIN, 0};
        agent->is_away = poll(&port, 1, 0) > 0 && 0 != (port.revents & POLLHUP);
    } else if (polls[0].revents != 0 && !is_deaf && !read_line(agent)) {
        if (!is_port) {
            return false;
        }
        /* This drops the bytes for the old supervisor. A new one sends SYNC. */
        agent->is_away = true;
        begin_epoch(agent, 0);
    }
    serve_sessions(agent);
    if (!agent->is_away && !bytes_write(&agent->line, agent->out) && !is_port) {
        return false;
    }
    return true;
}

static int open_port(void)
{
    const char *folder = "/sys/class/virtio-ports";
    DIR *dir = opendir(folder);
    struct dirent *entry;
    int fd = -1;

    while (dir && fd < 0 && (entry = readdir(dir))) {
        char path[PATH_MAX];
        char name[sizeof CLU_AGENT_PORT + 1] = "";
        FILE *file;

        snprintf(path, sizeof path, "%s/%s/name", folder, entry->d_name);
        file = fopen(path, "re");
        if (!file) {
            continue;
        }
        if (fgets(name, sizeof name, file) &&
            strcmp(name, CLU_AGENT_PORT "\n") == 0) {
            snprintf(path, sizeof path, "/dev/%s", entry->d_name);
            fd = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
        }
        fclose(file);
    }
    if (dir) {
        closedir(dir);
    }
    return fd;
}

/* Waits for the port, which the driver may not know yet. A virtual machine
 * inside a guest boots the guest's image and never has one. The log says so,
 * but not the console, on which the commands of such a machine run. */
static int await_port(void)
{
    static const char none[] =
        "<6>agent: there is no port " CLU_AGENT_PORT "\n";
    int fd;

    for (int i = 0; (fd = open_port()) < 0; i += i <= PORT_TRIES) {
        if (i == PORT_TRIES) {
            int log = open("/dev/kmsg", O_WRONLY | O_CLOEXEC);

            if (log >= 0 && write(log, none, sizeof(none) - 1) < 0) {
                /* Nothing else can be told. */
            }
            close(log);
        }
        poll(NULL, 0, i < PORT_TRIES ? PORT_MS : LATER_MS);
    }
    return fd;
}

int main(int argc, char **argv)
{
    static Agent agent;
    bool is_port = argc == 1;

    if (!is_port && (argc != 2 || strcmp(argv[1], "--stdin") != 0)) {
        fputs("usage: agent [--stdin]\n", stderr);
        return 2;
    }
    if (is_port) {
        agent.in = await_port();
    } else {
        /* Programs must not inherit the line as their standard input. */
        agent.in = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
        fcntl(agent.in, F_SETFL, O_NONBLOCK);
    }
    agent.out = agent.in;
    signal(SIGPIPE, SIG_IGN);
    clu_agent_reader_init(&agent.reader);
    send_hello(&agent);
    while (turn(&agent, is_port)) {
    }
    begin_epoch(&agent, 0);
    return EXIT_FAILURE;
}
