/* SPDX-License-Identifier: MIT */
/*
 * Takes the place of QEMU and its guest: offers a supervisor a monitor, an
 * agent and a console at the file descriptors of clu_plan.h. fake=WORD on the
 * kernel's command line selects a fault:
 *
 *   exits    says why, and exits with 1
 *   panics   its kernel panics
 *   silent   its agent never answers a PING
 *   garbage  monitor and agent send random bytes
 *   babbles  its NTB device sends a byte that is no message
 *   scrawls  each text that it sends has SCRAWL in it; its kernel has a BUG
 *
 * SIGUSR1 resets the machine: the monitor reports it, and more bytes of the old
 * agent arrive. SIGUSR2 lets the machine boot again. SIGTSTP stops its CPUs and
 * SIGCONT resumes them; the monitor reports both. The agent can run these
 * programs: echo, flood (writes more than its credit), hold (does not end),
 * cat, freeze (from then on the agent does not answer anything), rebind (the
 * NTB's driver goes and comes back, with a client that enables the link at
 * once), scrawl (prints SCRAWL as output and as error).
 */
#define _GNU_SOURCE
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "clu_agent.h"

/* No UTF-8, escape sequences of a terminal in 7 and 8 bits, DEL, a letter that
 * turns the order of the others, a separator of lines */
#define SCRAWL                                                                 \
    "\377\376 \033]0;mine\007\033[31m \302\233A \233 \177 \342\200\256"        \
    " \342\200\250 \r\b\001 \342\202\254"

enum {
    CONSOLE = 3,
    MONITOR,
    AGENT
};

typedef struct Fake {
    const char *mode;
    CluAgentReader reader;
    uint8_t coded[CLU_AGENT_CODED_MAX];
    uint64_t epoch;
    unsigned boot;
    unsigned record;
    uint32_t held;  /* session of the program hold; 0: none */
    uint32_t watch; /* session of the supervisor's watch; 0: none */
    bool is_booted;
    bool is_hello_due;
    bool is_frozen;
    bool is_stopped; /* its agent does not run */
} Fake;

static void put(int fd, const void *data, size_t length)
{
    const char *from = data;

    while (length > 0) {
        ssize_t n = write(fd, from, length);

        if (n <= 0) {
            exit(0); /* the supervisor is gone */
        }
        from += n;
        length -= (size_t)n;
    }
}

static void put_text(int fd, const char *text)
{
    put(fd, text, strlen(text));
}

static void put_frame(Fake *fake, CluAgentType type, uint32_t session,
                      const void *body, size_t length)
{
    size_t n =
        clu_agent_encode(fake->coded, type, session, body, (uint32_t)length);

    put(AGENT, fake->coded, n);
}

static void put_out(Fake *fake, uint32_t session, const char *text)
{
    put_frame(fake, CLU_AGENT_STDOUT, session, text, strlen(text));
}

/* Sends a record of the kernel log to the watch session, if there is one. */
static void put_record(Fake *fake, const char *text)
{
    char line[512];

    snprintf(line, sizeof(line), "6,%u,0,-;%s\n DEVICE=x\n", ++fake->record,
             text);
    if (fake->watch) {
        put_out(fake, fake->watch, line);
    }
}

/* The text of a fake that scrawls; "" for another one. */
static const char *scrawl_of(const Fake *fake)
{
    return strcmp(fake->mode, "scrawls") == 0 ? SCRAWL : "";
}

static void say_hello(Fake *fake, uint64_t epoch)
{
    uint8_t body[256] = {0};
    int n;

    clu_agent_put64(body, epoch);
    n = snprintf((char *)body + 8, sizeof(body) - 8, "boot-%u%s", fake->boot,
                 scrawl_of(fake));
    n += 8 + 1;
    n += snprintf((char *)body + n, sizeof(body) - (size_t)n, "6.1-fake%s",
                  scrawl_of(fake)) +
         1;
    put_frame(fake, CLU_AGENT_HELLO, 0, body, (size_t)n);
}

static void put_exit(Fake *fake, uint32_t session, uint32_t status)
{
    uint8_t body[8];

    clu_agent_put32(body, status);
    clu_agent_put32(body + 4, 0);
    put_frame(fake, CLU_AGENT_EXIT, session, body, sizeof(body));
}

static void start_watch(Fake *fake, uint32_t session, const char *mark)
{
    fake->watch = session;
    put_record(fake, "switchtec switchtec0: NTB device registered");
    /* Records before the mark are old: the supervisor must ignore them. */
    put_record(fake, "switchtec switchtec0: ntb link up");
    put_record(fake, "switchtec switchtec0: ntb link down");
    put_record(fake, mark);
    put_out(fake, session, "@map switchtec0 0000:00:03.0\n@ready\n");
    put_record(fake, "switchtec switchtec0: ntb link up");
}

static void run(Fake *fake, const CluAgentFrame *frame)
{
    static const uint8_t id[4] = {1};
    const char *words[16] = {NULL};
    const char *word = (const char *)frame->body;
    const char *end = word + frame->length;
    unsigned n = 0;

    for (; word < end && n < 15; word += strlen(word) + 1) {
        words[n++] = word;
    }
    put_frame(fake, CLU_AGENT_STARTED, frame->session, id, sizeof(id));
    if (n > 5 && strcmp(words[3], "watch") == 0) {
        if (strcmp(words[4], "map") != 0) {
            start_watch(fake, frame->session, words[5]);
            return;
        }
        put_out(fake, frame->session, "@map switchtec0 0000:00:03.0\n");
    } else if (strcmp(words[0], "echo") == 0) {
        put_out(fake, frame->session, n > 1 ? words[1] : "");
        put_frame(fake, CLU_AGENT_STDERR, frame->session, "err", 3);
    } else if (strcmp(words[0], "rebind") == 0) {
        put_record(fake, "switchtec switchtec0: ntb link down");
        put_record(fake, "switchtec switchtec0: ntb device unregistered");
        put_record(fake, "switchtec switchtec0: ntb link up");
        put_record(fake, "switchtec switchtec0: NTB device registered");
    } else if (strcmp(words[0], "scrawl") == 0) {
        put_out(fake, frame->session, SCRAWL);
        put_frame(fake, CLU_AGENT_STDERR, frame->session, SCRAWL,
                  strlen(SCRAWL));
    } else if (strcmp(words[0], "flood") == 0) {
        static char block[CLU_AGENT_BODY_MAX];

        for (unsigned i = 0; i <= CLU_AGENT_WINDOW / sizeof(block); i++) {
            put_frame(fake, CLU_AGENT_STDOUT, frame->session, block,
                      sizeof(block));
        }
    } else if (strcmp(words[0], "hold") == 0) {
        fake->held = frame->session;
        return;
    } else if (strcmp(words[0], "cat") == 0) {
        return;
    }
    put_exit(fake, frame->session, strcmp(words[0], "echo") == 0 ? 3 : 0);
}

static void on_frame(Fake *fake, const CluAgentFrame *frame)
{
    if (frame->type == CLU_AGENT_EXEC &&
        strcmp((const char *)frame->body, "freeze") == 0) {
        fake->is_frozen = true;
    }
    if (fake->is_frozen) {
        return;
    }
    switch (frame->type) {
    case CLU_AGENT_SYNC:
        fake->epoch = clu_agent_get64(frame->body);
        fake->watch = 0;
        if (fake->is_booted) {
            say_hello(fake, fake->epoch);
        } else {
            fake->is_hello_due = true;
        }
        break;
    case CLU_AGENT_PING:
        if (fake->is_booted && strcmp(fake->mode, "silent") != 0) {
            put_frame(fake, CLU_AGENT_PONG, 0, frame->body, frame->length);
        }
        break;
    case CLU_AGENT_EXEC:
        run(fake, frame);
        break;
    case CLU_AGENT_STDIN:
        put_frame(fake, CLU_AGENT_STDOUT, frame->session, frame->body,
                  frame->length);
        break;
    case CLU_AGENT_STDIN_EOF:
        if (frame->session != fake->held) {
            put_exit(fake, frame->session, 0);
        }
        break;
    default:
        break;
    }
}

static void on_agent(Fake *fake)
{
    uint8_t data[4096];
    const uint8_t *from = data;
    ssize_t n = read(AGENT, data, sizeof(data));

    if (n <= 0) {
        exit(0);
    }
    while (n > 0) {
        bool is_found;
        CluAgentFrame frame;
        size_t taken = clu_agent_reader_feed(&fake->reader, from, (size_t)n,
                                             &is_found, &frame);

        from += taken;
        n -= (ssize_t)taken;
        if (is_found) {
            on_frame(fake, &frame);
        }
    }
}

static void on_monitor(Fake *fake)
{
    char data[4096];
    ssize_t n = read(MONITOR, data, sizeof(data) - 1);

    if (n <= 0) {
        exit(0);
    }
    data[n] = '\0';
    if (strstr(data, "\"enabled\"")) {
        put_record(fake, strstr(data, "true")
                             ? "switchtec switchtec0: ntb link up"
                             : "switchtec switchtec0: ntb link down");
    }
    for (ssize_t i = 0; i < n; i++) {
        if (data[i] == '\n') {
            put_text(MONITOR, "{\"return\": {}}\r\n");
        }
    }
}

static void on_signal(Fake *fake, int signals)
{
    struct signalfd_siginfo info;

    if (read(signals, &info, sizeof(info)) != sizeof(info)) {
        return;
    }
    if (info.ssi_signo == SIGTSTP || info.ssi_signo == SIGCONT) {
        fake->is_stopped = info.ssi_signo == SIGTSTP;
        put_text(MONITOR, fake->is_stopped ? "{\"event\": \"STOP\"}\r\n"
                                           : "{\"event\": \"RESUME\"}\r\n");
    } else if (info.ssi_signo == SIGHUP) {
        put_text(CONSOLE, "[    9.000000] Kernel panic - not syncing: fake\n");
    } else if (info.ssi_signo == SIGUSR1) {
        put_text(MONITOR, "{\"event\": \"RESET\", \"data\": {\"guest\": "
                          "true, \"reason\": \"guest-reset\"}}\r\n");
        fake->is_booted = false;
        /* Bytes that the old agent sent before the reset: log records, a HELLO,
         * and half a frame. */
        put_record(fake, "switchtec switchtec0: ntb link down");
        put_record(fake, "switchtec switchtec0: ntb link up");
        say_hello(fake, fake->epoch);
        put(AGENT, "\x05half", 5);
    } else {
        fake->boot++;
        fake->record = 0;
        fake->is_booted = true;
        put(AGENT, "", 1);
        say_hello(fake, 0);
        if (fake->is_hello_due) {
            fake->is_hello_due = false;
            say_hello(fake, fake->epoch);
        }
    }
}

static void talk_nonsense(void)
{
    unsigned seed = 1;

    for (unsigned i = 0; i < 300; i++) {
        unsigned char block[1024];

        for (unsigned j = 0; j < sizeof(block); j++) {
            seed = seed * 1103515245u + 12345u;
            block[j] = (unsigned char)(seed >> 16);
        }
        put(AGENT, block, sizeof(block));
        put(CONSOLE, block, sizeof(block));
    }
    put_text(MONITOR, "[[[\n{\"event\": 5}\n{}\n");
    pause();
}

/* Sends a byte to the link that the word @device names. */
static void babble(const char *device)
{
    static struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

    sscanf(device, "link=%107[^,]", address.sun_path);
    if (connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0 ||
        send(fd, "?", 1, MSG_NOSIGNAL) != 1) {
        perror(address.sun_path);
    }
}

int main(int argc, char **argv)
{
    static Fake fake = {.mode = "", .is_booted = true, .boot = 1};
    sigset_t set;
    int signals;

    for (int i = 0; i < argc; i++) {
        const char *word = strstr(argv[i], "fake=");

        if (word) {
            fake.mode = word + strlen("fake=");
        }
    }
    clu_agent_reader_init(&fake.reader);
    signal(SIGPIPE, SIG_IGN);
    sigemptyset(&set);
    sigaddset(&set, SIGHUP);
    sigaddset(&set, SIGUSR1);
    sigaddset(&set, SIGUSR2);
    sigaddset(&set, SIGTSTP);
    sigaddset(&set, SIGCONT);
    sigprocmask(SIG_BLOCK, &set, NULL);
    signals = signalfd(-1, &set, SFD_CLOEXEC);
    if (strcmp(fake.mode, "exits") == 0) {
        fputs("qemu: it is broken\n", stderr);
        return 1;
    }
    put_text(CONSOLE, "[    0.000000] Linux version 6.1-fake\r\n");
    if (strcmp(fake.mode, "scrawls") == 0) {
        put_text(CONSOLE, "[    1.000000] BUG: " SCRAWL "\n");
    }
    if (strcmp(fake.mode, "panics") == 0) {
        put_text(CONSOLE, "[    1.000000] Kernel panic - not syncing: fake\n");
        pause();
    }
    if (strcmp(fake.mode, "garbage") == 0) {
        talk_nonsense();
    }
    for (int i = 0; i < argc && strcmp(fake.mode, "babbles") == 0; i++) {
        const char *link = strstr(argv[i], "link=");

        if (link) {
            babble(link);
        }
    }
    put_text(MONITOR, "{\"QMP\": {\"version\": {}, \"capabilities\": []}}\r\n");
    say_hello(&fake, 0);
    for (;;) {
        struct pollfd fds[] = {
            {.fd = MONITOR, .events = POLLIN},
            {.fd = fake.is_stopped ? -1 : AGENT, .events = POLLIN},
            {.fd = signals, .events = POLLIN}};

        if (poll(fds, 3, -1) < 0) {
            continue;
        }
        if (fds[0].revents) {
            on_monitor(&fake);
        }
        if (fds[1].revents) {
            on_agent(&fake);
        }
        if (fds[2].revents) {
            on_signal(&fake, signals);
        }
    }
}
