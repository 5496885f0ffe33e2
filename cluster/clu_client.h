/* SPDX-License-Identifier: MIT */
#ifndef CLU_CLIENT_H
#define CLU_CLIENT_H

#include <stdbool.h>

#include <glib.h>

/* The program's end of a connection to a supervisor. It waits; while a request
 * is worked on, SIGINT, SIGTERM, SIGHUP and SIGQUIT are taken note of and do
 * not end the process. */
typedef struct CluClient CluClient;

/* From here on those signals wait until a client takes note of them. */
void clu_client_hold_signals(void);

/* Connects to the cluster whose directory is @dir. */
CluClient *clu_client_connect(const char *dir, GError **error);

/* Takes over the connection @fd. */
CluClient *clu_client_new(int fd);

/* Frees @client (nullable). */
void clu_client_free(CluClient *client);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CluClient, clu_client_free)

typedef enum CluClientInput {
    CLU_CLIENT_NO_INPUT,
    CLU_CLIENT_COMMAND, /* standard input and signals are a command's */
    CLU_CLIENT_CONSOLE, /* it is what is typed; Ctrl-] and ~. leave */
} CluClientInput;

/* How a request is worked on. */
typedef struct CluClientMode {
    CluClientInput input;
    GString *output; /* takes what would go to standard output; nullable */
    unsigned skip;   /* bytes that each line of output loses at its start */
    void (*note)(const char *text); /* a line about progress; nullable */
} CluClientMode;

/*
 * Sends the request @words (NULL-terminated) and works on it to its end.
 * Returns the exit status, and @error if it says why it is not 0: a command's
 * own status has no error. 128 and the number of a signal that ended it, or
 * this process' wish to go on.
 */
int clu_client_run(CluClient *client, const char *const *words,
                   const CluClientMode *mode, GError **error);

/* Waits until the supervisor ends or a signal comes; returns the signal or 0.
 */
int clu_client_wait(CluClient *client);

#endif
