/* SPDX-License-Identifier: MIT */
#ifndef CLU_CLIENT_H
#define CLU_CLIENT_H

#include <stdbool.h>

#include <glib.h>

/* The program's end of a connection to a supervisor. Its functions block. While
 * there is one, SIGINT, SIGTERM, SIGHUP and SIGQUIT do not end the process: the
 * client receives them. */
typedef struct CluClient CluClient;

/* Blocks those signals until a client receives them. */
void clu_client_hold_signals(void);

/* Connects to the cluster whose directory is @dir. NULL and @error if its
 * supervisor does not answer. */
CluClient *clu_client_connect(const char *dir, GError **error);

/* Takes over the connection @fd. */
CluClient *clu_client_new(int fd);

/* Frees @client (nullable). */
void clu_client_free(CluClient *client);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CluClient, clu_client_free)

typedef enum CluClientInput {
    CLU_CLIENT_NO_INPUT,
    CLU_CLIENT_COMMAND, /* standard input and signals go to a command */
    CLU_CLIENT_CONSOLE, /* standard input goes to a console; Ctrl-] and ~.
                           leave it */
} CluClientInput;

/* How a request is worked on. */
typedef struct CluClientMode {
    CluClientInput input;
    GString *output; /* receives the output; NULL: it is printed */
    unsigned skip;   /* bytes that are cut off each line of output */
    void (*note)(const char *text); /* a line about progress; nullable */
} CluClientMode;

/*
 * Sends the request @words (NULL-terminated) and works on it to its end.
 * Returns the exit status: that of the request or command, or 128 plus the
 * number of the signal that ended the command or this call. @error is set if
 * the request failed; the status of a command has no error.
 */
int clu_client_run(CluClient *client, const char *const *words,
                   const CluClientMode *mode, GError **error);

/* Waits until the supervisor ends or a signal comes; returns the signal or 0.
 */
int clu_client_wait(CluClient *client);

#endif
