/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "clu_client.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

#include "clu_control.h"
#include "clu_dir.h"
#include "clu_error.h"
#include "farside_socket.h"
#include "table_text.h"

#define LEAVE_KEY      0x1d /* Ctrl-] */
/* A longer line of text is printed in pieces. */
#define LINE_MAX_BYTES 65536
/* The time in which a command must end after a signal. */
#define GRACE_US       (2 * G_USEC_PER_SEC)
/* The time after which a caller is asked again if the call is over. */
#define LOOK_MS        50

struct CluClient {
    int fd;
    int signals; /* signalfd; -1: none */
    sigset_t old_signals;
    CluAgentReader reader;
    uint8_t coded[CLU_AGENT_CODED_MAX];
};

/* A request in progress. */
typedef struct Request {
    CluClient *client;
    const CluClientMode *mode;
    uint64_t credit; /* bytes of standard input that may be sent */
    bool is_reading; /* standard input is wanted and has not ended */
    bool is_over;
    int status;         /* exit status, valid when `is_over` */
    GString *lines[2];  /* text of output and errors that has no end yet */
    size_t column;      /* bytes of the current line of output so far */
    bool is_line_start; /* console: the next typed byte begins a line */
    bool is_tilde;      /* console: the last typed byte was ~ at a line start */
    int signal;         /* the last signal that the command was sent; 0: none */
    int64_t end_us;     /* time at which the call ends; 0: none */
    bool is_timed_out;  /* `end_us` is that of the timeout */
    GError *error;
} Request;

static void hold_signals(sigset_t *ret_signals, sigset_t *ret_old)
{
    sigemptyset(ret_signals);
    sigaddset(ret_signals, SIGINT);
    sigaddset(ret_signals, SIGTERM);
    sigaddset(ret_signals, SIGHUP);
    sigaddset(ret_signals, SIGQUIT);
    sigprocmask(SIG_BLOCK, ret_signals, ret_old);
}

void clu_client_hold_signals(void)
{
    sigset_t signals, old;

    hold_signals(&signals, &old);
}

CluClient *clu_client_new(int fd)
{
    CluClient *client = g_new0(CluClient, 1);
    sigset_t signals;

    hold_signals(&signals, &client->old_signals);
    client->signals = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
    client->fd = fd;
    clu_agent_reader_init(&client->reader);
    return client;
}

/* The connection to the cluster whose directory is @dir; -1 and @error. */
static int connect_to(const char *dir, GError **error)
{
    g_autofree char *path = g_build_filename(dir, CLU_DIR_CONTROL, NULL);
    int fd = farside_socket_connect(path, SOCK_STREAM);

    if (fd < 0) {
        g_set_error(error, CLU_ERROR, CLU_ERROR_FAILED,
                    "%s: the supervisor does not answer: %s", path,
                    g_strerror(errno));
    }
    return fd;
}

CluClient *clu_client_connect(const char *dir, GError **error)
{
    int fd = connect_to(dir, error);

    return fd < 0 ? NULL : clu_client_new(fd);
}

CluClient *clu_client_join(const char *dir, GError **error)
{
    int fd = connect_to(dir, error);
    CluClient *client;

    if (fd < 0) {
        return NULL;
    }
    client = g_new0(CluClient, 1);
    client->signals = -1;
    client->fd = fd;
    clu_agent_reader_init(&client->reader);
    return client;
}

void clu_client_kill(const CluClient *client)
{
    struct ucred peer;
    socklen_t length = sizeof(peer);

    /* That is the process which listens at the socket. */
    if (getsockopt(client->fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0 &&
        peer.pid > 1) {
        kill(peer.pid, SIGKILL);
    }
}

void clu_client_free(CluClient *client)
{
    if (client) {
        close(client->fd);
        if (client->signals >= 0) {
            close(client->signals);
            sigprocmask(SIG_SETMASK, &client->old_signals, NULL);
        }
        g_free(client);
    }
}

/* Errors are ignored: if the supervisor is gone, the next read reports it. */
static void send_frame(CluClient *client, unsigned type, const void *body,
                       size_t length)
{
    size_t n = clu_agent_encode(client->coded, (CluAgentType)type, 0, body,
                                (uint32_t)length);
    const uint8_t *from = client->coded;

    while (n > 0) {
        ssize_t sent = send(client->fd, from, n, MSG_NOSIGNAL);

        if (sent < 0 && errno == EINTR) {
            continue;
        }
        if (sent < 0) {
            return;
        }
        from += sent;
        n -= (size_t)sent;
    }
}

static bool write_all(int fd, const uint8_t *data, size_t length)
{
    while (length > 0) {
        ssize_t n = write(fd, data, length);

        if (n < 0 && errno == EAGAIN) {
            struct pollfd poll_out = {.fd = fd, .events = POLLOUT};

            poll(&poll_out, 1, -1);
            continue;
        }
        if (n < 0 && errno != EINTR) {
            return false;
        }
        if (n > 0) {
            data += n;
            length -= (size_t)n;
        }
    }
    return true;
}

/* The descriptor for the output or the errors of @request. */
static int output_of(const Request *request, bool is_error)
{
    return request->mode->to ? request->mode->to
           : is_error        ? STDERR_FILENO
                             : STDOUT_FILENO;
}

/* Writes @data to standard output without the first mode->skip bytes of each
 * line. */
static bool write_skipped(Request *request, const uint8_t *data, size_t length)
{
    g_autofree uint8_t *left = g_malloc(length);
    size_t n = 0;

    for (size_t i = 0; i < length; i++) {
        if (request->column++ >= request->mode->skip || data[i] == '\n') {
            left[n++] = data[i];
        }
        if (data[i] == '\n') {
            request->column = 0;
        }
    }
    return write_all(output_of(request, false), left, n);
}

/* Writes the first @length bytes of the text of output or of errors. */
static bool write_text(Request *request, bool is_error, size_t length)
{
    GString *lines = request->lines[is_error];
    g_autofree char *text = table_text_from(lines->str, (gssize)length, true);

    g_string_erase(lines, 0, (gssize)length);
    return write_all(output_of(request, is_error), (const uint8_t *)text,
                     strlen(text));
}

/* Writes the lines that have ended: a letter may come in two pieces. */
static bool put_text(Request *request, bool is_error, const uint8_t *data,
                     size_t length)
{
    GString *lines = request->lines[is_error];
    const char *end;

    g_string_append_len(lines, (const char *)data, (gssize)length);
    end = memrchr(lines->str, '\n', lines->len);
    if (!end && lines->len < LINE_MAX_BYTES) {
        return true;
    }
    return write_text(request, is_error,
                      end ? (size_t)(end + 1 - lines->str) : lines->len);
}

/* Adds to what the caller collects. */
static void collect(Request *request, const CluAgentFrame *frame)
{
    GString *output = request->mode->output;

    if (output->len + frame->length <= CLU_CLIENT_OUTPUT_MAX) {
        g_string_append_len(output, (const char *)frame->body, frame->length);
        return;
    }
    request->is_over = true;
    request->status = CLU_CONTROL_FAILED;
    g_set_error(&request->error, CLU_ERROR, CLU_ERROR_FAILED,
                "the answer has more than %u MiB; an honest one is shorter",
                CLU_CLIENT_OUTPUT_MAX >> 20);
}

/* Returns false if it cannot be written. */
static bool print(Request *request, const CluAgentFrame *frame)
{
    bool is_error = frame->type == CLU_AGENT_STDERR;

    if (is_error ? request->mode->has_text_errors : request->mode->has_text) {
        return put_text(request, is_error, frame->body, frame->length);
    }
    return is_error
               ? write_all(output_of(request, true), frame->body, frame->length)
               : write_skipped(request, frame->body, frame->length);
}

static void put_output(Request *request, const CluAgentFrame *frame)
{
    bool is_collected =
        request->mode->output && frame->type == CLU_AGENT_STDOUT;

    if (is_collected) {
        collect(request, frame);
    } else if (!print(request, frame)) {
        request->is_over = true;
        request->status = 128 + SIGPIPE;
    }
    if (!request->is_over &&
        (is_collected || request->mode->input == CLU_CLIENT_COMMAND)) {
        uint8_t credit[8];

        clu_agent_put32(credit, frame->type);
        clu_agent_put32(credit + 4, frame->length);
        send_frame(request->client, CLU_AGENT_CREDIT, credit, sizeof(credit));
    }
}

static void on_frame(Request *request, const CluAgentFrame *frame)
{
    switch (frame->type) {
    case CLU_AGENT_STDOUT:
    case CLU_AGENT_STDERR:
        put_output(request, frame);
        break;
    case CLU_AGENT_CREDIT:
        if (frame->length == 8) {
            request->credit += clu_agent_get32(frame->body + 4);
        }
        break;
    case CLU_CONTROL_NOTE:
        if (request->mode->note) {
            g_autofree char *text =
                g_strndup((const char *)frame->body, frame->length);

            request->mode->note(text);
        }
        break;
    case CLU_AGENT_EXIT:
        if (frame->length == 8) {
            uint32_t signal = clu_agent_get32(frame->body + 4);

            request->status = signal ? (int)(128 + signal)
                                     : (int)clu_agent_get32(frame->body);
            request->is_over = true;
        }
        break;
    case CLU_CONTROL_ERROR:
        if (frame->length >= 4) {
            g_autofree char *text =
                g_strndup((const char *)frame->body + 4, frame->length - 4);

            request->status = (int)clu_agent_get32(frame->body);
            request->is_over = true;
            g_set_error(&request->error, CLU_ERROR,
                        request->status == CLU_CONTROL_USAGE ? CLU_ERROR_USAGE
                                                             : CLU_ERROR_FAILED,
                        "%s", text);
        }
        break;
    default:
        break;
    }
}

static void on_socket(Request *request)
{
    uint8_t data[65536];
    const uint8_t *from = data;
    ssize_t n = read(request->client->fd, data, sizeof(data));

    if (n < 0 && (errno == EINTR || errno == EAGAIN)) {
        return;
    }
    if (n <= 0) {
        request->is_over = true;
        request->status = request->mode->input == CLU_CLIENT_COMMAND
                              ? CLU_CONTROL_LOST
                              : CLU_CONTROL_FAILED;
        g_set_error(&request->error, CLU_ERROR, CLU_ERROR_FAILED,
                    "the supervisor of the cluster is gone");
        return;
    }
    while (n > 0 && !request->is_over) {
        bool is_found;
        CluAgentFrame frame;
        size_t taken = clu_agent_reader_feed(&request->client->reader, from,
                                             (size_t)n, &is_found, &frame);

        from += taken;
        n -= (ssize_t)taken;
        if (is_found && frame.version == CLU_AGENT_VERSION) {
            on_frame(request, &frame);
        }
    }
}

/* Returns the number of typed bytes before the keys that leave the console, or
 * @length if those were not typed. */
static size_t find_leave(Request *request, const uint8_t *data, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        if (data[i] == LEAVE_KEY) {
            request->is_over = true;
            return i;
        }
        if (request->is_tilde && data[i] == '.') {
            request->is_over = true;
            return i > 0 ? i - 1 : 0;
        }
        request->is_tilde = request->is_line_start && data[i] == '~';
        request->is_line_start = data[i] == '\r' || data[i] == '\n';
    }
    return length;
}

static void on_input(Request *request)
{
    uint8_t data[32768];
    size_t most = sizeof(data);
    ssize_t n;

    if (request->mode->input == CLU_CLIENT_COMMAND) {
        most = MIN(most, request->credit);
    }
    n = read(request->mode->from, data, most);
    if (n < 0 && (errno == EINTR || errno == EAGAIN)) {
        return;
    }
    if (n <= 0) {
        request->is_reading = false;
        if (request->mode->input == CLU_CLIENT_CONSOLE) {
            request->is_over = true;
        } else {
            send_frame(request->client, CLU_AGENT_STDIN_EOF, NULL, 0);
        }
        return;
    }
    if (request->mode->input == CLU_CLIENT_CONSOLE) {
        n = (ssize_t)find_leave(request, data, (size_t)n);
    } else {
        request->credit -= (uint64_t)n;
    }
    if (n > 0) {
        send_frame(request->client, CLU_AGENT_STDIN, data, (size_t)n);
    }
}

static void on_signal(Request *request)
{
    struct signalfd_siginfo info;
    uint8_t body[4];

    if (read(request->client->signals, &info, sizeof(info)) != sizeof(info)) {
        return;
    }
    if (request->mode->input == CLU_CLIENT_COMMAND && request->signal == 0) {
        request->signal = (int)info.ssi_signo;
        clu_agent_put32(body, info.ssi_signo);
        send_frame(request->client, CLU_AGENT_SIGNAL, body, sizeof(body));
        if (info.ssi_signo != SIGINT) {
            request->end_us = g_get_monotonic_time() + GRACE_US;
            request->is_timed_out = false;
        }
        return;
    }
    request->is_over = true;
    request->status = (int)(128 + info.ssi_signo);
}

/* Ends the call whose time is over. */
static void on_end(Request *request)
{
    request->is_over = true;
    if (request->is_timed_out) {
        request->status = CLU_CLIENT_TIMED_OUT;
        g_set_error(&request->error, CLU_ERROR, CLU_ERROR_FAILED,
                    "the command has not ended within %u.%03u s",
                    request->mode->timeout_ms / 1000,
                    request->mode->timeout_ms % 1000);
    } else {
        request->status = 128 + request->signal;
    }
}

static void work_on(Request *request)
{
    while (!request->is_over) {
        int64_t left = request->end_us - g_get_monotonic_time();
        int wait = request->end_us ? (int)CLAMP(left / 1000 + 1, 0, 60000) : -1;
        int turn = request->mode->is_over ? LOOK_MS : -1;
        bool is_input = request->is_reading && request->credit > 0;
        struct pollfd fds[] = {
            {.fd = request->client->fd, .events = POLLIN},
            {.fd = request->client->signals, .events = POLLIN},
            {.fd = is_input ? request->mode->from : -1, .events = POLLIN},
        };

        if (turn >= 0 && (wait < 0 || turn < wait)) {
            wait = turn;
        }
        if (poll(fds, G_N_ELEMENTS(fds), wait) < 0) {
            continue; /* EINTR */
        }
        if (fds[0].revents) {
            on_socket(request);
        }
        if (fds[1].revents && !request->is_over) {
            on_signal(request);
        }
        if (fds[2].revents && !request->is_over) {
            on_input(request);
        }
        /* After the signals: one that came in time counts, however late this
         * process gets to it. */
        if (!request->is_over && request->end_us &&
            g_get_monotonic_time() >= request->end_us) {
            on_end(request);
        }
        if (!request->is_over && request->mode->is_over &&
            request->mode->is_over(request->mode->owner)) {
            request->is_over = true;
            request->status = 128 + SIGTERM;
        }
    }
}

/* True if reading the input never waits. */
static bool is_whole(const CluClientMode *mode)
{
    struct pollfd poll_in = {.fd = mode->from, .events = POLLIN};
    struct stat st;

    if (fstat(mode->from, &st) < 0 || S_ISREG(st.st_mode) ||
        (S_ISCHR(st.st_mode) && !isatty(mode->from))) {
        return true;
    }
    return S_ISFIFO(st.st_mode) && poll(&poll_in, 1, 0) > 0 &&
           (poll_in.revents & POLLHUP);
}

const char *clu_client_exec(const CluClientMode *mode)
{
    return is_whole(mode) ? "exec-whole" : "exec";
}

/* Adds the words before a command that give it a terminal as large as ours. */
static void add_terminal(GPtrArray *words)
{
    const char *term = g_getenv("TERM");
    struct winsize size = {0};

    ioctl(STDIN_FILENO, TIOCGWINSZ, &size);
    g_ptr_array_add(words, g_strdup("/sbin/pty"));
    g_ptr_array_add(words, g_strdup_printf("%u", size.ws_row));
    g_ptr_array_add(words, g_strdup_printf("%u", size.ws_col));
    g_ptr_array_add(words, g_strdup(term && *term ? term : "linux"));
}

GPtrArray *clu_client_command(const CluClientMode *mode, const char *host,
                              bool has_terminal, char *const *command)
{
    GPtrArray *words = g_ptr_array_new_with_free_func(g_free);

    g_ptr_array_add(words, g_strdup(clu_client_exec(mode)));
    g_ptr_array_add(words, g_strdup(host));
    if (has_terminal) {
        add_terminal(words);
    }
    for (; *command; command++) {
        g_ptr_array_add(words, g_strdup(*command));
    }
    g_ptr_array_add(words, NULL);
    return words;
}

int clu_client_run(CluClient *client, const char *const *words,
                   const CluClientMode *mode, GError **error)
{
    g_autoptr(GString) text = g_string_new(NULL);
    g_autoptr(GString) lines = g_string_new(NULL);
    g_autoptr(GString) errors = g_string_new(NULL);
    Request request = {
        .client = client,
        .mode = mode,
        .lines = {lines, errors},
        .credit = CLU_AGENT_WINDOW,
        .is_reading = mode->input != CLU_CLIENT_NO_INPUT,
        .is_line_start = true,
    };
    struct termios old, raw;
    bool is_raw =
        mode->input == CLU_CLIENT_CONSOLE && tcgetattr(STDIN_FILENO, &old) == 0;

    for (; *words; words++) {
        g_string_append_len(text, *words, (gssize)strlen(*words) + 1);
    }
    if (text->len > CLU_AGENT_BODY_MAX) {
        g_set_error(error, CLU_ERROR, CLU_ERROR_USAGE,
                    "the command has %zu bytes; it can have %d at most",
                    text->len, CLU_AGENT_BODY_MAX);
        return CLU_CONTROL_USAGE;
    }
    if (is_raw) {
        raw = old;
        cfmakeraw(&raw);
        tcsetattr(STDIN_FILENO, TCSADRAIN, &raw);
    }
    if (mode->timeout_ms > 0) {
        request.end_us =
            g_get_monotonic_time() + (int64_t)mode->timeout_ms * 1000;
        request.is_timed_out = true;
    }
    send_frame(client, CLU_CONTROL_REQUEST, text->str, text->len);
    work_on(&request);
    write_text(&request, false, lines->len);
    write_text(&request, true, errors->len);
    if (is_raw) {
        tcsetattr(STDIN_FILENO, TCSADRAIN, &old);
    }
    if (request.error) {
        g_propagate_error(error, request.error);
    }
    return request.status;
}

int clu_client_wait(CluClient *client)
{
    for (;;) {
        struct pollfd fds[] = {
            {.fd = client->fd, .events = POLLIN},
            {.fd = client->signals, .events = POLLIN},
        };
        struct signalfd_siginfo info;
        char byte[4096];

        if (poll(fds, G_N_ELEMENTS(fds), -1) < 0) {
            continue; /* EINTR */
        }
        if (fds[0].revents && read(client->fd, byte, sizeof(byte)) <= 0) {
            return 0;
        }
        if (fds[1].revents &&
            read(client->signals, &info, sizeof(info)) == sizeof(info)) {
            return (int)info.ssi_signo;
        }
    }
}
