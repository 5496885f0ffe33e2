/* SPDX-License-Identifier: MIT */
#ifndef CLU_CLIENT_H
#define CLU_CLIENT_H

#include <stdbool.h>

#include <glib.h>

/* The client side of a connection to a supervisor. Its functions block. While a
 * client exists, SIGINT, SIGTERM, SIGHUP and SIGQUIT do not end the process:
 * the client receives them. */
typedef struct CluClient CluClient;

/* Blocks SIGINT, SIGTERM, SIGHUP and SIGQUIT. A client that is made later
 * receives those that came meanwhile. */
void clu_client_hold_signals(void);

/* Connects to the cluster whose directory is @dir. NULL and @error if its
 * supervisor does not answer. */
CluClient *clu_client_connect(const char *dir, GError **error);

/* The same for a thread of a program that handles its signals itself: the
 * client does not receive any. */
CluClient *clu_client_join(const char *dir, GError **error);

/* Takes over the connection @fd. */
CluClient *clu_client_new(int fd);

/* Frees @client (nullable). */
void clu_client_free(CluClient *client);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CluClient, clu_client_free)

/* Kills the supervisor: it does not answer, and its machines end with it. */
void clu_client_kill(const CluClient *client);

typedef enum CluClientInput {
    CLU_CLIENT_NO_INPUT,
    CLU_CLIENT_COMMAND, /* standard input and signals go to a command */
    CLU_CLIENT_CONSOLE, /* standard input goes to a console; Ctrl-] and ~.
                           leave it */
} CluClientInput;

/* The actions of a client while a request runs. */
typedef struct CluClientMode {
    CluClientInput input;
    GString *output;      /* receives standard output, up to
                             CLU_CLIENT_OUTPUT_MAX bytes; NULL: it is printed */
    bool has_text;        /* the printed output is text of a guest, for people:
                             what could move their terminal's cursor is replaced */
    bool has_text_errors; /* the same for standard error */
    unsigned skip; /* bytes to leave out at the start of each printed line */
    void (*note)(const char *text); /* is told of progress; nullable */
    unsigned timeout_ms; /* a command that takes longer is ended; 0: none */
    int from;            /* descriptor of the input; 0 is standard input */
    int to; /* descriptor for output and errors; 0: the standard ones */
    /* Asked many times in a second; true: the call ends as by SIGTERM.
     * Nullable. */
    bool (*is_over)(void *owner);
    void *owner;
} CluClientMode;

/* A request with more output ends with an error: a guest may send what it
 * likes. */
#define CLU_CLIENT_OUTPUT_MAX (64u << 20)

/* The exit status of a command that took longer than its timeout, as that of
 * timeout(1). */
#define CLU_CLIENT_TIMED_OUT 124

/*
 * Sends the request @words (NULL-terminated) and serves it until it ends.
 * Returns the exit status of the request or command, or 128 plus the number of
 * the signal that ended the command or this call. @error is set only if the
 * request failed: a command may end with any status without an error.
 *
 * A command gets the signals SIGINT, SIGTERM, SIGHUP and SIGQUIT. The call ends
 * even if the command or its host ignores them: at the second signal, and two
 * seconds after any other signal than SIGINT. A command that the call leaves
 * behind is killed.
 */
int clu_client_run(CluClient *client, const char *const *words,
                   const CluClientMode *mode, GError **error);

/* The name of the request for a command with the input of @mode: "exec-whole"
 * if reading it never waits, as from a file, /dev/null, or a pipe whose writer
 * has ended, and "exec" otherwise. */
const char *clu_client_exec(const CluClientMode *mode);

/* Returns the words of the request to run @command (ended by NULL) on @host
 * with the input of @mode, an array of char * that ends with NULL, to be freed.
 * With
 * @has_terminal the command gets a terminal of the kind and size that standard
 * input is. */
GPtrArray *clu_client_command(const CluClientMode *mode, const char *host,
                              bool has_terminal, char *const *command);

/* Waits until the supervisor ends or one of these signals comes. Returns the
 * signal, or 0. */
int clu_client_wait(CluClient *client);

#endif
